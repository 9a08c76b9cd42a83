// @ts-check

/** @typedef {import("../model/conversation-head.js").ReadSummary} ReadSummary */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").Seq} Seq */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../model/text.js").UserID} UserID */
/** @typedef {import("../model/timetoken.js").Epoch} Epoch */
/** @typedef {import("./log-state.js").LogState} LogState */

/**
 * The certainty of counts.
 *
 * - `exact`: the counts equal those of the server
 * - `estimated`: the counts are approximate and become exact when the device recounts a range that it has completely
 * - `disputed`: only the server knows the counts, because it knows how far sending advanced the read position
 *
 * @typedef {"exact" | "estimated" | "disputed"} Certainty
 */

/**
 * The position and revisions at which counts were computed.
 *
 * @typedef {object} Stamp
 * @property {Seq} seq
 * @property {number} countedIndex The counted index at `seq`.
 * @property {number} rev
 * @property {number} userRev
 */

/**
 * The counts of stored messages in a range.
 *
 * @typedef {object} RangeCounts
 * @property {number} unread The messages of other users that count as unread.
 * @property {number} mentions The messages of other users that mention the user.
 * @property {number} own The user's own messages that count as unread for others.
 * @property {boolean} isComplete Whether all messages of the range are stored.
 */

/**
 * A read state as a plain object for a store.
 *
 * @typedef {object} StoredReadState
 * @property {Epoch} epoch
 * @property {Seq} readSeq
 * @property {number} unread
 * @property {number} mentions
 * @property {Stamp} countedAt
 * @property {Seq} knownThrough
 * @property {number} lastCountChangeRev
 * @property {Certainty} certainty
 * @property {Seq | null} pendingReadSeq
 * @property {number | null} pendingReadCountedIndex
 */

/**
 * The user's read position and unread counts in one conversation.
 *
 * The server counts. Between two of its answers, the device updates the counts from its copy of the log. The device
 * knows whether its counts are exact, and requests them if not. An older answer never undoes a pending read of this
 * device.
 */
export class ReadState {
  /** The maximum number of messages that are read for a recount. */
  static get countedMessages() {
    return 1000;
  }

  /** @param {StoredReadState} stored */
  constructor(stored) {
    this.epoch = stored.epoch;
    /** The sequence number up to which nothing is unread, according to the server. */
    this.readSeq = stored.readSeq;
    this.unread = stored.unread;
    this.mentions = stored.mentions;
    /** The position and revisions that the counts include. */
    this.countedAt = { ...stored.countedAt };
    /**
     * The sequence number up to which no count was derived from counted indexes. Gaps above are assumed to have
     * messages of other users.
     */
    this.knownThrough = stored.knownThrough;
    /** The newest revision that may have altered the counts; older answers can't include it. */
    this.lastCountChangeRev = stored.lastCountChangeRev;
    this.certainty = stored.certainty;
    /** The position of a read on this device that the server has not confirmed yet. */
    this.pendingReadSeq = stored.pendingReadSeq;
    /** The counted index at `pendingReadSeq`, if known. */
    this.pendingReadCountedIndex = stored.pendingReadCountedIndex;
  }

  /**
   * Returns a state without counts from the server; messages after `seq` count until the server answers.
   *
   * @param {Epoch} epoch
   * @param {Seq} seq
   * @param {number} countedIndex The counted index at `seq`.
   */
  static unknown(epoch, seq, countedIndex) {
    return new ReadState({
      epoch,
      readSeq: 0,
      unread: 0,
      mentions: 0,
      countedAt: { seq, countedIndex, rev: 0, userRev: 0 },
      knownThrough: seq,
      lastCountChangeRev: 0,
      certainty: "estimated",
      pendingReadSeq: null,
      pendingReadCountedIndex: null,
    });
  }

  /**
   * Returns the state as a plain object for a store.
   *
   * @returns {StoredReadState}
   */
  toJSON() {
    return { ...this, countedAt: { ...this.countedAt } };
  }

  copy() {
    return new ReadState(this.toJSON());
  }

  get isExact() {
    return this.certainty === "exact";
  }

  /** The sequence number up to which nothing is unread for the user, including a pending read. */
  get position() {
    return Math.max(this.readSeq, this.pendingReadSeq ?? 0);
  }

  // Answers of the server

  /**
   * Applies counts from the server, unless they are older than something this device knows.
   *
   * Call {@link ReadState.updateCounts} afterwards to count newer messages.
   *
   * @param {ReadSummary} summary
   * @param {boolean} [answersRead] Whether this is the answer to a pending read.
   */
  apply(summary, answersRead = false) {
    if (summary.epoch !== this.epoch) return;
    const before = this.position;
    this.readSeq = Math.max(this.readSeq, summary.readSeq);
    // An equal position does not prove that the server received a read that only cleared the unread marker. The proof
    // is the answer to that read, or a current summary without the marker.
    const isCurrent = summary.userRev >= this.countedAt.userRev;
    const pending = this.pendingReadSeq;
    if (
      pending !== null &&
      (summary.readSeq > pending ||
        (summary.readSeq === pending && (answersRead || (!summary.isMarkedUnread && isCurrent))))
    ) {
      this.pendingReadSeq = null;
      this.pendingReadCountedIndex = null;
    }
    if (!isCurrent) return;
    this.countedAt.userRev = summary.userRev;
    // The summary includes all known changes that affect counts, and its read position is not behind the local one.
    if (summary.rev >= this.lastCountChangeRev && summary.readSeq >= before) {
      const { seq, countedIndex, rev, userRev } = summary;
      this.unread = summary.unread;
      this.mentions = summary.mentions;
      this.countedAt = { seq, countedIndex, rev, userRev };
      this.knownThrough = seq;
      // It is unknown which of the included changes altered the counts, so an older answer might lack one of them.
      this.lastCountChangeRev = Math.max(this.lastCountChangeRev, rev);
      this.certainty = "exact";
    } else if (this.position > before || summary.readSeq < before) {
      // The counts are for another read position: limit them until they are recounted or requested.
      this.#limitCounts(before);
    } else {
      this.#markEstimated();
    }
  }

  /**
   * Handles a change of the user's view of the log, which invalidates the read position.
   *
   * Only the server knows the new position, unless this device has a pending read.
   */
  viewChanged() {
    this.readSeq = 0;
    if (this.pendingReadSeq === null) this.certainty = "disputed";
    else this.#markEstimated();
  }

  /**
   * Limits the counts to the number of messages that can be above the new read position.
   *
   * @param {Seq} before
   */
  #limitCounts(before) {
    if (this.position <= before) return;
    if (this.unread > 0 || this.mentions > 0) this.#markEstimated();
    if (this.position >= this.countedAt.seq) {
      this.unread = 0;
      this.mentions = 0;
    }
    this.mentions = Math.min(this.mentions, Math.max(0, this.countedAt.seq - this.position));
  }

  // Changes of the log. Within a transaction, apply changes first, then deletions, and then call `updateCounts`.

  /**
   * Updates the counts after a message changed, for example because it no longer counts or its mentions changed.
   *
   * The change is recorded even if the message is outside of the counted range, because an older answer of the server
   * may still count it.
   *
   * @param {Message} message The message after the change.
   * @param {Message | null} old The stored message before the change, if any.
   * @param {UserID} reader The user.
   * @param {boolean} mayHaveSentLater Whether the user may have sent something after the message. Sending advances the
   *   read position, and only the server knows how far. An added mention may be below it.
   */
  changed(message, old, reader, mayHaveSentLater) {
    if (message.sender === reader) return;
    const isCounted = message.rev > this.countedAt.rev && message.seq > this.position &&
      message.seq <= this.countedAt.seq;
    const isMention = message.mentions(reader);
    if (old === null) {
      this.lastCountChangeRev = Math.max(this.lastCountChangeRev, message.rev);
      // The previous version is unknown. If all counts are zero, the change can't have lowered them.
      if (isCounted && (this.unread > 0 || this.mentions > 0 || isMention)) this.#markEstimated();
      return;
    }
    const wasMention = old.mentions(reader);
    if (message.countsUnread === old.countsUnread && isMention === wasMention) return;
    this.lastCountChangeRev = Math.max(this.lastCountChangeRev, message.rev);
    if (!isCounted) return;
    this.unread = Math.max(0, this.unread + Number(message.countsUnread) - Number(old.countsUnread));
    this.mentions = Math.max(0, this.mentions + Number(isMention) - Number(wasMention));
    if (isMention && !wasMention && mayHaveSentLater) this.certainty = "disputed";
  }

  /**
   * Records a change that did not affect the counts.
   *
   * If the counts don't include the changes before it, one of them may still affect the counts. They then keep their
   * revision, so that `updateCounts` finds that changes are missing.
   *
   * @param {number} rev The revision of the change.
   * @param {number} previous The newest revision that was known before the change.
   */
  advanceRevision(rev, previous) {
    if (this.countedAt.rev >= previous) this.countedAt.rev = Math.max(this.countedAt.rev, rev);
  }

  /**
   * Updates the counts after a range was deleted for everyone or for this user.
   *
   * @param {SeqRange} range
   * @param {number | null} [rev] The revision of the deletion; `null` if it has none.
   */
  erased([lower, upper], rev = null) {
    if (rev !== null) {
      this.lastCountChangeRev = Math.max(this.lastCountChangeRev, rev);
      if (rev <= this.countedAt.rev) return;
    }
    if (upper <= this.position || lower > this.countedAt.seq) return;
    if (this.unread > 0 || this.mentions > 0) this.#markEstimated();
  }

  /**
   * Corrects the counts for a message that filled a gap.
   *
   * The estimate assumed that the message was from another user and did not mention this user.
   *
   * @param {Message} message
   * @param {UserID} reader
   */
  gapFilled(message, reader) {
    if (message.seq <= Math.max(this.knownThrough, this.position) || message.seq > this.countedAt.seq) return;
    if (message.sender === reader) {
      if (message.countsUnread) this.unread = Math.max(0, this.unread - 1);
    } else if (message.mentions(reader)) {
      this.mentions += 1;
    }
  }

  /**
   * Returns the ranges that {@link ReadState.updateCounts} may ask for. A store whose reads are asynchronous counts
   * them before.
   *
   * @param {LogState} log
   * @returns {SeqRange[]}
   */
  countRanges(log) {
    if (log.epoch !== this.epoch) return [];
    const floor = Math.max(this.position, log.firstSeq - 1);
    const head = Math.max(log.head, this.countedAt.seq);
    const from = Math.max(floor, this.countedAt.seq);
    /** @type {SeqRange[]} */
    const ranges = [];
    if (log.head > this.countedAt.seq && from < log.head) ranges.push([from + 1, log.head]);
    if (floor < head) ranges.push([floor + 1, head]);
    return ranges;
  }

  /**
   * Advances the counts to the current state of the log, and recounts if possible.
   *
   * @param {LogState} log
   * @param {boolean} receivesOwnMessages Whether the device always receives the user's own messages and mentions. Gaps
   *   then contain only messages of other users.
   * @param {(range: SeqRange) => RangeCounts | null} count Counts the stored messages of a range; returns `null` if the
   *   range is too long.
   */
  updateCounts(log, receivesOwnMessages, count) {
    if (log.epoch !== this.epoch) return;
    const floor = Math.max(this.position, log.firstSeq - 1);
    const head = Math.max(log.head, this.countedAt.seq);
    if (log.head > this.countedAt.seq) this.#advance(log, floor, receivesOwnMessages, count);
    if (floor >= head) {
      this.unread = 0;
      this.mentions = 0;
      this.certainty = "exact";
      this.knownThrough = Math.max(this.knownThrough, head);
    }
    this.countedAt.rev = Math.max(this.countedAt.rev, log.rev);
    // Missing changes would not be reflected in the counts.
    if (log.latestRev > this.countedAt.rev) {
      if (floor < head) this.#markEstimated();
      return;
    }
    const canRecount = this.certainty === "estimated" && this.countedAt.seq <= log.head &&
      log.rev >= this.countedAt.rev && floor < head;
    const counted = canRecount ? count([floor + 1, head]) : null;
    if (counted === null || !counted.isComplete) return;
    this.unread = counted.unread;
    this.mentions = counted.mentions;
    this.certainty = "exact";
    this.knownThrough = head;
  }

  /**
   * @param {LogState} log
   * @param {Seq} floor
   * @param {boolean} receivesOwnMessages
   * @param {(range: SeqRange) => RangeCounts | null} count
   */
  #advance(log, floor, receivesOwnMessages, count) {
    const from = Math.max(floor, this.countedAt.seq);
    if (from < log.head) {
      const counted = count([from + 1, log.head]);
      if (counted?.isComplete) {
        this.unread += counted.unread;
        this.mentions += counted.mentions;
        if (this.knownThrough >= this.countedAt.seq || from === floor) this.knownThrough = log.head;
      } else {
        const countedBefore = Math.max(this.countedAt.countedIndex, this.pendingReadCountedIndex ?? 0);
        this.unread += Math.max(0, log.countedIndex - countedBefore - (counted?.own ?? 0));
        this.mentions += counted?.mentions ?? 0;
        if (!receivesOwnMessages || counted === null) this.#markEstimated();
      }
    }
    this.countedAt.seq = log.head;
    this.countedAt.countedIndex = log.countedIndex;
  }

  // Reads on this device

  /**
   * Marks everything up to a sequence number as read on this device.
   *
   * @param {Seq} seq
   * @param {number | null} countedIndex The counted index at `seq`, if the row is known.
   */
  markRead(seq, countedIndex) {
    if (seq < this.position) return;
    const moves = seq > this.position;
    this.pendingReadSeq = seq;
    this.pendingReadCountedIndex = countedIndex;
    if (!moves) return;
    if (seq >= this.countedAt.seq) {
      this.unread = 0;
      this.mentions = 0;
    } else {
      if (this.unread > 0 || this.mentions > 0) this.#markEstimated();
      if (countedIndex !== null) {
        this.unread = Math.min(this.unread, Math.max(0, this.countedAt.countedIndex - countedIndex));
      }
      this.mentions = Math.min(this.mentions, this.countedAt.seq - seq);
    }
  }

  /** Discards the pending read because the server will never accept it. */
  dropPendingRead() {
    if (this.pendingReadSeq === null) return;
    this.pendingReadSeq = null;
    this.pendingReadCountedIndex = null;
    this.#markEstimated();
  }

  /** Marks the counts as estimated, until the server sends new ones or the device recounts. */
  #markEstimated() {
    if (this.certainty === "exact") this.certainty = "estimated";
  }
}
