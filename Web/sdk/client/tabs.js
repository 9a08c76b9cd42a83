// @ts-check
import { ScrollbackError } from "../model/errors.js";

/**
 * A message between the tabs of one client.
 *
 * @typedef {{type: "leader" | "opened", tab: string}
 *   | {type: "news", news: any}
 *   | {type: "call", tab: string, number: number, call: any}
 *   | {type: "accepted", tab: string, number: number}
 *   | {type: "answer", tab: string, number: number, result?: any, error?: any}} TabMessage
 */

/**
 * What a tab does for the others.
 *
 * @typedef {object} TabHandlers
 * @property {() => void} lead Starts the connection, because this tab leads now.
 * @property {() => void} leaderChanged Handles that another tab leads now, which knows nothing of this tab.
 * @property {(tab: string) => void} tabEnded Handles, as the leader, that another tab has closed or crashed.
 * @property {(call: any) => Promise<any>} answer Answers a call as the leader.
 * @property {(news: any) => void} receive Handles news of another tab.
 */

/**
 * The tabs that share one connection and one outbox.
 *
 * The tab that holds the lock leads: it has the connection. When it closes or crashes, the browser gives the lock to
 * another tab. The others call the leader over a channel. Each holds a lock of its own, for which the leader waits, so
 * that it learns when the tab has closed or crashed.
 */
export class Tabs {
  id = crypto.randomUUID();
  #name;
  #channel;
  #handlers;
  #lock = new AbortController();
  /** @type {() => void} */
  #release = () => {};
  /** @type {() => void} */
  #end = () => {};
  /** Whether this tab holds its own lock. */
  #isOpen = false;
  /** The tabs whose locks this one waits for. @type {Set<string>} */
  #followed = new Set();
  isLeader = false;
  #isClosed = false;
  #lastNumber = 0;
  /**
   * The calls without an answer. A call that a leader accepted may have reached the server.
   *
   * @type {Map<number, {call: any, isAccepted: boolean, resolve: (result: any) => void,
   *   reject: (error: ScrollbackError) => void}>}
   */
  #calls = new Map();

  /**
   * @param {string} name The name of the client's database.
   * @param {TabHandlers} handlers
   */
  constructor(name, handlers) {
    if (!navigator.locks || !globalThis.BroadcastChannel) {
      throw new ScrollbackError("local-storage", "The SDK requires a secure context with Web Locks. Use HTTPS.");
    }
    this.#name = name;
    this.#handlers = handlers;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }) => this.#received(data);
    this.#requestLead();
    this.#request(this.#lockOf(this.id), () => this.#open());
  }

  #requestLead() {
    this.#request(this.#name, () => this.#lead());
  }

  /** @param {string} tab */
  #lockOf(tab) {
    return `${this.#name} ${tab}`;
  }

  /**
   * Requests a lock, and holds it until the promise of the function has resolved.
   *
   * @param {string} name
   * @param {() => Promise<void> | void} held
   */
  #request(name, held) {
    // Closing this tab's client aborts the request.
    navigator.locks.request(name, { signal: this.#lock.signal }, held).catch(() => {});
  }

  /** Tells the leader that this tab is open, because it holds its own lock now. */
  #open() {
    if (this.#isClosed) return;
    this.#isOpen = true;
    this.#post({ type: "opened", tab: this.id });
    return /** @type {Promise<void>} */ (new Promise((resolve) => (this.#end = resolve)));
  }

  /** @param {string} tab */
  #follow(tab) {
    if (this.#followed.has(tab)) return;
    this.#followed.add(tab);
    this.#request(this.#lockOf(tab), () => {
      this.#followed.delete(tab);
      if (this.isLeader) this.#handlers.tabEnded(tab);
    });
  }

  /**
   * Lets another tab lead, if one waits for it. This tab may lead again after it.
   *
   * @returns {Promise<boolean>} Whether another tab leads now.
   */
  async giveLead() {
    const { pending = [] } = await navigator.locks.query();
    if (this.#isClosed || !pending.some(({ name }) => name === this.#name)) return false;
    this.isLeader = false;
    this.#release();
    this.#requestLead();
    return true;
  }

  #lead() {
    if (this.#isClosed) return;
    this.isLeader = true;
    this.#post({ type: "leader", tab: this.id });
    this.#handlers.lead();
    this.#leaderChanged();
    return /** @type {Promise<void>} */ (new Promise((resolve) => (this.#release = resolve)));
  }

  /** @param {TabMessage} message */
  #post(message) {
    if (!this.#isClosed) this.#channel.postMessage(message);
  }

  /**
   * Sends news to the other tabs.
   *
   * @param {any} news
   */
  broadcast(news) {
    this.#post({ type: "news", news });
  }

  /**
   * Calls the leader, which may be this tab.
   *
   * @param {any} call
   * @returns {Promise<any>} The answer of the leader.
   */
  call(call) {
    if (this.#isClosed) return Promise.reject(new ScrollbackError("closed", "The client is closed."));
    if (this.isLeader) return this.#handlers.answer(call);
    return new Promise((resolve, reject) => {
      const number = ++this.#lastNumber;
      this.#calls.set(number, { call, isAccepted: false, resolve, reject });
      this.#post({ type: "call", tab: this.id, number, call });
    });
  }

  /** Repeats the calls that no leader accepted, and fails those that the previous leader left unanswered. */
  #leaderChanged() {
    for (const [number, call] of [...this.#calls]) {
      if (call.isAccepted) {
        this.#calls.delete(number);
        call.reject(new ScrollbackError("unreachable", "The tab with the connection closed before the answer."));
      } else if (this.isLeader) {
        this.#calls.delete(number);
        this.#handlers.answer(call.call).then(call.resolve, call.reject);
      } else {
        this.#post({ type: "call", tab: this.id, number, call: call.call });
      }
    }
  }

  /** @param {TabMessage} message */
  #received(message) {
    switch (message.type) {
      case "leader":
        if (this.#isOpen) this.#post({ type: "opened", tab: this.id });
        this.#handlers.leaderChanged();
        return this.#leaderChanged();
      case "opened":
        if (this.isLeader) this.#follow(message.tab);
        return;
      case "news":
        return this.#handlers.receive(message.news);
      case "call":
        if (this.isLeader) this.#answer(message.tab, message.number, message.call);
        return;
      case "accepted": {
        const call = message.tab === this.id && this.#calls.get(message.number);
        if (call) call.isAccepted = true;
        return;
      }
      case "answer": {
        const call = message.tab === this.id && this.#calls.get(message.number);
        if (!call) return;
        this.#calls.delete(message.number);
        if (message.error) call.reject(ScrollbackError.from(message.error));
        else call.resolve(message.result);
      }
    }
  }

  /**
   * @param {string} tab
   * @param {number} number
   * @param {any} call
   */
  #answer(tab, number, call) {
    this.#post({ type: "accepted", tab, number });
    this.#handlers.answer(call).then(
      (result) => this.#post({ type: "answer", tab, number, result }),
      (error) => this.#post({ type: "answer", tab, number, error: error.toJSON() }),
    );
  }

  /** Ends this tab's part, and gives the lead to another tab. */
  close() {
    this.#isClosed = true;
    this.isLeader = false;
    this.#channel.close();
    this.#lock.abort();
    this.#release();
    this.#end();
    for (const call of this.#calls.values()) call.reject(new ScrollbackError("closed", "The client is closed."));
    this.#calls.clear();
  }
}
