// @ts-check
import { intersection } from "../model/seq-range-set.js";
import { compareTimetokens, timetokenOf } from "../model/timetoken.js";
import { messageKeys, messageOf } from "./records.js";

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../sync/log-state.js").LogState} LogState */
/** @typedef {import("../wire/requests.js").HistoryPoint} HistoryPoint */
/** @typedef {import("../wire/requests.js").HistoryQuery} HistoryQuery */
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

/**
 * A range of messages read from the store, the oldest first, and the gap that interrupts it, if any.
 *
 * @typedef {object} LocalRun
 * @property {Message[]} messages
 * @property {SeqRange | null} gap
 * @property {HistoryQuery | null} request The page that fills the gap, or that contains a point that only the server
 *   knows.
 * @property {number | null} older The first sequence number below the run; `null` at the end of the log.
 * @property {number | null} newer The first sequence number above the run; `null` at the end of the log.
 * @property {HistoryPoint | null} unknownPoint A point whose position only the server knows.
 */

/** The maximum number of messages in a page. */
const pageSize = 100;

/**
 * Reads the messages of an unfiltered query from the store.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {HistoryQuery} query
 * @param {OpenConversation} conversation
 * @returns {Promise<LocalRun>}
 */
export async function localRun(transaction, user, query, conversation) {
  const { id, log } = conversation;
  const { before, after, around, limit = 20, beforeLimit = 10, afterLimit = 10 } = query;
  const point = before ?? after ?? around ?? "latest";
  const place = await locate(transaction, user, point, conversation);
  if (!log || !place) {
    return { messages: [], gap: null, request: null, older: null, newer: null, unknownPoint: point };
  }
  const older = () => readOlder(transaction, id, log, place.newestOlder, around === undefined ? limit : beforeLimit);
  const newer = () => readNewer(transaction, id, log, place.oldestNewer, around === undefined ? limit : afterLimit);
  if (after !== undefined) return await newer();
  if (around === undefined) return await older();
  const [below, above] = [await older(), await newer()];
  const center = await readCenter(transaction, id, log, [place.newestOlder + 1, place.oldestNewer - 1]);
  return {
    messages: [...below.messages, ...center.messages, ...above.messages],
    gap: center.gap ?? below.gap ?? above.gap,
    request: center.request ?? below.request ?? above.request,
    older: below.older,
    newer: above.newer,
    unknownPoint: null,
  };
}

/**
 * Reads the message at a point itself.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {LogState} log
 * @param {SeqRange} range At most one sequence number.
 */
async function readCenter(transaction, id, log, range) {
  const known = log.range && range[0] <= range[1] ? intersection(log.range, range) : null;
  const gap = known && log.gaps.contains(known[0]) ? known : null;
  return {
    messages: known ? await messagesIn(transaction, id, known) : [],
    gap,
    request: gap && { before: { seq: gap[0] + 1 }, limit: 1 },
  };
}

/**
 * Reads messages at or below a sequence number, down to the first gap.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {LogState} log
 * @param {number} top
 * @param {number} limit
 * @returns {Promise<LocalRun>}
 */
async function readOlder(transaction, id, log, top, limit) {
  const upper = Math.min(top, log.head);
  const gap = log.gaps.lastAtOrBelow(upper);
  const bottom = Math.max(log.firstSeq, (gap?.[1] ?? 0) + 1);
  const rows = limit > 0 && upper >= bottom
    ? await transaction.newest("messages", null, messageKeys(id, bottom, upper), limit)
    : [];
  const messages = rows.map(messageOf);
  const isFull = messages.length >= limit;
  const lower = isFull ? messages.at(-1)?.seq ?? upper + 1 : bottom;
  const end = gap && !isFull ? Math.min(gap[1], upper) : null;
  return {
    messages: messages.reverse(),
    gap: end === null ? null : gap,
    request: end === null || !gap ? null : { before: { seq: end + 1 }, limit: Math.min(pageSize, end - gap[0] + 1) },
    older: lower > log.firstSeq ? lower - 1 : null,
    newer: upper < log.head ? upper + 1 : null,
    unknownPoint: null,
  };
}

/**
 * Reads messages at or above a sequence number, up to the first gap.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {LogState} log
 * @param {number} start
 * @param {number} limit
 * @returns {Promise<LocalRun>}
 */
async function readNewer(transaction, id, log, start, limit) {
  const bottom = Math.max(start, log.firstSeq);
  const gap = log.gaps.firstAtOrAbove(bottom);
  const top = Math.min(log.head, (gap?.[0] ?? Infinity) - 1);
  const messages = limit > 0 ? await messagesIn(transaction, id, [bottom, top], limit) : [];
  const isFull = messages.length >= limit;
  const upper = isFull ? messages.at(-1)?.seq ?? bottom - 1 : top;
  const isBroken = gap !== null && !isFull;
  return {
    messages,
    gap: isBroken ? gap : null,
    request: isBroken
      ? {
        after: gap[0] > 1 ? { seq: gap[0] - 1 } : "earliest",
        limit: Math.min(pageSize, gap[1] - gap[0] + 1),
      }
      : null,
    older: bottom > log.firstSeq ? bottom - 1 : null,
    newer: upper < log.head ? upper + 1 : null,
    unknownPoint: null,
  };
}
