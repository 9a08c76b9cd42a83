// @ts-check
import assert from "node:assert/strict";
import { Conversation } from "../sdk/client/conversation.js";
import { Mailbox, refuse } from "../sdk/client/mailbox.js";
import { Observable } from "../sdk/client/observable.js";
import { outboxFrame } from "../sdk/client/outbox-frames.js";
import { extendedWindow, shownRange, windowAround } from "../sdk/client/timeline-window.js";
import { ScrollbackError } from "../sdk/model/errors.js";
import { LogState } from "../sdk/sync/log-state.js";

Deno.test("An observable calls its listeners at once and after each change", () => {
  /** @type {boolean[]} */
  const observed = [];
  const observable = new Observable(1, (isObserved) => observed.push(isObserved));
  /** @type {number[]} */
  const seen = [];
  const end = observable.subscribe((value) => seen.push(value));
  const other = observable.subscribe(() => {});
  observable.set(2);
  observable.set(2);
  end();
  end();
  observable.set(3);
  other();
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(observed, [true, false]);
  assert.equal(observable.getSnapshot(), 3);
});

Deno.test("An iterator begins with the current value, skips to the newest, and ends with the observable", async () => {
  const observable = new Observable("a");
  const iterator = observable[Symbol.asyncIterator]();
  assert.equal((await iterator.next()).value, "a");
  observable.set("b");
  observable.set("c");
  assert.equal((await iterator.next()).value, "c");
  const last = iterator.next();
  observable.end();
  assert.equal((await last).done, true);
  assert.equal((await observable[Symbol.asyncIterator]().next()).value, "c");
});

Deno.test("Leaving a loop ends its observation", async () => {
  const observable = new Observable(0);
  for await (const _ of observable) break;
  assert.equal(observable.isObserved, false);
});

/** Returns the state of a log of 100 messages. */
const log = () => LogState.adopting({ epoch: "1", view: 0, head: 100, firstSeq: 1, countedIndex: 100, rev: 0 });

Deno.test("A window around a message has both sides, and follows new messages at the newest end", () => {
  assert.deepEqual(windowAround({ newestOlder: 49, oldestNewer: 51 }, 20, log()), {
    type: "range",
    range: [40, 59],
    epoch: "1",
  });
  assert.deepEqual(windowAround({ newestOlder: 97, oldestNewer: 99 }, 20, log()), { type: "newest", count: 20 });
  assert.deepEqual(shownRange({ type: "newest", count: 20 }, log(), null, 20), [81, 100]);
  assert.deepEqual(shownRange({ type: "newest", count: 20 }, log(), [50, 60], 20), [45, 84]);
  assert.equal(shownRange({ type: "range", range: [40, 59], epoch: "2" }, log(), null, 20), null);
});

Deno.test("A window that grows beyond its maximum drops the other end", () => {
  assert.deepEqual(extendedWindow([61, 100], "older", 10, 40, log()), {
    type: "range",
    range: [51, 90],
    epoch: "1",
  });
  assert.deepEqual(extendedWindow([51, 90], "newer", 10, 40, log()), { type: "newest", count: 40 });
});

Deno.test("Requests get an error if the loop of the client can't run", async () => {
  const error = new ScrollbackError("unreachable", "A part of the SDK could not be loaded.");
  const mailbox = /** @type {Mailbox<any>} */ (new Mailbox());
  const answers = Promise.allSettled([
    new Promise((resolve) => mailbox.post({ type: "request", reply: resolve })),
    new Promise((resolve) => mailbox.post({ type: "retry", reply: resolve })),
    new Promise((resolve) => mailbox.post({ type: "cancel", reply: resolve })),
  ]);
  refuse(mailbox.close(), error);
  assert.equal(mailbox.post({ type: "connect" }), false);
  const [request, retry, cancel] = await answers;
  assert.deepEqual(request, { status: "fulfilled", value: { body: null, error } });
  assert.deepEqual(retry, { status: "fulfilled", value: false });
  assert.deepEqual(cancel, { status: "rejected", reason: error });
});

Deno.test("Each request to schedule a message has an ID of its own", async () => {
  /** @type {any[]} */
  const messages = [];
  const core = /** @type {any} */ ({
    queue: (/** @type {string} */ conversation, /** @type {string} */ _, /** @type {any} */ request) =>
      messages.push(outboxFrame(conversation, request)["message"]),
  });
  const crew = new Conversation(core, "group:crew");
  await crew.schedule("hi", new Date(0));
  await crew.schedule("hello", new Date(0), {}, { replacing: messages[0].id });
  const [first, second] = messages;
  assert.equal(second.id, first.id);
  assert.equal(new Set([first.id, first.operation, second.operation]).size, 3);
});
