// @ts-check
import { ConversationID } from "../../sdk/scrollback.js";
import { forgetSession } from "../session.js";
import { element } from "../support/dom.js";
import { People } from "../support/people.js";
import { settings } from "../support/settings.js";
import { plain, t } from "../support/text.js";
import { ConnectionBar } from "./connection-bar.js";
import { ConversationList } from "./conversation-list.js";

/** @typedef {import("../../sdk/scrollback.js").ChatClient} ChatClient */
/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("./conversation-view.js").ConversationView} ConversationView */
/** @typedef {typeof import("./screens.js")} Screens */
/** @typedef {import("../session.js").Session} Session */

/** The chat: the list of conversations, one conversation, and a panel with details, a thread or a search. */
export class ChatApp extends HTMLElement {
  /** Reads texts to users of screen readers. */
  #announcer = element("div", { class: "visually-hidden", "aria-live": "polite" });
  #alert = element("div", { class: "toast", role: "alert" });
  #middle = element("main", { class: "middle", "aria-label": t("conversation") });
  #side = element("aside", { class: "side", "aria-label": t("details") });
  /** @type {ConversationView | null} */
  view = null;
  /** The element that had the focus when the panel was opened. @type {HTMLElement | null} */
  #opener = null;
  /** @type {AbortController} Ends the listeners of the panel. */
  #panel = new AbortController();
  /** @type {Promise<Screens> | null} */
  #screens = null;

  /**
   * @param {ChatClient} client
   * @param {Session} session
   */
  constructor(client, session) {
    super();
    this.client = client;
    this.session = session;
    this.people = new People(client);
    this.list = new ConversationList(this);
  }

  connectedCallback() {
    this.#middle.append(element("p", { class: "empty" }, t("chooseConversation")));
    this.append(
      element("header", { class: "top" }, new ConnectionBar(this.client)),
      this.list,
      this.#middle,
      this.#side,
      this.#announcer,
      this.#alert,
    );
    this.client.onEvent((event) => {
      if (event.type === "message") this.#received(event.message);
    });
    this.addEventListener("keydown", (event) => this.#pressed(event));
  }

  get user() {
    return this.client.user;
  }

  /**
   * Loads the parts of the page that follow the list, once.
   *
   * @returns {Promise<Screens | null>} `null` if the server can't be reached.
   */
  async loadScreens() {
    try {
      return await (this.#screens ??= import("./screens.js"));
    } catch {
      this.#screens = null;
      return null;
    }
  }

  /**
   * Calls a function with the parts of the page that follow the list.
   *
   * @param {(screens: Screens) => void} use
   */
  async withScreens(use) {
    const screens = await this.loadScreens();
    if (screens) use(screens);
    // Older browsers don't load a module again that they could not load, but they do in a new page.
    else if (this.client.connection.value.state === "online") location.reload();
    else this.showError(t("errorUnreachable"));
  }

  /**
   * Returns the title of a conversation.
   *
   * @param {{id: string, name: string | null}} conversation
   */
  titleOf({ id, name }) {
    if (name !== null && plain(name) !== "") return plain(name);
    const { kind, target, part } = ConversationID.parts(id);
    return kind === "direct" ? this.people.name(target) : plain(part === null ? target : `${target} · ${part}`);
  }

  /**
   * Shows a conversation.
   *
   * @param {string} id
   * @param {{at?: import("../../sdk/scrollback.js").HistoryPoint, name?: string | null}} [options] The position; by
   *   default, the first unread message or the newest one. `name` is shown until the conversation is in the list.
   */
  async open(id, { at, name = null } = {}) {
    await this.withScreens(({ ConversationView }) => {
      // On a touch screen, the focus would show the keyboard.
      const takesFocus = matchMedia("(pointer: fine)").matches || document.activeElement?.matches(":focus-visible");
      if (this.view?.conversation.id === id && at !== undefined) {
        this.view.jump(at);
      } else {
        this.closePanel();
        this.view?.close();
        this.view = new ConversationView(this, this.client.conversation(id), at ?? null, name);
        this.#middle.replaceChildren(this.view);
      }
      this.classList.add("has-conversation");
      this.list.select(id);
      if (takesFocus) this.view.focusComposer();
    });
  }

  /** Returns to the list, on a narrow screen and after leaving a conversation. */
  closeConversation() {
    this.closePanel();
    this.view?.close();
    this.view = null;
    this.#middle.replaceChildren(element("p", { class: "empty" }, t("chooseConversation")));
    this.classList.remove("has-conversation");
    this.list.select(null);
    this.list.focusSelected();
  }

  /**
   * Shows a panel beside the conversation.
   *
   * @param {(signal: AbortSignal) => HTMLElement} make Makes the panel. The signal aborts when the panel is closed.
   */
  openPanel(make) {
    this.#panel.abort();
    this.#panel = new AbortController();
    if (!this.#side.contains(document.activeElement)) {
      this.#opener = /** @type {HTMLElement | null} */ (document.activeElement);
    }
    const panel = make(this.#panel.signal);
    this.#side.replaceChildren(panel);
    this.classList.add("has-panel");
    const focused = /** @type {HTMLElement | null} */ (panel.querySelector("[autofocus], button"));
    focused?.focus();
  }

  closePanel() {
    if (!this.classList.contains("has-panel")) return;
    this.#panel.abort();
    this.#side.replaceChildren();
    this.classList.remove("has-panel");
    if (this.#opener?.isConnected) this.#opener.focus();
    else this.view?.focusComposer();
  }

  /**
   * Shows an error for a while, and reads it to users of screen readers.
   *
   * @param {string} text
   */
  showError(text) {
    this.#alert.textContent = text;
    clearTimeout(this.#alertTimer);
    this.#alertTimer = setTimeout(() => (this.#alert.textContent = ""), 8000);
  }
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #alertTimer;

  /** @param {string} text */
  announce(text) {
    this.#announcer.textContent = text;
  }

  /** Closes the client and deletes its data, unless messages were not sent and the user wants to keep them. */
  async signOut() {
    const unsent = await this.client.unsentCount();
    if (unsent > 0 && !confirm(t("signOutUnsent", { count: unsent }))) return;
    await this.client.signOut({ discardsUnsent: true });
    forgetSession();
    location.reload();
  }

  /** @param {Message} message */
  #received(message) {
    const { sender, conversation } = message;
    if (sender === this.user) return;
    if (this.view?.conversation.id === conversation) this.#announceMessage(message);
    if (!settings.notifies || !document.hidden || globalThis.Notification?.permission !== "granted") return;
    const entry = this.list.entry(conversation);
    if (!entry || entry.isMuted) return;
    const { name, text } = this.#summary(message);
    const notification = new Notification(name, { body: text, tag: conversation });
    notification.onclick = () => {
      focus();
      this.open(conversation);
    };
  }

  /** @param {Message} message */
  #summary({ sender, text }) {
    return { name: this.people.name(sender), text: plain(text ?? t("attachment")).slice(0, 200) };
  }

  /**
   * Reads a message to users of screen readers. Of several that arrive together, it reads the last one.
   *
   * @param {Message} message
   */
  #announceMessage(message) {
    if (this.#unannounced === null) {
      queueMicrotask(() => {
        if (this.#unannounced) this.announce(t("announcement", this.#summary(this.#unannounced)));
        this.#unannounced = null;
      });
    }
    this.#unannounced = message;
  }
  /** @type {Message | null} */
  #unannounced = null;

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "Escape" && this.classList.contains("has-panel")) this.closePanel();
    else if (event.key === "k" && (event.ctrlKey || event.metaKey)) this.list.focusSearch();
    else return;
    event.preventDefault();
  }
}

customElements.define("scrollback-app", ChatApp);
