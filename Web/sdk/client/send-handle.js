// @ts-check
import { ScrollbackError } from "../model/errors.js";
import { messageWithID } from "../store/history.js";
import { outboxItemOf } from "../store/outbox.js";
import { LiveView } from "./live-view.js";
import { abortable } from "./core.js";

/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../sync/outbox-item.js").OutboxItem} OutboxItem */
/** @typedef {import("./core.js").Core} Core */

/**
 * The progress of a message or change.
 *
 * - `stored`: stored in this browser, and waiting for its turn or for the network
 * - `uploading`: its file is being uploaded; `progress` is the uploaded part, 0...1
 * - `sending`: transmitted, and waiting for the server's answer
 * - `waiting`: failed temporarily; the client retries at `until`
 * - `sent`: accepted by the server; `message` is the stored message, or the message after the change
 * - `failed`: failed permanently; call `retry()` or `cancel()`. A change that failed is deleted after 180 days.
 * - `gone`: cancelled, sent without being stored, or an accepted change that leaves no message in this browser
 *
 * @typedef {{state: "stored" | "sending" | "gone"} | {state: "uploading", progress: number}
 *   | {state: "waiting", until: Date} | {state: "sent", message: Message}
 *   | {state: "failed", error: ScrollbackError}} SendState
 */

/**
 * Returns the progress of a queued item.
 *
 * @param {OutboxItem} item
 * @param {Core} core
 * @returns {SendState}
 */
export function stateOf({ id, state }, core) {
  switch (state.type) {
    case "queued":
      return { state: "stored" };
    case "waiting":
      return { state: "waiting", until: new Date(state.until) };
    case "failed":
      return { state: "failed", error: state.error };
    case "uploading":
      return { state: "uploading", progress: core.uploadProgress(id) };
    case "sending":
      return { state: "sending" };
  }
}

/**
 * A handle for a message that is being sent, or for a queued change.
 *
 * The client sends queued messages and changes automatically. The handle observes the progress, retries and cancels.
 *
 * @extends {LiveView<SendState>}
 */
export class SendHandle extends LiveView {
  #core;
  #changes;

  /**
   * @param {Core} core
   * @param {string} conversation
   * @param {string} id The ID of the message, or of the change.
   * @param {string | null} [changes] The message to which the change applies.
   */
  constructor(core, conversation, id, changes = null) {
    super(
      core,
      { id: conversation },
      /** @type {SendState} */ ({ state: "stored" }),
      () =>
        core.store.read(async (transaction) => {
          const message = await messageWithID(transaction, conversation, changes ?? id);
          // A change is complete when it leaves the outbox; a message when it is in the log.
          if (message && changes === null) return { state: "sent", message };
          const item = await outboxItemOf(transaction, id);
          if (item) return stateOf(item, core);
          return message ? { state: "sent", message } : { state: "gone" };
        }),
    );
    this.#core = core;
    this.#changes = changes;
    this.conversation = conversation;
    this.id = id;
  }

  /**
   * Waits until the server has stored the message or accepted the change.
   *
   * @param {{signal?: AbortSignal}} [options] Aborting only stops the wait.
   * @returns {Promise<Message | null>} The message, or the changed message; `null` if none remains in this browser.
   * @throws {ScrollbackError} The error of a failure, or `closed` if the client was closed.
   */
  async sent({ signal } = {}) {
    return await abortable(this.#outcome(signal), signal);
  }

  /** @param {AbortSignal | undefined} signal */
  async #outcome(signal) {
    // The value of this handle can be outdated, such as the failure before a retry.
    const current = new SendHandle(this.#core, this.conversation, this.id, this.#changes);
    for await (const state of current[Symbol.asyncIterator](signal)) {
      if (state.state === "sent") return state.message;
      if (state.state === "failed") throw state.error;
      if (state.state === "gone") return null;
    }
    throw new ScrollbackError("closed", "The client was closed. The message stays queued.");
  }

  /**
   * Retries immediately, with the same ID and position in the queue.
   *
   * @throws {ScrollbackError} `unknown-message` if the message is no longer queued, because it was sent or cancelled.
   */
  async retry() {
    if (!await this.#core.callOutbox("retry", this.id)) {
      throw new ScrollbackError("unknown-message", "The message is not queued for sending.");
    }
    this.#core.post({ type: "reconnectNow" });
  }

  /**
   * Cancels the message. If it was transmitted before, on a connection that was lost, the server may have stored it
   * nevertheless.
   *
   * @throws {ScrollbackError} `conflict` while the message is in flight. `unknown-message` if it is not queued.
   */
  async cancel() {
    const cancellation = await this.#core.callOutbox("cancel", this.id);
    if (cancellation === "inFlight") {
      throw new ScrollbackError("conflict", "The message is being sent. Recall it instead.");
    }
    if (cancellation === "unknown") {
      throw new ScrollbackError("unknown-message", "The message is not queued for sending.");
    }
  }
}
