// @ts-check
import assert from "node:assert/strict";
import { Timeline } from "../sdk/client/timeline.js";
import { LogState } from "../sdk/sync/log-state.js";
import { RecentEntry } from "../sdk/sync/recent-entry.js";

Object.defineProperty(globalThis, "IDBKeyRange", { configurable: true, value: { bound: () => null } });

const id = "group:crew";

/** @param {number} seq */
const message = (seq) => ({
  conversation: id,
  seq,
  countedIndex: seq,
  id: `00000000-0000-4000-8000-${String(seq).padStart(12, "0")}`,
  timetoken: String(seq),
  epoch: "1",
  sender: "bob",
  type: "text",
  content: { type: "text", json: { text: `Message ${seq}` } },
});

Deno.test("A timeline reads its messages again only if they changed", async () => {
  const log = LogState.adopting({ epoch: "1", view: 0, head: 3, firstSeq: 1, countedIndex: 3, rev: 0 });
  for (const seq of [1, 2, 3]) log.gaps.remove([seq, seq]);
  const { newProfile: _, ...entry } = new RecentEntry("group");
  /** @type {any} */
  const row = { id, log: log.toJSON(), read: null, entry, version: "a" };
  let rowReads = 0;
  const queue = /** @type {any[]} */ ([]);
  const transaction = {
    get: (/** @type {string} */ store) => Promise.resolve(store === "conversations" ? row : undefined),
    all: () => {
      rowReads += 1;
      return Promise.resolve([1, 2, 3].map(message));
    },
    allOf: () => Promise.resolve(queue),
  };
  let changed = (/** @type {ReadonlySet<string> | null} */ _) => {};
  /** @type {any} */
  const core = {
    user: "alice",
    connections: 1,
    store: { read: (/** @type {(transaction: unknown) => unknown} */ body) => body(transaction) },
    viewed: () => {},
    observe: (/** @type {unknown} */ _, /** @type {typeof changed} */ observer) => (changed = observer),
    fetchProfiles: () => new Promise(() => {}),
    storageFailed: (/** @type {unknown} */ error) => {
      throw error;
    },
  };
  const timeline = new Timeline(/** @type {any} */ ({ core, id }), "latest", 200);
  timeline.subscribe(() => {});
  assert.equal(timeline.value.isLoaded, false);
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  await settle();
  assert.deepEqual([timeline.value.items.length, timeline.value.isLoaded, rowReads], [3, true, 1]);
  // A queued message appears without another read of the messages.
  const submission = { id: "x", content: { type: "text", json: { text: "new" } }, attributes: {} };
  queue.push({
    id: "x",
    conversation: id,
    state: { type: "queued" },
    createdAt: 0,
    request: { type: "send", submission },
  });
  changed(new Set([id]));
  await settle();
  assert.deepEqual([timeline.value.items.map(({ type }) => type), rowReads], [[
    "message",
    "message",
    "message",
    "pending",
  ], 1]);
  // A change of the messages, and one that may concern anything, read them again.
  row.version = "b";
  changed(new Set([id]));
  await settle();
  assert.equal(rowReads, 2);
  changed(null);
  await settle();
  assert.equal(rowReads, 3);
  // Another connection reads them again, because a change of a profile may have been missed.
  core.connections += 1;
  changed(new Set());
  await settle();
  assert.equal(rowReads, 4);
  changed(new Set());
  await settle();
  assert.equal(rowReads, 4);
});
