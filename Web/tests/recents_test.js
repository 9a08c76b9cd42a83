// @ts-check
import assert from "node:assert/strict";
import { RecentsReader } from "../sdk/store/recents.js";
import { RecentEntry } from "../sdk/sync/recent-entry.js";

/** @typedef {import("../sdk/store/records.js").ConversationRow} ConversationRow */

// The order of the keys in the index `listed`, which are lists of the same form.
Object.defineProperty(globalThis, "indexedDB", {
  configurable: true,
  value: {
    cmp(/** @type {any[]} */ a, /** @type {any[]} */ b) {
      const index = a.findIndex((value, index) => value !== b[index]);
      return index < 0 ? 0 : a[index] < b[index] ? -1 : 1;
    },
  },
});

/**
 * @param {string} id
 * @param {number} time
 * @param {number} [unread]
 * @returns {any} A row of the store, without the members that the list does not use.
 */
function row(id, time, unread = 0) {
  const { newProfile: _, ...entry } = Object.assign(new RecentEntry("group"), { isListed: true, lastSeq: 1 });
  return {
    id,
    name: null,
    avatar: null,
    entry,
    read: { unread, mentions: 0 },
    last: { conversation: id, seq: 1, timetoken: String(time), content: null },
    listed: [0, String(time).padStart(5, "0"), id],
    ...unread > 0 ? { unread: 1 } : {},
  };
}

/** A store with conversations only, which counts the requests for rows. */
class StoreStub {
  /** @type {Map<string, any>} */
  rows = new Map();
  requests = 0;

  /** @param {any[]} rows */
  put(...rows) {
    for (const row of rows) this.rows.set(row.id, row);
  }

  /** @returns {any} */
  get transaction() {
    const sorted = () =>
      [...this.rows.values()].filter(({ listed }) => listed).sort((a, b) => indexedDB.cmp(b.listed, a.listed));
    const counted = (/** @type {unknown} */ value) => {
      this.requests += 1;
      return Promise.resolve(value);
    };
    return {
      get: (/** @type {string} */ store, /** @type {string} */ id) =>
        counted(store === "conversations" ? this.rows.get(id) : undefined),
      all: () => counted([]),
      allOf: () => counted([...this.rows.values()].filter(({ unread }) => unread)),
      newest: (/** @type {unknown[]} */ ...[, , , limit]) => counted(sorted().slice(0, Number(limit))),
    };
  }
}

/** @param {RecentsReader} reader */
const shown = (reader) => [reader.conversations.map(({ id }) => id).join(" "), reader.totals.unread];

Deno.test("A list that reads only changes equals one that reads everything", async () => {
  const store = new StoreStub();
  const ids = Array.from({ length: 12 }, (_, index) => `group:g${index}`);
  store.put(...ids.map((id, index) => row(id, index + 1)));
  const readers = [4, 12, 20].map((limit) => ({ limit, reader: new RecentsReader(limit) }));
  for (const { reader } of readers) await reader.read(store.transaction, null);
  let seed = 7;
  const random = (/** @type {number} */ bound) => (seed = (seed * 48_271) % 2_147_483_647) % bound;
  for (let step = 0; step < 300; step += 1) {
    const changed = ids.filter(() => random(6) === 0);
    for (const id of changed) {
      const next = row(id, random(1000), random(3));
      if (random(4) === 0) delete next.listed;
      if (random(8) === 0) store.rows.delete(id);
      else store.put(next);
    }
    for (const { limit, reader } of readers) {
      await reader.read(store.transaction, new Set(changed));
      const whole = new RecentsReader(limit);
      await whole.read(store.transaction, null);
      assert.deepEqual(shown(reader), shown(whole), `step ${step}, limit ${limit}`);
    }
  }
});

Deno.test("The list needs no request for each of its conversations", async () => {
  const store = new StoreStub();
  store.put(...Array.from({ length: 100 }, (_, index) => row(`group:g${index}`, index + 1)));
  const reader = new RecentsReader(100);
  await reader.read(store.transaction, null);
  assert.equal(reader.conversations.length, 100);
  assert.equal(reader.conversations[0]?.lastMessage?.seq, 1);
  assert.equal(store.requests, 3);
});

Deno.test("A last message whose copy is missing or another one is read from its row", async () => {
  const store = new StoreStub();
  const [missing, other] = [row("group:a", 1), row("group:b", 2)];
  delete missing.last;
  other.last.seq = 5;
  store.put(missing, other);
  /** @type {any} */
  const transaction = {
    ...store.transaction,
    get: (/** @type {string} */ name, /** @type {any} */ [conversation, seq]) =>
      Promise.resolve(name === "messages" ? { conversation, seq, timetoken: "1", content: null } : undefined),
  };
  const reader = new RecentsReader(100);
  await reader.read(transaction, null);
  assert.deepEqual(reader.conversations.map(({ lastMessage }) => lastMessage?.seq), [1, 1]);
});
