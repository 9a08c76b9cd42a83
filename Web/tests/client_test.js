// @ts-check
import assert from "node:assert/strict";
import { ChatClient } from "../sdk/client/chat-client.js";
import { Conversation } from "../sdk/client/conversation.js";
import { Core } from "../sdk/client/core.js";
import { download } from "../sdk/client/downloads.js";
import { prepareFile } from "../sdk/client/files.js";
import { Mailbox, refuse } from "../sdk/client/mailbox.js";
import { Observable } from "../sdk/client/observable.js";
import { outboxFrame } from "../sdk/client/outbox-frames.js";
import { SendHandle } from "../sdk/client/send-handle.js";
import { extendedWindow, shownRange, windowAround, windowAt } from "../sdk/client/timeline-window.js";
import { ConversationID } from "../sdk/model/conversation-id.js";
import { ScrollbackError } from "../sdk/model/errors.js";
import { MessageContent } from "../sdk/model/message-content.js";
import { insertIntoOutbox, unsentCount } from "../sdk/store/outbox.js";
import { OpenConversation } from "../sdk/store/records.js";
import { LogState } from "../sdk/sync/log-state.js";
import { MemoryStore } from "./memory-store.js";

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

Deno.test("An aborted wait for a message ends its observation", async () => {
  let observers = 0;
  const core = /** @type {any} */ ({
    store: { read: () => Promise.resolve({ state: "sending" }) },
    viewed: () => {},
    observe: () => {
      observers += 1;
      return () => observers -= 1;
    },
  });
  const handle = new SendHandle(core, "group:crew", "m1");
  const controller = new AbortController();
  const sent = handle.sent({ signal: controller.signal });
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(observers, 1);
  controller.abort();
  await assert.rejects(sent, { name: "AbortError" });
  assert.equal(observers, 0);
  await assert.rejects(handle.sent({ signal: controller.signal }), { name: "AbortError" });
  assert.equal(observers, 0);
});

Deno.test("A wait for a message does not end with the failure before a retry", async () => {
  const failed = { state: "failed", error: new ScrollbackError("muted", "You are muted.") };
  let state = /** @type {any} */ (failed);
  /** @type {Set<(ids: null) => void>} */
  const observers = new Set();
  const core = /** @type {any} */ ({
    store: { read: () => Promise.resolve(state) },
    viewed: () => {},
    observe: (/** @type {unknown} */ _, /** @type {(ids: null) => void} */ changed) => {
      observers.add(changed);
      return () => observers.delete(changed);
    },
    post: () => {},
    callOutbox: () => {
      state = { state: "sent", message: "m1" };
      for (const changed of observers) changed(null);
      return Promise.resolve(true);
    },
  });
  for (const isObserved of [false, true]) {
    state = failed;
    const [handle, other] = [new SendHandle(core, "group:crew", "m1"), new SendHandle(core, "group:crew", "m1")];
    if (isObserved) handle.subscribe(() => {});
    await assert.rejects(handle.sent(), { code: "muted" });
    // A retry through another handle is known after the next read.
    await (isObserved ? handle : other).retry();
    assert.equal(await handle.sent(), "m1");
  }
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
  for (const point of [undefined, null]) assert.deepEqual(windowAt(point, 20), { type: "newest", count: 20 });
});

Deno.test("A window that grows beyond its maximum drops the other end", () => {
  assert.deepEqual(extendedWindow({ type: "newest", count: 40 }, [61, 100], "older", 10, 40, log()), {
    type: "range",
    range: [51, 90],
    epoch: "1",
  });
  const older = windowAround({ newestOlder: 70, oldestNewer: 71 }, 40, log());
  assert.deepEqual(extendedWindow(older, [51, 90], "newer", 10, 40, log()), { type: "newest", count: 40 });
});

/**
 * Returns a timeline that observes a conversation of 100 messages.
 *
 * @param {(timeline: any, saveLog: (head: number) => void) => void} whileLoading Runs while older messages are loaded.
 */
function observedTimeline(whileLoading) {
  const [id, store] = ["group:crew", new MemoryStore()];
  const core = /** @type {any} */ ({
    user: "alice",
    connections: 1,
    store,
    viewed: () => {},
    observe: () => () => {},
    subscription: () => ({ value: { headAtEntry: 0 } }),
    readConversation: (/** @type {string} */ id, /** @type {any} */ body) =>
      store.read(async (transaction) => body(await OpenConversation.load(transaction, id), transaction)),
  });
  const saveLog = (/** @type {number} */ head) => {
    const conversation = new OpenConversation(id, undefined);
    conversation.log = LogState.adopting({ epoch: "1", view: 0, head, firstSeq: 1, countedIndex: head, rev: 0 });
    conversation.save(/** @type {any} */ (store));
  };
  saveLog(100);
  const crew = /** @type {any} */ (new Conversation(core, id));
  const timeline = crew.timeline({ window: 20 });
  crew.history = () => {
    whileLoading(timeline, saveLog);
    return Promise.resolve({ messages: [{}] });
  };
  crew.fetchPage = () => new Promise(() => {});
  timeline.subscribe(() => {});
  return timeline;
}

/** Waits until a timeline has read the store. */
const isRead = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("A timeline follows the newest messages even if one arrives while older ones are loaded", async () => {
  const timeline = observedTimeline((_, saveLog) => saveLog(101));
  await isRead();
  assert.ok(timeline.value.isAtNewest);
  await timeline.loadOlder();
  await isRead();
  assert.ok(timeline.value.isAtNewest);
});

Deno.test("A jump while older messages are loaded determines the window", async () => {
  const timeline = observedTimeline((timeline) => timeline.jump("latest"));
  await isRead();
  const { items } = timeline.value;
  assert.deepEqual(items.map((/** @type {any} */ item) => item.range), [[81, 100]]);
  await timeline.loadOlder();
  await isRead();
  assert.deepEqual(timeline.value.items, items);
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
  assert.deepEqual(retry, { status: "rejected", reason: error });
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

Deno.test("Opening a client names the argument that is missing or has a wrong type", async () => {
  const valid = { server: "https://chat.example.org", user: "alice", token: "token" };
  for (const server of [undefined, "", "chat.example.org", "127.0.0.1:8080", "ws://chat.example.org"]) {
    const options = /** @type {any} */ ({ ...valid, server });
    await assert.rejects(ChatClient.open(options), { code: "invalid-parameter", parameter: "server" }, String(server));
  }
  for (const name of ["user", "token"]) {
    const options = /** @type {any} */ ({ ...valid, [name]: undefined });
    await assert.rejects(ChatClient.open(options), { code: "invalid-parameter", parameter: name });
  }
  const promise = /** @type {any} */ ({ ...valid, token: Promise.resolve("token") });
  await assert.rejects(ChatClient.open(promise), { code: "invalid-parameter", parameter: "token" });
  assert.throws(() => ConversationID.parse(/** @type {any} */ (undefined)), { parameter: "conversation" });
});

Deno.test("White space around a token is ignored", async () => {
  const { open } = Core;
  const opened = /** @type {(() => Promise<string>)[]} */ ([]);
  Core.open = ({ token }) => {
    opened.push(token);
    return Promise.reject(new Error("The store is not opened."));
  };
  const options = { server: "https://chat.example.org", user: "alice" };
  for (const token of [" token\n", () => "token\r\n", () => Promise.resolve("token ")]) {
    await assert.rejects(ChatClient.open({ ...options, token }), { message: "The store is not opened." });
  }
  Core.open = open;
  assert.deepEqual(await Promise.all(opened.map((token) => token())), ["token", "token", "token"]);
});

Deno.test("A list and a timeline without content are loaded when they were read from the store", async () => {
  const store = new MemoryStore();
  const core = /** @type {any} */ ({
    user: "alice",
    store: Object.assign(store, { newest: () => Promise.resolve([]) }),
    viewed: () => {},
    observe: () => () => {},
    storageFailed: (/** @type {unknown} */ error) => {
      throw error;
    },
  });
  const client = new ChatClient(core);
  for (const view of [client.recents(), client.conversation("group:crew").timeline()]) {
    /** @type {boolean[]} */
    const loaded = [];
    const end = view.subscribe((/** @type {{isLoaded: boolean}} */ { isLoaded }) => loaded.push(isLoaded));
    await new Promise((resolve) => setTimeout(resolve, 0));
    end();
    assert.deepEqual(loaded, [false, true]);
  }
});

Deno.test("A group with an invalid name or an invalid member is refused before it is queued", async () => {
  const { conversation, requests } = crew();
  const client = /** @type {any} */ (new ChatClient(conversation.core));
  const tooLong = { code: "invalid-parameter", parameter: "name", limit: 128 };
  await assert.rejects(client.createGroup({ name: "n".repeat(129) }), tooLong);
  await assert.rejects(conversation.update({ name: "ü".repeat(65) }), tooLong);
  const names = [1, "two\nlines", "cut: \ud83d", "over\u202eride", "open \u2067", "closed \u2069", "\u202a\u2069"];
  for (const name of names) {
    await assert.rejects(client.createGroup({ name }), { code: "invalid-parameter", parameter: "name" }, String(name));
  }
  const many = Array.from({ length: 1001 }, (_, index) => `user${index}`);
  for (const members of ["bob", null, ["bob", ""], [{ user: "bob" }], ["b\u200bob"], many]) {
    await assert.rejects(client.createGroup({ members }), { code: "invalid-parameter", parameter: "members" });
  }
  for (const settings of ["Plans", ["bob"]]) {
    await assert.rejects(client.createGroup(settings), { code: "invalid-parameter", parameter: "settings" });
  }
  assert.equal(requests.length, 0);
  const valid = ["n".repeat(128), "", null, "\u2067שלום\u2069 and \u202bשלום\u202c"];
  for (const name of valid) await client.createGroup({ name, members: many.slice(1) });
  await client.createGroup();
  assert.deepEqual(requests.map(({ settings }) => settings.name), [...valid, undefined]);
});

Deno.test("A request that is not an object rejects the promise", async () => {
  const client = new ChatClient(/** @type {any} */ ({ request: () => Promise.resolve({}) }));
  for (const request of [undefined, null, "ping", []]) {
    const promise = client.request(/** @type {any} */ (request));
    await assert.rejects(promise, { code: "invalid-parameter", parameter: "request" });
  }
  assert.deepEqual(await client.request({ type: "ping" }), {});
});

/** A conversation that stores nothing, and the requests that it queues. */
function crew() {
  /** @type {any[]} */
  const requests = [];
  const core = /** @type {any} */ ({
    store: { write: () => Promise.resolve(false) },
    queue: (/** @type {string} */ _, /** @type {string} */ _id, /** @type {any} */ request) => requests.push(request),
  });
  return { conversation: new Conversation(core, "group:crew"), requests };
}

Deno.test("Calls of a conversation name the argument that has a wrong type, and queue nothing", async () => {
  const { conversation, requests } = crew();
  const call = /** @type {any} */ (conversation);
  const message = { id: "0198f3c2-7c1e-7000-8000-0123456789ab" };
  /** @type {[string, () => unknown][]} */
  const calls = [
    ["content", () => call.send()],
    ["content", () => call.send({ text: "hi" })],
    ["content", () => call.send(new MessageContent("app:order", /** @type {any} */ (undefined)))],
    ["content", () => call.edit(message.id)],
    ["attributes", () => call.send("hi", "bob")],
    ["mentions", () => call.send("hi", { mentions: ["bob"] })],
    ["mentions", () => call.send("hi", { mentions: { everyone: true } })],
    ["content", () => call.send("cut in an emoji: \ud83d")],
    ["content", () => call.send("\\\ud83d")],
    ["metadata", () => call.send("hi", { metadata: { text: "\udc00" } })],
    ["text", () => call.send(MessageContent.poll(/** @type {any} */ ({ text: "?", options: ["a", "b"] })))],
    ["value", () => call.react(message.id)],
    ["id", () => call.edit(message, "hi")],
    ["id", () => call.react(message, "👍")],
    ["id", () => call.unreact(undefined, "👍")],
    ["id", () => call.markRead(message)],
    ["id", () => call.followThread(message)],
    ["id", () => call.markThreadRead()],
    ["id", () => call.sendHandle(message)],
    ["ids", () => call.delete(message.id)],
    ["ids", () => call.recall(message)],
    ["at", () => call.timeline({ at: "newest" })],
    ["before", () => call.history({ before: 5 })],
    ["around", () => call.history({ around: new Date(NaN) })],
    ["at", () => call.timeline({ at: { id: undefined } })],
    ["before", () => call.history({ before: { seq: "5" } })],
    ["after", () => call.history({ after: { timetoken: 5 } })],
    ["limit", () => call.history({ limit: 101 })],
    ["limit", () => call.history({ limit: -1 })],
    ["limit", () => call.history({ limit: 1.5 })],
    ["limit", () => call.history({ limit: "20" })],
    ["limit", () => call.history({ limit: null, types: ["image"] })],
    ["afterLimit", () => call.history({ around: "latest", afterLimit: 101 })],
    ["text", () => call.setDraft()],
    ["replyTo", () => call.setDraft("hi", { replyTo: message })],
    ["isTyping", () => call.setTyping("yes")],
    ["isMuted", () => call.setMuted("yes")],
    ["isPinned", () => call.setPinned()],
    ["level", () => call.setNotifications("x")],
    ["level", () => call.setNotifications()],
    ["file", () => call.sendFile("hello")],
  ];
  for (const [parameter, body] of calls) {
    await assert.rejects(async () => await body(), { code: "invalid-parameter", parameter }, String(body));
  }
  assert.deepEqual(requests, []);
  await conversation.send("\\ud83d and 👍");
  assert.equal(requests.length, 1);
  const client = /** @type {any} */ (new ChatClient(conversation.core));
  await assert.rejects(client.setBlocked("bob", "no"), { code: "invalid-parameter", parameter: "isBlocked" });
  for (const limit of [0, 2.5, Infinity, "20", null]) {
    assert.throws(() => client.recents({ limit }), { code: "invalid-parameter", parameter: "limit" });
  }
});

Deno.test("A queued message has only what JSON has", async () => {
  const { conversation, requests } = crew();
  // Frameworks observe objects with proxies, which IndexedDB can't store.
  const users = new Proxy(["bob"], {});
  const metadata = { at: new Date(0), format: () => {}, count: 12345678901234567890n };
  await conversation.send("hi", { mentions: { everyone: false, users }, metadata, replyTo: undefined });
  const { content, attributes } = structuredClone(requests[0].submission);
  assert.deepEqual(content, { type: "text", json: { text: "hi" } });
  const at = "1970-01-01T00:00:00.000Z";
  assert.deepEqual(attributes, {
    mentions: { everyone: false, users: ["bob"] },
    metadata: { at, count: 12345678901234567890n },
  });
});

Deno.test("A file's message leaves out the type that the browser takes from the file's name", async () => {
  for (const type of ["application/json", "text/plain;charset=utf-8", ""]) {
    const { content } = await prepareFile(new File(["{}"], "a.json", { type }), "file", {});
    assert.deepEqual({ ...content.json, media: "" }, { media: "", name: "a.json", size: 2 });
  }
  const { content } = await prepareFile(new Blob(["{}"]), "file", { mediaType: "text/plain" });
  assert.equal(content.media?.mediaType, "text/plain");
});

Deno.test("A download that fails, also after a part of the file, is unreachable", async () => {
  const { fetch } = globalThis;
  const lost = () =>
    new ReadableStream({ start: (controller) => controller.error(new TypeError("The network failed.")) });
  const core = /** @type {any} */ ({
    server: new URL("https://chat.example.org/"),
    store: { read: () => Promise.resolve(null) },
    token: () => Promise.resolve("token"),
  });
  try {
    for (const status of [200, 500]) {
      globalThis.fetch = () => Promise.resolve(new Response(lost(), { status }));
      await assert.rejects(download(core, "f", {}), { name: "ScrollbackError", code: "unreachable" });
    }
    globalThis.fetch = () => Promise.resolve(new Response("", { status: 404 }));
    await assert.rejects(download(core, "f", {}), { code: "unknown-media" });
    core.token = () => Promise.reject(new TypeError("The backend can't be reached."));
    await assert.rejects(download(core, "f", {}), { name: "ScrollbackError", code: "unreachable" });
    core.token = () => new Promise(() => {});
    await assert.rejects(download(core, "f", { signal: AbortSignal.timeout(1) }), { name: "TimeoutError" });
  } finally {
    globalThis.fetch = fetch;
  }
});

Deno.test("Profiles that are old are returned if the server can't be reached, and unknown ones are not", async () => {
  const bob = { user: "bob", name: "Bob" };
  let error = /** @type {unknown} */ (new ScrollbackError("unreachable", "There is no connection."));
  const core = /** @type {any} */ ({
    store: { read: () => Promise.resolve({ known: new Map([["bob", bob]]), outdated: ["bob"] }) },
    fetchProfiles: () => Promise.reject(error),
  });
  const client = new ChatClient(core);
  assert.deepEqual(await client.profiles(["bob"]), new Map([["bob", bob]]));
  await assert.rejects(client.profiles(["bob", "carol"]), { code: "unreachable" });
  error = new DOMException("The call was aborted.", "AbortError");
  await assert.rejects(client.profiles(["bob"]), { name: "AbortError" });
  core.fetchProfiles = () => Promise.resolve([{ user: "bob", name: "Robert" }]);
  assert.equal((await client.profiles(["bob"])).get("bob")?.name, "Robert");
});

Deno.test("Joining, leaving and blocking take a signal", async () => {
  /** @type {unknown[]} */
  const signals = [];
  const core = /** @type {any} */ ({
    user: "alice",
    request: (/** @type {unknown} */ _, /** @type {any} */ options) => signals.push(options.signal),
  });
  const town = new Conversation(core, "community:town");
  const { signal } = new AbortController();
  await town.join({ signal });
  await town.leave({ signal });
  await new ChatClient(core).setBlocked("bob", true, { signal });
  assert.deepEqual(signals, [signal, signal, signal]);
});

Deno.test("A refused change does not count as unsent, and a refused message does", async () => {
  const store = /** @type {any} */ (new MemoryStore());
  const refused = /** @type {const} */ ({ type: "failed", problem: { code: "conflict" } });
  const reaction = /** @type {const} */ ({ type: "addAction", message: "m", operation: "o", action: "a", value: "v" });
  const submission = { id: "m", content: MessageContent.text("hi"), attributes: {} };
  const send = /** @type {const} */ ({ type: "send", submission });
  const fields = { conversation: "group:crew", now: 0 };
  await insertIntoOutbox(store, { ...fields, id: "1", request: reaction, state: refused });
  assert.equal(await unsentCount(store), 0);
  await insertIntoOutbox(store, { ...fields, id: "2", request: reaction });
  await insertIntoOutbox(store, { ...fields, id: "3", request: send, state: refused });
  assert.equal(await unsentCount(store), 2);
});
