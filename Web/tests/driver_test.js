// @ts-check
import assert from "node:assert/strict";
import { drive, Driver } from "../sdk/client/driver.js";
import { Mailbox } from "../sdk/client/mailbox.js";
import { Outbox } from "../sdk/sync/outbox.js";
import { MessageContent } from "../sdk/model/message-content.js";
import { standardPace } from "../sdk/model/token-bucket.js";
import { insertIntoOutbox } from "../sdk/store/outbox.js";
import { MemoryStore } from "./memory-store.js";

Deno.test("A refused change is deleted when it is too old to be sent again", async () => {
  const store = /** @type {any} */ (new MemoryStore());
  const refused = /** @type {const} */ ({ type: "failed", problem: { code: "conflict" } });
  const unconfirmed = /** @type {const} */ ({ type: "unconfirmed" });
  const submission = { id: "m", content: MessageContent.text("hi"), attributes: {} };
  const send = /** @type {const} */ ({ type: "send", submission });
  const schedule = /** @type {const} */ ({ type: "schedule", submission, sendAt: new Date(0) });
  const pin = /** @type {const} */ ({ type: "addAction", message: "m", operation: "o", action: "pin", value: "pin" });
  const update = /** @type {const} */ ({ type: "putConversation", operation: "o", exists: true, settings: {} });
  const days = (/** @type {number} */ count) => Date.now() - count * 24 * 60 * 60 * 1000;
  const rows = /** @type {const} */ ([
    ["old message", send, days(181), refused],
    ["old scheduled message", schedule, days(181), refused],
    ["old message that the server may have", send, days(181), unconfirmed],
    ["old pin", pin, days(181), refused],
    ["old name", update, days(181), refused],
    ["recent pin", pin, days(179), refused],
    ["queued pin", pin, days(181), { type: "queued" }],
  ]);
  for (const [id, request, now, state] of rows) {
    await insertIntoOutbox(store, { id, conversation: "group:crew", request, now, state });
  }
  const core = { user: "alice", store, mailbox: new Mailbox(), setCurrent: () => {}, setPresence: () => {} };
  core.mailbox.post({ type: "close" });
  await drive(/** @type {any} */ (core));
  const left = (await store.allOf("outbox", "ordinal")).map((/** @type {{id: string}} */ { id }) => id);
  assert.deepEqual(left, rows.map(([id]) => id).filter((id) => id !== "old pin" && id !== "old name"));
});

Deno.test("What a crashed tab stored without a notice is sent, and what it used ends", async () => {
  const store = /** @type {any} */ (new MemoryStore());
  const mailbox = new Mailbox();
  const core = { user: "alice", store, mailbox, setCurrent: () => {}, setPresence: () => {}, setConnection: () => {} };
  const driver = new Driver(/** @type {any} */ (core), new Outbox([], standardPace));
  /** @type {string[]} */
  const done = [];
  driver.outbox.requeue = ({ id }) => Promise.resolve(void done.push(`sent ${id}`));
  driver.live.subscribe("crashed", "room:lobby", true);
  driver.live.subscribe("open", "room:deck", true);
  driver.live.watch("crashed", ["bob"], true);
  const submission = { id: "m", content: MessageContent.text("hi"), attributes: {} };
  const send = /** @type {const} */ ({ type: "send", submission });
  for (const id of ["m", "n"]) {
    await insertIntoOutbox(store, { id, conversation: "group:crew", request: send, now: Date.now() });
  }
  const loop = driver.run();
  mailbox.post({ type: "tabEnded", tab: "crashed" });
  mailbox.post({ type: "close" });
  await loop;
  assert.deepEqual([done, driver.live.subscribed], [["sent m", "sent n"], ["room:deck"]]);
});

Deno.test("A client connects again although its clock does not reach the time", async () => {
  const states = /** @type {string[]} */ ([]);
  let attempts = 0;
  let attempted = () => {};
  const secondAttempt = new Promise((resolve) => (attempted = () => resolve(undefined)));
  const mailbox = new Mailbox();
  const core = {
    user: "alice",
    mailbox,
    token: () => {
      attempts += 1;
      if (attempts === 2) attempted();
      return Promise.reject(new Error("The app has no token."));
    },
    setConnection: (/** @type {{state: string}} */ { state }) => states.push(state),
    setCurrent: () => {},
    setPresence: () => {},
    storageFailed: (/** @type {unknown} */ error) => {
      throw error;
    },
  };
  const driver = new Driver(/** @type {any} */ (core), new Outbox([], standardPace));
  driver.random = () => 0;
  // A clock that stands still is behind each timer.
  Object.defineProperty(driver, "now", { value: 1_000_000 });
  const loop = driver.run();
  mailbox.post({ type: "connect" });
  await secondAttempt;
  mailbox.post({ type: "close" });
  await loop;
  assert.deepEqual(states.slice(0, 3), ["connecting", "waiting", "connecting"]);
});
