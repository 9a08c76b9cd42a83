// @ts-check

/** The paths of the keys of the object stores; `meta` has none. @type {{[store: string]: string[]}} */
const keyPaths = {
  conversations: ["id"],
  messages: ["conversation", "seq"],
  outbox: ["id"],
  kept: ["conversation", "seq"],
  files: ["message"],
  settings: ["conversation"],
  drafts: ["conversation"],
  threads: ["conversation", "id"],
  people: ["user"],
};

/** The indexes whose keys have several parts. @type {{[index: string]: string[]}} */
const indexPaths = { conversation: ["conversation", "ordinal"], id: ["conversation", "id"] };

/** @typedef {{lower: any[], upper: any[]} | any[] | any} Range */

Object.defineProperty(globalThis, "IDBKeyRange", {
  configurable: true,
  value: { bound: (/** @type {any[]} */ lower, /** @type {any[]} */ upper) => ({ lower, upper }) },
});

/**
 * Compares keys as IndexedDB does: the elements of arrays in order, numbers before texts and texts before arrays.
 *
 * @param {any} a
 * @param {any} b
 * @returns {number}
 */
function compare(a, b) {
  const rank = (/** @type {any} */ key) => Array.isArray(key) ? 2 : typeof key === "string" ? 1 : 0;
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (!Array.isArray(a)) return a < b ? -1 : a > b ? 1 : 0;
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const order = compare(a[index], b[index]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** @param {Range} range A range, or a key as the only element of one. */
const boundsOf = (range) => [range?.lower ?? [range].flat(), range?.upper ?? [range].flat()];

/** A store in memory with the methods of `Store` and `Transaction` that the tests need. */
export class MemoryStore {
  /** @type {{[store: string]: Map<string, {key: any, value: any}>}} */
  #stores = {};
  checkpoint = { note: () => {}, connected: () => {} };

  /** @template Result @param {(transaction: any) => Result} body */
  async read(body) {
    return await body(this);
  }

  /** @template Result @param {(transaction: any) => Result} body */
  async write(body) {
    return await body(this);
  }

  /** @param {string} name */
  #rows(name) {
    return this.#stores[name] ??= new Map();
  }

  /** @param {string} store @param {any} key */
  async get(store, key) {
    return structuredClone(await this.#rows(store).get(JSON.stringify([key].flat()))?.value);
  }

  /** @param {string} store @param {Range} [range] @param {number} [limit] */
  all(store, range, limit) {
    return this.allOf(store, null, range, limit);
  }

  /**
   * @param {string} store
   * @param {string | null} index
   * @param {Range} [range]
   * @param {number} [limit]
   * @returns {Promise<any[]>}
   */
  async allOf(store, index, range, limit) {
    await undefined;
    const [lower, upper] = boundsOf(range);
    const keyOf = (/** @type {{key: any, value: any}} */ { key, value }) => {
      if (index === null) return key;
      return indexPaths[index]?.map((name) => value[name]) ?? (index in value ? [value[index]].flat() : undefined);
    };
    return [...this.#rows(store).values()].map((row) => ({ value: row.value, key: keyOf(row) }))
      .filter(({ key }) => key !== undefined)
      .filter(({ key }) => !range || compare(key, lower) >= 0 && compare(key, upper) <= 0)
      .sort((a, b) => compare(a.key, b.key)).slice(0, limit).map(({ value }) => structuredClone(value));
  }

  /** @param {string} store @param {string | null} index @param {Range} range @param {(value: any) => boolean} take */
  async descend(store, index, range, take) {
    for (const value of (await this.allOf(store, index, range)).reverse()) if (!take(value)) return;
  }

  /** @param {string} store @param {any} value @param {any} [name] */
  put(store, value, name) {
    const key = keyPaths[store]?.map((part) => value[part]) ?? [name];
    // The methods of values are not stored.
    this.#rows(store).set(JSON.stringify(key), { key, value: JSON.parse(JSON.stringify(value)) });
  }

  /** @param {string} store @param {any} range */
  delete(store, range) {
    const rows = this.#rows(store);
    const [lower, upper] = boundsOf(range);
    for (const [text, { key }] of rows) if (compare(key, lower) >= 0 && compare(key, upper) <= 0) rows.delete(text);
  }
}
