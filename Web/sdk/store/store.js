// @ts-check

import { NotedCheckpoint } from "./checkpoint.js";
import { Database } from "./database.js";
import { getMeta, setMeta } from "./meta.js";
import { outboxCount } from "./outbox.js";

/** @typedef {import("../model/errors.js").ScrollbackError} ScrollbackError */
/** @typedef {import("./database.js").StoreName} StoreName */
/** @typedef {import("./database.js").Transaction} Transaction */

/**
 * Data that the browser deleted: the number of messages and changes that were not sent.
 *
 * @typedef {{unsent: number}} StorageLoss
 */

/**
 * What a store belongs to: a user, a server, and a name if the browser has several stores of them.
 *
 * @typedef {{user: string, server: string, store: string | null}} StoreOwner
 */

/**
 * The local store of one user of one server in one browser: messages, gaps, the outbox, read state.
 *
 * The state machines apply every update to a log inside the transaction that saves the result. Rows, gaps and cursor
 * therefore stay consistent, even if the page closes at any moment.
 */
export class Store {
  #database;
  #name;
  checkpoint = new NotedCheckpoint();
  /** Called after each committed transaction. @type {() => void} */
  committed = () => {};

  /**
   * Opens the store, and creates it if it does not exist.
   *
   * @param {StoreOwner} owner
   * @param {(error: ScrollbackError) => void} failed Called if the browser closes the store.
   * @returns {Promise<{store: Store, device: string, loss: StorageLoss | null}>}
   * @throws {ScrollbackError} `local-storage`
   */
  static async open(owner, failed) {
    const { user, server } = owner;
    const name = Store.nameOf(owner);
    const { database, isNew } = await Database.open(name, failed);
    const store = new Store(name, database);
    const loss = isNew ? readMarker(name) : null;
    const [known, unsent] = await store.read(
      (transaction) => Promise.all([getMeta(transaction, "device"), outboxCount(transaction)]),
      ["meta", "outbox"],
    );
    const device = known ?? await store.write(async (transaction) => {
      // Another tab may have created it in the meantime.
      const known = await getMeta(transaction, "device");
      if (known !== null) return known;
      const created = crypto.randomUUID();
      setMeta(transaction, "device", created);
      setMeta(transaction, "user", user);
      setMeta(transaction, "server", server);
      return created;
    });
    // The marker may be missing or out of date, if the page closed before it was written.
    writeMarker(name, unsent);
    return { store, device, loss };
  }

  /**
   * The name of the database, the lock and the channel of a client. A store belongs to one user and one server.
   *
   * @param {StoreOwner} owner
   */
  static nameOf({ user, server, store }) {
    return `scrollback ${server} ${user}${store === null ? "" : ` ${store}`}`;
  }

  /**
   * @param {string} name
   * @param {Database} database
   */
  constructor(name, database) {
    this.#name = name;
    this.#database = database;
  }

  /**
   * Reads from one snapshot.
   *
   * @template Result
   * @param {(transaction: Transaction) => Promise<Result> | Result} body
   * @param {StoreName[]} [stores] The object stores that `body` uses; by default all.
   * @returns {Promise<Result>}
   */
  read(body, stores) {
    return this.#database.read(body, stores);
  }

  /**
   * Runs `body` in one transaction, which also stores the noted checkpoint.
   *
   * @template Result
   * @param {(transaction: Transaction) => Promise<Result> | Result} body
   * @param {{changesOutbox?: boolean, stores?: StoreName[]}} [options] `changesOutbox` must be set if the number of
   *   queued requests can change. `stores` are the object stores that `body` uses; by default all.
   * @returns {Promise<Result>}
   */
  async write(body, { changesOutbox = false, stores } = {}) {
    let checkpointStored = () => {};
    let unsent = 0;
    const answer = await this.#database.write(async (transaction) => {
      const answer = await body(transaction);
      checkpointStored = this.checkpoint.store(transaction);
      if (changesOutbox) unsent = await outboxCount(transaction);
      return answer;
    }, stores && { stores: [...stores, "meta"] });
    checkpointStored();
    this.committed();
    if (changesOutbox) writeMarker(this.#name, unsent);
    return answer;
  }

  /** Waits until all committed transactions are on the disk, so that they survive a crash of the system. */
  async flush() {
    // A durable transaction flushes those before it too. An empty one would not be written.
    await this.#database.write((transaction) => setMeta(transaction, "flushes", true), { isDurable: true });
  }

  close() {
    this.#database.close();
  }

  /**
   * Deletes the store and its data.
   *
   * @param {StoreOwner} owner
   */
  static async delete(owner) {
    const name = Store.nameOf(owner);
    await Database.delete(name);
    removeMarker(name);
  }
}

// Browsers delete the databases of a site when their disk is full, and no API reports it. A marker in another storage,
// which they keep longer, shows that a database existed and how much it had that was not sent.

/**
 * @param {string} name
 * @returns {StorageLoss | null}
 */
function readMarker(name) {
  try {
    const text = localStorage.getItem(name);
    return text === null ? null : { unsent: Number(text) };
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {number} unsent
 */
function writeMarker(name, unsent) {
  try {
    localStorage.setItem(name, String(unsent));
  } catch {
    // Without the marker, only the report of a loss is missing.
  }
}

/** @param {string} name */
function removeMarker(name) {
  try {
    localStorage.removeItem(name);
  } catch {
    // The storage is not available, so that it has no marker.
  }
}
