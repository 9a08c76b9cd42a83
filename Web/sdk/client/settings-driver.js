// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { decodeList, decodeObject, decodeSummary, decodeText } from "../model/decode.js";
import { ScrollbackError } from "../model/errors.js";
import {
  applySummary,
  dropPendingRead,
  dueDeliveries,
  readsToSend,
  removePendingSetting,
  saveReported,
  settingsToSend,
} from "../store/settings.js";
import { DeliveryReports } from "../sync/delivery-reports.js";
import { changeState, markSeveralRead, maximumDeliveries, maximumReads, reportDelivered } from "../wire/requests.js";

/** @typedef {import("../model/conversation-head.js").ReadSummary} ReadSummary */
/** @typedef {import("../store/settings.js").PendingSetting} PendingSetting */
/** @typedef {import("../sync/delivery-reports.js").DeliveryAction} DeliveryAction */
/** @typedef {import("../wire/requests.js").DeliveryMark} DeliveryMark */
/** @typedef {import("../wire/requests.js").ReadMark} ReadMark */
/** @typedef {import("./driver.js").Answer} Answer */
/** @typedef {import("./driver.js").Driver} Driver */

/** The result for one of several reads. @typedef {{conversation: string, summary: ReadSummary | null,
 *   error: ScrollbackError | null}} ReadResult */

/** The maximum number of changes of settings in flight. */
const maximumInFlight = 16;

/**
 * Sends the user's read positions and settings, at most one change at a time for each conversation.
 *
 * Reads go first, so that each later change includes their effect.
 */
export class SettingsDriver {
  #driver;
  /** Conversations with a change in flight. @type {Set<string>} */
  #inFlight = new Set();
  #settingsInFlight = 0;
  /**
   * The number of settings that may be in flight. It falls to one when the server refuses a change, and doubles with
   * each accepted one.
   */
  #window = maximumInFlight;
  /** Whether changes wait for the retry after a temporary error. */
  #isPaused = false;

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  get #core() {
    return this.#driver.core;
  }

  disconnected() {
    this.#inFlight.clear();
    this.#settingsInFlight = 0;
    this.#window = maximumInFlight;
    this.#isPaused = false;
  }

  /** Continues after a temporary error. */
  resume() {
    this.#isPaused = false;
  }

  /** Sends everything that the server has not confirmed. */
  async send() {
    if (!this.#driver.isOnline || this.#isPaused) return;
    try {
      const { reads, settings } = await this.#core.store.read(async (transaction) => ({
        reads: await readsToSend(transaction),
        settings: await settingsToSend(transaction),
      }));
      const marks = reads.filter(({ conversation }) => this.#begin(conversation));
      for (let start = 0; start < marks.length; start += maximumReads) {
        const batch = marks.slice(start, start + maximumReads);
        this.#driver.send(markSeveralRead(batch), (answer) => this.#readsAnswered(batch, answer));
      }
      for (const setting of settings) {
        if (this.#settingsInFlight >= this.#window || !this.#begin(setting.conversation)) continue;
        this.#settingsInFlight += 1;
        const request = changeState(setting.conversation, setting.change);
        this.#driver.send(request, (answer) => this.#settingAnswered(setting, answer));
      }
    } catch (error) {
      await this.#driver.storeFailed(error);
    }
  }

  /** @param {string} conversation */
  #begin(conversation) {
    if (this.#inFlight.has(conversation)) return false;
    this.#inFlight.add(conversation);
    return true;
  }

  /**
   * @param {ReadMark[]} asked
   * @param {Answer} answer
   */
  async #readsAnswered(asked, { body, error }) {
    for (const { conversation } of asked) this.#inFlight.delete(conversation);
    /** @type {ReadResult[]} */
    const results = error
      ? asked.map(({ conversation }) => ({ conversation, summary: null, error }))
      : decodeList(body["reads"], "reads", decodeReadResult);
    const { user } = this.#core;
    const unknown = await this.#core.store.write(async (transaction) => {
      const unknown = [];
      for (const { conversation, summary, error } of results) {
        const marks = asked.filter((mark) => mark.conversation === conversation);
        if (summary) {
          // The server knows that this device has the messages that its user has read.
          await saveReported(transaction, marks);
          if (await applySummary(transaction, user, conversation, summary, "read")) unknown.push(conversation);
        } else if (!error?.isTemporary) {
          for (const mark of marks) await dropPendingRead(transaction, mark);
          unknown.push(conversation);
        }
        // After a temporary error, the read is sent again after a delay, or on the next connection.
      }
      return unknown;
    });
    this.#core.changed(results.map(({ conversation }) => conversation));
    for (const { error } of results) if (error) this.#pause(error);
    this.#driver.sync.fetchHeads(unknown);
    // Other settings of the conversation wait until the read is accepted or rejected.
    if (results.some(({ error }) => !error?.isTemporary)) await this.send();
  }

  /**
   * @param {PendingSetting} setting
   * @param {Answer} answer
   */
  async #settingAnswered(setting, { body, error }) {
    const { conversation } = setting;
    this.#inFlight.delete(conversation);
    this.#settingsInFlight -= 1;
    if (error?.isTemporary) return this.#pause(error);
    if (!error) this.#window = Math.min(this.#window * 2, maximumInFlight);
    const needsHead = await this.#core.store.write(async (transaction) => {
      await removePendingSetting(transaction, setting);
      // After a refusal, the server's value is authoritative.
      if (!body) return true;
      return await applySummary(transaction, this.#core.user, conversation, decodeSummary(body), "setting");
    });
    if (needsHead) this.#driver.sync.fetchHeads([conversation]);
    this.#core.changed([conversation]);
    await this.send();
  }

  /**
   * Sends nothing more until the retry after a temporary error. Otherwise the answer to another change would send the
   * refused one again, before the server accepts it.
   *
   * @param {ScrollbackError} error
   */
  #pause(error) {
    if (!error.isTemporary) return;
    this.#isPaused = true;
    this.#window = 1;
    this.#driver.retryAfter(error);
  }

  /**
   * Applies read states that were changed on another device, or that the server confirmed again.
   *
   * @param {{conversation: string, summary: ReadSummary}[]} reads
   */
  async changed(reads) {
    const unknown = await this.#core.store.write(async (transaction) => {
      const unknown = [];
      for (const { conversation, summary } of reads) {
        if (await applySummary(transaction, this.#core.user, conversation, summary)) unknown.push(conversation);
      }
      return unknown;
    });
    this.#core.changed(reads.map(({ conversation }) => conversation));
    this.#driver.sync.fetchHeads(unknown);
  }
}

/**
 * @param {unknown} value
 * @returns {ReadResult}
 */
function decodeReadResult(value) {
  const json = decodeObject(value, "reads");
  const conversation = ConversationID.parse(decodeText(json, "conversation"));
  const error = json["error"];
  return error === undefined
    ? { conversation, summary: decodeSummary(json), error: null }
    : { conversation, summary: null, error: ScrollbackError.from(decodeObject(error, "error")) };
}

/** Reports to the server which messages of other users this browser has stored. */
export class DeliveryDriver {
  #driver;
  #reports = new DeliveryReports();

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  get #store() {
    return this.#driver.core.store;
  }

  async connected() {
    await this.#perform(this.#reports.connected(this.#driver.now));
  }

  disconnected() {
    this.#reports.disconnected();
  }

  /** Reports what is due, now or when the pace allows it. */
  async report() {
    await this.#perform(this.#reports.needed(this.#driver.now));
  }

  /** Continues after a temporary error. */
  async resume() {
    await this.#perform(this.#reports.retry(this.#driver.now));
  }

  /** @param {number} now */
  async tick(now) {
    await this.#perform(this.#reports.tick(now));
  }

  /** @param {DeliveryAction | null} action */
  async #perform(action) {
    if (action?.type === "wake") this.#driver.wake(action.at);
    else if (action) await this.#send();
  }

  async #send() {
    const marks = await this.#store.read(
      (transaction) => dueDeliveries(transaction, maximumDeliveries),
      ["conversations"],
    );
    // The connection may be gone by now.
    if (!this.#driver.isOnline || marks.length === 0) return this.#reports.foundNothing();
    this.#driver.send(reportDelivered(marks), (answer) => this.#answered(marks, answer));
  }

  /**
   * @param {DeliveryMark[]} marks
   * @param {Answer} answer
   */
  async #answered(marks, { body, error }) {
    if (error?.isTemporary) {
      this.#reports.failed();
      return this.#driver.retryAfter(error);
    }
    // A refused report is not repeated. The head says whether the conversation still has receipts. If the operator has
    // turned off receipts, the heads of all conversations are outdated.
    const outdated = error
      ? (error.code === "feature-off" ? marks.map(({ conversation }) => conversation) : [])
      : decodeList(body["delivered"], "delivered", decodeRefused).filter((id) => id !== null);
    await this.#store.write((transaction) => saveReported(transaction, marks));
    this.#driver.sync.fetchHeads(outdated);
    await this.#perform(this.#reports.answered(this.#driver.now));
  }
}

/**
 * Returns the conversation of a refused report, or `null` if the server accepted the report.
 *
 * @param {unknown} value
 */
function decodeRefused(value) {
  const json = decodeObject(value, "delivered");
  return json["error"] === undefined ? null : ConversationID.parse(decodeText(json, "conversation"));
}
