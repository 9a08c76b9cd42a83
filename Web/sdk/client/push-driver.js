// @ts-check
import { decodeList, decodeObject } from "../model/decode.js";
import { getMeta, setMeta } from "../store/meta.js";
import { dropPushDevice, listPushDevices, putPushDevice } from "../wire/requests.js";
import { pushSubject, renewSubscription } from "./push.js";

/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../store/meta.js").PushRow} PushRow */
/** @typedef {import("../wire/requests.js").PushDevice} PushDevice */
/** @typedef {import("./driver.js").Answer} Answer */
/** @typedef {import("./driver.js").Driver} Driver */

/**
 * Registers this browser for pushes, one request at a time, until the server accepts it.
 *
 * On each connection it checks once that the server still has the registration. The server may have been restored from
 * a backup, or removed the device because a push service rejected it.
 */
export class PushDriver {
  #driver;
  #isSending = false;
  /** Whether the registration was verified on this connection. */
  #isChecked = false;
  /** Whether the registration waits for the retry after an error. */
  #isPaused = false;

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  get #core() {
    return this.#driver.core;
  }

  disconnected() {
    this.#isSending = this.#isChecked = this.#isPaused = false;
  }

  async connected() {
    await this.send();
    // The browser is asked in the background, because its push service may have to answer.
    renewSubscription(this.#core);
  }

  /** Continues after a temporary error or a change of the registration. */
  async resume() {
    this.#isPaused = false;
    await this.send();
  }

  /** Sends the next step of the registration. */
  async send() {
    if (!this.#driver.isOnline || this.#isPaused || this.#isSending) return;
    const row = await this.#core.store.read((transaction) => getMeta(transaction, "push"), ["meta"]);
    if (!row || (row.isAcknowledged && (!row.wanted || this.#isChecked))) return;
    this.#isSending = true;
    const change = row.wanted ? putPushDevice(row.wanted.device) : dropPushDevice(this.#core.device);
    const request = row.isAcknowledged ? listPushDevices() : change;
    this.#driver.send(request, (answer) => this.#answered(row, answer));
  }

  /**
   * @param {PushRow} sent
   * @param {Answer} answer
   */
  async #answered(sent, { body, error }) {
    this.#isSending = false;
    if (error) {
      this.#isPaused = true;
      this.#driver.retryAfter(error);
      if (error.isTemporary) return;
      console.warn("Scrollback: the browser could not be registered for pushes.", error);
    } else {
      this.#isChecked = true;
    }
    const isAcknowledged = body !== null && (!sent.isAcknowledged || contains(body, sent.wanted?.device));
    await this.#core.store.write(async (transaction) => {
      const row = await getMeta(transaction, "push");
      // The answer does not concern a registration that changed in the meantime.
      if (row?.version !== sent.version) return;
      setMeta(transaction, "push", { ...row, isAcknowledged, refusal: error?.toJSON() ?? null });
    });
    this.#core.changed([pushSubject.id]);
    await this.send();
  }
}

/**
 * Returns whether a list of devices has one.
 *
 * @param {JSONObject} body
 * @param {PushDevice | undefined} wanted
 */
const contains = (body, wanted) =>
  decodeList(body["devices"], "devices", (device) => decodeObject(device, "devices")).some((json) => {
    const { device, token, language } = json;
    return device === wanted?.device && token === wanted?.token && language === wanted?.language &&
      decodeObject(json["keys"] ?? {}, "keys")["p256dh"] === wanted?.keys.p256dh;
  });
