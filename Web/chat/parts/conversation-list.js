// @ts-check
import { ConversationID } from "../../sdk/scrollback.js";
import { drawn, element, iconButton, renderRows } from "../support/dom.js";
import { errorText, plain, plural, shortTimeText, summaryOf, t } from "../support/text.js";
import { avatar } from "./avatar.js";

/** @typedef {import("../../sdk/scrollback.js").RecentConversation} RecentConversation */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/** The number of conversations that are read and shown first. They fill the screen, because no row is lower. */
const firstLimit = Math.ceil(innerHeight / 50) + 1;

/** The number of conversations that the list shows at first, and by which scrolling extends it. */
const limitStep = 100;

/** The maximum number of conversations in the list. */
const maximumLimit = 1000;

/** The conversations, with their newest messages, unread counts and drafts. */
export class ConversationList extends HTMLElement {
  #app;
  #rows = element("ul", { keydown: (/** @type {KeyboardEvent} */ event) => this.#pressed(event) });
  #invitations = element("ul", { class: "invitations", "aria-label": t("invitations") });
  #search = element("input", { type: "search", placeholder: t("search"), "aria-label": t("searchEverywhere") });
  /** @type {string | null} */
  #selected = null;
  #limit = limitStep;
  #recents;
  #endRecents = () => {};
  /** The users whose presence is shown. @type {Set<string>} */
  #watched = new Set();

  /** @param {ChatApp} app */
  constructor(app) {
    super();
    this.#app = app;
    this.#recents = app.client.recents();
    /** Resolves when the newest conversations can be shown. */
    this.isReady = this.#observe(firstLimit);
  }

  connectedCallback() {
    const app = this.#app;
    this.append(
      element(
        "header",
        {},
        element("h1", {}, element("bdi", {}, app.people.name(app.user))),
        iconButton("gear", t("settings"), () => app.withScreens(({ showSettings }) => showSettings(app))),
        iconButton(
          "plus",
          t("newConversation"),
          () => app.withScreens(({ showNewConversation }) => showNewConversation(app)),
        ),
      ),
      element("form", { role: "search", submit: (/** @type {Event} */ event) => this.#searched(event) }, this.#search),
      this.#invitations,
      element("nav", { "aria-label": t("conversations"), scroll: () => this.#scrolled() }, this.#rows),
    );
    app.client.presence.subscribe(() => this.#render());
    app.people.changes.subscribe(() => this.#render());
    app.client.connection.subscribe(({ state }) => {
      if (state === "online") this.#loadInvitations();
    });
    app.client.onEvent(({ type }) => {
      if (type === "invitation") this.#loadInvitations();
    });
  }

  /**
   * @param {string} id
   * @returns {RecentConversation | null}
   */
  entry(id) {
    return this.#recents.value.conversations.find((conversation) => conversation.id === id) ?? null;
  }

  /** @param {string | null} id */
  select(id) {
    this.#selected = id;
    this.#render();
  }

  focusSearch() {
    this.#search.focus();
  }

  focusSelected() {
    const row = this.#rows.querySelector("[aria-current]") ?? this.#rows.querySelector("button");
    if (row instanceof HTMLElement) row.focus();
  }

  /**
   * Shows the newest conversations as soon as they have been read: first a screen of them, and then all.
   *
   * @param {number} limit
   * @returns {Promise<void>}
   */
  #observe(limit) {
    return new Promise((resolve) => {
      const recents = this.#app.client.recents({ limit });
      const end = recents.subscribe(async ({ isLoaded }) => {
        if (!isLoaded) return;
        const isFirst = recents !== this.#recents;
        if (isFirst) {
          this.#endRecents();
          this.#endRecents = end;
          this.#recents = recents;
        }
        this.#render();
        resolve();
        if (!isFirst || limit === maximumLimit) return;
        // The first rows don't wait for the others, and for the rest of the page.
        await drawn();
        this.#observe(maximumLimit);
        this.#app.loadScreens();
      });
    });
  }

  #render() {
    const app = this.#app;
    const { conversations, totalUnread } = this.#recents.value;
    const name = this.querySelector("h1 bdi");
    if (name) name.textContent = app.people.name(app.user);
    document.title = totalUnread > 0 ? `(${totalUnread}) Scrollback` : "Scrollback";
    const shown = conversations.slice(0, this.#limit);
    this.#watch(shown);
    renderRows(this.#rows, shown.map((entry) => this.#row(entry)));
  }

  /** @param {readonly RecentConversation[]} shown */
  #watch(shown) {
    const peers = shown.flatMap(({ id }) =>
      ConversationID.kind(id) === "direct" ? [ConversationID.parts(id).target] : []
    );
    const added = peers.filter((user) => !this.#watched.has(user)).slice(0, 100);
    for (const user of added) this.#watched.add(user);
    if (added.length > 0) this.#app.client.watchPresence(added);
  }

  /** @param {RecentConversation} entry */
  #row(entry) {
    const { id, lastMessage, unread, mentions, draft, isMuted, isPinned, isMarkedUnread } = entry;
    const app = this.#app;
    const isDirect = ConversationID.kind(id) === "direct";
    const title = app.titleOf(entry);
    const isOnline = isDirect && (app.client.presence.value.get(ConversationID.parts(id).target)?.isOnline ?? false);
    const isSelected = id === this.#selected;
    const sender = lastMessage && !isDirect && lastMessage.sender !== app.user
      ? app.people.name(lastMessage.sender)
      : null;
    const text = draft ? plain(draft.text) : lastMessage ? summaryOf(lastMessage) : "";
    const time = lastMessage ? shortTimeText(lastMessage.sentAt) : "";
    const content = [
      title,
      isOnline,
      isSelected,
      sender,
      text,
      time,
      unread,
      mentions,
      isMuted,
      isPinned,
      isMarkedUnread,
    ];
    const create = () => {
      const badge = unread > 0 || isMarkedUnread
        ? element(
          "span",
          { class: isMuted ? "badge muted" : "badge" },
          element("span", { "aria-hidden": "true" }, unread === 0 ? "" : unread > 999 ? "999+" : String(unread)),
          element("span", { class: "visually-hidden" }, plural("unreadOne", "unreadOther", unread)),
        )
        : null;
      return element(
        "li",
        {},
        element(
          "button",
          { type: "button", "aria-current": isSelected && "true", click: () => app.open(id) },
          avatar(id, title, isOnline),
          element(
            "span",
            { class: "line" },
            element(
              "span",
              { class: "title" },
              element("bdi", {}, title),
              isPinned && pinMark(),
              isMuted && muteMark(),
            ),
            element("span", { class: "time" }, time),
          ),
          element(
            "span",
            { class: "line" },
            element(
              "span",
              { class: "summary", dir: "auto" },
              draft !== null && element("span", { class: "draft" }, t("draft"), " "),
              draft === null && sender !== null && element("bdi", { class: "sender" }, `${sender}: `),
              element("bdi", {}, text.slice(0, 120)),
            ),
            mentions > 0 && element("span", { class: "badge", role: "img", "aria-label": t("mentionsYou") }, "@"),
            badge,
          ),
        ),
      );
    };
    return { key: id, signature: JSON.stringify([...content, draft !== null]), create };
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const buttons = [...this.#rows.querySelectorAll("button")];
    const index = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    buttons[index + step]?.focus();
    event.preventDefault();
  }

  #scrolled() {
    const last = this.#rows.lastElementChild?.getBoundingClientRect();
    if (!last || last.top > innerHeight * 2 || this.#limit >= this.#recents.value.conversations.length) return;
    this.#limit += limitStep;
    this.#render();
  }

  /** @param {Event} event */
  #searched(event) {
    event.preventDefault();
    const text = this.#search.value.trim();
    if (text === "") return;
    const app = this.#app;
    app.withScreens(({ searchPanel }) => app.openPanel((signal) => searchPanel(app, null, signal, text)));
  }

  async #loadInvitations() {
    const { client } = this.#app;
    try {
      const { invitations = [] } = await client.request({ type: "invitations" });
      const ids = /** @type {{conversation: string, name?: string}[]} */ (invitations);
      renderRows(this.#invitations, ids.map((invitation) => this.#invitation(invitation)));
    } catch {
      // The list is loaded again with the next connection.
    }
  }

  /** @param {{conversation: string, name?: string}} invitation */
  #invitation({ conversation: id, name }) {
    const app = this.#app;
    const conversation = app.client.conversation(id);
    const answer = async (/** @type {() => Promise<unknown>} */ action) => {
      try {
        await action();
      } catch (error) {
        app.showError(errorText(error));
      }
      this.#loadInvitations();
    };
    const join = async () => {
      await conversation.join();
      app.open(id, { name: name ?? null });
    };
    const decline = () => app.client.request({ type: "endInvitation", conversation: id, user: app.user });
    const title = app.titleOf({ id, name: name ?? null });
    const create = () =>
      element(
        "li",
        {},
        element("span", {}, t("invited", { name: title })),
        element("button", {
          type: "button",
          class: "primary",
          click: () => answer(join),
        }, t("join")),
        element("button", { type: "button", click: () => answer(decline) }, t("decline")),
      );
    return { key: id, signature: title, create };
  }
}

const pinMark = () => element("span", { class: "mark", role: "img", "aria-label": t("pinnedInList") }, "📌");
const muteMark = () => element("span", { class: "mark", role: "img", "aria-label": t("muted") }, "🔕");

customElements.define("conversation-list", ConversationList);
