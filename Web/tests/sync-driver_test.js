// @ts-check
import assert from "node:assert/strict";
import { Driver } from "../sdk/client/driver.js";
import { Mailbox } from "../sdk/client/mailbox.js";
import { ScrollbackError } from "../sdk/model/errors.js";
import { MessageContent } from "../sdk/model/message-content.js";
import { Message } from "../sdk/model/message.js";
import { standardPace } from "../sdk/model/token-bucket.js";
import { applyDraft, nextDraftStep, receiveDraft, storeDrafts } from "../sdk/store/draft-sync.js";
import { draftOf } from "../sdk/store/drafts.js";
import { apply } from "../sdk/store/log.js";
import { getMeta, setMeta } from "../sdk/store/meta.js";
import { insertIntoOutbox } from "../sdk/store/outbox.js";
import { OpenConversation } from "../sdk/store/records.js";
import { markRead } from "../sdk/store/settings.js";
import { Outbox } from "../sdk/sync/outbox.js";
import { MemoryStore } from "./memory-store.js";

const crew = "group:crew";

/**
 * The JSON of a head.
 *
 * @param {string} conversation
 * @param {object} [members]
 */
const head = (conversation, members = {}) => ({
  conversation,
  epoch: "7",
  view: 1,
  head: 3,
  firstSeq: 1,
  n: 3,
  rev: 1,
  recentTime: "1000",
  readSeq: 0,
  unread: 3,
  moved: 5,
  userRev: 5,
  ...members,
});

const window = (/** @type {object[]} */ ...heads) => ({ heads, cursor: "c", done: true });
const unknown = new ScrollbackError("unknown-conversation", "The conversation does not exist.");
const temporary = new ScrollbackError("overloaded", "The server is overloaded.");

/** A driver that is online, with a store in memory, whose requests are recorded. */
class Client {
  store = new MemoryStore();
  /** @type {any[]} */
  requests = [];
  /** What `Core.apply` reports in addition. */
  outcome = {};
  isOnline = true;

  constructor() {
    this.core = /** @type {any} */ ({
      user: "alice",
      store: this.store,
      mailbox: new Mailbox(),
      apply: async (/** @type {any[]} */ inputs) => {
        const outcomes = await this.store.write((transaction) => apply(transaction, "alice", inputs));
        return outcomes.map((outcome) => ({ ...outcome, ...this.outcome }));
      },
      readConversation: async (/** @type {string} */ id, /** @type {(row: OpenConversation) => unknown} */ body) =>
        body(await this.conversation(id)),
      storageFailed: (/** @type {unknown} */ error) => {
        throw error;
      },
    });
    const ignored = ["changed", "changedAnything", "notify", "reportDelivered", "setConnection", "setCurrent"];
    for (const name of [...ignored, "setPresence", "setSubscription", "uploadEnded"]) this.core[name] = () => {};
    this.driver = new Driver(this.core, new Outbox([], standardPace));
    this.driver.send = (request, answered = () => {}) => {
      const since = this.driver.deletions.length;
      this.requests.push({ ...request, answered: (/** @type {any} */ answer) => answered(answer, since) });
    };
    this.driver.wake = () => {};
    Object.defineProperty(this.driver, "isOnline", { get: () => this.isOnline });
  }

  get sync() {
    return this.driver.sync;
  }

  /** @param {string} id */
  conversation(id) {
    return OpenConversation.load(/** @type {any} */ (this.store), id);
  }

  /** Lets the loop handle all inputs, and these before them. @param {any[]} inputs */
  async loop(...inputs) {
    for (const input of inputs) this.core.mailbox.post(input);
    this.core.mailbox.post({ type: "close" });
    await this.driver.run();
    this.core.mailbox = new Mailbox();
  }

  /** Stores the window that was answered. */
  async storeWindow() {
    for (const input of this.core.mailbox.drain()) {
      if (input.type === "storeHeads") await this.sync.storeWindow(input.heads, input.cursor);
    }
  }

  /** Answers the last request. @param {object} body */
  async answer(body) {
    await this.requests.at(-1).answered({ body, error: null });
    await this.storeWindow();
  }

  /** Takes the conversations of the requests for heads. */
  headsRequested() {
    return this.requests.splice(0).flatMap(({ type, conversations }) => type === "heads" ? conversations : []);
  }

  /** Takes the number of requests for windows. */
  windowsRequested() {
    return this.requests.splice(0).filter(({ type, positions }) => type === "sync" && !positions).length;
  }

  /**
   * Sends a message to the crew, and returns what handles the answer.
   *
   * @param {string} id
   * @param {boolean} [needsUpload] Whether it has a file, whose upload then never ends by itself.
   */
  async send(id, needsUpload = false) {
    this.core.token = () => new Promise(() => {});
    const submission = { id, content: { type: "text", json: { text: "hi" } }, attributes: {} };
    const fields = { id, conversation: crew, request: { type: "send", submission }, now: Date.now(), needsUpload };
    await insertIntoOutbox(/** @type {any} */ (this.store), /** @type {any} */ (fields));
    await this.driver.outbox.connected();
    await this.driver.outbox.queued(id);
    return this.requests.at(-1)?.answered;
  }

  /** Sends the request that creates the crew, and returns what handles the answer. */
  async createCrew() {
    const request = { type: "putConversation", operation: "g1", exists: false, settings: { name: "crew" } };
    const fields = { id: "g1", conversation: crew, request, now: Date.now() };
    await insertIntoOutbox(/** @type {any} */ (this.store), /** @type {any} */ (fields));
    await this.driver.outbox.connected();
    await this.driver.outbox.queued("g1");
    return this.requests.at(-1).answered;
  }

  /** Completes a sync pass. @param {object[]} heads */
  async connect(...heads) {
    await this.sync.connected();
    await this.answer(window(...heads));
    this.requests = [];
  }
}

/** @param {number} seq */
const hide = (seq) => /** @type {any} */ ({
  type: "hidden",
  conversation: crew,
  epoch: "7",
  ranges: [[seq, seq]],
});

/** An input with an event of the server. @param {Client} client @param {object} event */
const eventInput = ({ driver }, event) => ({
  type: "transport",
  generation: driver.lifecycle.generation,
  event: { type: "frame", text: JSON.stringify(event) },
});

Deno.test("A conversation that was deleted while the device was offline is deleted with the next pass", async () => {
  const client = new Client();
  await client.connect(head(crew), head("group:others"));
  await client.sync.restart();
  await client.answer(window(head(crew, { member: false, head: 0, n: 0, recentTime: undefined })));
  assert.deepEqual((await client.store.all("conversations")).map(({ id }) => id), ["group:others"]);
  // A former member keeps the messages.
  await client.sync.restart();
  await client.answer(window(head("group:others", { member: false, head: 3 })));
  assert.equal((await client.conversation("group:others")).entry.isMember, false);
});

Deno.test("A message to an unknown conversation fetches its head, which shows that it is gone", async () => {
  const client = new Client();
  setMeta(/** @type {any} */ (client.store), "isRecovered", true);
  await client.connect(head(crew));
  const answered = await client.send("m1");
  await answered({ body: null, error: unknown });
  assert.deepEqual(client.requests.at(-1).conversations, [crew]);
  await client.answer({ heads: [] });
  assert.deepEqual(await client.store.all("conversations"), []);
});

Deno.test("A refused upload to an unknown conversation fetches its head, which shows that it is gone", async () => {
  const client = new Client();
  setMeta(/** @type {any} */ (client.store), "isRecovered", true);
  await client.connect(head(crew));
  await client.send("m1", true);
  await client.driver.outbox.uploaded("m1", unknown);
  assert.deepEqual(client.requests.at(-1)?.conversations, [crew]);
  await client.answer({ heads: [] });
  assert.deepEqual(await client.store.all("conversations"), []);
});

Deno.test("Messages and files to a group that the server refused fail with the error of the group", async () => {
  const client = new Client();
  setMeta(/** @type {any} */ (client.store), "isRecovered", true);
  await client.connect();
  const groupAnswered = await client.createCrew();
  const rejected = new ScrollbackError("content-rejected", "The name has a banned word.", { parameter: "name" });
  await client.send("m1");
  await client.send("m2", true);
  await groupAnswered({ body: null, error: rejected });
  const { type, answered } = client.requests.at(-1);
  assert.equal(type, "send");
  await answered({ body: null, error: unknown });
  await client.driver.outbox.uploaded("m2", unknown);
  // The client still asks the server whether the group exists.
  assert.deepEqual(client.requests.at(-1).conversations, [crew]);
  for (const { id, state } of await client.store.all("outbox")) {
    assert.deepEqual([state.problem?.code, state.problem?.parameter], ["content-rejected", "name"], id);
  }
});

Deno.test("A file for a group that is not created yet is uploaded again", async () => {
  const client = new Client();
  setMeta(/** @type {any} */ (client.store), "isRecovered", true);
  await client.connect();
  const state = async () => (await client.store.all("outbox")).find(({ id }) => id === "m1").state;
  const groupAnswered = await client.createCrew();
  await client.send("m1", true);
  client.requests = [];
  await client.driver.outbox.uploaded("m1", unknown);
  const { type, until } = await state();
  assert.equal(type, "waiting");
  // The head of a conversation that is not created yet is not fetched.
  assert.deepEqual(client.requests, []);
  await groupAnswered({ body: {}, error: null });
  await client.driver.outbox.tick(until);
  assert.equal((await state()).type, "uploading");
  await client.driver.outbox.uploaded("m1", unknown);
  assert.equal((await state()).type, "failed");
});

Deno.test("A head that was read before its conversation was deleted does not restore the conversation", async () => {
  for (const type of ["heads", "subscribe"]) {
    const client = new Client();
    await client.connect(head(crew));
    if (type === "heads") client.sync.fetchHeads([crew]);
    else client.driver.live.subscribe("tab", crew, true);
    const { answered } = client.requests[0];
    assert.equal(client.requests[0].type, type);
    await client.loop(eventInput(client, { type: "conversation", conversation: crew, deleted: true }));
    assert.deepEqual(await client.store.all("conversations"), []);
    await client.sync.connected();
    client.requests = [];
    await answered({ body: { heads: [head(crew)] }, error: null });
    assert.deepEqual(await client.store.all("conversations"), [], type);
    // A conversation that exists again is stored.
    assert.deepEqual(client.requests.at(-1).conversations, [crew]);
    await client.answer({ heads: [head(crew, { epoch: "8" })] });
    assert.equal((await client.conversation(crew)).log?.epoch, "8");
  }
});

Deno.test("The late answer to a send into a deleted log leaves the new log of its conversation as it is", async () => {
  const client = new Client();
  await client.connect(head(crew));
  const answered = await client.send("m1");
  await client.loop(eventInput(client, { type: "conversation", conversation: crew, deleted: true }));
  await client.connect(head(crew, { epoch: "8" }));
  await answered({ body: { seq: 4, n: 4, timetoken: "9", epoch: "7" }, error: null });
  assert.equal((await client.conversation(crew)).log?.epoch, "8");
  assert.deepEqual(await client.store.all("outbox"), []);
});

Deno.test("A message that conflicts with a stored one is sent if the user sent that one", async () => {
  const cases = /** @type {const} */ ([["m1", "alice", 0], ["m2", "alice", 1], ["m1", "bob", 1]]);
  for (const [id, sender, rest] of cases) {
    const client = new Client();
    await client.connect(head(crew));
    const answered = await client.send("m1");
    const fields = { seq: 4, countedIndex: 4, timetoken: "9", epoch: "7", type: "text", rev: 0, attributes: {} };
    const message = new Message(/** @type {any} */ ({ ...fields, conversation: crew, id, sender }));
    await client.sync.applyLive([{ type: "message", conversation: crew, message }]);
    await answered({ body: null, error: new ScrollbackError("conflict", "The message has other content.") });
    assert.equal((await client.store.all("outbox")).length, rest);
    assert.equal(await client.driver.outbox.retry("m1"), rest === 1);
  }
});

Deno.test("A draft that overtakes a list with a reset is listed again", async () => {
  const transaction = /** @type {any} */ (new MemoryStore());
  const draft = (/** @type {string} */ text, /** @type {number} */ rev) => ({
    conversation: crew,
    draft: { text, replyTo: null },
    rev,
  });
  setMeta(transaction, "draftCursor", "c");
  setMeta(transaction, "draftsAreBehind", 1);
  // The server's store went back, so that revisions begin at a lower number.
  await applyDraft(transaction, draft("lost", 9));
  const list = /** @type {any} */ (await nextDraftStep(transaction));
  assert.equal(await receiveDraft(transaction, draft("new", 5)), false);
  const page = (/** @type {any[]} */ ...drafts) => ({ drafts, cursor: "d", hasMore: false, isReset: true });
  await storeDrafts(transaction, page(draft("old", 4)), list);
  const next = /** @type {any} */ (await nextDraftStep(transaction));
  assert.equal(next?.type, "list");
  await storeDrafts(transaction, { ...page(draft("new", 5)), isReset: false }, next);
  assert.equal((await draftOf(transaction, crew))?.text, "new");
  assert.equal(await nextDraftStep(transaction), null);
});

Deno.test("A refused read is only deleted if the user has read nothing more since, in the same log", async () => {
  for (const [epoch, seq, rest] of /** @type {const} */ ([["7", 1, null], ["7", 3, 3], ["8", 1, 1]])) {
    const client = new Client();
    await client.connect(head(crew));
    const transaction = /** @type {any} */ (client.store);
    await markRead(transaction, "alice", crew, 1);
    await client.driver.settings.send();
    const { answered } = client.requests.at(-1);
    if (epoch !== "7") {
      await client.sync.restart();
      await client.answer(window(head(crew, { epoch, moved: 6 })));
    }
    await markRead(transaction, "alice", crew, seq);
    await answered({ body: null, error: unknown });
    assert.equal((await client.conversation(crew)).read?.pendingReadSeq, rest, `${epoch} ${seq}`);
  }
});

Deno.test("A position of the peer that may precede a new log fetches the head", async () => {
  const event = { type: "read", conversation: "direct:bob", user: "bob", readSeq: 2 };
  const client = new Client();
  await client.connect(head("direct:bob"));
  await client.loop(eventInput(client, event));
  assert.deepEqual(client.headsRequested(), []);

  const restarted = new Client();
  await restarted.connect(head("direct:bob"));
  await restarted.sync.restart();
  await restarted.loop(eventInput(restarted, event));
  assert.deepEqual(restarted.headsRequested(), ["direct:bob"]);
});

Deno.test("Events that were dropped because too many were held start another pass", async () => {
  const client = new Client();
  await client.connect(head(crew));
  await client.loop({ type: "recheck" });
  assert.equal(client.windowsRequested(), 1);
});

Deno.test("A hide that starts a pass while another one starts does not start two", async () => {
  const client = new Client();
  await client.connect(head(crew));
  await client.sync.restart();
  await client.sync.restart();
  await client.sync.applyLive([hide(2)]);
  client.outcome = { missesHidden: true };
  const { answered } = client.requests.at(-1);
  client.requests = [];
  await answered({ body: window(), error: null });
  await client.storeWindow();
  assert.equal(client.windowsRequested(), 1);
});

Deno.test("A late answer to an earlier request for a window does not end the pass", async () => {
  const client = new Client();
  await client.sync.connected();
  const [first] = client.requests;
  first.answered({ body: null, error: temporary });
  client.sync.tick(Number.MAX_SAFE_INTEGER);
  const second = client.requests.at(-1);
  assert.notEqual(second, first);
  second.answered({ body: { ...window(), done: false }, error: null });
  first.answered({ body: window(), error: null });
  await client.storeWindow();
  assert.equal(await getMeta(/** @type {any} */ (client.store), "isInterrupted"), true);
});

Deno.test("A pass in which the store failed does not make the client current", async () => {
  const id = "0198f3c2-7c1e-7000-8000-0123456789ab";
  const client = new Client();
  await client.connect(head(crew));
  const answered = await client.send(id);
  await answered({ body: null, error: unknown });
  /** @type {boolean[]} */
  const states = [];
  client.core.setCurrent = (/** @type {boolean} */ isCurrent) => states.push(isCurrent);
  client.core.storageFailed = () => (client.isOnline = false);
  await client.sync.restart();
  // The store fails when the message that another device sent leaves the outbox.
  const store = /** @type {any} */ (client.store);
  store.write = (/** @type {(transaction: any) => unknown} */ body, /** @type {any} */ options) =>
    options?.stores ? Promise.reject(new Error("The disk is full.")) : body(store);
  const fields = { conversation: crew, seq: 3, n: 3, id, timetoken: "9", epoch: "7", sender: "alice", type: "text" };
  await client.answer(window(head(crew, { lastMessage: { ...fields, content: { text: "hi" } } })));
  assert.deepEqual([client.isOnline, states.includes(true)], [false, false]);
});

Deno.test("A message that could not be read from the store is sent with the next connection", async () => {
  const client = new Client();
  client.core.storageFailed = () => {};
  const submission = { id: "m", content: MessageContent.text("hi"), attributes: {} };
  const request = /** @type {const} */ ({ type: "send", submission });
  await insertIntoOutbox(/** @type {any} */ (client.store), { id: "m", conversation: crew, request, now: Date.now() });
  const { read } = client.store;
  client.store.read = () => Promise.reject(new ScrollbackError("local-storage", "The browser's storage failed."));
  await client.driver.outbox.queued("m");
  client.store.read = read;
  await client.driver.outbox.connected();
  assert.deepEqual(client.requests.map(({ type, message }) => [type, message?.id]), [["send", "m"]]);
});

Deno.test("The presence of a user is not shown after the last watch of it", async () => {
  const client = new Client();
  /** @type {string[][]} */
  const shown = [];
  client.core.setPresence = (/** @type {{user: string}[]} */ users) => shown.push(users.map(({ user }) => user));
  const { live } = client.driver;
  live.watch("tab", ["bob"], true);
  await client.requests[0].answered({ body: { presence: [{ user: "bob", online: true }] }, error: null });
  live.watch("tab", ["bob"], false);
  assert.deepEqual(shown, [["bob"], []]);
});
