// @ts-check

/** @typedef {import("./conversation-id.js").ConversationID} ConversationID */
/** @typedef {import("./message.js").Message} Message */
/** @typedef {import("./message.js").MessageAction} MessageAction */
/** @typedef {import("./seq-range-set.js").Seq} Seq */
/** @typedef {import("./seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("./seq-range-set.js").SeqRangeSet} SeqRangeSet */
/** @typedef {import("./timetoken.js").Epoch} Epoch */

/**
 * The sequence numbers that a page covers.
 *
 * @typedef {object} Coverage
 * @property {Seq} lower The lowest covered sequence number.
 * @property {Seq} upper The highest covered sequence number; `lower - 1` if the page covers none.
 * @property {SeqRangeSet} deletedRanges The covered sequence numbers that this reader can never see.
 */

/**
 * The state of a log as one reader may see it.
 *
 * @typedef {object} LogHead
 * @property {Epoch} epoch
 * @property {number} view The reader's view, a counter that increases when the visible part of the past changes.
 * @property {Seq} head The newest sequence number that the reader may see; 0 for none.
 * @property {Seq} firstSeq The lowest sequence number that may still have a message; `head + 1` if none has.
 * @property {number} countedIndex The counted index at `head`.
 * @property {number} rev The newest revision.
 */

/**
 * A page as the server returns it.
 *
 * @typedef {object} LogPage
 * @property {readonly Message[]} messages
 * @property {Coverage} coverage
 * @property {boolean} isFiltered Whether a filter omitted messages: the coverage was then only scanned and does not
 *   close gaps.
 * @property {string | null} older The cursor of older messages.
 * @property {string | null} newer The cursor of newer messages.
 * @property {LogHead} state
 * @property {readonly MessageAction[]} actions The first actions of each message, if the query requested actions.
 */

/**
 * An entry in the change log of a conversation: a change to stored messages.
 *
 * - `message`: the current state of an edited or recalled message
 * - `removed`: a range of sequence numbers that was permanently deleted
 * - `invisible`: a change to something that this reader may not see
 *
 * @typedef {{ type: "message", rev: number, message: Message } | { type: "removed", rev: number, range: SeqRange }
 *   | { type: "invisible", rev: number }} LogChange
 */

/**
 * A device's position in one log, from which `sync` continues.
 *
 * @typedef {object} LogPosition
 * @property {ConversationID} conversation
 * @property {Epoch} epoch
 * @property {number} view
 * @property {Seq} seq The newest sequence number that the device knows.
 * @property {number} rev The newest revision that the device has applied.
 */

/**
 * Returns whether two positions are equal.
 *
 * @param {LogPosition} a
 * @param {LogPosition} b
 */
export const isSamePosition = (a, b) =>
  a.conversation === b.conversation && a.epoch === b.epoch && a.view === b.view && a.seq === b.seq && a.rev === b.rev;

/**
 * The answer of `sync` for one conversation.
 *
 * @typedef {object} LogSync
 * @property {LogPage} page The missed messages, as far as they fit. If more than 500 messages were missed, the page has
 *   the newest of them and a gap remains below.
 * @property {readonly LogChange[]} changes The changes after the position's `rev`, in order, at most 500.
 * @property {number} changedThrough The newest revision that the answer covers.
 * @property {boolean} mustRefetch Whether the server no longer has changes that the device missed, so the device must
 *   load the log again.
 */

export {};
