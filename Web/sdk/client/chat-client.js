// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import { ScrollbackError } from "../model/errors.js";
import { checkCount, maximumUsers } from "../model/limits.js";
import { newMessageID } from "../model/message-id.js";
import { userID } from "../model/text.js";
import { unsentCount } from "../store/outbox.js";
import { profiles } from "../store/people.js";
import { RecentsReader } from "../store/recents.js";
import { Store } from "../store/store.js";
import { checkBoolean, checkedSettings, Conversation } from "./conversation.js";
import { Core } from "./core.js";
import { LiveView } from "./live-view.js";
import { Push } from "./push.js";

/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../store/recents.js").RecentConversation} RecentConversation */
/** @typedef {import("../wire/frames.js").UserProfile} UserProfile */
/** @typedef {import("./conversation.js").ScheduledMessage} ScheduledMessage */
/** @typedef {import("./conversation.js").SearchPage} SearchPage */
/** @typedef {import("./core.js").ClientEvent} ClientEvent */

/**
 * The list of recent conversations.
 *
 * @typedef {object} RecentsView
 * @property {readonly RecentConversation[]} conversations Pinned ones first, then by the time of the last message.
 * @property {number} totalUnread The unread messages of all conversations that are not muted, for a badge.
 * @property {number} totalMentions The unread mentions of all conversations.
 * @property {boolean} isLoaded Whether the list was read from the local store. Until then it is empty.
 */

/** @type {RecentsView} */
const emptyList = Object.freeze({ conversations: [], totalUnread: 0, totalMentions: 0, isLoaded: false });

/**
 * The options of {@link ChatClient.open}.
 *
 * @typedef {object} ClientOptions
 * @property {string | URL} server The address of the server, such as `https://chat.example.org`.
 * @property {string} user The user of the tokens.
 * @property {string | (() => string | Promise<string>)} token A token, or a function that returns one. The client calls
 *   it for each connection, so that it can return a new token after the last one expired. White space around a token is
 *   ignored.
 * @property {boolean} [sharesPresence] Whether other users may see when this user is online. The default is `false`.
 * @property {string | null} [store] The name of a separate local store, which is another device of the user. By
 *   default, all clients of a user share one store.
 */

/**
 * A client of one user of one server.
 *
 * Several tabs of a browser share one connection and one outbox: each opens a client of its own.
 */
export class ChatClient {
  #core;

  /**
   * Opens the client: its local store, and the connection, which is established in the background. The stored
   * conversations can be shown immediately, also without a network.
   *
   * @param {ClientOptions} options
   * @returns {Promise<ChatClient>}
   * @throws {ScrollbackError} `invalid-parameter` for an invalid option. `local-storage` if the browser offers no
   *   storage here.
   */
  static async open({ server, user, token, sharesPresence = false, store = null }) {
    // Without a scheme, chat.example.org would be a file beside the page.
    const isAddress = /^(https?:|[./])/i.test(String(server));
    const address = isAddress ? URL.parse(String(server), globalThis.location?.href) : null;
    if (address === null || !["http:", "https:"].includes(address.protocol)) {
      throw ScrollbackError.invalidParameter(
        "server",
        "must be an http or https URL, such as https://chat.example.org",
      );
    }
    if (typeof token !== "string" && typeof token !== "function") {
      throw ScrollbackError.invalidParameter("token", "must be a text, or a function that returns one");
    }
    // One server has one form, and so one store.
    if (!address.pathname.endsWith("/")) address.pathname += "/";
    address.search = address.hash = "";
    const provider = async () => textOf(typeof token === "string" ? token : await token());
    const options = { server: address, user: userID(user), token: provider, sharesPresence, store };
    return new ChatClient(await Core.open(options));
  }

  /** @param {Core} core */
  constructor(core) {
    this.#core = core;
    /** Push notifications to this browser. */
    this.push = new Push(core);
  }

  get user() {
    return this.#core.user;
  }

  /** The state of the connection, which all tabs share. */
  get connection() {
    return this.#core.connection;
  }

  /** The state of the browser's storage: show its `loss` and its `error` to the user. */
  get storage() {
    return this.#core.storage;
  }

  /**
   * Connects again after {@link ChatClient.disconnect}, or after the server rejected the client, for example with a
   * token of the right user.
   */
  connect() {
    this.#core.post({ type: "connect" });
  }

  /** Closes the connection of all tabs until `connect()`. Messages are queued meanwhile. */
  disconnect() {
    this.#core.post({ type: "disconnect" });
  }

  /**
   * Closes the client in this tab. Its views and iterations end, and calls that wait fail with `closed`, such as
   * `sent()` of a handle. Queued messages stay, and the other tabs stay connected.
   */
  async close() {
    await this.#core.close();
  }

  /**
   * Asks the browser not to delete the data by itself. Browsers may ask the user.
   *
   * @returns {Promise<boolean>} Whether the browser promised it.
   */
  async requestPersistence() {
    const isPersistent = await navigator.storage?.persist?.() ?? false;
    this.#core.storage.set({ ...this.#core.storage.value, isPersistent });
    return isPersistent;
  }

  /**
   * Closes the client, ends pushes, and deletes its data from this browser.
   *
   * @param {{discardsUnsent?: boolean}} [options] Whether to delete messages that were not sent yet.
   * @throws {ScrollbackError} `conflict` if messages or changes were not sent yet, unless `discardsUnsent` is set. If
   *   they were queued while the pushes ended, these have ended nevertheless.
   */
  async signOut({ discardsUnsent = false } = {}) {
    const checkUnsent = async () => {
      const unsent = await this.unsentCount();
      if (unsent === 0 || discardsUnsent) return;
      throw new ScrollbackError("conflict", `${unsent} messages or changes were not sent. Set discardsUnsent.`);
    };
    await checkUnsent();
    await this.push.signOut();
    // The user may have sent a message in the meantime.
    await checkUnsent();
    await this.#core.close();
    await Store.delete(this.#core.owner);
  }

  /**
   * Returns the number of messages and changes that the server has not acknowledged. Messages that it refused count
   * until they are cancelled, and changes that it refused do not.
   */
  unsentCount() {
    return this.#core.store.read(unsentCount, ["outbox"]);
  }

  // Conversations

  /**
   * Returns the list of recent conversations, which reads nothing until it is observed.
   *
   * @param {{limit?: number}} [options] `limit` is the maximum number of conversations, at least 1.
   * @returns {LiveView<RecentsView>}
   * @throws {ScrollbackError} `invalid-parameter` if the limit is not such an integer.
   */
  recents({ limit = 100 } = {}) {
    checkCount(limit, "limit", 1);
    const core = this.#core;
    const reader = new RecentsReader(limit);
    /** @type {LiveView<RecentsView>} */
    const view = new LiveView(core, "recents", emptyList, async (changes) => {
      if (changes?.size === 0) return view.value;
      await core.store.read((transaction) => reader.read(transaction, changes), [
        "conversations",
        "messages",
        "drafts",
      ]);
      const { conversations, totals } = reader;
      return { conversations, totalUnread: totals.unread, totalMentions: totals.mentions, isLoaded: true };
    });
    return view;
  }

  /**
   * Returns a conversation.
   *
   * @param {string} id `direct:bob`, `group:swift`, `community:city/general`, `room:lobby` or `system:billing`.
   * @returns {Conversation}
   * @throws {ScrollbackError} `invalid-parameter`
   */
  conversation(id) {
    const parsed = ConversationID.parse(id);
    return new Conversation(this.#core, ConversationID.log(ConversationID.relative(parsed, this.user)));
  }

  /**
   * Creates a group. It works offline, like a message: messages to the group wait for it. If the server refuses the
   * group, they fail with its error.
   *
   * @param {JSONObject & {members?: string[], name?: string}} settings The settings of
   *   `PUT /v1/conversations/{conversation}`. `name` has at most 128 bytes of UTF-8, and `members` at most 1,000 users.
   * @returns {Promise<Conversation>}
   * @throws {ScrollbackError} `invalid-parameter` if the name or a member is invalid.
   */
  async createGroup(settings) {
    const checked = checkedSettings(settings);
    const id = ConversationID.newGroup(crypto.getRandomValues(new Uint8Array(16)));
    const operation = newMessageID(Date.now(), crypto.getRandomValues(new Uint8Array(10)));
    await this.#core.queue(id, operation, {
      type: "putConversation",
      operation,
      exists: false,
      settings: checked,
    });
    return new Conversation(this.#core, id);
  }

  /**
   * Searches the messages of all conversations on the server.
   *
   * @param {string} text
   * @param {{limit?: number, cursor?: string, sort?: "newestFirst" | "bestFirst", signal?: AbortSignal}} [options]
   * @returns {Promise<SearchPage>}
   */
  async search(text, { signal, ...options } = {}) {
    const { search } = await this.#core.remote(signal);
    return await search(this.#core, { text, ...options }, signal);
  }

  /**
   * Returns the messages that the server will send for this user, and those that it refused to send. A user has at most
   * 100. Messages that this browser has not sent to the server yet are not included.
   *
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<ScheduledMessage[]>}
   */
  async scheduledMessages({ signal } = {}) {
    const { scheduledMessages } = await this.#core.remote(signal);
    return await scheduledMessages(this.#core, signal);
  }

  /**
   * Cancels a scheduled message. It needs a connection, because the server may be sending the message.
   *
   * @param {string} id
   * @param {{signal?: AbortSignal}} [options]
   * @throws {ScrollbackError} `unknown-message` if the message was already sent or cancelled.
   */
  async cancelScheduledMessage(id, { signal } = {}) {
    await this.#core.request({ type: "cancelScheduled", id }, { signal });
  }

  // Users

  /**
   * Returns the profiles of up to 100 users, from the store or, if they are unknown or old, from the server. If the
   * server can't be reached, old ones are returned.
   *
   * @param {string[]} users
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<ReadonlyMap<string, UserProfile>>}
   * @throws {ScrollbackError} `invalid-parameter`. `unreachable` without a connection if a profile is unknown.
   */
  async profiles(users, { signal } = {}) {
    checkUsers(users);
    if (users.length > maximumUsers) {
      throw ScrollbackError.invalidParameter("users", "must name at most 100 users", maximumUsers);
    }
    const { known, outdated } = await this.#core.store.read(
      (transaction) => profiles(transaction, users, Date.now()),
      ["people"],
    );
    if (outdated.length === 0) return known;
    const found = await this.#core.fetchProfiles(outdated, signal).catch((error) => {
      if (!error.isTemporary || users.some((user) => !known.has(user))) throw error;
      return [];
    });
    for (const profile of found) known.set(profile.user, profile);
    return known;
  }

  /**
   * The known presence of the users that this tab watches with {@link ChatClient.watchPresence}.
   */
  get presence() {
    return this.#core.presence;
  }

  /**
   * Watches the presence of users. It requires the server's setting `presence`.
   *
   * @param {string[]} users
   * @returns {() => void} A function that ends it.
   */
  watchPresence(users) {
    checkUsers(users);
    return this.#core.watchPresence(users);
  }

  /**
   * Blocks or unblocks a user.
   *
   * @param {string} user
   * @param {boolean} isBlocked
   * @param {{signal?: AbortSignal}} [options]
   */
  async setBlocked(user, isBlocked, options) {
    checkBoolean(isBlocked, "isBlocked");
    await this.#core.request({ type: isBlocked ? "block" : "unblock", user }, options);
  }

  /**
   * Downloads a file of a message.
   *
   * @param {string} id The `media` of the message's content.
   * @param {{prefersThumbnail?: boolean, signal?: AbortSignal}} [options]
   * @returns {Promise<Blob>}
   * @throws {ScrollbackError} `unreachable` without a network or a token, `unknown-media` if the user may not read the
   *   file.
   */
  async download(id, options = {}) {
    const { download } = await this.#core.remote(options.signal);
    return await download(this.#core, id, options);
  }

  /**
   * Calls a function with each event: new and changed messages, members and invitations. Use it for notifications;
   * screens observe a timeline or the list instead.
   *
   * @param {(event: ClientEvent) => void} listener
   * @returns {() => void} A function that ends it.
   */
  onEvent(listener) {
    return this.#core.onEvent(listener);
  }

  /**
   * Sends a request of the protocol that this SDK has no method for, and returns the members of its answer.
   *
   * @param {{type: string} & Record<string, unknown>} request The members of the frame, without `ref`.
   * @param {{signal?: AbortSignal, timeout?: number}} [options]
   * @returns {Promise<JSONObject>}
   * @throws {ScrollbackError} `invalid-parameter` if the request is not an object, or the server's error.
   */
  async request(request, options = {}) {
    if (typeof request !== "object" || request === null || Array.isArray(request)) {
      throw ScrollbackError.invalidParameter("request", "must be an object");
    }
    return await this.#core.request(request, options);
  }
}

/**
 * Returns a token that the app gave, without the white space around it. A backend may send a newline after a token.
 *
 * @param {unknown} token
 */
function textOf(token) {
  if (typeof token === "string") return token.trim();
  throw ScrollbackError.invalidParameter("token", `must be a function that returns a text, and not ${typeof token}`);
}

/** @param {unknown} users */
function checkUsers(users) {
  if (Array.isArray(users)) return;
  throw ScrollbackError.invalidParameter("users", "must be an array of IDs of users");
}
