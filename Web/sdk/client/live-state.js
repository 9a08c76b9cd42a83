// @ts-check
import { decodeList } from "../model/decode.js";
import { maximumUsers } from "../model/limits.js";
import { OwnTyping, TypingUsers } from "../sync/typing.js";
import { decodePresence } from "../wire/frames.js";

/** @typedef {import("../wire/frames.js").Presence} Presence */
/** @typedef {import("./driver.js").Answer} Answer */
/** @typedef {import("./driver.js").Driver} Driver */

/** What other users do at the moment: who types, who is online, and which channels and rooms the tabs watch. */
export class LiveState {
  #driver;
  #ownTyping = new OwnTyping();
  #typingUsers = new TypingUsers();
  /** The tabs that are subscribed to a channel or room. @type {Map<string, Set<string>>} */
  #subscriptions = new Map();
  /** The tabs that watch the presence of a user. @type {Map<string, Set<string>>} */
  #watched = new Map();
  /** @type {Map<string, Presence>} */
  #presence = new Map();
  /** Whether a request failed temporarily and must be repeated. */
  #mustRepeat = false;
  /** When the driver calls `tick` for the ends of typing. @type {number | null} */
  #wakeAt = null;

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  connected() {
    this.#requestSubscriptions(this.subscribed);
    this.#requestPresence([...this.#watched.keys()]);
  }

  disconnected() {
    this.#ownTyping = new OwnTyping();
    this.#publishTyping(this.#typingUsers.disconnected());
    this.#presence.clear();
    this.#driver.core.setPresence([]);
  }

  /** @param {number} now */
  tick(now) {
    if (this.#wakeAt !== null && this.#wakeAt <= now) this.#wakeAt = null;
    for (const id of this.#ownTyping.tick(now)) this.#sendTyping(id, false);
    this.#publishTyping(this.#typingUsers.tick(now));
    this.#schedule();
  }

  retry() {
    if (!this.#mustRepeat) return;
    this.#mustRepeat = false;
    this.connected();
  }

  // Typing

  /**
   * Signals that this user types. Signals are not sent later, so they are dropped while offline.
   *
   * @param {string} id
   * @param {boolean} isTyping
   */
  typed(id, isTyping) {
    if (!this.#driver.isOnline) return;
    const mustNotify = isTyping ? this.#ownTyping.typed(id, this.#driver.now) : this.#ownTyping.stopped(id);
    if (mustNotify) this.#sendTyping(id, isTyping);
    this.#schedule();
  }

  /**
   * Ends this user's typing, because a message shows that it ended.
   *
   * @param {string} id
   */
  sent(id) {
    this.#ownTyping.sent(id);
  }

  /**
   * @param {string} user
   * @param {string} id
   * @param {boolean} isTyping
   */
  receivedTyping(user, id, isTyping) {
    if (this.#typingUsers.received(user, id, isTyping, this.#driver.now)) this.#publishTyping([id]);
    this.#schedule();
  }

  /**
   * Ends a user's typing after a message from them.
   *
   * @param {string} user
   * @param {string} id
   */
  messageReceived(user, id) {
    if (this.#typingUsers.messageReceived(user, id)) this.#publishTyping([id]);
  }

  /**
   * @param {string} conversation
   * @param {boolean} isTyping
   */
  #sendTyping(conversation, isTyping) {
    this.#driver.send({ type: "typing", conversation, isTyping });
  }

  /** @param {Iterable<string>} ids */
  #publishTyping(ids) {
    for (const id of ids) this.#driver.core.setTyping(id, this.#typingUsers.users(id));
  }

  /** Schedules the next tick, unless an earlier one is scheduled: each of them schedules the next. */
  #schedule() {
    const next = Math.min(this.#ownTyping.next ?? Infinity, this.#typingUsers.next ?? Infinity);
    if (next >= (this.#wakeAt ?? Infinity)) return;
    this.#wakeAt = next;
    this.#driver.wake(next);
  }

  // Channels and rooms

  get subscribed() {
    return [...this.#subscriptions.keys()];
  }

  /** @param {string} id */
  isSubscribed(id) {
    return this.#subscriptions.has(id);
  }

  /**
   * @param {string} tab
   * @param {string} id
   * @param {boolean} isOn
   */
  subscribe(tab, id, isOn) {
    const change = countTab(this.#subscriptions, id, tab, isOn);
    if (change === "added") this.#requestSubscriptions([id]);
    if (change === "removed") this.#driver.send({ type: "unsubscribe", conversations: [id] });
  }

  /**
   * Subscribes again, because the server ended a subscription.
   *
   * @param {string} id
   */
  resubscribe(id) {
    if (this.isSubscribed(id)) this.#requestSubscriptions([id]);
  }

  /** @param {string[]} ids */
  #requestSubscriptions(ids) {
    // The server refuses a request as a whole, so that each conversation has its own.
    for (const id of ids) {
      this.#driver.send(
        { type: "subscribe", conversations: [id] },
        (answer, since) => this.#subscribed(id, answer, since),
      );
    }
  }

  /**
   * @param {string} id
   * @param {Answer} answer
   * @param {number} since
   */
  async #subscribed(id, { body, error }, since) {
    const [head] = body ? await this.#driver.sync.storeHeads(body, since) : [];
    this.#driver.core.setSubscription(id, error, head?.state.head ?? 0);
    if (error) this.#repeatAfter(error);
  }

  /** @param {import("../model/errors.js").ScrollbackError} error */
  #repeatAfter(error) {
    if (!error.isTemporary) return;
    this.#mustRepeat = true;
    this.#driver.retryAfter(error);
  }

  /**
   * Ends what a tab used.
   *
   * @param {string} tab
   */
  tabEnded(tab) {
    for (const [id, tabs] of [...this.#subscriptions]) if (tabs.has(tab)) this.subscribe(tab, id, false);
    const users = [...this.#watched].filter(([, tabs]) => tabs.has(tab)).map(([user]) => user);
    if (users.length > 0) this.watch(tab, users, false);
  }

  // Presence

  /**
   * @param {string} tab
   * @param {string[]} users
   * @param {boolean} isOn
   */
  watch(tab, users, isOn) {
    const changed = users.filter((user) => countTab(this.#watched, user, tab, isOn) !== null);
    if (isOn) return this.#requestPresence(changed);
    for (const user of changed) this.#presence.delete(user);
    this.receivedPresence([]);
    if (changed.length > 0) this.#driver.send({ type: "presence", users: changed, on: false });
  }

  /** @param {string[]} users */
  #requestPresence(users) {
    for (let start = 0; start < users.length; start += maximumUsers) {
      const batch = users.slice(start, start + maximumUsers);
      this.#driver.send({ type: "presence", users: batch, on: true }, ({ body, error }) => {
        if (error) this.#repeatAfter(error);
        else this.receivedPresence(decodeList(body["presence"], "presence", decodePresence));
      });
    }
  }

  /** @param {Presence[]} entries */
  receivedPresence(entries) {
    for (const entry of entries) if (this.#watched.has(entry.user)) this.#presence.set(entry.user, entry);
    this.#driver.core.setPresence([...this.#presence.values()]);
  }
}

/**
 * Records that a tab uses something, or no longer does.
 *
 * @param {Map<string, Set<string>>} tabs
 * @param {string} key
 * @param {string} tab
 * @param {boolean} isOn
 * @returns {"added" | "removed" | null} Whether it is used for the first time, or no longer used at all.
 */
function countTab(tabs, key, tab, isOn) {
  const users = tabs.get(key);
  if (isOn) {
    if (users) users.add(tab);
    else tabs.set(key, new Set([tab]));
    return users ? null : "added";
  }
  if (!users?.delete(tab) || users.size > 0) return null;
  tabs.delete(key);
  return "removed";
}
