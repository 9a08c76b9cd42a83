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
 * - `kept`: the user's own messages of logs that the server replaced because its store went back, by sequence number.
 * - `settings`: the user's settings that the server has not confirmed.
 * - `files`: the files of queued messages, by message.
 * - `drafts`: texts that were not sent. The index `pending` has those that the server has not accepted.
 * - `threads`: the listed threads of each conversation, by their first message.
 * - `people`: profiles.
 *
 * @typedef {"meta" | "conversations" | "messages" | "outbox" | "files" | "settings" | "drafts" | "threads" | "people"
 *   | "kept"} StoreName
 */

/** @type {StoreName[]} */
const storeNames = [
  "meta",
  "conversations",
  "messages",
  "outbox",
  "files",
  "settings",
  "drafts",
  "threads",
  "people",
  "kept",
];

/** The version of the schema. A later version adds a step to `upgrade`. */
const version = 4;

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
  if (earlier < 4) database.createObjectStore("kept", { keyPath: ["conversation", "seq"] });
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
    return result(this.#source(store).get(key));
  }

  /**
   * @param {StoreName} store
   * @param {IDBValidKey | IDBKeyRange | null} [range]
   * @param {number} [limit]
   * @returns {Promise<any[]>} The values in ascending order of their keys.
   */
  all(store, range, limit) {
    return result(this.#source(store).getAll(range, limit));
  }

  /**
   * @param {StoreName} store
   * @param {string} index
   * @param {IDBValidKey | IDBKeyRange | null} [range]
   * @param {number} [limit]
   * @returns {Promise<any[]>} The values in ascending order of the index.
   */
  allOf(store, index, range, limit) {
    return result(this.#source(store, index).getAll(range, limit));
  }

  /**
   * Returns the last values of a store or an index. It makes three requests, and not one for each value as a cursor.
   *
   * @param {StoreName} store
   * @param {string | null} index An index whose keys are unique; `null` for the store itself.
   * @param {IDBKeyRange | null} range
   * @param {number} limit At least 1.
   * @returns {Promise<any[]>} The values in descending order of their keys.
   */
  async newest(store, index, range, limit) {
    const source = this.#source(store, index);
    const request = source.openKeyCursor(range, "prev");
    let first = await result(request);
    if (first && limit > 1) {
      first.advance(Math.min(limit, 2 ** 32) - 1);
      first = await result(request);
    }
    const rest = first && (range ? IDBKeyRange.bound(first.key, range.upper) : IDBKeyRange.lowerBound(first.key));
    return (await result(source.getAll(rest ?? range))).reverse();
  }

  /**
   * Returns values in descending order until the consumer has enough. Use it if the first values probably suffice.
   *
   * @param {StoreName} store
   * @param {string | null} index
   * @param {IDBValidKey | IDBKeyRange | null} range
   * @param {(value: any) => boolean} take Receives each value, and returns whether it needs the next one.
   * @returns {Promise<void>}
   */
  descend(store, index, range, take) {
    const request = this.#source(store, index).openCursor(range, "prev");
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
   * @returns {Promise<number>} The number of values.
   */
  count(store) {
    return result(this.#source(store).count());
  }

  /**
   * Stores a value. Later requests of the transaction see it, and a failure fails the transaction.
   *
   * @param {StoreName} store
   * @param {any} value
   * @param {IDBValidKey} [key] The key, for stores whose values have none.
   */
  put(store, value, key) {
    this.#transaction.objectStore(store).put(value, key);
  }

  /**
   * Deletes values. Later requests of the transaction see it, and a failure fails the transaction.
   *
   * @param {StoreName} store
   * @param {IDBValidKey | IDBKeyRange} range
   */
  delete(store, range) {
    this.#transaction.objectStore(store).delete(range);
  }

  /**
   * @param {StoreName} store
   * @param {string | null} [index]
   * @returns {IDBObjectStore | IDBIndex}
   */
  #source(store, index = null) {
    const objects = this.#transaction.objectStore(store);
    return index === null ? objects : objects.index(index);
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
   * @param {(transaction: Transaction) => Promise<Result> | Result} body
   * @param {StoreName[]} [stores] The object stores that `body` uses; by default all.
   * @returns {Promise<Result>}
   */
  read(body, stores = storeNames) {
    return this.#run(stores, "readonly", {}, body);
  }

  /**
   * Runs `body` in one transaction, which is committed when the promise resolves.
   *
   * @template Result
   * @param {(transaction: Transaction) => Promise<Result> | Result} body
   * @param {{isDurable?: boolean, stores?: StoreName[]}} [options] `isDurable` waits until the data is on the disk, so
   *   that it survives a crash of the system. `stores` are the object stores that `body` uses; by default all. Writes
   *   wait for earlier transactions with the same object stores, and later ones wait for them.
   * @returns {Promise<Result>}
   */
  write(body, { isDurable = false, stores = storeNames } = {}) {
    return this.#run(stores, "readwrite", { durability: isDurable ? "strict" : "relaxed" }, body);
  }

  /**
   * @template Result
   * @param {StoreName[]} stores
   * @param {IDBTransactionMode} mode
   * @param {IDBTransactionOptions} options
   * @param {(transaction: Transaction) => Promise<Result> | Result} body
   * @returns {Promise<Result>}
   */
  async #run(stores, mode, options, body) {
    if (this.#isClosed) throw new ScrollbackError("closed", "The client is closed.");
    try {
      const transaction = this.#database.transaction(stores, mode, options);
      const committed = new Promise((resolve, reject) => {
        transaction.oncomplete = () => resolve(undefined);
        transaction.onabort = () => reject(transaction.error ?? new DOMException("Aborted.", "AbortError"));
      });
      // The error of the body is the cause; the abort follows from it.
      committed.catch(() => {});
      let answer;
      try {
        answer = await body(new Transaction(transaction));
        // Otherwise, the browser first reports the end of the last requests, and then waits for further ones.
        transaction.commit();
      } catch (error) {
        try {
          transaction.abort();
        } catch {
          // A failed request has aborted the transaction already.
        }
        throw transaction.error ?? error;
      }
      if (mode === "readwrite") await committed;
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
