// @ts-check
import { decodeCounter } from "../model/decode.js";
import { draftAccepted, nextDraftStep, receiveDraft, storeDrafts } from "../store/draft-sync.js";
import { decodeDraftPage, listDrafts, putDraft } from "../wire/requests.js";

/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */
/** @typedef {import("../store/draft-sync.js").DraftStep} DraftStep */
/** @typedef {import("../wire/requests.js").SyncedDraft} SyncedDraft */
/** @typedef {import("./driver.js").Answer} Answer */
/** @typedef {import("./driver.js").Driver} Driver */

/**
 * Synchronizes drafts with the user's other devices, one request at a time.
 *
 * The server orders the changes. A draft that was changed on this device and not accepted yet stays as it is: the
 * server receives it later than the others, so it wins.
 */
export class DraftsDriver {
  #driver;
  #isSyncing = false;
  /** Whether drafts wait for the retry after an error. */
  #isPaused = false;

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  get #store() {
    return this.#driver.core.store;
  }

  disconnected() {
    this.#isSyncing = false;
    this.#isPaused = false;
  }

  /** Continues after a temporary error. */
  async resume() {
    this.#isPaused = false;
    await this.sync();
  }

  /** Lists the drafts that other devices changed, if there are any, and sends those of this device. */
  async sync() {
    if (!this.#driver.isOnline || this.#isPaused || this.#isSyncing) return;
    const step = await this.#store.read(nextDraftStep, ["drafts", "meta"]);
    if (!step) return;
    this.#isSyncing = true;
    if (step.type === "list") {
      this.#driver.send(listDrafts(step.cursor), (answer) => this.#listed(step, answer));
    } else {
      this.#driver.send(putDraft(step.conversation, step.draft), (answer) => this.#answered(step, answer));
    }
  }

  /**
   * @param {Extract<DraftStep, {type: "list"}>} sent
   * @param {Answer} answer
   */
  async #listed(sent, { body, error }) {
    this.#isSyncing = false;
    if (error) return this.#failed(error);
    const page = decodeDraftPage(body);
    const changed = await this.#store.write((transaction) => storeDrafts(transaction, page, sent), {
      stores: ["drafts"],
    });
    this.#driver.core.changed(changed);
    await this.sync();
  }

  /**
   * @param {Extract<DraftStep, {type: "send"}>} sent
   * @param {Answer} answer
   */
  async #answered(sent, { body, error }) {
    this.#isSyncing = false;
    if (error?.isTemporary) return this.#failed(error);
    // A draft that the server refuses stays in this browser. The next change of it is sent again.
    const rev = body ? decodeCounter(body, "rev") : null;
    await this.#store.write((transaction) => draftAccepted(transaction, sent, rev), { stores: ["drafts"] });
    await this.sync();
  }

  /**
   * Waits for the retry after a temporary error. After another error, drafts are not synchronized on this connection.
   *
   * @param {ScrollbackError} error
   */
  #failed(error) {
    this.#isPaused = true;
    this.#driver.retryAfter(error);
  }

  /**
   * Stores a draft that another device changed.
   *
   * @param {SyncedDraft} draft
   */
  async received(draft) {
    if (await this.#store.write((transaction) => receiveDraft(transaction, draft), { stores: ["drafts"] })) {
      this.#driver.core.changed([draft.conversation]);
    } else {
      await this.sync();
    }
  }
}
