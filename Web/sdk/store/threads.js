// @ts-check
import { compareTimetokens, timetoken } from "../model/timetoken.js";
import { threadChanges } from "./outbox.js";
import { messageOf } from "./records.js";

/** @typedef {import("../wire/requests.js").MessageThread} MessageThread */
/** @typedef {import("../wire/requests.js").ThreadState} ThreadState */
/** @typedef {import("./database.js").Transaction} Transaction */
/** @typedef {import("./outbox.js").ThreadChange} ThreadChange */

/** The keys of the threads of a conversation. @param {string} conversation */
const keysIn = (conversation) => IDBKeyRange.bound([conversation], [conversation, []]);

/** The time of the newest reply. @param {MessageThread} thread */
const timeOf = ({ parent }) => parent.replies?.lastReplyAt ?? timetoken("0");

/**
 * Returns the stored threads of a conversation with the queued changes, those with the newest reply first.
 *
 * @param {Transaction} transaction
 * @param {string} conversation
 * @returns {Promise<MessageThread[]>}
 */
export async function threadsIn(transaction, conversation) {
  const changes = await threadChanges(transaction, conversation);
  const threads = await storedThreads(transaction, conversation);
  return threads.map((thread) => changes.reduce(withChange, thread))
    .sort((one, other) => compareTimetokens(timeOf(other), timeOf(one)));
}

/**
 * @param {Transaction} transaction
 * @param {string} conversation
 * @returns {Promise<MessageThread[]>}
 */
async function storedThreads(transaction, conversation) {
  const rows = await transaction.all("threads", keysIn(conversation));
  return rows.map(({ parent, lastReply, state }) => ({
    parent: messageOf(parent),
    lastReply: lastReply && messageOf(lastReply),
    state,
  }));
}

/**
 * @param {MessageThread} thread
 * @param {ThreadChange} change
 * @returns {MessageThread}
 */
function withChange(thread, change) {
  if (change.thread !== thread.parent.id) return thread;
  const state = { ...thread.state };
  if (change.isFollowed !== null) state.isFollowed = change.isFollowed;
  const { read } = change;
  if (read && read.epoch === thread.parent.epoch && read.seq > state.readSeq) {
    state.readSeq = read.seq;
    if (!thread.lastReply || thread.lastReply.seq <= read.seq) state.unread = state.mentions = 0;
  }
  return { ...thread, state };
}

/**
 * Stores a page of the server, and deletes the stored threads that should be in it but are not.
 *
 * @param {Transaction} transaction
 * @param {string} conversation
 * @param {{threads: MessageThread[], cursor: string | null}} page
 * @param {string | null} before The cursor of the request.
 */
export async function saveThreads(transaction, conversation, { threads, cursor }, before) {
  const listed = new Set(threads.map(({ parent }) => parent.id));
  for (const thread of await storedThreads(transaction, conversation)) {
    const { id } = thread.parent;
    const time = timeOf(thread);
    const belongs = (before === null || compareTimetokens(time, before) < 0) &&
      (cursor === null || compareTimetokens(time, cursor) >= 0);
    if (belongs && !listed.has(id)) transaction.delete("threads", IDBKeyRange.only([conversation, id]));
  }
  for (const { parent, lastReply, state } of threads) {
    const row = await transaction.get("threads", [conversation, parent.id]);
    const newest = row && row.state.userRev > state.userRev ? row.state : state;
    transaction.put("threads", { conversation, id: parent.id, parent, lastReply, state: newest });
  }
}

/**
 * Stores the user's state in a thread that was listed before.
 *
 * @param {Transaction} transaction
 * @param {string} conversation
 * @param {ThreadState} state
 */
export async function saveThreadState(transaction, conversation, state) {
  const row = await transaction.get("threads", [conversation, state.thread]);
  if (row && state.userRev >= row.state.userRev) transaction.put("threads", { ...row, state });
}

/**
 * Deletes the threads of a conversation.
 *
 * @param {Transaction} transaction
 * @param {string} conversation
 */
export const deleteThreads = (transaction, conversation) => transaction.delete("threads", keysIn(conversation));
