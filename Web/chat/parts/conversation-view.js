// @ts-check
import { ConversationID } from "../../sdk/scrollback.js";
import { element, iconButton, present } from "../support/dom.js";
import { plural, t } from "../support/text.js";
import { Composer } from "./composer.js";
import { detailsPanel } from "./details-panel.js";
import { searchPanel } from "./search-panel.js";
import { threadPanel } from "./thread-panel.js";
import { threadsPanel, unreadReplies } from "./threads-panel.js";
import { TimelineView } from "./timeline-view.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").HistoryPoint} HistoryPoint */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/** One conversation: its title, its timeline, who types, and the composer. */
export class ConversationView extends HTMLElement {
  #title = element("bdi");
  #subtitle = element("span", { class: "subtitle" });
  #typing = element("p", { class: "typing", "aria-live": "polite" });
  #closed = new AbortController();
  #threads;
  #threadsButton = iconButton("thread", t("threads"), () => this.#openThreads());
  #name;
  /** @type {readonly string[]} */
  #members = [];

  /**
   * @param {ChatApp} app
   * @param {Conversation} conversation
   * @param {HistoryPoint | null} at
   * @param {string | null} name The name until the conversation is in the list.
   */
  constructor(app, conversation, at, name) {
    super();
    this.#name = name;
    this.app = app;
    this.conversation = conversation;
    this.#threads = conversation.threads();
    const unread = app.list.entry(conversation.id)?.unread ?? 0;
    this.composer = new Composer(app, conversation, { members: () => this.members() });
    this.timeline = new TimelineView(app, conversation, at ?? (unread > 0 ? "firstUnread" : "latest"), {
      reply: (message) => this.composer.reply(message),
      edit: (message) => this.composer.edit(message),
      openThread: (id) => this.#openThread(id),
      compose: () => this.composer.focus(),
    });
    this.composer.addEventListener("sent", () => this.timeline.showNewest());
    this.composer.editLast = () => this.timeline.editLast();
  }

  connectedCallback() {
    const { app, conversation } = this;
    const details = () => app.openPanel((signal) => detailsPanel(app, conversation, signal));
    const search = () => app.openPanel((signal) => searchPanel(app, conversation, signal, ""));
    this.append(
      element(
        "header",
        { class: "bar" },
        iconButton("back", t("back"), () => app.closeConversation(), { class: "icon-button back" }),
        element("h2", {}, this.#title, this.#subtitle),
        this.#threadsButton,
        iconButton("search", t("searchHere"), search),
        iconButton("info", t("details"), details),
      ),
      this.timeline,
      this.#typing,
      this.composer,
    );
    this.#follow(conversation.recent().subscribe(() => this.#renderTitle()));
    this.#follow(this.#threads.subscribe(({ threads, totalUnread }) => {
      this.timeline.showThreads(threads);
      this.#threadsButton.querySelector(".badge")?.remove();
      this.#threadsButton.append(...present([unreadReplies(totalUnread)]));
    }));
    this.#follow(app.people.changes.subscribe(() => this.#renderTitle()));
    this.#follow(app.client.presence.subscribe(() => this.#renderTitle()));
    this.#follow(conversation.typing.subscribe((users) => this.#renderTyping(users)));
    const { kind, part } = ConversationID.parts(conversation.id);
    if (kind === "room" || (kind === "community" && part !== null)) {
      this.#follow(conversation.subscription.subscribe(() => {}));
    }
  }

  /** @param {string} id */
  #openThread(id) {
    const { app, conversation } = this;
    app.openPanel((signal) => threadPanel(app, conversation, id, this.#threads, signal));
  }

  #openThreads() {
    const { app } = this;
    app.openPanel((signal) => threadsPanel(app, this.#threads, (id) => this.#openThread(id), signal));
  }

  /** @param {() => void} end */
  #follow(end) {
    this.#closed.signal.addEventListener("abort", end);
  }

  /** Ends all subscriptions, and stores the draft. */
  close() {
    this.#closed.abort();
    this.timeline.close();
    this.composer.close();
  }

  focusComposer() {
    this.composer.focus();
  }

  /** @param {HistoryPoint} point */
  jump(point) {
    this.timeline.jump(point);
  }

  /**
   * Returns the users that a mention can name.
   *
   * @returns {Promise<readonly string[]>}
   */
  async members() {
    if (this.#members.length > 0) return this.#members;
    const { kind, target } = ConversationID.parts(this.conversation.id);
    if (kind === "direct") return [target];
    try {
      this.#members = (await this.conversation.members()).map(({ user }) => user);
    } catch {
      // Without a connection, the composer completes no mentions.
    }
    return this.#members;
  }

  #renderTitle() {
    const { app, conversation: { id } } = this;
    const title = app.titleOf({ id, name: app.list.entry(id)?.name ?? this.#name });
    this.#title.textContent = title;
    this.composer.setTitle(title);
    const { kind, target } = ConversationID.parts(id);
    const isOnline = kind === "direct" && (app.client.presence.value.get(target)?.isOnline ?? false);
    this.#subtitle.textContent = isOnline ? t("online") : "";
  }

  /** @param {readonly string[]} users */
  #renderTyping(users) {
    const [first] = users;
    this.#typing.textContent = first === undefined
      ? ""
      : users.length === 1
      ? t("isTyping", { name: this.app.people.name(first) })
      : plural("areTyping", "areTyping", users.length);
  }
}

customElements.define("conversation-view", ConversationView);
