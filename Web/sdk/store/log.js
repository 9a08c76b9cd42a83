// @ts-check
import { LogState } from "../sync/log-state.js";
import { LogEdit } from "../sync/log-edit.js";
import { finishCounts, updateCounts } from "./counts.js";
import { finishEntry, updateEntry } from "./entry.js";
import { hasCompletedSync } from "./meta.js";
import { messageKeys, messageOf, OpenConversation } from "./records.js";

/** @typedef {import("../model/conversation-head.js").ConversationHead} ConversationHead */
/** @typedef {import("../model/log.js").LogHead} LogHead */
/** @typedef {import("../model/log.js").LogPage} LogPage */
/** @typedef {import("../model/log.js").LogPosition} LogPosition */
/** @typedef {import("../model/log.js").LogSync} LogSync */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("../sync/live-event.js").LiveEvent} LiveEvent */
/** @typedef {import("./database.js").Transaction} Transaction */

/**
 * An update to apply to a log.
 *
 * - `live`: an event of the connection
 * - `head`: a head from a window or a request
 * - `page`: a page of history
 * - `sync`: an answer to `sync`
 * - `sent`: a message of the user that the server acknowledged
 *
 * @typedef {{type: "live", event: LiveEvent}
 *   | {type: "head", head: ConversationHead}
 *   | {type: "page", conversation: string, page: LogPage}
 *   | {type: "sync", sync: LogSync, asked: LogPosition}
 *   | {type: "sent", message: Message}} LogInput
 */

/**
 * The result of applying an input.
 *
 * @typedef {object} LogOutcome
 * @property {string} conversation
 * @property {LogInput} input
 * @property {boolean} isStale Whether the input was ignored.
 * @property {LogPosition | null} behind The log's position, if it misses messages or changes.
 * @property {boolean} changedGaps
 * @property {boolean} missesHidden Whether another sync pass must report messages that the user hid.
 * @property {boolean} needsHead Whether the head must be fetched, because the log was unknown or its counts may be
 *   wrong.
 * @property {boolean} hasDeliveries Whether this device has messages to report as delivered that it did not have
 *   before.
 */

/**
 * A row that a change replaces.
 *
 * @typedef {{old: Message | null, new: Message}} Replacement
 */

/** A log that the current transaction works on. */
export class OpenLog extends OpenConversation {
  /** Whether rows were inserted, deleted or changed. */
  isTouched = false;
  /** Whether a row was inserted, even if it was deleted again. */
  hadRow = false;
  /** The position that was due to be reported before the transaction; 0 for none. */
  dueBefore = this.entry.delivery.isDue ? this.entry.delivery.dueSeq : 0;
}

/** @param {LogInput} input */
function conversationOf(input) {
  switch (input.type) {
    case "live":
      return input.event.conversation;
    case "head":
      return input.head.conversation;
    case "page":
      return input.conversation;
    case "sync":
      return input.asked.conversation;
    case "sent":
      return input.message.conversation;
  }
}

/**
 * Applies inputs in order, and makes the changes to rows that each log's new state requires.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {LogInput[]} inputs
 * @returns {Promise<LogOutcome[]>}
 */
export async function apply(transaction, user, inputs) {
  if (inputs.length === 0) return [];
  const isNew = hasCompletedSync(transaction).then((hasCompleted) => !hasCompleted);
  // The requests for one log don't wait for those of the others.
  const byLog = Map.groupBy(inputs, conversationOf);
  const outcomes = await Promise.all(
    [...byLog].map(async ([id, inputs]) => applyToLog(transaction, user, id, inputs, await isNew)),
  );
  const byInput = new Map(outcomes.flat().map((outcome) => [outcome.input, outcome]));
  return inputs.flatMap((input) => byInput.get(input) ?? []);
}

/**
 * Applies the inputs of one log in order.
 *
 * @param {Transaction} transaction
 * @param {string} user
 * @param {string} id
 * @param {LogInput[]} inputs
 * @param {boolean} isNew Whether the device has never completed a sync pass.
 * @returns {Promise<LogOutcome[]>}
 */
async function applyToLog(transaction, user, id, inputs, isNew) {
  const log = new OpenLog(id, await transaction.get("conversations", id));
  /** @type {LogOutcome[]} */
  const outcomes = [];
  for (const input of inputs) outcomes.push(await applyInput(transaction, user, input, log, isNew));
  const isInexact = await finishCounts(transaction, user, log);
  const { isUncertain, hasDeliveries } = await finishEntry(transaction, user, log);
  log.save(transaction);
  const last = outcomes.at(-1);
  if (last) {
    if ((isInexact || isUncertain) && log.traits.hasRecents) last.needsHead = true;
    last.hasDeliveries = hasDeliveries;
  }
  return outcomes;
}

/**
 * @param {Transaction} transaction
 * @param {string} user
 * @param {LogInput} input
 * @param {OpenLog} log
 * @param {boolean} isNew Whether the device has never completed a sync pass.
 * @returns {Promise<LogOutcome>}
 */
async function applyInput(transaction, user, input, log, isNew) {
  const before = log.log?.copy() ?? null;
  const edits = await editsOf(transaction, input, log, isNew);
  const stored = await storedRows(transaction, log.id, edits, before);
  const replaced = replacements(edits, stored);
  for (const edit of edits) {
    writeRows(transaction, log, edit, stored);
    if (edit.erasesEverything || edit.erased.length > 0 || edit.upserts.length > 0) log.isTouched = true;
    if (edit.upserts.length > 0) log.hadRow = true;
  }
  await updateCounts(transaction, user, { input, edits, replaced, before }, log);
  await updateEntry(transaction, input, before, log, isNew);
  const needsSync = edits.some((edit) => edit.needsSync) && !leavesGaps(log, edits);
  const isUncertain = before === null || leavesLastMessageUncertain(input, before, log) ||
    edits.some((edit) => edit.erasesEverything);
  return {
    conversation: log.id,
    input,
    isStale: edits.at(-1)?.isStale ?? false,
    behind: needsSync && log.log ? log.log.position(log.id) : null,
    changedGaps: JSON.stringify(before?.gaps.ranges) !== JSON.stringify(log.log?.gaps.ranges),
    needsHead: input.type !== "head" && isUncertain,
    missesHidden: missesHidden(input, before),
    hasDeliveries: false,
  };
}

/**
 * Applies an input to the state of a log.
 *
 * @param {Transaction} transaction
 * @param {LogInput} input
 * @param {OpenLog} log
 * @param {boolean} isNew
 * @returns {Promise<LogEdit[]>}
 */
async function editsOf(transaction, input, log, isNew) {
  /** @type {LogEdit[]} */
  const edits = [];
  switch (input.type) {
    case "head": {
      const { head } = input;
      const saved = log.log?.copy() ?? null;
      if (log.log) {
        edits.push(log.log.applyHead(head.state));
      } else {
        log.log = initialState(head.state, isNew);
        const edit = new LogEdit();
        edit.needsSync = log.log.isBehind;
        edits.push(edit);
      }
      const gone = [...head.hidden, ...await rowsAbove(transaction, head, saved, log)];
      if (gone.length > 0) edits.push(log.log.applyHidden(gone, head.state.epoch));
      if (head.lastMessage) edits.push(log.log.applyMessage(head.lastMessage, head.state.rev));
      break;
    }
    case "page":
      log.log ??= LogState.adopting(input.page.state);
      edits.push(log.log.applyPage(input.page));
      break;
    case "sync":
      log.log ??= LogState.adopting(input.sync.page.state);
      edits.push(log.log.applySync(input.sync, input.asked));
      break;
    case "sent": {
      const head = impliedHead(input.message);
      log.log ??= initialState(head, isNew);
      // The message leaves the outbox, so it must be stored even if no other answer had this epoch before.
      if (log.log.epoch !== head.epoch) edits.push(log.log.applyHead(head));
      edits.push(log.log.applyMessage(input.message));
      break;
    }
    case "live":
      edits.push(...liveEdits(input.event, log, isNew));
  }
  return edits;
}

/**
 * @param {LiveEvent} event
 * @param {OpenLog} log
 * @param {boolean} isNew
 * @returns {LogEdit[]}
 */
function liveEdits(event, log, isNew) {
  switch (event.type) {
    case "message":
      log.log ??= initialState(impliedHead(event.message), isNew);
      return [log.log.applyMessage(event.message)];
    case "head": {
      const before = log.log;
      const fills = before !== null && fillsGap(event, before, log);
      const head = {
        ...event.head,
        // The event has no view, which is specific to the reader.
        view: before?.view ?? 0,
        firstSeq: Math.max(event.head.firstSeq, before?.firstSeq ?? 1),
      };
      log.log ??= initialState(head, isNew);
      const edits = [log.log.applyHead(head)];
      if (event.last && !fills) edits.push(log.log.applyMessage(event.last));
      return edits;
    }
    case "hidden":
      return log.log ? [log.log.applyHidden(event.ranges, event.epoch)] : [];
    case "changed":
      // An unknown log has no rows to change.
      return log.log ? [log.log.applyChange(event.change, event.epoch)] : [];
  }
}

/**
 * Returns the state of a log that was unknown so far.
 *
 * @param {LogHead} head
 * @param {boolean} isNew
 */
function initialState(head, isNew) {
  const state = LogState.adopting(head);
  // A new device has missed nothing: earlier messages are history, which is fetched on demand.
  if (isNew) state.replayed = state.head;
  return state;
}

/**
 * The head that a message implies. The view and the retention floor arrive with the first head or page.
 *
 * @param {Message} message
 * @returns {LogHead}
 */
const impliedHead = ({ epoch, seq, countedIndex, rev }) => ({
  epoch,
  view: 0,
  head: seq,
  firstSeq: 1,
  countedIndex,
  rev,
});

/**
 * Returns whether a summary of a channel contains a message that lies in a known gap.
 *
 * @param {LiveEvent} event
 * @param {LogState} before
 * @param {OpenLog} log
 */
function fillsGap(event, before, log) {
  if (event.type !== "head" || !event.last || !log.traits.hasRecents) return false;
  return event.head.epoch === before.epoch && before.gaps.contains(event.last.seq);
}

/**
 * Returns whether the last message of the list's entry is uncertain after an input, so that the head must be fetched.
 *
 * A summary of an unsubscribed channel does not state which messages a change removed. It can also be out of date: its
 * last message may already be deleted.
 *
 * @param {LogInput} input
 * @param {LogState} before
 * @param {OpenLog} log
 */
function leavesLastMessageUncertain(input, before, log) {
  if (log.traits.streamsToMembers || input.type !== "live") return false;
  const { event } = input;
  return event.type === "head" &&
    (event.altersCounts && event.head.rev > before.latestRev || fillsGap(event, before, log));
}

/**
 * Returns whether the user hid messages that could not be marked, because this log does not have their numbers.
 *
 * Their event can precede the answer to their send, or the first head of a new epoch.
 *
 * @param {LogInput} input
 * @param {LogState | null} before
 */
const missesHidden = (input, before) =>
  input.type === "live" && input.event.type === "hidden" &&
  (input.event.epoch !== before?.epoch || input.event.ranges.some(([, upper]) => upper > before.head));

/**
 * Returns whether the log only misses messages that a room did not stream.
 *
 * These are not fetched until the user scrolls to them. Otherwise all devices would request them at once under load.
 *
 * @param {OpenLog} log
 * @param {LogEdit[]} edits
 */
function leavesGaps({ traits, log }, edits) {
  if (!traits.streamsUnderLoadByPriority || !log || log.rev < log.latestRev) return false;
  return !edits.some((edit) => edit.isStale || edit.erasesEverything);
}

/**
 * Returns the rows that a head shows to be no longer visible to the user: those above its last message.
 *
 * For unsubscribed channels, the change that removed them is fetched only when the user looks there. Until then the
 * list must not show them.
 *
 * @param {Transaction} transaction
 * @param {ConversationHead} head
 * @param {LogState | null} saved
 * @param {OpenLog} log
 * @returns {Promise<SeqRange[]>}
 */
async function rowsAbove(transaction, head, saved, log) {
  const { state, lastMessage } = head;
  if (!saved || saved.epoch !== state.epoch || saved.view !== state.view || log.traits.streamsToMembers) return [];
  // Messages that new devices must not download are omitted from the head, but still exist.
  if (!lastMessage && head.newDeviceFloor > 0) return [];
  const lower = (lastMessage?.seq ?? 0) + 1;
  if (lower > state.head) return [];
  const rows = await transaction.all("messages", messageKeys(log.id, lower, state.head));
  return rows.map(messageOf).filter((row) => !row.skipsRecents).map(({ seq }) => [seq, seq]);
}

/**
 * Returns the stored rows that edits may replace, by sequence number. New messages and those that fill a gap replace
 * none.
 *
 * @param {Transaction} transaction
 * @param {string} id
 * @param {LogEdit[]} edits
 * @param {LogState | null} before
 * @returns {Promise<Map<number, Message>>}
 */
async function storedRows(transaction, id, edits, before) {
  /** @param {number} seq */
  const isStored = (seq) =>
    before !== null && seq >= before.firstSeq && seq <= before.head && !before.gaps.contains(seq);
  const seqs = [...new Set(edits.flatMap((edit) => edit.upserts.map(({ seq }) => seq)))].filter(isStored);
  if (seqs.length === 0) return new Map();
  const [lower, upper] = [Math.min(...seqs), Math.max(...seqs)];
  const isDense = upper - lower < seqs.length * 4;
  const rows = isDense
    ? await transaction.all("messages", messageKeys(id, lower, upper))
    : await Promise.all(seqs.map((seq) => transaction.get("messages", [id, seq])));
  return new Map(rows.filter((row) => row !== undefined).map((row) => [row.seq, messageOf(row)]));
}

/**
 * Returns the rows that edits are about to replace, ignoring messages that were never changed.
 *
 * @param {LogEdit[]} edits
 * @param {Map<number, Message>} stored
 * @returns {Replacement[]}
 */
function replacements(edits, stored) {
  /** @type {Map<number, Message>} */
  const changed = new Map();
  // An answer can contain a row twice: among its changes and in its page.
  for (const row of edits.flatMap((edit) => edit.upserts)) {
    if (row.rev > (changed.get(row.seq)?.rev ?? 0)) changed.set(row.seq, row);
  }
  return [...changed.values()].map((row) => ({ old: stored.get(row.seq) ?? null, new: row }))
    .filter((replacement) => LogEdit.replaces(replacement.new, replacement.old));
}

/**
 * @param {Transaction} transaction
 * @param {OpenLog} log
 * @param {LogEdit} edit
 * @param {Map<number, Message>} stored The stored rows, which the function updates.
 */
function writeRows(transaction, { id, written }, edit, stored) {
  const erased = edit.erasesEverything ? [[0, Number.MAX_SAFE_INTEGER]] : edit.erased;
  for (const [lower = 0, upper = 0] of erased) {
    const keys = messageKeys(id, lower, upper);
    transaction.delete("messages", keys);
    if (!edit.erasesEverything) transaction.delete("kept", keys);
    for (const rows of [stored, written]) {
      for (const seq of [...rows.keys()]) if (seq >= lower && seq <= upper) rows.delete(seq);
    }
  }
  for (const row of edit.upserts) {
    if (!LogEdit.replaces(row, stored.get(row.seq))) continue;
    stored.set(row.seq, row);
    written.set(row.seq, row);
    transaction.put("messages", row);
  }
}
