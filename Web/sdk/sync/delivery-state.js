// @ts-check

/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("./log-state.js").LogState} LogState */
/** @typedef {number} Seq */

/** The delivery receipts of one conversation on this device. */
export class DeliveryState {
  constructor() {
    /** Whether the server says that the conversation has delivery receipts. */
    this.isOn = false;
    /** The sequence number through which the peer of a direct conversation has received the messages. */
    this.peerSeq = 0;
    /**
     * The sequence number through which the server knows that this device has the messages.
     *
     * A new device starts at the head: earlier messages are history, which it fetches on demand.
     */
    this.reportedSeq = 0;
    /** The sequence number to report; if it is not above `reportedSeq`, nothing is due. */
    this.dueSeq = 0;
    /** The sequence number through which the messages were searched for those of other users. */
    this.searchedSeq = 0;
  }

  /**
   * Returns the state with stored members.
   *
   * @param {Partial<DeliveryState>} stored
   */
  static from({ isOn = false, peerSeq = 0, reportedSeq = 0, dueSeq = 0, searchedSeq = 0 }) {
    return Object.assign(new DeliveryState(), { isOn, peerSeq, reportedSeq, dueSeq, searchedSeq });
  }

  /** Whether the device must report a position. */
  get isDue() {
    return this.isOn && this.dueSeq > this.reportedSeq;
  }

  /**
   * Returns the range whose newest message of another user is to be reported, or `null` if there is none.
   *
   * A gap holds the report back, because a position covers all earlier messages. Gaps below the searched messages do
   * not: the device had these messages before. Each message is searched once.
   *
   * @param {LogState} log
   * @returns {SeqRange | null}
   */
  unreported(log) {
    if (!this.isOn) return null;
    const known = Math.max(this.reportedSeq, this.searchedSeq);
    const gap = log.gaps.firstAtOrAbove(known + 1);
    const last = (gap ? gap[0] : log.head + 1) - 1;
    return known < last ? [known + 1, last] : null;
  }

  /**
   * Records that the range that `unreported` returned was searched.
   *
   * @param {SeqRange} range
   * @param {Seq | null} newest The newest message of another user in the range; `null` if there is none. The user's own
   *   messages alone are not reported.
   */
  searched([, upper], newest) {
    this.searchedSeq = upper;
    this.dueSeq = newest ?? this.dueSeq;
  }

  /**
   * Records the peer's position, which only increases, whichever answer reports it.
   *
   * @param {Seq} seq
   */
  advancePeer(seq) {
    this.peerSeq = Math.max(this.peerSeq, seq);
  }

  /**
   * Records that the server knows a position of this device.
   *
   * @param {Seq} seq
   */
  reported(seq) {
    this.reportedSeq = Math.max(this.reportedSeq, seq);
  }
}
