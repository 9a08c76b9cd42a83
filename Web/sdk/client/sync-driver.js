// @ts-check
import { decodeHead, decodeList, decodeMessage, decodeObject, decodeSync, decodeText } from "../model/decode.js";
import { ConversationID } from "../model/conversation-id.js";
import { markDraftsBehind } from "../store/draft-sync.js";
import {
  deleteConversation,
  deleteIfGone,
  positionsBehind,
  storeHeads,
  uncertainConversations,
} from "../store/heads.js";
import { saveCursor, syncPoint } from "../store/meta.js";
import { OpenConversation } from "../store/records.js";
import { confirm, isRecovered, unconfirmed } from "../store/rollback.js";
import { HeadFetches } from "../sync/head-fetches.js";
import { ResumeState } from "../sync/resume-state.js";
import { getHeads, maximumHeads, maximumRefreshed, refreshMessages, syncLogs, syncWindow } from "../wire/requests.js";

/** @typedef {import("../model/conversation-head.js").ConversationHead} ConversationHead */
/** @typedef {import("../model/log.js").LogPosition} LogPosition */
/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../store/log.js").LogInput} LogInput */
/** @typedef {import("../store/log.js").LogOutcome} LogOutcome */
/** @typedef {import("../sync/live-event.js").LiveEvent} LiveEvent */
/** @typedef {import("../sync/resume-state.js").ResumeAction} ResumeAction */
/** @typedef {import("./driver.js").Answer} Answer */
/** @typedef {import("./driver.js").Driver} Driver */

/** The number of conversations in the first window of a new device, which shows something early, and in later ones. */
const firstWindow = 100;
const laterWindow = 500;

/** The delay in milliseconds before heads whose counts stay uncertain are requested again. */
const uncertainDelay = 5000;

/** Carries out the actions of `ResumeState` and `HeadFetches`, and applies live events. */
export class SyncDriver {
  #driver;
  #resume = new ResumeState();
  #heads = new HeadFetches();
  /** Live events that `ResumeState` released for applying. @type {LiveEvent[]} */
  #released = [];
  /** Whether the current window is the last one of its sync pass, and whether another pass must follow. */
  #receivedLastWindow = false;
  /** Whether the current window reported that drafts changed. */
  #windowHasDrafts = false;
  #needsAnotherPass = false;
  /** Whether another pass began on this connection: events of subscriptions may have been lost between the two. */
  #hasRestarted = false;
  /** Whether a request for messages that the server may have lost is in flight. */
  #isConfirming = false;

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  get #core() {
    return this.#driver.core;
  }

  async connected() {
    this.#heads.connected();
    await this.#start();
  }

  disconnected() {
    this.#resume.disconnected();
    this.#heads.disconnected();
    this.#released = [];
    this.#isConfirming = false;
    this.#hasRestarted = false;
    this.#core.setCurrent(false, []);
  }

  /** @param {number} now */
  tick(now) {
    this.#perform(this.#resume.tick(now));
  }

  /** Starts a sync pass, which fetches the conversations that changed since the stored cursor. */
  async #start() {
    const { point, behind } = await this.#core.store.read(async (transaction) => ({
      point: await syncPoint(transaction),
      behind: await positionsBehind(transaction),
    }));
    this.#needsAnotherPass = point.isInterrupted;
    this.#perform(this.#resume.connected(point.cursor, behind, !point.hasCompletedSync));
  }

  /**
   * Starts another sync pass, immediately or when the current one has ended. A pass only covers changes that were made
   * before it began.
   */
  async restart() {
    if (this.#resume.isFetchingWindows) {
      this.#needsAnotherPass = true;
      return;
    }
    await this.applyReleased();
    // The previous step may have started a pass. If the store failed in it, the connection is gone.
    if (!this.#driver.isOnline || this.#resume.isFetchingWindows) return;
    this.#hasRestarted = true;
    await this.#start();
  }

  /** @param {readonly ResumeAction[]} actions */
  #perform(actions) {
    for (const action of actions) {
      switch (action.type) {
        case "pullWindow": {
          const limit = action.cursor === null ? firstWindow : laterWindow;
          this.#driver.send(
            syncWindow(action.cursor, limit),
            (answer) => this.#windowAnswered(action.request, answer),
          );
          break;
        }
        case "sync":
          this.#driver.send(
            syncLogs(action.positions),
            (answer) => this.#logsAnswered(action.batch, action.positions, answer),
          );
          break;
        case "wake":
          this.#driver.wake(action.at);
          break;
        case "storeHeads": {
          const { generation } = this.#driver.lifecycle;
          this.#core.mailbox.post({ type: "storeHeads", heads: action.heads, cursor: action.cursor, generation });
          break;
        }
        case "release":
          this.#released.push(...action.events);
          break;
        case "recheck":
          this.#core.mailbox.post({ type: "recheck" });
      }
    }
  }

  // Live events

  /**
   * Passes live events to `ResumeState`, and applies those it releases in one transaction.
   *
   * @param {LiveEvent[]} events
   */
  async applyLive(events) {
    if (events.length === 0) return;
    for (const event of events) this.#perform(this.#resume.live(event));
    await this.applyReleased();
  }

  async applyReleased() {
    const events = this.#released.splice(0);
    if (events.length === 0) return;
    try {
      const outcomes = await this.#core.apply(events.map((event) => ({ type: "live", event })));
      for (const outcome of outcomes) {
        this.requestMissing(outcome);
        if (outcome.isStale || outcome.input.type !== "live") continue;
        const { event } = outcome.input;
        if (event.type === "message") {
          this.#driver.live.messageReceived(event.message.sender, event.conversation);
          await this.#driver.outbox.removeStored([event.message]);
          this.#core.notify(event);
        } else if (event.type === "changed" && event.change.type === "message") {
          this.#core.notify({ type: "changed", message: event.change.message });
        }
      }
      if (outcomes.some(({ missesHidden }) => missesHidden)) await this.restart();
    } catch (error) {
      await this.#driver.storeFailed(error);
    }
  }

  /**
   * Requests whatever an outcome shows to be missing.
   *
   * @param {LogOutcome} outcome
   */
  requestMissing(outcome) {
    if (outcome.needsHead) {
      if (outcome.input.type === "head") this.#heads.storedUncertain(outcome.conversation);
      else this.#heads.fetch([outcome.conversation]);
      this.#sendHeadRequests();
    }
    const { behind, conversation } = outcome;
    if (!behind) return;
    const isStreamed = ConversationID.traits(conversation).replaysMissed ||
      this.#driver.live.isSubscribed(conversation);
    if (isStreamed) this.#perform(this.#resume.needsSync(behind));
  }

  /** @param {LogPosition} position */
  async behind(position) {
    this.#perform(this.#resume.needsSync(position));
    await this.applyReleased();
  }

  /**
   * Syncs conversations from their stored positions.
   *
   * @param {readonly string[]} ids
   */
  async recheck(ids) {
    try {
      const positions = await this.#core.store.read(async (transaction) => {
        const conversations = await Promise.all(ids.map((id) => OpenConversation.load(transaction, id)));
        return conversations.flatMap(({ id, log }) => log ? [log.position(id)] : []);
      });
      for (const position of positions) this.#perform(this.#resume.needsSync(position));
    } catch (error) {
      await this.#driver.storeFailed(error);
    }
  }

  // Windows of changed conversations

  /**
   * @param {number} request
   * @param {Answer} answer
   */
  #windowAnswered(request, { body, error }) {
    if (error) {
      this.#perform(this.#resume.windowFailed(request, error, this.#driver.now, this.#driver.random));
      return;
    }
    const isDone = body["done"] === true;
    const heads = decodeList(body["heads"], "heads", decodeHead);
    const actions = this.#resume.windowAnswered(request, heads, decodeText(body, "cursor"), isDone);
    // The answer to an earlier request is ignored.
    if (actions.length === 0) return;
    this.#receivedLastWindow = isDone;
    this.#windowHasDrafts = body["drafts"] === true;
    this.#perform(actions);
  }

  /**
   * Stores the heads of a window with its cursor, and deletes the conversations that were deleted on the server.
   *
   * @param {readonly ConversationHead[]} heads
   * @param {string} cursor
   */
  async storeWindow(heads, cursor) {
    const [isLast, hasDrafts] = [this.#receivedLastWindow, this.#windowHasDrafts];
    try {
      const outcomes = await this.#core.store.write(async (transaction) => {
        // The head of a deleted conversation is a tombstone: not a member, and no messages.
        /** @param {ConversationHead} head */
        const isGone = ({ isMember, state }) => !isMember && state.head === 0;
        for (const head of heads) if (isGone(head)) deleteConversation(transaction, head.conversation);
        const known = heads.filter((head) => !isGone(head));
        const outcomes = await storeHeads(transaction, this.#core.user, known);
        saveCursor(transaction, cursor, isLast);
        if (hasDrafts) markDraftsBehind(transaction);
        return outcomes;
      });
      this.#core.changed(heads.map(({ conversation }) => conversation));
      this.#core.reportDelivered(outcomes);
      await this.#driver.outbox.removeStored(heads.flatMap(({ lastMessage }) => lastMessage ?? []));
      if (hasDrafts) await this.#driver.drafts.sync();
      // If the store failed in one of these steps, the connection is gone. The next one repeats them.
      if (!this.#driver.isOnline) return;
      const behind = new Map(outcomes.map(({ conversation, behind }) => [conversation, behind]));
      this.#perform(this.#resume.windowStored(({ conversation }) => behind.get(conversation) ?? null));
      if (isLast) {
        // The entries in the list were announced when they were stored.
        this.#core.changedAnything([]);
        if (this.#needsAnotherPass) return await this.restart();
        this.#core.setCurrent(true, this.#driver.live.subscribed);
        // These heads were requested on an earlier connection, which ended before the answer.
        this.fetchHeads(await this.#core.store.read(uncertainConversations));
        await this.recoverFromRollback();
      }
      await this.applyReleased();
      if (isLast && this.#hasRestarted) {
        // A pass does not include events that arrived for subscribed channels and rooms between two passes.
        this.#hasRestarted = false;
        await this.recheck(this.#driver.live.subscribed);
      }
    } catch (error) {
      await this.#driver.storeFailed(error);
    }
  }

  // Logs that are behind

  /**
   * @param {number} batch
   * @param {readonly LogPosition[]} asked
   * @param {Answer} answer
   */
  async #logsAnswered(batch, asked, { body, error }) {
    const { now, random } = this.#driver;
    if (error) {
      this.#perform(this.#resume.syncFailed(batch, error, now, random));
      return await this.applyReleased();
    }
    /** @type {LogInput[]} */
    const inputs = [];
    for (const log of decodeList(body["logs"], "logs", (log) => decodeObject(log, "logs"))) {
      const conversation = ConversationID.parse(decodeText(log, "conversation"));
      const position = asked.find((position) => position.conversation === conversation);
      if (position && log["error"] === undefined) inputs.push({ type: "sync", sync: decodeSync(log), asked: position });
    }
    const outcomes = await this.#core.apply(inputs);
    const behind = outcomes.flatMap(({ behind }) => behind ?? []);
    this.#perform(this.#resume.syncAnswered(batch, behind, now, random));
    this.fetchHeads(outcomes.filter(({ needsHead }) => needsHead).map(({ conversation }) => conversation));
    for (const { input, isStale } of outcomes) {
      if (input.type !== "sync" || isStale) continue;
      await this.#driver.outbox.removeStored(input.sync.page.messages);
      this.#core.notify(
        ...input.sync.page.messages.map((message) => /** @type {const} */ ({ type: "message", message })),
      );
    }
    await this.applyReleased();
  }

  // Heads

  /**
   * Fetches the heads of unknown or changed conversations.
   *
   * @param {Iterable<string>} ids
   */
  fetchHeads(ids) {
    this.#heads.fetch(ids);
    this.#sendHeadRequests();
  }

  /**
   * Fetches the head of a conversation that an event mentions but this device doesn't know. A conversation that changed
   * during a sync pass may be missing from all windows of that pass.
   *
   * @param {string} id
   */
  async fetchHeadIfUnknown(id) {
    const isKnown = await this.#core.readConversation(id, ({ log }) => log !== null);
    if (!isKnown) this.fetchHeads([id]);
  }

  /**
   * Returns whether an answer that is still to come may restore a deleted conversation, or replace its log.
   *
   * @param {string} id
   */
  mayRestore(id) {
    return this.#resume.isFetchingWindows || this.#heads.isInFlight(id);
  }

  /** Requests the heads again that wait for a retry. */
  retry() {
    this.#heads.tick();
    this.#sendHeadRequests();
  }

  #sendHeadRequests() {
    const ids = this.#heads.next((id) => this.#driver.live.isSubscribed(id));
    for (let start = 0; start < ids.length; start += maximumHeads) {
      const batch = ids.slice(start, start + maximumHeads);
      this.#driver.send(getHeads(batch), (answer, since) => this.#headsAnswered(batch, answer, since));
    }
    if (this.#heads.isWaiting) this.#driver.retryIn(uncertainDelay);
  }

  /**
   * @param {string[]} ids
   * @param {Answer} answer
   * @param {number} since
   */
  async #headsAnswered(ids, { body, error }, since) {
    if (error) {
      this.#heads.failed(ids, error);
      this.#driver.retryAfter(error);
      return this.#sendHeadRequests();
    }
    this.#heads.answered(ids);
    await this.storeHeads(body, since, ids);
  }

  /**
   * Stores the heads of an answer, and deletes the conversations that are gone.
   *
   * @param {JSONObject} body
   * @param {number} since The number of deletions before the request. Heads of conversations that were deleted after it
   *   are requested again.
   * @param {string[]} [asked] The conversations that were requested. Those that the answer neither includes nor defers
   *   are gone.
   * @returns {Promise<ConversationHead[]>}
   */
  async storeHeads(body, since, asked = []) {
    const { user } = this.#core;
    const rest = decodeList(body["rest"] ?? [], "rest", (id) => ConversationID.parse(String(id)));
    /** @type {ConversationHead[]} */
    const heads = [];
    for (const head of decodeList(body["heads"], "heads", decodeHead)) {
      if (this.#driver.deletions.includes(head.conversation, since)) rest.push(head.conversation);
      else heads.push(head);
    }
    // The answer may use a different name for the same conversation.
    const known = new Set([...heads.map(({ conversation }) => conversation), ...rest]
      .map((id) => ConversationID.absolute(id, user)));
    const gone = asked.filter((id) => !this.#heads.isNeeded(id) && !known.has(ConversationID.absolute(id, user)));
    const outcomes = await this.#core.store.write(async (transaction) => {
      for (const id of gone) await deleteIfGone(transaction, id);
      return await storeHeads(transaction, user, heads);
    });
    this.#core.changed([...heads.map(({ conversation }) => conversation), ...gone]);
    this.#core.reportDelivered(outcomes);
    await this.#driver.outbox.removeStored(heads.flatMap(({ lastMessage }) => lastMessage ?? []));
    for (const outcome of outcomes) this.requestMissing(outcome);
    this.fetchHeads(rest);
    return heads;
  }

  // A server whose store went back to an earlier state

  /**
   * Fetches what a sync pass does not list: conversations that the server lost, and the user's own messages that it may
   * have lost.
   */
  async recoverFromRollback() {
    const { store } = this.#core;
    if (!this.#driver.isOnline || await store.read(isRecovered, ["meta"])) return;
    const { conversations, messages } = await store.write((transaction) => unconfirmed(transaction, maximumRefreshed));
    this.fetchHeads(conversations);
    if (messages.length === 0 || this.#isConfirming) return;
    this.#isConfirming = true;
    this.#driver.send(refreshMessages(messages), (answer) => this.#confirmed(messages, answer));
  }

  /**
   * @param {{conversation: string, id: string}[]} asked
   * @param {Answer} answer
   */
  async #confirmed(asked, { body, error }) {
    this.#isConfirming = false;
    if (error) return this.#driver.retryAfter(error);
    const known = new Map(
      decodeList(body["matched"], "matched", decodeMessage).map((message) => [message.id, message]),
    );
    const { now } = this.#driver;
    const lost = await this.#core.store.write(async (transaction) => {
      const items = [];
      for (const { id } of asked) items.push(await confirm(transaction, id, known.get(id), now));
      return items.filter((item) => item !== null);
    });
    for (const item of lost) await this.#driver.outbox.requeue(item);
    this.#core.changed(asked.map(({ conversation }) => conversation));
    await this.recoverFromRollback();
  }
}
