// @ts-check
import { setMeta } from "./meta.js";

/** @typedef {import("./database.js").Transaction} Transaction */

// What proves that the server still has everything that this device has seen.

/** The commit number of conversations that were not fetched since the server's store went back. */
export const outdatedCommit = -1;

/**
 * The newest checkpoint that the server sent, until it is stored.
 *
 * The driver notes the checkpoint of a frame before it handles the frame. Every transaction stores the noted
 * checkpoint, so that a stored checkpoint covers everything in the store.
 */
export class NotedCheckpoint {
  /** @type {string | null} */
  #lineage = null;
  #commit = -1;
  /** @type {string | null} */
  #newest = null;
  /** @type {string | null} */
  #stored = null;

  /**
   * Starts with the checkpoints of another connection.
   *
   * @param {string | null} lineage
   */
  connected(lineage) {
    if (lineage !== this.#lineage) {
      this.#commit = -1;
      this.#newest = null;
    }
    this.#lineage = lineage;
  }

  /**
   * Notes the checkpoint of a frame; frames can arrive in another order than their commits.
   *
   * @param {string} checkpoint
   */
  note(checkpoint) {
    const commit = Number.parseInt(checkpoint, 10);
    if (this.#lineage === null || !(commit > this.#commit)) return;
    this.#commit = commit;
    this.#newest = `${this.#lineage}.${checkpoint}`;
  }

  /**
   * Stores the checkpoint in a transaction.
   *
   * @param {Transaction} transaction
   * @returns {() => void} A function to call after the commit.
   */
  store(transaction) {
    const checkpoint = this.#newest;
    if (checkpoint === null || checkpoint === this.#stored) return () => {};
    setMeta(transaction, "checkpoint", checkpoint);
    return () => (this.#stored = checkpoint);
  }
}
