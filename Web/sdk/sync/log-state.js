// @ts-check
import { standardLimits } from "../model/limits.js";
import { coveredRange, intersection, SeqRangeSet } from "../model/seq-range-set.js";
import { LogEdit } from "./log-edit.js";

/** @typedef {import("../model/conversation-id.js").ConversationID} ConversationID */
/** @typedef {import("../model/log.js").LogChange} LogChange */
/** @typedef {import("../model/log.js").LogHead} LogHead */
/** @typedef {import("../model/log.js").LogPage} LogPage */
/** @typedef {import("../model/log.js").LogPosition} LogPosition */
/** @typedef {import("../model/log.js").LogSync} LogSync */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").Seq} Seq */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../model/timetoken.js").Epoch} Epoch */
/** @typedef {import("./gap-fill.js").GapRequest} GapRequest */

/**
 * A log's state as a plain object for a store.
 *
 * @typedef {object} StoredLogState
 * @property {Epoch} epoch
 * @property {number} view
 * @property {Seq} firstSeq
 * @property {Seq} head
 * @property {number} countedIndex
 * @property {number} rev
 * @property {number} latestRev
 * @property {Seq} replayed
 * @property {{ seq: Seq, rev: number }} baseline
 * @property {readonly SeqRange[]} gaps
 * @property {readonly SeqRange[]} deletedRanges
 */

/**
 * The client's local copy of one conversation's log: stored messages and known gaps.
 *
 * Rows, gaps and deleted ranges are disjoint and together exactly `firstSeq...head`. All updates of a log are applied
 * here: heads, messages, changes, pages and answers to `sync`. The result is a `LogEdit`, which the store applies in
 * the transaction that saves this state.
 */
export class LogState {
  /** @param {StoredLogState} stored */
  constructor(stored) {
    this.epoch = stored.epoch;
    this.view = stored.view;
    /** The lowest sequence number that may still have a message; `head + 1` if none has. */
    this.firstSeq = stored.firstSeq;
    /** The newest known sequence number. */
    this.head = stored.head;
    /** The counted index at `head`. */
    this.countedIndex = stored.countedIndex;
    /** The revision up to which all changes were applied. */
    this.rev = stored.rev;
    /** The newest known revision; it is above `rev` if changes are missing. */
    this.latestRev = stored.latestRev;
    /**
     * The sequence number up to which missed messages were replayed; `sync` is outstanding for the rest up to `head`.
     * Gaps below are filled when a user scrolls to them.
     */
    this.replayed = stored.replayed;
    /**
     * The rows that may have missed changes: changes up to `rev` were never applied to sequence numbers up to `seq`. A
     * row that fills a gap there must have been read at `rev` or later. Otherwise a delayed answer would undo those
     * changes.
     */
    this.baseline = { ...stored.baseline };
    /** The ranges that exist and were not loaded. */
    this.gaps = new SeqRangeSet(stored.gaps);
    /** The sequence numbers that this reader can never see. */
    this.deletedRanges = new SeqRangeSet(stored.deletedRanges);
  }

  /**
   * Returns the state for a head; everything visible is one gap.
   *
   * @param {LogHead} head
   */
  static adopting(head) {
    return new LogState({
      epoch: head.epoch,
      view: head.view,
      firstSeq: head.firstSeq,
      head: head.head,
      countedIndex: head.countedIndex,
      rev: head.rev,
      latestRev: head.rev,
      replayed: head.firstSeq - 1,
      baseline: { seq: head.head, rev: head.rev },
      gaps: head.firstSeq <= head.head ? [[head.firstSeq, head.head]] : [],
      deletedRanges: [],
    });
  }

  /**
   * Returns the state as a plain object for a store.
   *
   * @returns {StoredLogState}
   */
  toJSON() {
    const { epoch, view, firstSeq, head, countedIndex, rev, latestRev, replayed, baseline } = this;
    return {
      epoch,
      view,
      firstSeq,
      head,
      countedIndex,
      rev,
      latestRev,
      replayed,
      baseline: { ...baseline },
      gaps: this.gaps.ranges.slice(),
      deletedRanges: this.deletedRanges.ranges.slice(),
    };
  }

  copy() {
    return new LogState(this.toJSON());
  }

  /**
   * The range of sequence numbers that may have messages.
   *
   * @returns {SeqRange | null}
   */
  get range() {
    return this.firstSeq <= this.head ? [this.firstSeq, this.head] : null;
  }

  /** Whether messages or changes are missing that only `sync` delivers. */
  get isBehind() {
    return this.replayed < this.head || this.rev < this.latestRev;
  }

  /**
   * Returns the position for a `sync` request.
   *
   * @param {ConversationID} conversation
   * @returns {LogPosition}
   */
  position(conversation) {
    return { conversation, epoch: this.epoch, view: this.view, seq: this.replayed, rev: this.rev };
  }

  // Events

  /**
   * Applies a single message: a live event, an acknowledged send, a last message, or a lookup by ID.
   *
   * @param {Message} message
   * @param {number} [rev] The revision at which the message was read, if known; for a last message, the revision of its
   *   head.
   */
  applyMessage(message, rev = 0) {
    if (message.epoch !== this.epoch) return LogEdit.stale("epoch", true);
    const edit = new LogEdit();
    this.#applyExtendingHead(message, rev, edit);
    this.#finish(edit);
    return edit;
  }

  /**
   * Applies a live change.
   *
   * The change of rows and ranges is applied immediately in any order. `rev` only advances to the next number, and
   * `sync` delivers skipped changes.
   *
   * @param {LogChange} change
   * @param {Epoch} epoch
   */
  applyChange(change, epoch) {
    if (epoch !== this.epoch) return LogEdit.stale("epoch", true);
    const edit = new LogEdit();
    const isComplete = this.#applyRowsOf(change, edit);
    this.latestRev = Math.max(this.latestRev, change.rev);
    if (isComplete && change.rev === this.rev + 1) this.rev = change.rev;
    this.#finish(edit);
    return edit;
  }

  /**
   * Applies ranges that the user deleted for themselves. This is not a change of the log, so `rev` stays the same.
   *
   * @param {readonly SeqRange[]} ranges
   * @param {Epoch} epoch
   */
  applyHidden(ranges, epoch) {
    if (epoch !== this.epoch) return LogEdit.stale("epoch", true);
    const edit = new LogEdit();
    for (const range of ranges) this.#markDeleted(range, edit);
    this.#finish(edit);
    return edit;
  }

  /**
   * Applies a change to rows and ranges.
   *
   * Returns whether the change was applied completely. A removal beyond the local head is not, because `countedIndex`
   * at its end is unknown.
   *
   * @param {LogChange} change
   * @param {LogEdit} edit
   */
  #applyRowsOf(change, edit) {
    switch (change.type) {
      case "message":
        this.#applyExtendingHead(change.message, change.message.rev, edit);
        return true;
      case "removed":
        this.#markDeleted(change.range, edit);
        return change.range[1] <= this.head;
      case "invisible":
        return true;
    }
  }

  /**
   * Applies a row that may be above the local head.
   *
   * @param {Message} message
   * @param {number} rev
   * @param {LogEdit} edit
   */
  #applyExtendingHead(message, rev, edit) {
    this.#extendHead(message.seq, message.countedIndex);
    this.latestRev = Math.max(this.latestRev, message.rev);
    this.#applyRow(message, Math.max(rev, message.rev), edit);
  }

  // Heads

  /**
   * Applies a head from a window, an event or a page.
   *
   * A newer head opens a gap, and a higher retention floor deletes rows. Lower values are late and ignored. Another
   * epoch discards the local log.
   *
   * @param {LogHead} head
   */
  applyHead(head) {
    const edit = new LogEdit();
    if (head.epoch !== this.epoch) {
      this.#reset(head, edit);
      // Epochs have no order. If this one is outdated, the answer to `sync` replaces it again.
      edit.needsSync = true;
      return edit;
    }
    if (head.view < this.view) return LogEdit.stale("view", this.isBehind);
    this.#changeView(head);
    this.#applyState(head, edit);
    this.#finish(edit);
    return edit;
  }

  /**
   * Replaces the state because the log has another epoch.
   *
   * @param {LogHead} head
   * @param {LogEdit} edit
   */
  #reset(head, edit) {
    Object.assign(this, LogState.adopting(head));
    edit.eraseEverything();
  }

  /**
   * Applies a new view of the reader.
   *
   * Deleted ranges, and numbers below the old floor, may be visible now and become gaps.
   *
   * @param {LogHead} head
   */
  #changeView(head) {
    if (head.view <= this.view) return;
    this.view = head.view;
    this.baseline = { seq: this.head, rev: Math.max(this.rev, head.rev) };
    this.gaps.formUnion(this.deletedRanges);
    this.deletedRanges = new SeqRangeSet();
    if (head.firstSeq < this.firstSeq) {
      this.gaps.insert([head.firstSeq, this.firstSeq - 1]);
      this.firstSeq = head.firstSeq;
    }
  }

  // Pages

  /**
   * Applies a page to the current gaps, regardless of how long the request took.
   *
   * @param {LogPage} page
   */
  applyPage(page) {
    if (page.state.epoch !== this.epoch) return LogEdit.stale("epoch", true);
    if (page.state.view !== this.view) return LogEdit.stale("view", true);
    if (page.state.rev < this.baseline.rev) return LogEdit.stale("snapshot", this.isBehind);
    const edit = new LogEdit();
    this.#applyState(page.state, edit);
    this.#fill(page, edit);
    this.#finish(edit);
    return edit;
  }

  /**
   * Applies the rows of a page and, if it is unfiltered, its deleted ranges.
   *
   * A covered sequence number that is neither a row nor in a deleted range stays a gap. The scanned range of a filtered
   * page does not affect gaps.
   *
   * @param {LogPage} page
   * @param {LogEdit} edit
   */
  #fill(page, edit) {
    const covered = page.isFiltered ? null : coveredRange(page.coverage);
    if (covered !== null) {
      for (const range of page.coverage.deletedRanges.clippedTo(covered).ranges) this.#markDeleted(range, edit);
    }
    for (const message of page.messages) this.#applyRow(message, page.state.rev, edit);
  }

  // Answers to `sync`

  /**
   * Applies an answer to `sync`.
   *
   * @param {LogSync} sync
   * @param {LogPosition} asked The position in the request. An answer for a position above the current one would skip
   *   changes.
   */
  applySync(sync, asked) {
    if (asked.epoch !== this.epoch || asked.view !== this.view || asked.rev > this.rev) {
      return LogEdit.stale("position", true);
    }
    const { state, coverage } = sync.page;
    const edit = new LogEdit();
    if (state.epoch !== this.epoch) {
      this.#reset(state, edit);
    } else {
      if (state.view < this.view) return LogEdit.stale("view", true);
      this.#changeView(state);
      // Advance the head first, because a removal may lie above the local head.
      this.#applyState(state, edit);
      this.#catchUp(sync, edit);
    }
    if (state.rev >= this.baseline.rev) {
      this.#fill(sync.page, edit);
      this.replayed = Math.max(this.replayed, Math.min(coverage.upper, this.head));
    }
    this.#finish(edit);
    return edit;
  }

  /**
   * Applies the changes of an answer, or deletes all rows if the server no longer has the missed changes.
   *
   * @param {LogSync} sync
   * @param {LogEdit} edit
   */
  #catchUp(sync, edit) {
    if (sync.mustRefetch) {
      this.#refetch(sync.page.state.rev, edit);
    } else {
      for (const change of sync.changes) this.#applyRowsOf(change, edit);
      this.rev = Math.max(this.rev, sync.changedThrough);
    }
  }

  /**
   * Turns everything visible into gaps, because missed changes are no longer available.
   *
   * @param {number} newest
   * @param {LogEdit} edit
   */
  #refetch(newest, edit) {
    if (this.rev >= newest) return;
    edit.eraseEverything();
    if (this.range !== null) this.gaps = this.deletedRanges.missingIn(this.range);
    this.baseline = { seq: this.head, rev: newest };
    this.rev = newest;
  }

  // Requests for gaps

  /**
   * Returns a request for the gap nearest to a sequence number, starting from the nearer end.
   *
   * At equal distance, older gaps come first.
   *
   * @param {Seq} nearest
   * @param {number} [limit] The maximum number of messages.
   * @returns {GapRequest | null}
   */
  gapToFill(nearest, limit = standardLimits.pageSize) {
    const older = this.gaps.lastAtOrBelow(nearest);
    const newer = this.gaps.firstAtOrAbove(nearest);
    /** @param {SeqRange} gap */
    const clamp = (gap) => Math.min(limit, standardLimits.pageSize, gap[1] - gap[0] + 1);
    if (older !== null && (newer === null || nearest - older[1] <= newer[0] - nearest)) {
      return { gap: older, anchor: older[1] + 1, direction: "older", limit: clamp(older) };
    }
    return newer === null ? null : { gap: newer, anchor: newer[0] - 1, direction: "newer", limit: clamp(newer) };
  }

  // Windows, measured in visible sequence numbers; deleted ranges are not counted

  /**
   * Returns the lower end of a window of `count` sequence numbers that ends at `upper`; if `count` is 0, the sequence
   * number after `upper`.
   *
   * @param {number} count
   * @param {Seq} upper
   * @returns {Seq}
   */
  lowerEnd(count, upper) {
    let left = count;
    let top = Math.min(upper, this.head);
    if (left <= 0) return Math.max(this.firstSeq, top + 1);
    while (left > 0 && top >= this.firstSeq) {
      const deletedRange = this.deletedRanges.lastAtOrBelow(top);
      const bottom = Math.max(this.firstSeq, (deletedRange?.[1] ?? 0) + 1);
      if (top - bottom + 1 >= left) return top - left + 1;
      left -= Math.max(0, top - bottom + 1);
      if (deletedRange === null) break;
      top = deletedRange[0] - 1;
    }
    return this.firstSeq;
  }

  /**
   * Returns the upper end of a window of `count` sequence numbers that starts at `lower`; if `count` is 0, the sequence
   * number before `lower`.
   *
   * @param {number} count
   * @param {Seq} lower
   * @returns {Seq}
   */
  upperEnd(count, lower) {
    let left = count;
    let bottom = Math.max(lower, this.firstSeq);
    if (left <= 0) return Math.min(this.head, bottom - 1);
    while (left > 0 && bottom <= this.head) {
      const deletedRange = this.deletedRanges.firstAtOrAbove(bottom);
      const top = Math.min(this.head, (deletedRange?.[0] ?? Infinity) - 1);
      if (top - bottom + 1 >= left) return bottom + left - 1;
      left -= Math.max(0, top - bottom + 1);
      if (deletedRange === null) break;
      bottom = deletedRange[1] + 1;
    }
    return this.head;
  }

  // Primitive operations of all events; each keeps rows, gaps and deleted ranges disjoint and complete

  /**
   * Advances the head; the range in between becomes a gap.
   *
   * @param {Seq} seq
   * @param {number} countedIndex
   */
  #extendHead(seq, countedIndex) {
    if (seq <= this.head) return;
    this.gaps.insert([this.head + 1, seq]);
    this.head = seq;
    this.countedIndex = countedIndex;
  }

  /**
   * Deletes everything below a new retention floor.
   *
   * @param {Seq} seq
   * @param {LogEdit} edit
   */
  #raiseFloor(seq, edit) {
    const floor = Math.min(seq, this.head + 1);
    if (floor <= this.firstSeq) return;
    /** @type {SeqRange} */
    const below = [this.firstSeq, floor - 1];
    edit.erase(below);
    this.gaps.remove(below);
    this.deletedRanges.remove(below);
    this.firstSeq = floor;
  }

  /**
   * Applies the head, retention floor and newest revision of the same log; lower values are ignored.
   *
   * @param {LogHead} state
   * @param {LogEdit} edit
   */
  #applyState(state, edit) {
    this.#extendHead(state.head, state.countedIndex);
    this.#raiseFloor(state.firstSeq, edit);
    this.latestRev = Math.max(this.latestRev, state.rev);
  }

  /**
   * Marks a range as permanently invisible.
   *
   * @param {SeqRange} range
   * @param {LogEdit} edit
   */
  #markDeleted(range, edit) {
    const known = this.range === null ? null : intersection(this.range, range);
    if (known === null) return;
    edit.erase(known);
    this.gaps.remove(known);
    this.deletedRanges.insert(known);
  }

  /**
   * Applies a row and removes its sequence number from the gaps.
   *
   * @param {Message} message
   * @param {number} rev The revision at which the row was read.
   * @param {LogEdit} edit
   */
  #applyRow(message, rev, edit) {
    const { seq } = message;
    if (seq < this.firstSeq || seq > this.head || this.deletedRanges.contains(seq)) return;
    if (this.gaps.contains(seq)) {
      if (this.isOutdated(message, rev)) return;
      this.gaps.remove([seq, seq]);
    }
    edit.upsert(message);
  }

  /**
   * Returns whether a message is not stored and was read too early to be applied.
   *
   * The device may have missed a change of the message. Its sequence number stays a gap until a page delivers the
   * current version.
   *
   * @param {Message} message
   * @param {number} rev The revision at which the message was read.
   */
  isOutdated(message, rev) {
    return message.epoch === this.epoch && this.gaps.contains(message.seq) && message.seq <= this.baseline.seq &&
      rev < this.baseline.rev;
  }

  /**
   * Completes every event by computing how far missed messages are replayed.
   *
   * @param {LogEdit} edit
   */
  #finish(edit) {
    this.replayed = (this.gaps.firstAtOrAbove(this.replayed + 1)?.[0] ?? this.head + 1) - 1;
    if (this.isBehind) edit.needsSync = true;
  }
}
