// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { asScrollbackError } from "../model/errors.js";
import { maximumUsers, standardLimits } from "../model/limits.js";
import { locate, messagesIn, pointToRequest } from "../store/history.js";
import { queuedIn } from "../store/outbox.js";
import { profiles } from "../store/people.js";
import { OpenConversation } from "../store/records.js";
import { GapFill } from "../sync/gap-fill.js";
import { LiveView } from "./live-view.js";
import { withPendingChanges } from "./pending-changes.js";
import { stateOf } from "./send-handle.js";
import { extendedWindow, focusOf, isScrolledAway, shownRange, windowAround, windowAt } from "./timeline-window.js";

/** @typedef {import("../model/conversation-head.js").Mute} Mute */
/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */
/** @typedef {import("../model/message-content.js").MessageContent} MessageContent */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/message.js").MessageAttributes} MessageAttributes */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../store/database.js").Transaction} Transaction */
/** @typedef {import("../store/outbox.js").QueuedMessage} QueuedMessage */
/** @typedef {import("../sync/gap-fill.js").GapRequest} GapRequest */
/** @typedef {import("../sync/log-state.js").LogState} LogState */
/** @typedef {import("../wire/frames.js").UserProfile} UserProfile */
/** @typedef {import("../wire/requests.js").HistoryPoint} HistoryPoint */
/** @typedef {import("./conversation.js").Conversation} Conversation */
/** @typedef {import("./send-handle.js").SendState} SendState */
/** @typedef {import("./timeline-window.js").TimelineWindow} TimelineWindow */

/**
 * An item of a timeline. Its `id` stays the same when a queued message is sent.
 *
 * - `message`: a stored message; a recalled or deleted message has no content
 * - `pending`: a queued message of this browser that the server has not stored yet
 * - `gap`: a range of messages that exist on the server but are not stored in this browser
 *
 * @typedef {{type: "message", id: string, message: Message}
 *   | {type: "pending", id: string, content: MessageContent, attributes: MessageAttributes, createdAt: Date,
 *      state: SendState}
 *   | {type: "gap", id: string, range: SeqRange, isLoading: boolean}} TimelineItem
 */

/**
 * A snapshot of a timeline.
 *
 * @typedef {object} TimelineView
 * @property {readonly TimelineItem[]} items The items, the oldest first.
 * @property {ReadonlyMap<string, UserProfile>} profiles The known profiles of the messages' senders.
 * @property {string | null} firstUnread The first unread message, if it is in the window.
 * @property {boolean} isAtNewest Whether the window contains the newest message.
 * @property {boolean} hasOlder Whether older messages or a gap precede the window.
 * @property {number} peerReadSeq The sequence number up to which the peer of a direct conversation has read.
 * @property {number} peerDeliveredSeq The sequence number through which the peer's devices have received a direct
 *   conversation, at least `peerReadSeq`.
 * @property {boolean} isFrozen Whether only moderators, owners and administrators may currently write.
 * @property {Mute | null} mute The user's mute; `null` if the user may write.
 * @property {boolean} isLoaded Whether the timeline was read from the local store. Until then it is empty.
 */

/** @type {TimelineView} */
const emptyView = Object.freeze({
  items: [],
  profiles: new Map(),
  firstUnread: null,
  isAtNewest: true,
  hasOlder: false,
  peerReadSeq: 0,
  peerDeliveredSeq: 0,
  isFrozen: false,
  mute: null,
  isLoaded: false,
});

/** The delay in milliseconds before a failed request of a timeline is repeated. */
const retryDelay = 1000;

/**
 * A live view of one conversation for a user interface.
 *
 * A timeline holds a window of the log around a position, including the gaps in it, and queued messages at the newest
 * end. It never shows the messages on both sides of a gap without showing the gap. Gaps in the window are loaded while
 * the timeline is observed.
 *
 * @extends {LiveView<TimelineView>}
 */
export class Timeline extends LiveView {
  #conversation;
  #size;
  /** @type {TimelineWindow} */
  #window;
  /** @type {SeqRange | null} */
  #visible = null;
  /** The sequence numbers that are shown, or will be shown after the next read. @type {SeqRange | null} */
  #shown = null;
  #fill = new GapFill();
  #isSeeking = false;
  /** The newest sequence number of a room when the timeline was first read, or when the subscription began. */
  #headAtEntry = 0;
  #isFetchingPeople = false;
  /** @type {Map<string, SeqRange>} */
  #places = new Map();
  /**
   * The messages and profiles that were read last; `null` if they must be read again.
   *
   * @type {{version: string | null, messages: Message[], people: Awaited<ReturnType<typeof profiles>>} | null}
   */
  #rows = null;

  /**
   * @param {Conversation} conversation
   * @param {HistoryPoint} point
   * @param {number} size
   */
  constructor(conversation, point, size) {
    super(conversation.core, { id: conversation.id }, emptyView, (changes) => this.#read(changes));
    this.#conversation = conversation;
    this.#size = size;
    this.#window = windowAt(point, size);
  }

  get #core() {
    return this.#conversation.core;
  }

  // Actions of the user interface

  /**
   * Sets the items that are visible on the screen.
   *
   * The gap nearest to them is loaded first, and new messages don't push them out of the window. Items that are no
   * longer in the window are ignored.
   *
   * @param {string} first The ID of the first visible item.
   * @param {string} last The ID of the last one.
   */
  setVisible(first, last) {
    const [lower, upper] = [this.#places.get(first)?.[0], this.#places.get(last)?.[1]];
    if (lower === undefined || upper === undefined || lower > upper) return;
    this.#visible = [lower, upper];
    this.#fill.allowRequests();
    // Reading the same messages again for each movement would delay the frames.
    const { items, hasOlder } = this.value;
    const mustExtend = hasOlder && this.#window.type === "newest" && lower - this.#size / 8 < (this.#shown?.[0] ?? 0);
    if (mustExtend || items.some(({ type }) => type === "gap")) this.refresh();
  }

  /**
   * Extends the window by half its size toward older messages, and resolves when they can be shown. A window that would
   * exceed twice its size drops its newest messages.
   *
   * @param {{signal?: AbortSignal}} [options]
   * @throws {ScrollbackError} The error that prevented loading from the server, if the browser has no older messages.
   */
  async loadOlder(options = {}) {
    await this.#extend("older", options);
  }

  /**
   * Extends the window by half its size toward newer messages. A window that reaches the newest message follows new
   * ones.
   *
   * @param {{signal?: AbortSignal}} [options]
   * @throws {ScrollbackError} The error that prevented loading from the server, if the browser has no newer messages.
   */
  async loadNewer(options = {}) {
    await this.#extend("newer", options);
  }

  /**
   * Moves the window to another point, with the same number of messages on both sides.
   *
   * @param {HistoryPoint} point
   * @param {{signal?: AbortSignal}} [options]
   * @throws {ScrollbackError} `unknown-message` if the message does not exist. `unreachable` if only the server knows
   *   the point's position and can't be reached.
   */
  async jump(point, { signal } = {}) {
    if (point !== "latest") {
      const page = await this.#conversation.history({ around: point, beforeLimit: 10, afterLimit: 10, signal });
      if (page.remoteError && page.messages.length === 0) throw page.remoteError;
    }
    this.#window = windowAt(point, this.#size);
    this.#visible = null;
    this.#fill.allowRequests();
    this.refresh();
  }

  /**
   * @param {"older" | "newer"} direction
   * @param {{signal?: AbortSignal}} options
   */
  async #extend(direction, { signal }) {
    const [window, shown] = [this.#window, this.#shown];
    if (!shown) return;
    const step = Math.max(1, Math.floor(this.#size / 2));
    const limit = Math.min(step, standardLimits.pageSize);
    const anchor = direction === "older" ? { before: { seq: shown[0] } } : { after: { seq: shown[1] } };
    const page = await this.#conversation.history({ ...anchor, limit, signal });
    if (page.remoteError && page.messages.length === 0) throw page.remoteError;
    const { log } = await this.#load((conversation) => conversation);
    // A moved window stays.
    if (!log || this.#window !== window) return;
    this.#window = extendedWindow(window, shown, direction, step, this.#size * 2, log);
    this.#shown = shownRange(this.#window, log, null, this.#size);
    this.#visible = null;
    this.#fill.allowRequests();
    this.refresh();
  }

  // Reading

  /**
   * @template Result
   * @param {(conversation: OpenConversation, transaction: Transaction) => Promise<Result> | Result} body
   */
  #load(body) {
    return this.#core.readConversation(this.#conversation.id, body);
  }

  /**
   * Reads the window from one snapshot of the store, and starts the next request.
   *
   * @param {ReadonlySet<string> | null} changes `null` if profiles may have changed.
   * @returns {Promise<TimelineView>}
   */
  async #read(changes) {
    const { user } = this.#core;
    if (changes === null) this.#rows = null;
    const { id } = this.#conversation;
    return await this.#core.store.read(async (transaction) => {
      const [conversation, { messages: queued, changes: edits }] = await Promise.all([
        OpenConversation.load(transaction, id),
        queuedIn(transaction, id),
      ]);
      const { log, entry, read } = conversation;
      const range = log && await this.#locateWindow(transaction, conversation);
      const base = {
        ...emptyView,
        peerReadSeq: entry.peerReadSeq,
        peerDeliveredSeq: entry.delivery.peerSeq,
        isFrozen: entry.isFrozen,
        mute: entry.mute,
        isLoaded: true,
      };
      if (!log?.range || !range) {
        this.#seek();
        return { ...base, items: this.#pendingItems(queued, new Set()) };
      }
      this.#shown = range;
      const { messages, people } = await this.#readRows(transaction, conversation, range);
      const rows = messages.map((row) => withPendingChanges(row, edits, user));
      const gaps = log.gaps.clippedTo(range).ranges;
      this.#request(this.#wantedGap(log, range), range, gaps, people.outdated);
      const isAtNewest = range[1] === log.head;
      // A message that the server lost and that is queued again may still have its old row.
      const known = new Set(rows.map(({ id }) => id));
      const items = [...this.#items(rows, gaps), ...isAtNewest ? this.#pendingItems(queued, known) : []];
      for (const { id } of queued.map(({ submission }) => submission)) this.#places.set(id, [range[1], range[1]]);
      const firstUnread = read && read.unread > 0
        ? rows.find((row) => row.seq > read.position && row.sender !== user && row.countsUnread)
        : null;
      return {
        ...base,
        items,
        profiles: people.known,
        firstUnread: firstUnread?.id ?? null,
        isAtNewest,
        hasOlder: range[0] > log.firstSeq,
      };
    }, ["conversations", "messages", "outbox", "people"]);
  }

  /**
   * Returns the stored messages of a range and the profiles of their senders. They are read again only if they may have
   * changed, and not for a queued message, a read or a setting.
   *
   * @param {Transaction} transaction
   * @param {OpenConversation} conversation
   * @param {SeqRange} range
   */
  async #readRows(transaction, { id, version: rows }, range) {
    const known = this.#rows;
    // Changes of profiles are missed without a connection.
    const version = rows && [rows, range, this.#core.connections].join();
    if (known && version !== null && version === known.version) return known;
    const messages = await messagesIn(transaction, id, range);
    const people = await profiles(transaction, messages.map(({ sender }) => sender), Date.now());
    this.#rows = { version, messages, people };
    return this.#rows;
  }

  /**
   * Returns the range to show, after locating the point of a window that seeks one.
   *
   * @param {Transaction} transaction
   * @param {OpenConversation} conversation
   */
  async #locateWindow(transaction, conversation) {
    const { log } = conversation;
    if (!log?.range) return null;
    if (this.#window.type === "seeking") {
      const place = await locate(transaction, this.#core.user, this.#window.point, conversation);
      if (place) this.#window = windowAround(place, this.#size, log);
      else this.#seek();
    }
    const range = shownRange(this.#window, log, this.#visible, this.#size);
    if (range) return range;
    // The window's log no longer exists.
    this.#window = { type: "newest", count: this.#size };
    return shownRange(this.#window, log, null, this.#size);
  }

  /**
   * Returns the gap to load first: the one nearest to the visible items.
   *
   * A busy room does not stream all of its messages. Those that are newer than the entry into the room are only loaded
   * when the user scrolls to them. Otherwise all devices would request them at once.
   *
   * @param {LogState} log
   * @param {SeqRange} range
   */
  #wantedGap(log, range) {
    const focus = this.#visible?.[1] ?? focusOf(this.#window) ?? range[1];
    const nearest = log.gapToFill(Math.min(Math.max(focus, range[0]), range[1]));
    const { id } = this.#conversation;
    if (
      !ConversationID.traits(id).streamsUnderLoadByPriority ||
      isScrolledAway(this.#window, this.#visible, range, this.#size)
    ) {
      return nearest;
    }
    this.#headAtEntry = Math.max(this.#headAtEntry || log.head, this.#core.subscription(id).value.headAtEntry);
    const gap = log.gaps.clippedTo(range).ranges.findLast(([lower]) => lower <= this.#headAtEntry);
    return gap ? log.gapToFill(gap[1]) : null;
  }

  /**
   * @param {Message[]} rows
   * @param {readonly SeqRange[]} gaps
   * @returns {TimelineItem[]}
   */
  #items(rows, gaps) {
    /** @type {TimelineItem[]} */
    const items = [];
    this.#places.clear();
    const loading = this.#fill.inFlight?.gap;
    const rest = [...gaps];
    /** @param {number} seq */
    const addGapsBelow = (seq) => {
      for (let gap = rest[0]; gap && gap[1] < seq; gap = rest[0]) {
        rest.shift();
        const isLoading = loading !== undefined && loading[0] <= gap[1] && gap[0] <= loading[1];
        items.push({ type: "gap", id: `gap ${gap[1]}`, range: gap, isLoading });
        this.#places.set(`gap ${gap[1]}`, gap);
      }
    };
    for (const message of rows) {
      addGapsBelow(message.seq);
      items.push({ type: "message", id: message.id, message });
      this.#places.set(message.id, [message.seq, message.seq]);
    }
    addGapsBelow(Infinity);
    return items;
  }

  // Requests

  /**
   * Starts the most important request.
   *
   * @param {GapRequest | null} wanted
   * @param {SeqRange} shown
   * @param {readonly SeqRange[]} gaps
   * @param {string[]} outdated The users whose profiles must be fetched.
   */
  #request(wanted, shown, gaps, outdated) {
    const isShown = wanted && gaps.length > 0 && wanted.gap[0] <= shown[1] && shown[0] <= wanted.gap[1];
    const step = this.#fill.next(isShown ? wanted : null, Date.now());
    if (step.type === "ask") this.#fillGap(step.request);
    else if (step.type === "wait") setTimeout(() => this.refresh(), step.until - Date.now());
    if (outdated.length > 0 && !this.#isFetchingPeople) this.#fetchPeople(outdated.slice(0, maximumUsers));
  }

  /** @param {GapRequest} request */
  async #fillGap(request) {
    const { anchor, direction, limit } = request;
    const query = direction === "older"
      ? { before: { seq: anchor }, limit }
      // No sequence number exists before the first one.
      : { after: anchor > 0 ? { seq: anchor } : /** @type {const} */ ("earliest"), limit };
    try {
      // The read that the page causes starts the next request.
      await this.#conversation.fetchPage(
        query,
        undefined,
        (changedGaps) => this.#fill.answered(request, changedGaps),
      );
    } catch (error) {
      this.#fill.failed(request, asError(error), Date.now(), Math.random);
      this.refresh();
    }
  }

  /** Fetches the messages around a point whose position this browser doesn't know. */
  async #seek() {
    if (this.#window.type !== "seeking" || this.#isSeeking) return;
    this.#isSeeking = true;
    const window = this.#window;
    const side = Math.min(Math.floor(this.#size / 2), standardLimits.pageSize / 2);
    /** @type {TimelineWindow | null} */
    let found = null;
    try {
      const start = await this.#load((conversation) => pointToRequest(window.point, conversation));
      const outcome = await this.#conversation.fetchPage({ around: start, beforeLimit: side, afterLimit: side });
      const place = await this.#load((conversation, transaction) =>
        locate(transaction, this.#core.user, window.point, conversation)
      );
      if (!place && !outcome.changedGaps) {
        // If the browser still can't locate the point, show the server's page.
        const seqs = outcome.page.messages.map(({ seq }) => seq);
        found = seqs.length > 0
          ? { type: "range", range: [Math.min(...seqs), Math.max(...seqs)], epoch: outcome.page.state.epoch }
          : { type: "newest", count: this.#size };
      }
    } catch (error) {
      if (asError(error).isTemporary) await new Promise((resolve) => setTimeout(resolve, retryDelay));
      // The point does not exist, and the newest messages are already shown.
      else found = { type: "newest", count: this.#size };
    }
    this.#isSeeking = false;
    if (found && this.#window === window) this.#window = found;
    this.refresh();
  }

  /**
   * @param {QueuedMessage[]} queued
   * @param {Set<string>} known The IDs of messages that are stored.
   * @returns {TimelineItem[]}
   */
  #pendingItems(queued, known) {
    return queued.filter(({ submission }) => !known.has(submission.id)).map(({ submission, item }) => ({
      type: "pending",
      id: submission.id,
      content: submission.content,
      attributes: submission.attributes,
      createdAt: new Date(item.createdAt),
      state: stateOf(item, this.#core),
    }));
  }

  /** @param {string[]} users */
  async #fetchPeople(users) {
    this.#isFetchingPeople = true;
    try {
      await this.#core.fetchProfiles(users);
    } catch {
      // Retry after a delay, because no other change may trigger another attempt.
      await new Promise((resolve) => setTimeout(resolve, retryDelay * 5));
    }
    this.#isFetchingPeople = false;
    this.#rows = null;
    this.refresh();
  }
}

/** @param {unknown} error */
const asError = (error) => asScrollbackError(error, "internal-error", "The request failed.");
