// @ts-check
import { readSummaryOf } from "../model/conversation-head.js";
import { coveredRange, intersection } from "../model/seq-range-set.js";
import { ReadState } from "../sync/read-state.js";
import { messageKeys, messageOf } from "./records.js";

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../sync/log-edit.js").LogEdit} LogEdit */
/** @typedef {import("../sync/log-state.js").LogState} LogState */
/** @typedef {import("../sync/read-state.js").RangeCounts} RangeCounts */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./log.js").LogInput} LogInput */
/** @typedef {import("./log.js").OpenLog} OpenLog */
/** @typedef {import("./log.js").Replacement} Replacement */
/** @typedef {import("./records.js").OpenConversation} OpenConversation */

// Updates the unread counts in the same transaction as the log.

/**
 * Updates the counts for an input, except for the advance of the head, which is counted at the end of the transaction.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {{input: LogInput, edits: LogEdit[], replaced: Replacement[], before: LogState | null}} change
 * @param {OpenLog} log
 */
export async function updateCounts(transaction, user, { input, edits, replaced, before }, log) {
  const state = log.log;
  if (!state) return;
  // The read state of another epoch does not apply.
  const read = log.read?.epoch === state.epoch ? log.read : initialReadState(state, input);
  log.read = read;
  const isSameLog = before !== null && before.epoch === state.epoch;
  if (isSameLog && state.view > before.view) read.viewChanged();
  if (input.type === "head") {
    const { head } = input;
    if (head.state.firstSeq >= state.firstSeq || head.state.view > (before?.view ?? 0)) read.apply(readSummaryOf(head));
  }
  if (input.type === "live" && input.event.type === "head" && !input.event.altersCounts) {
    read.advanceRevision(input.event.head.rev, isSameLog ? before.latestRev : 0);
  }
  for (const row of replaced) {
    const isNewMention = row.new.mentions(user) && !row.old?.mentions(user);
    const mayHaveSent = isNewMention && await mayHaveSentLater(transaction, user, row.new, log);
    read.changed(row.new, row.old, user, mayHaveSent);
  }
  for (const { range, rev } of removals(input)) read.erased(range, rev);
  if (!isSameLog) return;
  if (input.type !== "head" && state.firstSeq > before.firstSeq) read.erased([before.firstSeq, state.firstSeq - 1]);
  // After a refetch, it is unknown which of the skipped changes affected the counts.
  if (edits.some((edit) => edit.erasesEverything)) read.erased([1, Math.max(1, state.head)], state.rev);
  for (const message of edits.flatMap((edit) => edit.upserts)) {
    if (before.gaps.contains(message.seq)) read.gapFilled(message, user);
  }
  if (input.type === "page") {
    // Ranges that a page shows to be deleted were counted as unread before.
    const covered = coveredRange(input.page.coverage);
    const above = /** @type {SeqRange} */ ([read.knownThrough + 1, Number.MAX_SAFE_INTEGER]);
    const deleted = covered && input.page.coverage.deletedRanges.clippedTo(above).ranges;
    for (const range of deleted ?? []) read.erased(range);
  }
}

/**
 * Updates the counts to the log's state at the end of the transaction.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {OpenLog} log
 * @returns {Promise<boolean>} Whether the counts must be fetched from the server.
 */
export async function finishCounts(transaction, user, log) {
  const { read, log: state, traits } = log;
  if (!traits.hasRecents || !state || !read) return false;
  await countToLog(transaction, user, log);
  // A sync that is still pending may make the counts exact, as may the answer to a pending read.
  const isComing = read.pendingReadSeq !== null || (state.isBehind && traits.replaysMissed);
  return !read.isExact && !isComing;
}

/**
 * Advances the counts to the current state of the log.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {OpenConversation} conversation
 */
export async function countToLog(transaction, user, conversation) {
  const { log, read, traits } = conversation;
  if (!log || !read) return;
  /** @type {Map<string, RangeCounts | null>} */
  const counts = new Map();
  for (const range of read.countRanges(log)) {
    counts.set(String(range), await countRange(transaction, user, conversation, range, log));
  }
  // Even without a subscription, channels deliver the user's own messages and mentions.
  read.updateCounts(log, !traits.streamsToMembers, (range) => counts.get(String(range)) ?? null);
}

/**
 * Counts the stored messages of a range.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {OpenConversation} conversation
 * @param {SeqRange} range
 * @param {LogState} log
 * @returns {Promise<RangeCounts | null>} `null` if there are too many to count.
 */
async function countRange(transaction, user, { id, written }, range, log) {
  const isComplete = !log.gaps.intersects(range);
  const limit = ReadState.countedMessages;
  if (isComplete && range[1] - range[0] + 1 > limit) return null;
  // The messages of a sync or an event need not be read back.
  let messages = [...written.values()].filter(({ seq }) => seq >= range[0] && seq <= range[1]);
  if (messages.length < storedCount(log, range)) {
    messages = (await transaction.all("messages", messageKeys(id, ...range), limit + 1)).map(messageOf);
  }
  if (messages.length > limit) return null;
  const counts = { unread: 0, mentions: 0, own: 0, isComplete };
  for (const message of messages) {
    if (message.sender === user) counts.own += message.countsUnread ? 1 : 0;
    else {
      counts.unread += message.countsUnread ? 1 : 0;
      counts.mentions += message.mentions(user) ? 1 : 0;
    }
  }
  return counts;
}

/**
 * Returns the number of stored messages in a range.
 *
 * @param {LogState} log
 * @param {SeqRange} range
 */
function storedCount({ range: whole, gaps, deletedRanges }, range) {
  const known = whole && intersection(whole, range);
  return known ? known[1] - known[0] + 1 - gaps.clippedTo(known).count - deletedRanges.clippedTo(known).count : 0;
}

/**
 * Returns whether the user may have sent a message after the changed one, in stored messages or in a gap.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {Message} message
 * @param {OpenLog} log
 */
async function mayHaveSentLater(transaction, user, message, { id, log }) {
  if (!log) return false;
  // There are too many messages to check: only the server knows.
  if (log.head - message.seq > ReadState.countedMessages) return true;
  if (log.gaps.firstAtOrAbove(message.seq + 1) !== null) return true;
  const rows = await transaction.all("messages", messageKeys(id, message.seq + 1));
  return rows.some((row) => row.sender === user);
}

/**
 * Creates the read state of a log that `input` mentions for the first time.
 *
 * A message in the input is unread. Only the server knows how many earlier messages are.
 *
 * @param {LogState} log
 * @param {LogInput} input
 */
function initialReadState(log, input) {
  const event = input.type === "live" ? input.event : null;
  const newest = event?.type === "message" ? event.message : event?.type === "head" ? event.last : null;
  if (newest && newest.seq === log.head) {
    return ReadState.unknown(log.epoch, newest.seq - 1, newest.countedIndex - (newest.countsUnread ? 1 : 0));
  }
  return ReadState.unknown(log.epoch, log.head, log.countedIndex);
}

/**
 * The ranges that an input removes, and the revision that removed them.
 *
 * @param {LogInput} input
 * @returns {{range: SeqRange, rev: number | null}[]}
 */
function removals(input) {
  if (input.type === "sync") {
    return input.sync.changes.flatMap((change) =>
      change.type === "removed" ? [{ range: change.range, rev: change.rev }] : []
    );
  }
  if (input.type !== "live") return [];
  const { event } = input;
  if (event.type === "changed" && event.change.type === "removed") {
    return [{ range: event.change.range, rev: event.change.rev }];
  }
  return event.type === "hidden" ? event.ranges.map((range) => ({ range, rev: null })) : [];
}
