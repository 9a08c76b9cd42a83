// @ts-check
import assert from "node:assert/strict";
import { Transaction } from "../sdk/store/database.js";

/** A transaction with one store, whose values are their own keys. @param {number[]} values */
function transaction(values) {
  /** @param {unknown} result */
  const request = (result) => {
    const made = { result, onsuccess: () => {} };
    queueMicrotask(() => made.onsuccess());
    return made;
  };
  const descending = values.toSorted((a, b) => b - a);
  const store = {
    openKeyCursor() {
      let index = 0;
      const cursor = {
        key: descending[0],
        advance(/** @type {number} */ count) {
          // As browsers do.
          if (!(count >= 1 && count < 2 ** 32)) throw new TypeError(`${count} is outside the range of unsigned long.`);
          index += count;
          cursor.key = descending[index];
          made.result = index < descending.length ? cursor : null;
          queueMicrotask(() => made.onsuccess());
        },
      };
      const made = request(values.length > 0 ? cursor : null);
      return made;
    },
    getAll: (/** @type {{lower: number} | null} */ range) =>
      request(descending.filter((value) => value >= (range?.lower ?? 0)).reverse()),
  };
  return new Transaction(/** @type {any} */ ({ objectStore: () => store }));
}

Deno.test("The last values of a store are read in descending order, also without a limit", async () => {
  Object.defineProperty(globalThis, "IDBKeyRange", {
    configurable: true,
    value: { lowerBound: (/** @type {number} */ lower) => ({ lower }) },
  });
  const newest = (/** @type {number[]} */ values, /** @type {number} */ limit) =>
    transaction(values).newest("people", null, null, limit);
  assert.deepEqual(await newest([1, 2, 3, 4], 1), [4]);
  assert.deepEqual(await newest([1, 2, 3, 4], 3), [4, 3, 2]);
  assert.deepEqual(await newest([1, 2, 3, 4], 9), [4, 3, 2, 1]);
  assert.deepEqual(await newest([1, 2, 3, 4], Infinity), [4, 3, 2, 1]);
  assert.deepEqual(await newest([], 3), []);
});
