// @ts-check
import assert from "node:assert/strict";
import { Driver } from "../sdk/client/driver.js";
import { Mailbox } from "../sdk/client/mailbox.js";
import { Outbox } from "../sdk/sync/outbox.js";
import { standardPace } from "../sdk/model/token-bucket.js";

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
