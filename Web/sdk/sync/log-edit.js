// @ts-check

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").Seq} Seq */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */

/**
 * The reason why an event was ignored and changed nothing.
 *
 * - `epoch`: the event belongs to another log
 * - `view`: the event was read in an older view
 * - `position`: the event was requested from a position that is no longer current
 * - `snapshot`: the event was read before a change that was never applied to the sequence numbers it fills
 *
 * @typedef {"epoch" | "view" | "position" | "snapshot"} StaleReason
 */

/**
 * The changes of a device's rows that result from an event.
 *
 * A store applies them in one transaction with the new `LogState`: first the deletions, then the upserts.
 */
export class LogEdit {
  constructor() {
    /**
     * The rows to insert; an existing row is replaced only by a row with a higher `rev`.
     *
     * @type {Message[]}
     */
    this.upserts = [];
    /**
     * The ranges whose rows are deleted.
     *
     * @type {SeqRange[]}
     */
    this.erased = [];
    /** Whether all rows of the conversation are deleted; the outbox, drafts and local extensions stay. */
    this.erasesEverything = false;
    /**
     * Whether `sync` has updates for this conversation. For kinds without replay, the caller decides whether to call
     * it.
     */
    this.needsSync = false;
    /**
     * The reason why the event was ignored; `null` if it was applied.
     *
     * @type {StaleReason | null}
     */
    this.staleReason = null;
  }

  /**
   * @param {StaleReason} reason
   * @param {boolean} needsSync
   */
  static stale(reason, needsSync) {
    const edit = new LogEdit();
    edit.staleReason = reason;
    edit.needsSync = needsSync;
    return edit;
  }

  get isStale() {
    return this.staleReason !== null;
  }

  /** @param {Message} message */
  upsert(message) {
    this.upserts.push(message);
  }

  /** @param {SeqRange} range */
  erase([lower, upper]) {
    this.upserts = this.upserts.filter(({ seq }) => seq < lower || seq > upper);
    this.erased.push([lower, upper]);
  }

  eraseEverything() {
    this.upserts = [];
    this.erased = [];
    this.erasesEverything = true;
  }

  /**
   * Returns whether a row replaces the stored row.
   *
   * Of two versions of a message, the one with the higher revision is newer, regardless of the order of arrival.
   *
   * @param {Message} row
   * @param {{ rev: number } | null | undefined} held
   */
  static replaces(row, held) {
    return held === null || held === undefined || row.rev > held.rev;
  }
}
