// @ts-check
import { compareTimetokens, timetokenOf } from "../model/timetoken.js";
import { messageKeys, messageOf } from "./records.js";

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../sync/log-state.js").LogState} LogState */
/** @typedef {import("../wire/requests.js").HistoryPoint} HistoryPoint */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./records.js").OpenConversation} OpenConversation */

/** The number of rows that a search for a message reads at a time. */
const step = 200;

/**
 * A position in the local log: the newest sequence number that is older than a point, and the oldest that is newer.
 *
 * @typedef {{newestOlder: number, oldestNewer: number}} LocalPosition
 */

/**
 * Returns the stored messages of a range, the oldest first.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {SeqRange} range
 * @param {number} [limit]
 * @returns {Promise<Message[]>}
 */
export async function messagesIn(transaction, id, [lower, upper], limit) {
  if (lower > upper) return [];
  return (await transaction.all("messages", messageKeys(id, lower, upper), limit)).map(messageOf);
}

/**
 * Returns a stored message.
 *
 * @param {Transaction} transaction
 * @param {string} conversation
 * @param {string} id
 * @returns {Promise<Message | null>}
 */
export async function messageWithID(transaction, conversation, id) {
  const [row] = await transaction.allOf("messages", "id", [conversation, id]);
  return row ? messageOf(row) : null;
}

/** @param {number} seq @returns {LocalPosition} */
const at = (seq) => ({ newestOlder: seq - 1, oldestNewer: seq + 1 });

/** @param {number} seq @returns {LocalPosition} */
const between = (seq) => ({ newestOlder: seq, oldestNewer: seq + 1 });

/**
 * Finds a point in the stored messages.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {HistoryPoint} point
 * @param {OpenConversation} conversation
 * @returns {Promise<LocalPosition | null>} `null` if only the server knows its position.
 */
export async function locate(transaction, user, point, { id, log, read }) {
  if (!log) return null;
  if (point === "latest") return between(log.head);
  if (point === "earliest") return between(log.firstSeq - 1);
  if (point === "firstUnread") return read && await locateFirstUnread(transaction, user, id, log, read);
  if (point instanceof Date) return await locateTime(transaction, id, log, timetokenOf(point));
  // Positions outside of the log are equivalent, and the last one has no successor.
  if ("seq" in point) return at(Math.min(Math.max(point.seq, log.firstSeq - 1), log.head + 1));
  if ("timetoken" in point) return await locateTime(transaction, id, log, point.timetoken);
  const message = await messageWithID(transaction, id, point.id);
  return message && at(message.seq);
}

/**
 * @param {Transaction} transaction
 * @param {string} user
 * @param {string} id
 * @param {LogState} log
 * @param {NonNullable<OpenConversation["read"]>} read
 */
async function locateFirstUnread(transaction, user, id, log, read) {
  if (read.unread === 0) return between(log.head);
  const start = Math.max(read.position + 1, log.firstSeq);
  for (let lower = start; lower <= log.head; lower += step) {
    const rows = await messagesIn(transaction, id, [lower, Math.min(lower + step - 1, log.head)]);
    const first = rows.find((row) => row.sender !== user && row.countsUnread);
    const end = first?.seq ?? Math.min(lower + step - 1, log.head);
    if (log.gaps.intersects([start, end])) return null;
    if (first) return at(first.seq);
  }
  return null;
}

/**
 * Finds the position before the first message at or after a time. It is only known if no gap is between the adjacent
 * rows. Timetokens increase with the sequence number.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {LogState} log
 * @param {string} time
 */
async function locateTime(transaction, id, log, time) {
  let [low, high] = [log.firstSeq, log.head + 1];
  /** The newest row before the time. */
  let below = log.firstSeq - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await messagesIn(transaction, id, [middle, high - 1], 1);
    if (row && compareTimetokens(row.timetoken, time) < 0) {
      below = row.seq;
      low = row.seq + 1;
    } else {
      high = middle;
    }
  }
  const [next] = await messagesIn(transaction, id, [below + 1, log.head], 1);
  const above = next?.seq ?? log.head + 1;
  if (above > below + 1 && log.gaps.intersects([below + 1, above - 1])) return null;
  return next?.timetoken === time ? at(next.seq) : between(below);
}

/**
 * Returns the point to request from the server if the device can't find a point. The server may not have received the
 * latest read of this device yet, so that its first unread message would be older.
 *
 * @param {HistoryPoint} point
 * @param {OpenConversation} conversation
 * @returns {HistoryPoint}
 */
export function pointToRequest(point, { log, read }) {
  if (point !== "firstUnread" || !log || !read || read.pendingReadSeq === null) return point;
  const gap = log.gaps.firstAtOrAbove(read.position + 1);
  return gap ? { seq: gap[0] } : point;
}
