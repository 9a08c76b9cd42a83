// @ts-check
import { asScrollbackError } from "../model/errors.js";
import { threadsIn } from "../store/threads.js";
import { LiveView } from "./live-view.js";

/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */
/** @typedef {import("../wire/requests.js").MessageThread} MessageThread */
/** @typedef {import("./core.js").Core} Core */

/**
 * A snapshot of the threads of a conversation.
 *
 * @typedef {object} ThreadsView
 * @property {readonly MessageThread[]} threads Those with the newest reply first.
 * @property {number} totalUnread The unread replies in the threads that the user follows.
 * @property {boolean} hasMore Whether `loadMore()` finds further threads.
 * @property {ScrollbackError | null} error Why the server's list could not be loaded. The threads are then those that
 *   were loaded before.
 */

/** @type {ThreadsView} */
const emptyView = Object.freeze({ threads: [], totalUnread: 0, hasMore: false, error: null });

/** The minimum time in milliseconds between two requests for the list, and before a retry. */
const requestInterval = 1000;
const retryDelay = 5000;

/**
 * A live view of the threads of one conversation.
 *
 * Only the server knows the exact counts. While the view is observed, it loads the list again after each change of the
 * conversation and with each connection, at most once a second. Without a connection, it shows the threads of the last
 * list, with the changes that are not sent yet.
 *
 * @extends {LiveView<ThreadsView>}
 */
export class Threads extends LiveView {
  #core;
  #conversation;
  /** The state of the conversation for which the list was requested. @type {string | null} */
  #listed = null;
  #isRequesting = false;
  /** @type {string | null} */
  #cursor = null;
  /** @type {ScrollbackError | null} */
  #error = null;

  /**
   * @param {Core} core
   * @param {string} conversation
   * @param {boolean} isFollowed
   */
  constructor(core, conversation, isFollowed) {
    super(core, { id: conversation }, emptyView, () => this.#read(isFollowed));
    this.#core = core;
    this.#conversation = conversation;
  }

  /**
   * Loads the next page of threads.
   *
   * @param {{signal?: AbortSignal}} [options]
   * @throws {ScrollbackError} The server's error, or `unreachable`.
   */
  async loadMore({ signal } = {}) {
    if (this.#cursor === null) return;
    this.#cursor = await this.#request(this.#cursor, signal);
    this.refresh();
  }

  /** @param {boolean} isFollowed */
  async #read(isFollowed) {
    const core = this.#core;
    const { state, all } = await core.readConversation(this.#conversation, async ({ log, read }, transaction) => {
      // Reading the conversation reads its threads, and hiding a message hides its thread. Changes of another device
      // are missed without a connection. A higher floor replaces deleted ranges.
      const seen = [log?.view, log?.firstSeq, log?.deletedRanges.count, read?.position, read?.pendingReadSeq];
      return {
        state: [core.connections, log?.epoch, log?.head, log?.rev, ...seen].join(),
        all: (await threadsIn(transaction, this.#conversation))
          .filter(({ parent: { seq } }) => !log || seq >= log.firstSeq && !log.deletedRanges.contains(seq)),
      };
    });
    if (state !== this.#listed && !this.#isRequesting) this.#list(state);
    const followed = all.filter((thread) => thread.state.isFollowed);
    return {
      threads: isFollowed ? followed : all,
      totalUnread: followed.reduce((sum, thread) => sum + thread.state.unread, 0),
      hasMore: this.#cursor !== null,
      error: this.#error,
    };
  }

  /**
   * Loads the first page.
   *
   * @param {string} state
   */
  async #list(state) {
    this.#isRequesting = true;
    let delay = requestInterval;
    try {
      const isFirst = this.#listed === null;
      const cursor = await this.#request(null);
      if (isFirst) this.#cursor = cursor;
      this.#listed = state;
      this.#error = null;
    } catch (error) {
      this.#error = asScrollbackError(error, "internal-error", "The request failed.");
      // Another request would get the same answer, until the conversation changes.
      if (!this.#error.isTemporary) this.#listed = state;
      delay = retryDelay;
    }
    this.refresh();
    setTimeout(() => {
      this.#isRequesting = false;
      this.refresh();
    }, delay);
  }

  /**
   * @param {string | null} before
   * @param {AbortSignal} [signal]
   * @returns {Promise<string | null>} The cursor of the next page.
   */
  async #request(before, signal) {
    const { fetchThreads } = await this.#core.remote(signal);
    return await fetchThreads(this.#core, this.#conversation, before, signal);
  }
}
