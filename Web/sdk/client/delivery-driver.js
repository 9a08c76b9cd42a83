// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { decodeList, decodeObject, decodeText } from "../model/decode.js";
import { dueDeliveries, saveReported } from "../store/delivery.js";
import { DeliveryReports } from "../sync/delivery-reports.js";
import { maximumDeliveries, reportDelivered } from "../wire/requests.js";

/** @typedef {import("../sync/delivery-reports.js").DeliveryAction} DeliveryAction */
/** @typedef {import("../wire/requests.js").DeliveryMark} DeliveryMark */
/** @typedef {import("./driver.js").Answer} Answer */
/** @typedef {import("./driver.js").Driver} Driver */

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
