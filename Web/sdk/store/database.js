// @ts-check
import { ScrollbackError } from "../model/errors.js";

/**
 * The object stores of the database.
 *
 * - `meta`: values by name, such as the sync cursor, the checkpoint and the device ID.
 * - `conversations`: for each conversation its log, read state and entry in the list. The index `listed` has only the
 *   conversations in the list, in its order. The index `behind` has those whose missed messages are outstanding, and
 *   `due` those of which this browser has messages to report as delivered.
 * - `messages`: the stored messages of each log, by sequence number.
 * - `outbox`: the messages and changes that the server has not acknowledged.
 * - `settings`: the user's settings that the server has not confirmed.
 * - `files`: the files of queued messages, by message.
 * - `drafts`: texts that were not sent. The index `pending` has those that the server has not accepted.
 * - `threads`: the listed threads of each conversation, by their first message.
 * - `people`: profiles.
 *
 * @typedef {"meta" | "conversations" | "messages" | "outbox" | "files" | "settings" | "drafts" | "threads" | "people"}
 *   StoreName
 */

/** @type {StoreName[]} */
const storeNames = ["meta", "conversations", "messages", "outbox", "files", "settings", "drafts", "threads", "people"];

/** The version of the schema. A later version adds a step to `upgrade`. */
const version = 3;

/**
 * Creates the object stores and indexes that a database of an earlier version does not have.
 *
 * @param {IDBDatabase} database
 * @param {number} earlier 0 for a new database.
 * @param {IDBTransaction} transaction
 */
function upgrade(database, earlier, transaction) {
  if (earlier < 1) createFirstStores(database);
  if (earlier < 2) {
    database.createObjectStore("files", { keyPath: "message" }).createIndex("media", "media");
    database.createObjectStore("threads", { keyPath: ["conversation", "id"] });
    transaction.objectStore("drafts").createIndex("pending", "pending");
    // The first list of drafts queues those of earlier versions.
    if (earlier === 1) transaction.objectStore("meta").put(true, "draftsAreBehind");
  }
  if (earlier < 3) transaction.objectStore("conversations").createIndex("due", "due");
}

/** @param {IDBDatabase} database */
function createFirstStores(database) {
  database.createObjectStore("meta");
  const conversations = database.createObjectStore("conversations", { keyPath: "id" });
  conversations.createIndex("listed", "listed");
  conversations.createIndex("unread", "unread");
  conversations.createIndex("behind", "behind");
  conversations.createIndex("pendingRead", "pendingRead");
  const messages = database.createObjectStore("messages", { keyPath: ["conversation", "seq"] });
  messages.createIndex("id", ["conversation", "id"]);
  const outbox = database.createObjectStore("outbox", { keyPath: "id" });
  outbox.createIndex("ordinal", "ordinal", { unique: true });
  outbox.createIndex("conversation", ["conversation", "ordinal"]);
  database.createObjectStore("settings", { keyPath: "conversation" });
  database.createObjectStore("drafts", { keyPath: "conversation" });
  database.createObjectStore("people", { keyPath: "user" });
}

/**
 * Converts an error of the browser's storage.
 *
 * @param {unknown} error
 * @returns {ScrollbackError}
 */
export function storageError(error) {
  if (error instanceof ScrollbackError) return error;
  const name = error instanceof DOMException ? error.name : "";
  if (name === "QuotaExceededError") {
    return new ScrollbackError(
      "local-storage",
      "The browser's storage for this site is full. Delete data to continue.",
      {
        cause: error,
      },
    );
  }
  return new ScrollbackError("local-storage", "The browser's storage failed.", { cause: error });
}

/**
 * Waits for a request of IndexedDB.
 *
 * @template Result
 * @param {IDBRequest<Result>} request
 * @returns {Promise<Result>}
 */
function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * A transaction, in which every read sees the writes before it.
 *
 * The browser commits a transaction that waits for anything but its own requests. A body must therefore await nothing
 * else.
 */
export class Transaction {
  #transaction;

  /** @param {IDBTransaction} transaction */
  constructor(transaction) {
    this.#transaction = transaction;
  }

  /**
   * @param {StoreName} store
   * @param {IDBValidKey} key
   * @returns {Promise<any>} The value, or `undefined`.
   */
  get(store, key) {
    return result(this.#transaction.objectStore(store).get(key));
  }

  /**
   * @param {StoreName} store
   * @param {IDBValidKey | IDBKeyRange | null} [range]
   * @param {number} [limit]
   * @returns {Promise<any[]>} The values in ascending order of their keys.
   */
  all(store, range, limit) {
    return result(this.#transaction.objectStore(store).getAll(range, limit));
  }

  /**
   * @param {StoreName} store
   * @param {string} index
   * @param {IDBValidKey | IDBKeyRange | null} [range]
   * @param {number} [limit]
   * @returns {Promise<any[]>} The values in ascending order of the index.
   */
  allOf(store, index, range, limit) {
    return result(this.#transaction.objectStore(store).index(index).getAll(range, limit));
  }

  /**
   * Returns values in descending order until the consumer has enough.
   *
   * @param {StoreName} store
   * @param {string | null} index
   * @param {IDBValidKey | IDBKeyRange | null} range
   * @param {(value: any) => boolean} take Receives each value, and returns whether it needs the next one.
   * @returns {Promise<void>}
   */
  descend(store, index, range, take) {
    const objects = this.#transaction.objectStore(store);
    const request = (index === null ? objects : objects.index(index)).openCursor(range, "prev");
    return new Promise((resolve, reject) => {
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const cursor = request.result;
        // An error of the consumer would abort the transaction without a reason.
        try {
          if (cursor && take(cursor.value)) cursor.continue();
          else resolve();
        } catch (error) {
          reject(error);
        }
      };
    });
  }

  /**
   * @param {StoreName} store
   * @param {string} index
   * @param {IDBValidKey | IDBKeyRange} range
   * @returns {Promise<number>}
   */
  countOf(store, index, range) {
    return result(this.#transaction.objectStore(store).index(index).count(range));
  }

  /**
   * @param {StoreName} store
   * @param {any} value
   * @param {IDBValidKey} [key] The key, for stores whose values have none.
   * @returns {Promise<void>}
   */
  async put(store, value, key) {
    await result(this.#transaction.objectStore(store).put(value, key));
  }

  /**
   * Stores values without waiting for each of them; a failure fails the transaction.
   *
   * @param {StoreName} store
   * @param {any[]} values
   */
  putAll(store, values) {
    const objects = this.#transaction.objectStore(store);
    for (const value of values) objects.put(value);
  }

  /**
   * @param {StoreName} store
   * @param {IDBValidKey | IDBKeyRange} range
   * @returns {Promise<void>}
   */
  async delete(store, range) {
    await result(this.#transaction.objectStore(store).delete(range));
  }
}

/** The database of one client. */
export class Database {
  #database;
  #isClosed = false;
  /** @type {(error: ScrollbackError) => void} */
  #failed;

  /**
   * Opens a database, and creates it if it does not exist.
   *
   * @param {string} name
   * @param {(error: ScrollbackError) => void} failed Called if the browser closes the database, for example because it
   *   deleted the data of the site.
   * @returns {Promise<{database: Database, isNew: boolean}>}
   */
  static async open(name, failed) {
    if (!globalThis.indexedDB) {
      throw new ScrollbackError("local-storage", "The browser has no IndexedDB in this context.");
    }
    let isNew = false;
    try {
      const request = indexedDB.open(name, version);
      request.onupgradeneeded = ({ oldVersion }) => {
        isNew = oldVersion === 0;
        upgrade(request.result, oldVersion, /** @type {IDBTransaction} */ (request.transaction));
      };
      return { database: new Database(await result(request), failed), isNew };
    } catch (error) {
      throw storageError(error);
    }
  }

  /**
   * @param {IDBDatabase} database
   * @param {(error: ScrollbackError) => void} failed
   */
  constructor(database, failed) {
    this.#database = database;
    this.#failed = failed;
    database.onclose = () => {
      this.#isClosed = true;
      failed(new ScrollbackError("local-storage", "The browser closed the storage or deleted its data."));
    };
    // Another tab has a newer version of the SDK, or deletes the database.
    database.onversionchange = () => {
      this.close();
      failed(new ScrollbackError("local-storage", "Another tab replaced the storage. Reload this page."));
    };
  }

  /**
   * Reads from one snapshot.
   *
   * @template Result
   * @param {(transaction: Transaction) => Promise<Result>} body
   * @returns {Promise<Result>}
   */
  read(body) {
    return this.#run("readonly", {}, body);
  }

  /**
   * Runs `body` in one transaction, which is committed when the promise resolves.
   *
   * @template Result
   * @param {(transaction: Transaction) => Promise<Result>} body
   * @param {{isDurable?: boolean}} [options] `isDurable` waits until the data is on the disk, so that it survives a
   *   crash of the system.
   * @returns {Promise<Result>}
   */
  write(body, { isDurable = false } = {}) {
    return this.#run("readwrite", { durability: isDurable ? "strict" : "relaxed" }, body);
  }

  /**
   * @template Result
   * @param {IDBTransactionMode} mode
   * @param {IDBTransactionOptions} options
   * @param {(transaction: Transaction) => Promise<Result>} body
   * @returns {Promise<Result>}
   */
  async #run(mode, options, body) {
    if (this.#isClosed) throw new ScrollbackError("closed", "The client is closed.");
    try {
      const transaction = this.#database.transaction(storeNames, mode, options);
      const committed = new Promise((resolve, reject) => {
        transaction.oncomplete = () => resolve(undefined);
        transaction.onabort = () => reject(transaction.error ?? new DOMException("Aborted.", "AbortError"));
      });
      // The error of the body is the cause; the abort follows from it.
      committed.catch(() => {});
      let answer;
      try {
        answer = await body(new Transaction(transaction));
      } catch (error) {
        try {
          transaction.abort();
        } catch {
          // A failed request has aborted the transaction already.
        }
        throw error;
      }
      await committed;
      return answer;
    } catch (error) {
      throw storageError(error);
    }
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#database.onclose = null;
    this.#database.close();
  }

  /**
   * Deletes a database and its data.
   *
   * @param {string} name
   */
  static async delete(name) {
    try {
      await result(indexedDB.deleteDatabase(name));
    } catch (error) {
      throw storageError(error);
    }
  }
}
