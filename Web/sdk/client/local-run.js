// @ts-check
import { intersection } from "../model/seq-range-set.js";
import { locate, messagesIn } from "../store/history.js";
import { messageKeys, messageOf } from "../store/records.js";

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../store/database.js").Transaction} Transaction */
/** @typedef {import("../store/records.js").OpenConversation} OpenConversation */
/** @typedef {import("../sync/log-state.js").LogState} LogState */
/** @typedef {import("../wire/requests.js").HistoryPoint} HistoryPoint */
/** @typedef {import("../wire/requests.js").HistoryQuery} HistoryQuery */

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
