// @ts-check
import { asScrollbackError, ScrollbackError } from "../model/errors.js";
import { MessageContent } from "../model/message-content.js";
import { messageOf, OpenConversation } from "../store/records.js";
import { insertIntoOutbox, saveFile } from "../store/outbox.js";
import { Store } from "../store/store.js";
import { Backoff } from "../sync/backoff.js";
import { Mailbox, refuse } from "./mailbox.js";
import { callEach, Observable } from "./observable.js";
import { Tabs } from "./tabs.js";

/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/message.js").TransientMessage} TransientMessage */
/** @typedef {import("../store/database.js").Transaction} Transaction */
/** @typedef {import("../store/outbox.js").QueuedFile} QueuedFile */
/** @typedef {import("../store/log.js").LogInput} LogInput */
/** @typedef {import("../store/log.js").LogOutcome} LogOutcome */
/** @typedef {import("../store/outbox.js").OutboxRequest} OutboxRequest */
/** @typedef {import("../store/store.js").StorageLoss} StorageLoss */
/** @typedef {import("../wire/frames.js").FrameRequest} FrameRequest */
/** @typedef {import("../wire/frames.js").Presence} Presence */
/** @typedef {import("../wire/frames.js").UserProfile} UserProfile */
/** @typedef {import("./driver.js").Answer} Answer */
/** @typedef {import("./driver.js").Input} Input */
/** @typedef {typeof import("./remote.js")} Remote */

/**
 * The state of the connection, which all tabs share.
 *
 * - `idle`: not connected, and not trying to
 * - `connecting`: the client connects, or continues after a lost connection
 * - `online`: the server answers
 * - `waiting`: the client connects again at `until`
 * - `rejected`: the server rejected the client, which does not connect again before `connect()`. If the error is
 *   `unreachable`, the browser does not load a part of the SDK although the server answers: load the page again. If it
 *   is `local-storage`, the client was closed because another tab or the browser deleted or replaced its store: open
 *   another client.
 *
 * @typedef {{state: "idle" | "connecting" | "online"} | {state: "waiting", until: Date}
 *   | {state: "rejected", error: ScrollbackError}} ConnectionState
 */

/**
 * The state of the browser's storage.
 *
 * @typedef {object} StorageState
 * @property {StorageLoss | null} loss What the browser deleted since the last visit; `null` if nothing.
 * @property {ScrollbackError | null} error Why the storage failed; `null` while it works.
 * @property {boolean} isPersistent Whether the browser promised not to delete the data by itself.
 */

/**
 * An event for code that follows everything, such as a notification.
 *
 * @typedef {{type: "message", message: Message} | {type: "changed", message: Message}
 *   | {type: "transient", message: TransientMessage}
 *   | {type: "conversation", conversation: string, isDeleted: boolean}
 *   | {type: "member", conversation: string, user: string, role: string | null}
 *   | {type: "invitation", conversation: string, isEnded: boolean}} ClientEvent
 */

/**
 * The options of a client.
 *
 * @typedef {object} Options
 * @property {URL} server
 * @property {string} user
 * @property {() => Promise<string>} token
 * @property {boolean} sharesPresence
 * @property {string | null} store The name of the store; `null` for the user's main one.
 */

/**
 * A subscription to a channel or room.
 *
 * @typedef {object} Subscription
 * @property {boolean} isActive Whether all messages arrive.
 * @property {ScrollbackError | null} error Why the server refused the subscription.
 * @property {number} headAtEntry The newest sequence number when it began.
 */

/** A call of another tab. @typedef {{type: "request", request: FrameRequest, timeout: number}
 *   | {type: "retry" | "cancel", id: string}} Call */

/**
 * What a change concerns: the list of recent conversations, one conversation, or the registration for pushes.
 *
 * @typedef {"recents" | {id: string}} Subject
 */

/**
 * The shared state of a client in one tab.
 *
 * Every tab reads and writes the store. The tab that leads also runs the `Driver`, which alone uses the connection.
 */
export class Core {
  /** @type {Mailbox<Input>} */
  mailbox = new Mailbox();
  /** @type {Observable<ConnectionState>} */
  connection = new Observable(/** @type {ConnectionState} */ ({ state: "connecting" }));
  /** @type {Observable<StorageState>} */
  storage;
  /** @type {Observable<ReadonlyMap<string, Presence>>} */
  presence = new Observable(/** @type {ReadonlyMap<string, Presence>} */ (new Map()));
  /** The number of times that the client went online, so that views can load again what no event reports. */
  connections = 0;
  /** The uploaded parts of queued files, by message. @type {Map<string, number>} */
  #uploadProgress = new Map();
  /** @type {Map<string, Observable<readonly string[]>>} */
  #typing = new Map();
  /** @type {Map<string, Observable<Subscription>>} */
  #subscriptions = new Map();
  /** @type {Set<{subject: Subject, changed: (ids: ReadonlySet<string> | null) => void, end: () => void}>} */
  #observers = new Set();
  /** @type {Set<(event: ClientEvent) => void>} */
  #listeners = new Set();
  /** The users of each watch of presence in this tab. @type {Set<string[]>} */
  #watches = new Set();
  /** Whether the connection has delivered, and continues to deliver, all updates. */
  #isCurrent = false;
  /** The channels and rooms of which it does. @type {Set<string>} */
  #currentSubscriptions = new Set();
  /** @type {Promise<void>} */
  #loop = Promise.resolve();
  /** The modules that only a connection needs, once they are loaded. @type {Remote | null} */
  #remote = null;
  /** Resolves when the modules should load. */
  #start = Promise.withResolvers();
  #loading = this.#start.promise.then(() => this.#load());
  #loadBackoff = new Backoff(500, 5000);
  #options;
  /** Aborts when the client closes. */
  page = new AbortController();

  static importRemote() {
    return import("./remote.js");
  }

  /** The time in milliseconds for which requests wait for the modules. */
  static loadTimeout() {
    return 20_000;
  }

  /** The time in milliseconds for which the modules wait for the first view. */
  static viewTimeout() {
    return 100;
  }

  /**
   * @param {Options} options
   */
  static async open(options) {
    /** @type {Core | null} */
    let core = null;
    const [{ store, device, loss }, isPersistent = false] = await Promise.all([
      Store.open(ownerOf(options), (error) => core?.storageClosed(error)),
      globalThis.navigator?.storage?.persisted?.(),
    ]);
    core = new Core(options, store, device, { loss, error: null, isPersistent });
    return core;
  }

  /**
   * @param {Options} options
   * @param {Store} store
   * @param {string} device
   * @param {StorageState} storage
   */
  constructor(options, store, device, storage) {
    this.#options = options;
    this.store = store;
    this.device = device;
    this.storage = new Observable(storage);
    store.committed = () => this.#storageWorks();
    this.connection.subscribe(({ state }) => {
      if (state === "online") this.connections += 1;
    });
    this.tabs = new Tabs(Store.nameOf(ownerOf(options)), {
      lead: () => this.#lead(),
      leaderChanged: () => this.#leaderChanged(),
      tabEnded: (tab) => this.mailbox.post({ type: "tabEnded", tab }),
      answer: (call) => this.#answer(call),
      receive: (news) => this.#receive(news),
    });
    this.tabs.broadcast({ type: "stateWanted" });
    this.#watchPage();
    const timer = setTimeout(() => this.viewed(), Core.viewTimeout());
    this.page.signal.addEventListener("abort", () => clearTimeout(timer));
  }

  get #isClosed() {
    return this.page.signal.aborted;
  }

  get user() {
    return this.#options.user;
  }

  get server() {
    return this.#options.server;
  }

  get owner() {
    return ownerOf(this.#options);
  }

  get sharesPresence() {
    return this.#options.sharesPresence;
  }

  token() {
    return this.#options.token();
  }

  /**
   * Ends this tab's part in the client. Its views end, and calls that wait for an answer fail with `closed`.
   *
   * @param {ConnectionState} [state] The last state of the connection.
   */
  async close(state = { state: "idle" }) {
    if (this.#isClosed) return;
    this.page.abort();
    this.post({ type: "visible", tab: this.tabs.id, isVisible: false });
    for (const id of this.#subscriptions.keys()) this.post({ type: "subscribe", tab: this.tabs.id, id, isOn: false });
    this.#watch([...this.#watches].flat(), false);
    this.mailbox.post({ type: "close" });
    await this.#loop;
    // A loop that failed answers no requests.
    refuse(this.mailbox.close(), closed());
    this.tabs.close();
    this.store.close();
    this.connection.set(state);
    const sources = [
      this.connection,
      this.storage,
      this.presence,
      ...this.#typing.values(),
      ...this.#subscriptions.values(),
    ];
    for (const source of sources) source.end();
    for (const { end } of this.#observers) end();
    this.#listeners.clear();
  }

  // Tabs

  /** Runs the loop, because this tab leads now. */
  #lead() {
    this.#loop = this.#runLoop();
  }

  async #runLoop() {
    // The app may have disconnected the client in another tab.
    if (this.connection.value.state !== "idle") this.mailbox.post({ type: "connect" });
    this.#announce();
    const remote = await this.#loadRepeatedly();
    if (!remote) return;
    try {
      await remote.drive(this);
    } catch (error) {
      this.storageFailed(error);
    }
  }

  /** Notes that a view has been read from the store, so that what only a connection needs can be loaded. */
  viewed() {
    this.#start.resolve(undefined);
  }

  /**
   * Returns the modules that only a connection needs. Every tab loads them soon after it has opened its store: after
   * its first view, which would wait for them, or a moment later if it has none.
   *
   * @param {AbortSignal | undefined} [signal]
   * @returns {Promise<Remote>}
   * @throws {ScrollbackError} `unreachable` if the browser can't load them. `closed` if the client was closed before.
   */
  async remote(signal) {
    if (this.#remote) return this.#remote;
    this.#start.resolve(undefined);
    let remote = await abortable(this.#loaded(), signal);
    if (remote instanceof ScrollbackError && !this.tabs.isLeader) {
      // The leading tab loads them again by itself.
      this.#loading = this.#load();
      remote = await abortable(this.#loaded(), signal);
    }
    if (remote instanceof ScrollbackError) throw remote;
    return remote;
  }

  #load() {
    return Core.importRemote().then((remote) => (this.#remote = remote), notLoaded);
  }

  /** Waits until the modules are loaded, or for the error. */
  async #loaded() {
    const { signal } = this.page;
    const end = AbortSignal.any([signal, AbortSignal.timeout(Core.loadTimeout())]);
    return await abortable(this.#loading, end).catch((cause) => signal.aborted ? closed() : notLoaded(cause));
  }

  /**
   * Waits for the modules, and loads them again after a failure.
   *
   * Older browsers don't load a module again that they could not load. The tab then lets another one lead.
   *
   * @returns {Promise<Remote | null>} `null` if this tab no longer leads.
   */
  async #loadRepeatedly() {
    const { signal } = this.page;
    for (let isReachable = false;;) {
      const remote = await this.#loaded();
      if (!(remote instanceof ScrollbackError)) return remote;
      const isOver = signal.aborted || (isReachable && await this.tabs.giveLead());
      const inputs = this.mailbox.drain();
      refuse(inputs, remote);
      if (isOver) return null;
      for (const input of inputs) if (!("reply" in input)) this.mailbox.post(input);
      const delay = this.#loadBackoff.next(Math.random);
      this.setConnection(
        isReachable ? { state: "rejected", error: remote } : { state: "waiting", until: new Date(Date.now() + delay) },
      );
      await abortable(new Promise((resolve) => setTimeout(resolve, delay)), signal).catch(() => {});
      const soon = AbortSignal.any([signal, AbortSignal.timeout(5000)]);
      isReachable = await fetch(new URL("healthz", this.server), { mode: "no-cors", signal: soon })
        .then(() => true, () => false);
      this.#loading = this.#load();
    }
  }

  /** Announces to a new leader what this tab uses. */
  #leaderChanged() {
    this.tabs.broadcast({ type: "stateWanted" });
    this.#announce();
  }

  #announce() {
    const tab = this.tabs.id;
    if (globalThis.document?.visibilityState !== "hidden") this.post({ type: "visible", tab, isVisible: true });
    for (const [id, { isObserved }] of this.#subscriptions) {
      if (isObserved) this.post({ type: "subscribe", tab, id, isOn: true });
    }
    if (this.#watches.size > 0) this.#watch([...this.#watches].flat(), true);
  }

  #watchPage() {
    const { signal } = this.page;
    const tab = this.tabs.id;
    globalThis.addEventListener?.("online", () => this.post({ type: "reconnectNow" }), { signal });
    globalThis.document?.addEventListener(
      "visibilitychange",
      () => this.post({ type: "visible", tab, isVisible: document.visibilityState !== "hidden" }),
      { signal },
    );
  }

  /**
   * Passes an input to the loop of the leader.
   *
   * @param {Input} input
   */
  post(input) {
    if (this.tabs.isLeader) this.mailbox.post(input);
    else this.tabs.broadcast({ type: "input", input });
  }

  /**
   * Answers a call as the leader.
   *
   * @param {Call} call
   * @returns {Promise<any>}
   */
  #answer(call) {
    return new Promise((resolve, reject) => {
      const isOpen = this.mailbox.post(
        call.type === "request"
          ? { ...call, reply: (/** @type {Answer} */ { body, error }) => error ? reject(error) : resolve(body) }
          : { ...call, reply: resolve },
      );
      if (!isOpen) reject(closed());
    });
  }

  /** @param {any} news */
  #receive(news) {
    switch (news.type) {
      case "input":
        if (this.tabs.isLeader) this.mailbox.post(news.input);
        return;
      case "changed":
        return this.#notifyObservers(new Set(news.ids));
      case "changedAnything":
        return this.#notifyObservers(null, news.ids);
      case "stateWanted":
        if (!this.tabs.isLeader) return;
        this.#broadcastConnection();
        return this.tabs.broadcast({ type: "presence", entries: [...this.presence.value.values()] });
      case "connection": {
        const { state } = news;
        this.#isCurrent = news.isCurrent;
        this.#currentSubscriptions = new Set(news.subscriptions);
        const error = state.error && ScrollbackError.from(state.error);
        return this.connection.set(error ? { ...state, error } : state);
      }
      case "typing":
        return this.typing(news.id).set(news.users);
      case "uploadProgress":
        return this.#publishUploadProgress(news.message, news.part, news.conversation);
      case "uploadEnded":
        return void this.#uploadProgress.delete(news.message);
      case "presence":
        return this.#publishPresence(news.entries);
      case "subscription": {
        const error = news.error && ScrollbackError.from(news.error);
        return this.#publishSubscription(news.id, error, news.headAtEntry);
      }
      case "events":
        return this.#sendEvents(news.events.map(restoredEvent));
    }
  }

  // What the driver reports

  /** @param {ConnectionState} state */
  setConnection(state) {
    this.connection.set(state);
    this.#broadcastConnection();
  }

  #broadcastConnection() {
    const state = this.connection.value;
    this.tabs.broadcast({
      type: "connection",
      state: state.state === "rejected" ? { ...state, error: state.error.toJSON() } : state,
      isCurrent: this.#isCurrent,
      subscriptions: [...this.#currentSubscriptions],
    });
  }

  /**
   * @param {boolean} isCurrent
   * @param {string[]} subscriptions
   */
  setCurrent(isCurrent, subscriptions) {
    this.#isCurrent = isCurrent;
    this.#currentSubscriptions = new Set(subscriptions);
    this.#broadcastConnection();
  }

  /**
   * Returns whether the connection has delivered, and continues to deliver, all updates of a conversation.
   *
   * @param {string} id
   * @param {boolean} hasRecents
   */
  isCurrent(id, hasRecents) {
    return this.#isCurrent && (hasRecents || this.#currentSubscriptions.has(id));
  }

  /**
   * @param {string} id
   * @param {readonly string[]} users
   */
  setTyping(id, users) {
    this.typing(id).set(users);
    this.tabs.broadcast({ type: "typing", id, users });
  }

  /**
   * Returns the uploaded part of a queued message's file, 0...1.
   *
   * @param {string} message
   */
  uploadProgress(message) {
    return this.#uploadProgress.get(message) ?? 0;
  }

  /**
   * Shows the progress of an upload in all tabs, in steps of 1 %.
   *
   * @param {string} message
   * @param {number} part
   * @param {string} conversation
   */
  setUploadProgress(message, part, conversation) {
    const shown = this.#uploadProgress.get(message);
    if (shown !== undefined && Math.floor(part * 100) === Math.floor(shown * 100)) return;
    this.#publishUploadProgress(message, part, conversation);
    this.tabs.broadcast({ type: "uploadProgress", message, part, conversation });
  }

  /**
   * Forgets the progress of a message that left the outbox.
   *
   * @param {string} message
   */
  uploadEnded(message) {
    if (this.#uploadProgress.delete(message)) this.tabs.broadcast({ type: "uploadEnded", message });
  }

  /**
   * @param {string} message
   * @param {number} part
   * @param {string} conversation
   */
  #publishUploadProgress(message, part, conversation) {
    this.#uploadProgress.set(message, part);
    for (const { subject, changed } of [...this.#observers]) {
      if (subject !== "recents" && subject.id === conversation) changed(new Set());
    }
  }

  /** @param {Presence[]} entries */
  setPresence(entries) {
    this.#publishPresence(entries);
    this.tabs.broadcast({ type: "presence", entries });
  }

  /** @param {Presence[]} entries */
  #publishPresence(entries) {
    this.presence.set(new Map(entries.map((entry) => [entry.user, entry])));
  }

  /**
   * @param {string} id
   * @param {ScrollbackError | null} error
   * @param {number} headAtEntry
   */
  setSubscription(id, error, headAtEntry) {
    if (!error) this.#currentSubscriptions.add(id);
    this.#publishSubscription(id, error, headAtEntry);
    this.tabs.broadcast({ type: "subscription", id, error: error?.toJSON() ?? null, headAtEntry });
  }

  /**
   * @param {string} id
   * @param {ScrollbackError | null} error
   * @param {number} headAtEntry
   */
  #publishSubscription(id, error, headAtEntry) {
    this.#subscriptions.get(id)?.set({ isActive: !error, error, headAtEntry });
  }

  /**
   * Reports that the storage failed.
   *
   * @param {unknown} error
   */
  storageFailed(error) {
    const failure = asScrollbackError(error, "internal-error", "The client failed.");
    if (failure.code === "closed") return;
    console.error("Scrollback:", failure, failure.cause ?? "");
    this.storage.set({ ...this.storage.value, error: failure });
  }

  /**
   * Closes the client after the browser closed its store, so that another tab can lead.
   *
   * @param {ScrollbackError} error
   */
  async storageClosed(error) {
    this.storageFailed(error);
    await this.close({ state: "rejected", error });
  }

  #storageWorks() {
    if (this.storage.value.error) this.storage.set({ ...this.storage.value, error: null });
  }

  // Events

  /** @param {ClientEvent[]} events */
  notify(...events) {
    if (events.length === 0) return;
    this.#sendEvents(events);
    this.tabs.broadcast({ type: "events", events });
  }

  /** @param {ClientEvent[]} events */
  #sendEvents(events) {
    for (const event of events) callEach(this.#listeners, event);
  }

  /**
   * @param {(event: ClientEvent) => void} listener
   * @returns {() => void}
   */
  onEvent(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // Changes of the store

  /**
   * Calls a function after each change of a subject.
   *
   * @param {Subject} subject
   * @param {(ids: ReadonlySet<string> | null) => void} changed Receives the conversations that changed; `null` for all.
   * @param {() => void} end Called when the client closes, and at once if it is closed.
   * @returns {() => void} A function that ends it.
   */
  observe(subject, changed, end) {
    const observer = { subject, changed, end };
    if (this.#isClosed) end();
    else this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /**
   * Notifies the observers of conversations in all tabs.
   *
   * @param {Iterable<string>} ids
   */
  changed(ids) {
    const concerned = new Set(ids);
    if (concerned.size === 0) return;
    this.#notifyObservers(concerned);
    this.tabs.broadcast({ type: "changed", ids: [...concerned] });
  }

  /**
   * Notifies all observers, for changes that may concern any conversation, such as a user's new name.
   *
   * @param {string[] | null} [entries] The conversations whose entries in the list changed; `null` for all.
   */
  changedAnything(entries = null) {
    this.#notifyObservers(null, entries);
    this.tabs.broadcast({ type: "changedAnything", ids: entries });
  }

  /**
   * @param {Set<string> | null} ids The conversations whose observers are notified; `null` for all.
   * @param {Iterable<string> | null} [entries] The conversations whose entries in the list changed.
   */
  #notifyObservers(ids, entries = ids) {
    const changes = entries && new Set(entries);
    const concerned = Object.groupBy(
      [...this.#observers].filter(({ subject }) => ids === null || subject === "recents" || ids.has(subject.id)),
      ({ subject }) => subject === "recents" ? "lists" : "screens",
    );
    // The screens of a conversation don't wait for the list.
    for (const { changed } of [...concerned.screens ?? [], ...concerned.lists ?? []]) changed(changes);
  }

  /**
   * Reads from one snapshot of the store, beginning with a conversation.
   *
   * @template Result
   * @param {string} id
   * @param {(conversation: OpenConversation, transaction: Transaction) => Promise<Result> | Result} body
   * @returns {Promise<Result>}
   */
  readConversation(id, body) {
    return this.store.read(async (transaction) => body(await OpenConversation.load(transaction, id), transaction));
  }

  /**
   * Applies inputs in one transaction and notifies the observers of their conversations.
   *
   * @param {LogInput[]} inputs
   * @param {(outcomes: LogOutcome[]) => void} [stored] Called before the observers, whose next read depends on it.
   * @returns {Promise<LogOutcome[]>}
   */
  async apply(inputs, stored = () => {}) {
    if (inputs.length === 0) return [];
    const { apply } = await this.remote();
    const outcomes = await this.store.write((transaction) => apply(transaction, this.user, inputs));
    stored(outcomes);
    this.changed(outcomes.map(({ conversation }) => conversation));
    this.reportDelivered(outcomes);
    return outcomes;
  }

  /**
   * Reports the messages that a committed transaction stored, if any must be reported.
   *
   * @param {LogOutcome[]} outcomes
   */
  reportDelivered(outcomes) {
    if (outcomes.some(({ hasDeliveries }) => hasDeliveries)) this.post({ type: "reportDelivered" });
  }

  // Requests

  /**
   * Sends a request to the server, and waits for its answer.
   *
   * @param {FrameRequest} request
   * @param {{signal?: AbortSignal | undefined, timeout?: number}} [options] `timeout` is in milliseconds.
   * @returns {Promise<JSONObject>} The members of the answer.
   * @throws {ScrollbackError} The server's error; `unreachable` without a connection; `timeout`. If the signal aborts,
   *   its reason.
   */
  async request(request, { signal, timeout = 20_000 } = {}) {
    signal?.throwIfAborted();
    return await abortable(this.tabs.call({ type: "request", request, timeout }), signal);
  }

  /**
   * Fetches the profiles of up to 100 users, and stores them.
   *
   * @param {string[]} users
   * @param {AbortSignal | undefined} [signal]
   * @returns {Promise<UserProfile[]>}
   */
  async fetchProfiles(users, signal) {
    const { fetchProfiles } = await this.remote(signal);
    return await fetchProfiles(this, users, signal);
  }

  /**
   * @param {"retry" | "cancel"} type
   * @param {string} id
   */
  callOutbox(type, id) {
    return this.tabs.call({ type, id });
  }

  /**
   * Stores a request in the outbox, which sends it after the earlier ones of the conversation. The promise resolves
   * when the request is on the disk. If only that fails, the request is sent nevertheless, and the error is reported.
   *
   * @param {string} conversation
   * @param {string} id The ID of the message or operation, which makes retries idempotent.
   * @param {OutboxRequest} request
   * @param {string | null} [about] The message that the request changes.
   * @param {(transaction: Transaction) => Promise<unknown>} [also] Changes the store in the same transaction, except
   *   for the outbox.
   * @param {Omit<QueuedFile, "message"> | null} [file] The file to upload first.
   */
  async queue(conversation, id, request, about = null, also = async () => {}, file = null) {
    await this.store.write(async (transaction) => {
      if (file) saveFile(transaction, { ...file, message: id });
      const needsUpload = file !== null;
      await Promise.all([
        also(transaction),
        insertIntoOutbox(transaction, { id, conversation, request, about, now: Date.now(), needsUpload }),
      ]);
    }, { changesOutbox: true });
    // Screens need not wait for the disk.
    this.changed([conversation]);
    this.post({ type: "queued", id });
    await this.flush();
  }

  /** Waits until the stored changes are on the disk. A failure is only reported, because the changes are stored. */
  async flush() {
    await this.store.flush().catch((error) => this.storageFailed(error));
  }

  // State of conversations

  /**
   * The users who type in a conversation.
   *
   * @param {string} id
   * @returns {Observable<readonly string[]>}
   */
  typing(id) {
    return this.#source(this.#typing, id, []);
  }

  /**
   * The subscription to a channel or room, which lasts while it is observed.
   *
   * @param {string} id
   */
  subscription(id) {
    /** @param {boolean} isOn */
    const observed = (isOn) => this.post({ type: "subscribe", tab: this.tabs.id, id, isOn });
    return this.#source(this.#subscriptions, id, { isActive: false, error: null, headAtEntry: 0 }, observed);
  }

  /**
   * Returns the observable of a conversation, and creates it if it does not exist.
   *
   * @template Value
   * @param {Map<string, Observable<Value>>} sources
   * @param {string} id
   * @param {Value} value The value of a new observable.
   * @param {(isObserved: boolean) => void} [observed]
   */
  #source(sources, id, value, observed) {
    let source = sources.get(id);
    if (!source) {
      source = new Observable(value, observed);
      sources.set(id, source);
      if (this.#isClosed) source.end();
    }
    return source;
  }

  /**
   * Watches the presence of users.
   *
   * @param {string[]} users
   * @returns {() => void} A function that ends it. Users of other watches of this tab stay watched.
   */
  watchPresence(users) {
    const watched = [...users];
    this.#watches.add(watched);
    this.#watch(watched, true);
    return () => {
      this.#watches.delete(watched);
      const others = [...this.#watches].flat();
      this.#watch(watched.filter((user) => !others.includes(user)), false);
    };
  }

  /**
   * @param {string[]} users
   * @param {boolean} isOn
   */
  #watch(users, isOn) {
    this.post({ type: "watch", tab: this.tabs.id, users, isOn });
  }
}

const closed = () => new ScrollbackError("closed", "The client is closed.");

/** @param {unknown} cause */
const notLoaded = (cause) =>
  new ScrollbackError("unreachable", "A part of the SDK could not be loaded. Load the page again.", { cause });

/**
 * @param {Options} options
 * @returns {import("../store/store.js").StoreOwner}
 */
const ownerOf = ({ user, server, store }) => ({ user, server: server.href, store });

/**
 * Returns an event of another tab, whose message has lost its class on the way.
 *
 * @param {ClientEvent} event
 * @returns {ClientEvent}
 */
function restoredEvent(event) {
  if (event.type === "message" || event.type === "changed") return { ...event, message: messageOf(event.message) };
  if (event.type !== "transient") return event;
  const { content } = event.message;
  return { ...event, message: { ...event.message, content: new MessageContent(content.type, content.json) } };
}

/**
 * Waits for a promise, or until a signal aborts.
 *
 * @template Result
 * @param {Promise<Result>} promise
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Result>}
 */
export async function abortable(promise, signal) {
  if (!signal) return promise;
  if (signal.aborted) {
    // The error of the promise, which nothing waits for, must not be reported as unhandled.
    promise.catch(() => {});
    throw signal.reason;
  }
  return await new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}
