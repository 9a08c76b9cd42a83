// @ts-check
import { element, icon, renderRows } from "../support/dom.js";
import { dayText, errorText, isSameDay, t } from "../support/text.js";
import { MessageActions } from "./message-actions.js";
import { dateOfItem, messageRow } from "./message-row.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").HistoryPoint} HistoryPoint */
/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("../../sdk/scrollback.js").MessageThread} MessageThread */
/** @typedef {import("../../sdk/scrollback.js").TimelineItem} TimelineItem */
/** @typedef {import("../../sdk/scrollback.js").TimelineView} View */
/** @typedef {import("../support/dom.js").Row} Row */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * What the user can do with a message besides what its row does itself.
 *
 * @typedef {object} TimelineActions
 * @property {(message: Message) => void} reply
 * @property {(message: Message) => void} edit
 * @property {(id: string) => void} openThread
 * @property {() => void} compose
 */

/** The distance in pixels from an end of the window at which more messages are loaded. */
const loadingDistance = 800;

/** The distance in pixels from the newest message within which the timeline follows new messages. */
const followingDistance = 60;

/** Messages of one sender within this time share a header. */
const groupingTime = 5 * 60_000;

/** The messages of a conversation, which are loaded while the user scrolls. */
export class TimelineView extends HTMLElement {
  #app;
  #conversation;
  #timeline;
  #list = element("ol", { role: "list" });
  #scroller = element(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": t("messages") },
    this.#list,
  );
  #newest = element(
    "button",
    { type: "button", class: "to-newest", hidden: true, title: t("toNewest"), "aria-label": t("toNewest") },
    icon("down"),
  );
  /** The unread replies of threads, by their first message. @type {ReadonlyMap<string, number>} */
  #unreadReplies = new Map();
  /** @type {View | null} */
  #view = null;
  /** The row to which the next view scrolls; `newest` for the end. @type {string | null} */
  #target = null;
  /** The first message that was unread when the conversation was opened. @type {string | null} */
  #firstUnread = null;
  #follows = false;
  /** The ID of the message that the last jump has marked. @type {string | null} */
  #marked = null;
  /** The scroll position at which the newest message was shown last. */
  #followedTop = 0;
  #isExtending = false;
  #lastRead = 0;
  #end = () => {};
  #resized = new ResizeObserver(() => this.#followNewest());

  /**
   * @param {ChatApp} app
   * @param {Conversation} conversation
   * @param {HistoryPoint} at
   * @param {TimelineActions} actions
   */
  constructor(app, conversation, at, actions) {
    super();
    this.#app = app;
    this.#conversation = conversation;
    this.#timeline = conversation.timeline({ at });
    this.#target = targetOf(at);
    this.actions = actions;
    this.menu = new MessageActions(app, conversation, actions);
  }

  connectedCallback() {
    this.append(this.#scroller, this.#newest);
    this.#scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#scroller.addEventListener("keydown", (event) => this.#pressed(event));
    this.#newest.addEventListener("click", () => this.jump("latest"));
    this.menu.attach(this.#list, (id) => this.#messageOf(id));
    this.#resized.observe(this.#list);
    this.#resized.observe(this.#scroller);
    const endTimeline = this.#timeline.subscribe((view) => this.#show(view));
    const endNames = this.#app.people.changes.subscribe(() => this.#render());
    const visible = () => this.#markRead();
    document.addEventListener("visibilitychange", visible);
    this.#end = () => {
      endTimeline();
      endNames();
      document.removeEventListener("visibilitychange", visible);
    };
  }

  close() {
    this.#end();
    this.#resized.disconnect();
  }

  /**
   * Moves to a point, and marks the message there.
   *
   * @param {HistoryPoint} point
   */
  async jump(point) {
    try {
      await this.#timeline.jump(point);
      this.#target = targetOf(point);
    } catch (error) {
      this.#app.showError(errorText(error));
    }
  }

  /** Shows the newest message, for example the one that was just sent. */
  showNewest() {
    if (!this.#follows) this.jump("latest");
  }

  /** Edits the user's newest message, if it is text. */
  editLast() {
    const item = this.#view?.items.findLast((item) =>
      item.type === "message" && item.message.sender === this.#app.user
    );
    if (item?.type === "message" && item.message.type === "text" && item.message.content) {
      this.actions.edit(item.message);
    }
  }

  /** @param {readonly MessageThread[]} threads */
  showThreads(threads) {
    this.#unreadReplies = new Map(threads.map(({ parent, state }) => [parent.id, state.unread]));
    this.#render();
  }

  /** @param {string} id */
  #messageOf(id) {
    const item = this.#view?.items.find((item) => item.id === id);
    return item?.type === "message" ? item.message : null;
  }

  // Rendering

  /** @param {View} view */
  #show(view) {
    if (this.#firstUnread === null || this.#target !== null) this.#firstUnread = view.firstUnread ?? this.#firstUnread;
    this.#view = view;
    this.#render();
    this.#extend();
    this.#markRead();
  }

  #render() {
    const view = this.#view;
    if (!view) return;
    const anchor = this.#follows ? null : this.#anchor();
    renderRows(this.#list, this.#rows(view));
    this.#mark();
    if (this.#scrollToTarget(view)) return;
    if (this.#follows) this.#followNewest();
    else if (anchor?.row.isConnected) this.#scroller.scrollTop += anchor.row.offsetTop - anchor.top;
  }

  /**
   * @param {View} view
   * @returns {Row[]}
   */
  #rows(view) {
    /** @type {Row[]} */
    const rows = [];
    /** @type {TimelineItem | null} */
    let previous = null;
    let day = "";
    /** @type {Date | null} */
    let dayDate = null;
    const names = this.#app.people;
    for (const item of view.items) {
      const date = dateOfItem(item);
      // The name of a day takes longer than the rest of a row.
      const ownDay = date === null || (dayDate && isSameDay(dayDate, date)) ? day : dayText(date);
      dayDate = date ?? dayDate;
      if (ownDay !== day) rows.push(separator(`day ${date?.toDateString()}`, "day", ownDay));
      if (item.id === this.#firstUnread) rows.push(separator("unread", "unread", t("newMessages")));
      const starts = ownDay !== day || item.id === this.#firstUnread || !continues(previous, item, this.#app.user);
      day = ownDay;
      rows.push(messageRow(item, {
        app: this.#app,
        conversation: this.#conversation,
        view,
        startsGroup: starts,
        name: (user) => names.name(user),
        openThread: this.actions.openThread,
        unreadReplies: (id) => this.#unreadReplies.get(id) ?? 0,
      }));
      previous = item;
    }
    if (rows.length === 0 && view.isLoaded) rows.push(separator("empty", "nothing", t("noMessages")));
    return rows;
  }

  /** Marks the message of the last jump, whose row may be new. */
  #mark() {
    for (const row of this.#list.querySelectorAll(".is-hit")) row.classList.remove("is-hit");
    if (this.#marked !== null) this.#rowOf(this.#marked)?.classList.add("is-hit");
  }

  // Scrolling

  /** The first visible row and its position, which must not move while rows above it change. */
  #anchor() {
    const row = this.#rowsFrom(this.#scroller.scrollTop).next().value;
    return row ? { row, top: row.offsetTop } : null;
  }

  /**
   * Scrolls to the target of the last jump as soon as it is shown.
   *
   * @param {View} view
   */
  #scrollToTarget(view) {
    if (this.#target === null || view.items.length === 0) return false;
    if (this.#target === "unread" && this.#isLoading(view)) return false;
    if (this.#target === "newest" || (this.#target === "unread" && view.firstUnread === null)) {
      if (!view.isAtNewest) return false;
      this.#target = null;
      this.#follows = true;
      this.#followNewest();
      return true;
    }
    const index = view.items.findIndex(({ id }) =>
      id === (this.#target === "unread" ? view.firstUnread : this.#target)
    );
    const row = index < 0 ? null : this.#rowOf(view.items[index]?.id ?? "");
    if (!row) return false;
    const isMarked = this.#target !== "unread";
    this.#marked = isMarked ? this.#target : null;
    this.#mark();
    this.#target = null;
    this.#follows = false;
    row.scrollIntoView({ block: isMarked ? "center" : "start" });
    if (!isMarked) this.#scroller.scrollTop -= this.#scroller.clientHeight / 4;
    // The browser reports no scroll if the row was visible already, and the newest message can be visible too.
    this.#scrolled();
    return true;
  }

  /**
   * Whether messages that the server has are about to be shown, so that the first unread one is not known.
   *
   * @param {View} view
   */
  #isLoading({ items }) {
    return items.some(({ type }) => type === "gap") && this.#app.client.connection.value.state === "online";
  }

  /** @param {string} id */
  #rowOf(id) {
    const row = this.#list.querySelector(`[data-id="${CSS.escape(id)}"]`);
    return row instanceof HTMLElement ? row : null;
  }

  #followNewest() {
    if (!this.#follows) return;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#followedTop = this.#scroller.scrollTop;
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < followingDistance;
    // The list can have grown since the scroll that caused this event. Only the user moves away from the end.
    const staysAtEnd = isAtEnd || (this.#follows && scrollTop >= this.#followedTop);
    const follows = staysAtEnd && (this.#view?.isAtNewest ?? false);
    // The window follows new messages again, instead of staying where the user was.
    if (follows && !this.#follows) this.#timeline.jump("latest");
    this.#follows = follows;
    this.#newest.hidden = this.#follows;
    const [first, last] = this.#visibleIDs();
    if (first !== undefined && last !== undefined && !this.#follows) this.#timeline.setVisible(first, last);
    this.#extend();
    this.#markRead();
  }

  /** The IDs of the first and the last visible item. */
  #visibleIDs() {
    const { scrollTop, clientHeight } = this.#scroller;
    const ids = [];
    for (const row of this.#rowsFrom(scrollTop)) {
      if (row.offsetTop > scrollTop + clientHeight) break;
      if (row.dataset["id"] !== undefined) ids.push(row.dataset["id"]);
    }
    return [ids[0], ids.at(-1)];
  }

  /**
   * The rows from the first one that ends below a position.
   *
   * @param {number} top
   */
  *#rowsFrom(top) {
    const rows = /** @type {HTMLCollectionOf<HTMLElement>} */ (this.#list.children);
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = rows[middle];
      if (row && row.offsetTop + row.offsetHeight > top) high = middle;
      else low = middle + 1;
    }
    for (let row = rows[low]; row; row = rows[++low]) yield row;
  }

  /** Loads more messages if an end of the window is near. */
  async #extend() {
    const view = this.#view;
    if (this.#isExtending || !view || view.items.length === 0 || this.#target !== null) return;
    // The window is short until its messages have arrived.
    if (view.items.some((item) => item.type === "gap" && item.isLoading)) return;
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const isNearNewest = scrollHeight - scrollTop - clientHeight < loadingDistance;
    const older = view.hasOlder && scrollTop < loadingDistance;
    if (!older && (view.isAtNewest || !isNearNewest)) return;
    this.#isExtending = true;
    try {
      await (older ? this.#timeline.loadOlder() : this.#timeline.loadNewer());
    } catch {
      // Scrolling tries again. The bar above the list says that the client is offline.
    } finally {
      this.#isExtending = false;
    }
  }

  /** Marks what is visible as read. */
  #markRead() {
    if (document.visibilityState === "hidden" || this.#target !== null) return;
    const [, last] = this.#visibleIDs();
    const index = this.#view?.items.findIndex(({ id }) => id === last) ?? -1;
    const item = this.#view?.items.slice(0, index + 1).findLast((item) => item.type === "message");
    if (item?.type !== "message" || item.message.seq <= this.#lastRead) return;
    this.#lastRead = item.message.seq;
    // A room has no read state.
    this.#conversation.markRead(item.id).catch(() => {});
  }

  // Keyboard

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const rows = [...this.#list.querySelectorAll("li[tabindex]")];
    const index = rows.findIndex((row) => row.contains(document.activeElement));
    const isRow = index >= 0 && rows[index] === document.activeElement;
    const next = {
      ArrowUp: index < 0 ? rows.length - 1 : index - 1,
      ArrowDown: index < 0 ? rows.length - 1 : index + 1,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    const row = next === undefined ? undefined : rows[Math.max(0, next)];
    if (row instanceof HTMLElement) row.focus();
    else if (event.key === "ArrowDown" || event.key === "Escape") this.actions.compose();
    else if (!isRow || event.ctrlKey || event.metaKey || !this.menu.press(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/**
 * @param {HistoryPoint} point
 * @returns {string | null}
 */
function targetOf(point) {
  if (point === "latest") return "newest";
  if (point === "firstUnread") return "unread";
  return typeof point === "object" && "id" in point ? point.id : null;
}

/**
 * Whether an item has the same sender as the one before it, within a short time.
 *
 * @param {TimelineItem | null} previous
 * @param {TimelineItem} item
 * @param {string} user The user of the page, who is the sender of pending items.
 */
function continues(previous, item, user) {
  if (previous?.type !== "message" || item.type === "gap") {
    return previous?.type === "pending" && item.type === "pending";
  }
  if (previous.message.type === "notice") return false;
  const date = dateOfItem(item);
  const isNear = date !== null && date.getTime() - previous.message.sentAt.getTime() < groupingTime;
  if (item.type === "pending") return isNear && previous.message.sender === user;
  return isNear && item.message.sender === previous.message.sender;
}

/**
 * @param {string} key
 * @param {string} name
 * @param {string} text
 * @returns {Row}
 */
const separator = (key, name, text) => ({
  key,
  signature: text,
  create: () => element("li", { class: `separator ${name}` }, element("span", {}, text)),
});

customElements.define("timeline-view", TimelineView);
