// @ts-check
import assert from "node:assert/strict";
import { Conversation } from "../sdk/client/conversation.js";
import { abortable, Core } from "../sdk/client/core.js";
import { Push } from "../sdk/client/push.js";
import { SendHandle } from "../sdk/client/send-handle.js";
import { ScrollbackError } from "../sdk/model/errors.js";

const server = new URL("https://chat.example.org/");
const failed = () => Promise.reject(new TypeError("Failed to fetch dynamically imported module."));

/** @typedef {Promise<any>} Load */

/** The answers to the next attempts to load the modules, and how often it was tried. */
class Loads {
  attempts = 0;

  /** @param {(() => Load)[]} answers The last one is repeated. */
  constructor(...answers) {
    Core.importRemote = () => (answers[Math.min(this.attempts++, answers.length - 1)] ?? failed)();
  }
}

/** A loop that takes inputs until the client closes. */
class Loop {
  /** @type {Core | null} */
  core = null;
  /** @type {string[]} */
  inputs = [];
  load = () => Promise.resolve({ drive: (/** @type {Core} */ core) => this.#run(core) });

  /** @param {Core} core */
  async #run(core) {
    this.core = core;
    core.setConnection({ state: "online" });
    while (this.inputs.at(-1) !== "close") this.inputs.push(...(await core.mailbox.take()).map(({ type }) => type));
  }
}

/**
 * A client whose store is empty.
 *
 * @param {string} user Each test has its own, which names the lock and the channel.
 */
function client(user) {
  const store = { read: () => Promise.resolve([]), close: () => {} };
  const options = { server, user, token: () => Promise.resolve(""), sharesPresence: false, store: null };
  const storage = { loss: null, error: null, isPersistent: false };
  return new Core(options, /** @type {any} */ (store), "device", storage);
}

/** @param {() => boolean} condition */
async function until(condition) {
  for (let count = 0; !condition() && count < 400; count += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(condition(), String(condition));
}

/**
 * Waits until a tab holds its own lock, so that the leader can learn that it ends.
 *
 * @param {Core} core
 */
async function opened(core) {
  const isHeld = async () => (await navigator.locks.query()).held?.some(({ name }) => name?.endsWith(core.tabs.id));
  while (!await isHeld()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/**
 * Runs a test with a server that can be reached or not.
 *
 * @param {string} name
 * @param {(network: {isReachable: boolean}) => Promise<void>} body
 */
function test(name, body) {
  Deno.test(name, async () => {
    const [{ fetch }, { importRemote, viewTimeout }] = [globalThis, Core];
    const network = { isReachable: true };
    globalThis.fetch = () => network.isReachable ? Promise.resolve(new Response("ok")) : failed();
    try {
      await body(network);
    } finally {
      globalThis.fetch = fetch;
      Core.importRemote = importRemote;
      Core.viewTimeout = viewTimeout;
    }
  });
}

test("A client whose modules could not be loaded loads them again, and connects", async (network) => {
  network.isReachable = false;
  const loop = new Loop();
  new Loads(failed, failed, loop.load);
  const core = client("retries");
  /** @type {string[]} */
  const states = [];
  core.connection.subscribe(({ state }) => states.push(state));
  await until(() => core.tabs.isLeader);
  core.post({ type: "subscribe", tab: "other", id: "room:lobby", isOn: true });
  core.post({ type: "disconnect" });
  await assert.rejects(core.request({ type: "ping" }), { code: "unreachable" });
  await until(() => loop.inputs.includes("disconnect"));
  assert.deepEqual(states, ["connecting", "waiting", "waiting", "online"]);
  // What the tabs use is not lost, and the app's wish to disconnect is newer than the first connection.
  assert.deepEqual(loop.inputs.filter((type) => type !== "visible"), ["connect", "subscribe", "disconnect"]);
  await core.close();
});

test("A client is rejected while the browser loads no module although the server answers", async () => {
  const loop = new Loop();
  new Loads(failed, failed, loop.load);
  const core = client("rejected");
  await until(() => core.connection.value.state === "rejected");
  const state = core.connection.value;
  assert.equal(state.state === "rejected" && state.error.code, "unreachable");
  await until(() => core.connection.value.state === "online");
  await core.close();
});

test("A tab that can't load the modules lets another tab lead", async () => {
  const loop = new Loop();
  const loads = new Loads(failed, loop.load, failed);
  const [broken, other] = [client("tabs"), client("tabs")];
  await until(() => broken.tabs.isLeader);
  await until(() => broken.connection.value.state === "online");
  assert.deepEqual([broken.tabs.isLeader, other.tabs.isLeader, loop.core === other], [false, true, true]);
  // Its calls reach the new leader.
  const lost = assert.rejects(broken.callOutbox("retry", "unknown"), { code: "unreachable" });
  await until(() => loop.inputs.includes("retry"));
  // It leads again after the other one.
  await other.close();
  await until(() => broken.tabs.isLeader && broken.connection.value.state === "waiting");
  assert.equal(loads.attempts, 3);
  await lost;
  await broken.close();
});

test("A tab without the connection loads its modules again when it needs them", async () => {
  const loop = new Loop();
  const loads = new Loads(loop.load, failed, failed, loop.load);
  const [leading, other] = [client("needs"), client("needs")];
  await until(() => leading.connection.value.state === "online");
  await assert.rejects(other.remote(), { code: "unreachable" });
  assert.equal(typeof (await other.remote()).drive, "function");
  await other.remote();
  assert.equal(loads.attempts, 4);
  await leading.close();
  await other.close();
});

test("A call that needs the modules ends when its signal aborts or the client closes", async () => {
  new Loads(() => new Promise(() => {}));
  const core = client("ends");
  const controller = new AbortController();
  const aborted = assert.rejects(core.remote(controller.signal), { name: "AbortError" });
  const closed = assert.rejects(core.remote(), { code: "closed" });
  controller.abort();
  await core.close();
  await Promise.all([aborted, closed]);
});

test("A client closes while its modules are loading", async () => {
  new Loads(() => new Promise(() => {}));
  const core = client("closes");
  await until(() => core.tabs.isLeader);
  const request = core.request({ type: "ping" });
  await Promise.all([core.close(), assert.rejects(request, { code: "closed" })]);
});

/** Reads all values of an observable. @param {AsyncIterable<unknown>} observable */
async function allOf(observable) {
  for await (const _ of observable);
}

test("A client that closes ends its views, and the waits for its messages", async () => {
  new Loads(() => new Promise(() => {}));
  const core = client("views");
  Object.assign(core.store, { read: () => Promise.resolve({ state: "sending" }) });
  const handle = new SendHandle(core, "group:crew", "m1");
  const crew = new Conversation(core, "group:crew");
  const sent = assert.rejects(handle.sent(), { code: "closed" });
  const views = [crew.draft(), crew.recent(), crew.timeline(), crew.threads(), crew.typing].map(allOf);
  await new Promise((resolve) => setTimeout(resolve, 0));
  await core.close();
  await Promise.all([sent, ...views]);
  // What is observed afterwards ends, too.
  await assert.rejects(handle.sent(), { code: "closed" });
  const lobby = new Conversation(core, "room:lobby");
  await Promise.all([lobby.recent(), lobby.timeline(), lobby.typing, lobby.subscription, core.connection].map(allOf));
});

test("Requests end with the client whose loop has failed", async () => {
  const full = new ScrollbackError("local-storage", "The browser's storage for this site is full.");
  new Loads(() => Promise.resolve({ drive: () => Promise.reject(full) }));
  const core = client("failed");
  const { error } = console;
  console.error = () => {};
  await until(() => core.storage.value.error === full);
  console.error = error;
  const request = assert.rejects(core.request({ type: "ping" }), { code: "closed" });
  const retry = assert.rejects(core.callOutbox("retry", "m1"), { code: "closed" });
  await core.close();
  await Promise.all([request, retry]);
});

test("A tab that leads after the client was disconnected does not connect", async () => {
  const [first, second] = [new Loop(), new Loop()];
  new Loads(first.load, second.load);
  const [leading, other] = [client("idle"), client("idle")];
  await until(() => first.core === leading && leading.connection.value.state === "online");
  leading.setConnection({ state: "idle" });
  await until(() => other.connection.value.state === "idle");
  await leading.close();
  await until(() => second.core === other);
  other.post({ type: "reconnectNow" });
  await until(() => second.inputs.includes("reconnectNow"));
  assert.deepEqual([first.inputs.includes("connect"), second.inputs.includes("connect")], [true, false]);
  await other.close();
});

test("The leader learns of a tab that ends, also if it did not announce it", async () => {
  const [first, second] = [new Loop(), new Loop()];
  new Loads(first.load, second.load);
  const [leading, other] = [client("ended"), client("ended")];
  await until(() => first.core === leading && leading.connection.value.state === "online");
  await opened(other);
  await until(() => other.connection.value.state === "online");
  // As in a crash, the client itself announces nothing.
  other.tabs.close();
  await until(() => first.inputs.includes("tabEnded"));
  await leading.close();
  await other.close();
});

test("A new leader learns of the tabs that end", async () => {
  const [first, second] = [new Loop(), new Loop()];
  new Loads(first.load, second.load);
  const [leading, next, third] = [client("follows"), client("follows"), client("follows")];
  await until(() => first.core === leading && leading.connection.value.state === "online");
  await opened(third);
  await leading.close();
  await until(() => second.core === next);
  // What the new leader sends last arrives after it has asked the other tabs whether they are open.
  next.setConnection({ state: "idle" });
  await until(() => third.connection.value.state === "idle");
  third.tabs.close();
  await until(() => second.inputs.includes("tabEnded"));
  await next.close();
  await third.close();
});

test("A watch of presence ends for the users whom the tab does not watch once more", async () => {
  new Loads(() => new Promise(() => {}));
  const core = client("presence");
  await until(() => core.tabs.isLeader);
  /** @type {any[]} */
  const watches = [];
  const { post } = core;
  core.post = (input) => {
    if (input.type === "watch") watches.push([input.users, input.isOn]);
    post.call(core, input);
  };
  const end = core.watchPresence(["bob", "carol"]);
  core.watchPresence(["bob"]);
  end();
  await core.close();
  assert.deepEqual(watches, [[["bob", "carol"], true], [["bob"], true], [["carol"], false], [["bob"], false]]);
});

test("A client that is closed reports no clicks of notifications", async () => {
  new Loads(() => new Promise(() => {}));
  const core = client("clicks");
  const serviceWorker = Object.assign(new EventTarget(), { startMessages: () => {} });
  Object.defineProperty(navigator, "serviceWorker", { configurable: true, value: serviceWorker });
  /** @type {string[]} */
  const clicks = [];
  new Push(core).onClick(({ message }) => clicks.push(message));
  const click = (/** @type {string} */ message) => {
    const scrollback = { conversation: "group:a", message, receiver: core.user };
    serviceWorker.dispatchEvent(new MessageEvent("message", { data: { scrollback } }));
  };
  click("before");
  await core.close();
  click("after");
  Reflect.deleteProperty(navigator, "serviceWorker");
  assert.deepEqual(clicks, ["before"]);
});

test("Requests do not wait longer for modules whose loading stalls", async (network) => {
  network.isReachable = false;
  const { loadTimeout } = Core;
  Core.loadTimeout = () => 50;
  const loop = new Loop();
  let load = () => {};
  const stalled = new Promise((resolve) => (load = () => resolve(loop.load())));
  new Loads(() => stalled);
  const core = client("stalls");
  await assert.rejects(core.request({ type: "ping" }), { code: "unreachable" });
  load();
  await until(() => core.connection.value.state === "online");
  Core.loadTimeout = loadTimeout;
  await core.close();
});

test("A listener of events that fails keeps no event from the others", async () => {
  new Loads(() => new Promise(() => {}));
  const core = client("events");
  const { reportError } = globalThis;
  /** @type {unknown[]} */
  const errors = [];
  globalThis.reportError = (error) => errors.push(error);
  core.onEvent(() => {
    throw new Error("A bug of the app.");
  });
  /** @type {string[]} */
  const received = [];
  core.onEvent((event) => received.push("conversation" in event ? event.conversation : ""));
  core.notify(...["group:a", "group:b"].map((conversation) => ({
    type: /** @type {const} */ ("conversation"),
    conversation,
    isDeleted: false,
  })));
  globalThis.reportError = reportError;
  assert.deepEqual([received, errors.length], [["group:a", "group:b"], 2]);
  await core.close();
});

test("A request that is stored, but not on the disk, counts as queued", async () => {
  new Loads(() => new Promise(() => {}));
  const core = client("flush");
  const full = new ScrollbackError("local-storage", "The browser's storage for this site is full.");
  Object.assign(core.store, { write: () => Promise.resolve(), flush: () => Promise.reject(full) });
  const { error } = console;
  console.error = () => {};
  await core.queue("group:a", "x", { type: "deleteConversation" });
  assert.equal(core.storage.value.error, full);
  core.storage.set({ ...core.storage.value, error: null });
  // The same with the edit of a message that was not sent.
  Object.assign(core.store, { write: () => Promise.resolve(true) });
  await new Conversation(core, "group:a").edit("x", "hello");
  console.error = error;
  assert.equal(core.storage.value.error, full);
  await core.close();
});

test("A request whose signal has aborted is not sent, and leaves no unhandled error", async () => {
  new Loads(() => new Promise(() => {}));
  const core = client("aborted");
  /** @type {object[]} */
  const calls = [];
  Object.assign(core.tabs, { call: (/** @type {object} */ call) => Promise.reject(calls.push(call)) });
  await assert.rejects(core.request({ type: "ping" }, { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.deepEqual(calls, []);
  const lost = Promise.reject(new ScrollbackError("unreachable", "There is no connection."));
  await assert.rejects(abortable(lost, AbortSignal.abort()), { name: "AbortError" });
  await core.close();
});

test("A client whose store the browser closed lets another tab lead", async () => {
  const loop = new Loop();
  new Loads(loop.load);
  const [leading, other] = [client("closed"), client("closed")];
  await until(() => leading.connection.value.state === "online");
  const { error } = console;
  console.error = () => {};
  const lost = new ScrollbackError("local-storage", "Another tab replaced the storage. Reload this page.");
  await leading.storageClosed(lost);
  console.error = error;
  assert.equal(leading.storage.value.error, lost);
  assert.deepEqual(leading.connection.value, { state: "rejected", error: lost });
  await until(() => other.tabs.isLeader);
  await other.close();
});

test("The modules of the connection wait for the first view, but not longer than a moment", async () => {
  const loop = new Loop();
  const loads = new Loads(loop.load);
  Core.viewTimeout = () => 3_600_000;
  const core = client("views");
  await until(() => core.tabs.isLeader);
  const before = loads.attempts;
  core.viewed();
  await until(() => loop.core !== null);
  await core.close();
  assert.deepEqual([before, loads.attempts], [0, 1]);

  Core.viewTimeout = () => 1;
  const other = new Loop();
  new Loads(other.load);
  const quiet = client("no-views");
  await until(() => other.core !== null);
  await quiet.close();
});
