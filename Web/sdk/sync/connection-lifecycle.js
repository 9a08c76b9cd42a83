// @ts-check
import { ScrollbackError } from "../model/errors.js";
import { Backoff } from "./backoff.js";

/** @typedef {import("../model/text.js").UserID} UserID */
/** @typedef {import("./backoff.js").Random} Random */

/**
 * An action that the owner of a connection must execute, in order.
 *
 * - `requestToken`: request a token; report the result with `tokenReceived`.
 * - `open`: open a connection; report the result with `opened` or `openFailed`.
 * - `sendHello`: send the hello frame on the connection that was opened.
 * - `sendActivity`: send the app's activity, which changed since the hello frame.
 * - `resume`: resume the session: request what was missed, and send everything that waits.
 * - `scheduleHeartbeat`: call `heartbeat` after this number of seconds.
 * - `retryRequests`: send the requests again that failed temporarily.
 * - `disconnect`: close the connection, if it is open, and discard all state that depends on it.
 * - `publishPhase`: publish the current phase.
 * - `wake`: call `tick` at this time.
 *
 * @typedef {{ type: "requestToken", generation: number }
 *   | { type: "open", generation: number, token: string }
 *   | { type: "sendHello", token: string, isActive: boolean }
 *   | { type: "sendActivity", isActive: boolean }
 *   | { type: "scheduleHeartbeat", generation: number, after: number }
 *   | { type: "wake", at: number }
 *   | { type: "resume" | "sendPing" | "retryRequests" | "disconnect" | "publishPhase" }} ConnectionAction
 */

/**
 * The phase of a connection.
 *
 * - `idle`: the client is not connected, and does not try to connect
 * - `opening`: a token is requested, or a connection is being opened
 * - `authenticating`: the connection is open, and the server has not answered the hello frame
 * - `waiting`: the client reconnects at this time
 * - `rejected`: the server rejected the client, which does not reconnect
 *
 * @typedef {{ type: "idle" | "opening" | "authenticating" | "online" } | { type: "waiting", until: number }
 *   | { type: "rejected", error: ScrollbackError }} ConnectionPhase
 */

/**
 * The state machine for the life cycle of a client's connection.
 *
 * It requests a token, opens a connection, authenticates, checks that the server still answers, and reconnects after a
 * failure. Each attempt has a number, its generation. Results of earlier generations are ignored.
 */
export class ConnectionLifecycle {
  /** @type {UserID} */
  #user;
  #backoff = new Backoff();
  /** Whether a new token was requested because the server rejected the previous one. */
  #hasRefreshedToken = false;
  #token = "";
  /** The time between two heartbeats in seconds. */
  #heartbeatInterval = 30;
  #lastReceivedAt = -Infinity;
  #isActive = true;
  /** Whether the app was active when the hello frame was sent. */
  #sentActivity = true;
  #lastImmediateReconnect = -Infinity;
  /**
   * The time at which requests that failed temporarily are retried.
   *
   * @type {number | null}
   */
  #retryAt = null;
  /**
   * The time to move to another server, and the latest time if requests wait for answers.
   *
   * @type {{ at: number, latest: number } | null}
   */
  #move = null;
  /**
   * The end of the time in which a client that moves to another server still counts as online.
   *
   * @type {number | null}
   */
  #moveEnd = null;
  #lastMove = -Infinity;

  /** How long the phase stays published as online while the client moves to another server, in milliseconds. */
  static get maximumMove() {
    return 1000;
  }
  /**
   * The least time between two moves, in milliseconds.
   *
   * A load balancer can give the connection to a server that stops, too, or to the same one.
   */
  static get moveInterval() {
    return 1000;
  }

  /** @type {ConnectionPhase} */
  phase = { type: "idle" };
  generation = 0;

  /** @param {UserID} user */
  constructor(user) {
    this.#user = user;
  }

  get isOnline() {
    return this.phase.type === "online";
  }

  /** Whether the server asked the client to move to another server. */
  get mustMove() {
    return this.#move !== null;
  }

  /** Whether the client moves to another server, and is not online for less than the maximum time of a move. */
  get isMoving() {
    return this.#moveEnd !== null;
  }

  // Connecting

  /**
   * Connects now, unless an attempt or a connection exists.
   *
   * @returns {ConnectionAction[]}
   */
  connect() {
    const canConnect = ["idle", "waiting", "rejected"].includes(this.phase.type);
    return canConnect ? this.#open() : [];
  }

  /**
   * Reconnects without waiting for the backoff to end, at most once a second.
   *
   * @param {number} now
   * @returns {ConnectionAction[]}
   */
  reconnectNow(now) {
    if (this.phase.type !== "waiting" || now - this.#lastImmediateReconnect < 1000) return [];
    this.#lastImmediateReconnect = now;
    return this.#open();
  }

  /**
   * Handles the answer of the token provider.
   *
   * @param {number} generation
   * @param {string | ScrollbackError} result
   * @param {number} now
   * @param {Random} random
   * @returns {ConnectionAction[]}
   */
  tokenReceived(generation, result, now, random) {
    if (generation !== this.generation || this.phase.type !== "opening") return [];
    // A failing token provider is a temporary condition.
    if (result instanceof ScrollbackError) return this.#wait(result.retryAfter, null, now, random);
    this.#token = result;
    return [{ type: "open", generation, token: result }];
  }

  /**
   * Handles an open connection.
   *
   * @param {number} generation
   * @param {number} now
   * @returns {ConnectionAction[]} No actions if the connection belongs to an earlier generation; the caller must then
   *   close it.
   */
  opened(generation, now) {
    if (generation !== this.generation || this.phase.type !== "opening") return [];
    this.phase = { type: "authenticating" };
    this.#lastReceivedAt = now;
    this.#sentActivity = this.#isActive;
    return [{ type: "sendHello", token: this.#token, isActive: this.#isActive }, this.#scheduleHeartbeat()];
  }

  /**
   * @param {number} generation
   * @param {ScrollbackError} error
   * @param {number} now
   * @param {Random} random
   * @returns {ConnectionAction[]}
   */
  openFailed(generation, error, now, random) {
    return generation === this.generation ? this.drop(now, random, error.retryAfter) : [];
  }

  /**
   * Handles the server's `welcome`.
   *
   * @param {UserID} user The user that the token belongs to.
   * @param {number} heartbeat The time between two heartbeats in seconds.
   * @returns {ConnectionAction[]}
   */
  welcomed(user, heartbeat) {
    if (this.phase.type !== "authenticating") return [];
    if (user !== this.#user) {
      const message = `The token belongs to ${user}, but the client was opened for ${this.#user}.`;
      return this.#reject(new ScrollbackError("invalid-token", message));
    }
    this.phase = { type: "online" };
    this.#heartbeatInterval = Math.max(1, heartbeat);
    this.#backoff.reset();
    this.#hasRefreshedToken = false;
    /** @type {ConnectionAction[]} */
    const activity = this.#isActive === this.#sentActivity ? [] : [{ type: "sendActivity", isActive: this.#isActive }];
    const published = this.#publishPhase();
    this.#moveEnd = null;
    return [...published, ...activity, { type: "resume" }];
  }

  /** @returns {ConnectionAction[]} */
  #open() {
    this.generation += 1;
    this.phase = { type: "opening" };
    return [...this.#publishPhase(), { type: "requestToken", generation: this.generation }];
  }

  /**
   * Publishes the phase, unless the client moves to another server and still counts as online.
   *
   * @returns {ConnectionAction[]}
   */
  #publishPhase() {
    return this.isMoving ? [] : [{ type: "publishPhase" }];
  }

  /**
   * @param {number | undefined} retryAfter
   * @param {number | null} spread
   * @param {number} now
   * @param {Random} random
   * @returns {ConnectionAction[]}
   */
  #wait(retryAfter, spread, now, random) {
    const until = now + (retryAfter === undefined ? this.#backoff.next(random, spread) : retryAfter * 1000);
    this.phase = { type: "waiting", until };
    return [...this.#publishPhase(), { type: "wake", at: until }];
  }

  // While connected

  /**
   * Handles a frame from the server.
   *
   * @param {number} now
   */
  received(now) {
    this.#lastReceivedAt = now;
  }

  /**
   * Sets whether the app is in the foreground, which reconnects immediately.
   *
   * @param {boolean} isActive
   * @param {number} now
   * @returns {ConnectionAction[]}
   */
  setActive(isActive, now) {
    this.#isActive = isActive;
    if (this.isOnline) return [{ type: "sendActivity", isActive }];
    return isActive ? this.reconnectNow(now) : [];
  }

  /**
   * Sends a heartbeat, or drops a connection on which nothing arrived for two heartbeats.
   *
   * @param {number} generation
   * @param {number} now
   * @param {Random} random
   * @returns {ConnectionAction[]}
   */
  heartbeat(generation, now, random) {
    const isOpen = this.isOnline || this.phase.type === "authenticating";
    if (generation !== this.generation || !isOpen) return [];
    if (now - this.#lastReceivedAt >= this.#heartbeatInterval * 2000) return this.drop(now, random);
    return this.isOnline ? [{ type: "sendPing" }, this.#scheduleHeartbeat()] : [this.#scheduleHeartbeat()];
  }

  /**
   * Schedules a retry of requests that failed temporarily on a connection that stays open.
   *
   * The delay is at least the requested one, also if a shorter one was scheduled before. The jitter keeps clients from
   * retrying at the same time.
   *
   * @param {number} delay The delay in milliseconds.
   * @param {number} now
   * @param {Random} random
   * @returns {number | null} The time to call {@link ConnectionLifecycle.tick}, or `null` if a retry is already
   *   scheduled at that time or later.
   */
  retryRequests(delay, now, random) {
    if (!this.isOnline || (this.#retryAt !== null && this.#retryAt >= now + delay)) return null;
    this.#retryAt = now + delay * (1 + 0.5 * random());
    return this.#retryAt;
  }

  /**
   * Handles the passing of time.
   *
   * @param {number} now
   * @returns {ConnectionAction[]}
   */
  tick(now) {
    const published = this.#endMove(now);
    if (this.phase.type === "waiting" && this.phase.until <= now) return [...published, ...this.#open()];
    if (this.#retryAt === null || this.#retryAt > now) return published;
    this.#retryAt = null;
    return [...published, { type: "retryRequests" }];
  }

  /** @returns {ConnectionAction} */
  #scheduleHeartbeat() {
    return { type: "scheduleHeartbeat", generation: this.generation, after: this.#heartbeatInterval };
  }

  // Moving to another server

  /**
   * Handles the request of a server that stops soon to connect again.
   *
   * @param {number} within The time in milliseconds in which the client moves, at a random moment. The client moves
   *   later if its last move was less than the interval ago.
   * @param {number} now
   * @param {Random} random
   * @returns {ConnectionAction[]}
   */
  moving(within, now, random) {
    if (!this.isOnline || this.#move !== null) return [];
    const pause = this.#lastMove <= now ? Math.max(0, ConnectionLifecycle.moveInterval - (now - this.#lastMove)) : 0;
    const at = now + Math.max(pause, random() * Math.max(0, within));
    const latest = now + Math.max(pause, within);
    this.#move = { at, latest };
    return [{ type: "wake", at }, { type: "wake", at: latest }];
  }

  /**
   * Opens the next connection if it is time to move to another server.
   *
   * Call this after each {@link ConnectionLifecycle.tick}, and after each answer.
   *
   * @param {number} now
   * @param {boolean} awaitsAnswers Whether requests would fail with the connection. The client then waits for their
   *   answers, until the latest time.
   * @returns {ConnectionAction[]}
   */
  moveIfDue(now, awaitsAnswers) {
    if (!this.isOnline || this.#move === null || this.#move.at > now) return [];
    return this.#move.latest <= now || !awaitsAnswers ? this.#moveNow(now) : [];
  }

  /**
   * @param {number} now
   * @returns {ConnectionAction[]}
   */
  #moveNow(now) {
    const end = now + ConnectionLifecycle.maximumMove;
    this.#moveEnd = end;
    this.#lastMove = now;
    return [...this.disconnect(), ...this.#open(), { type: "wake", at: end }];
  }

  /**
   * Publishes the phase if the move takes too long.
   *
   * @param {number} now
   * @returns {ConnectionAction[]}
   */
  #endMove(now) {
    if (this.#moveEnd === null || this.#moveEnd > now) return [];
    this.#moveEnd = null;
    return [{ type: "publishPhase" }];
  }

  // Disconnecting

  /**
   * Handles a connection that the server or the network closed.
   *
   * @param {number} generation
   * @param {number | null} code The server's WebSocket close code, if it sent one.
   * @param {string} reason
   * @param {number} now
   * @param {Random} random
   * @returns {ConnectionAction[]}
   */
  closed(generation, code, reason, now, random) {
    if (generation !== this.generation) return [];
    switch (code) {
      case 4001:
        // The token may be revoked or signed with a retired key: request a new one once.
        if (this.#hasRefreshedToken) return this.#reject(new ScrollbackError("invalid-token", reason));
        this.#hasRefreshedToken = true;
        return [...this.disconnect(), ...this.#open()];
      case 4003:
        // The token expired. If the provider returns an expired one again, the next attempt waits.
        if (!this.isOnline && this.#hasRefreshedToken) return this.drop(now, random);
        this.#hasRefreshedToken = !this.isOnline;
        return [...this.disconnect(), ...this.#open()];
      case 4008:
        return this.isOnline ? [...this.disconnect(), ...this.#open()] : this.drop(now, random);
      case 4009: {
        const message = "Another connection with the same device ID replaced this one.";
        return this.#reject(new ScrollbackError("closed", message));
      }
      case 4010:
        return this.#reject(signedOut(reason));
      case 1012:
        // The server has already spread the reconnects.
        if (this.#move !== null) return this.#moveNow(now);
        return [...this.disconnect(), ...this.#wait(undefined, 5000, now, random)];
      default:
        return this.drop(now, random);
    }
  }

  /**
   * Drops the connection, if any, and reconnects after a delay.
   *
   * @param {number} now
   * @param {Random} random
   * @param {number} [retryAfter] The delay in seconds that the server requested.
   * @returns {ConnectionAction[]}
   */
  drop(now, random, retryAfter) {
    return [...this.disconnect(), ...this.#wait(retryAfter, null, now, random)];
  }

  /**
   * Ends the connection, and ignores all later results.
   *
   * @returns {ConnectionAction[]}
   */
  disconnect() {
    this.generation += 1;
    this.phase = { type: "idle" };
    this.#retryAt = null;
    this.#move = null;
    return [{ type: "disconnect" }];
  }

  /**
   * @param {ScrollbackError} error
   * @returns {ConnectionAction[]}
   */
  #reject(error) {
    const actions = this.disconnect();
    this.phase = { type: "rejected", error };
    this.#moveEnd = null;
    return [...actions, { type: "publishPhase" }];
  }
}

/**
 * Returns the reason for a sign-out by the server. The close reason starts with an error code if a new token would not
 * help.
 *
 * @param {string} reason
 */
function signedOut(reason) {
  for (const code of ["user-deactivated", "banned"]) {
    if (reason.startsWith(`${code}: `)) return new ScrollbackError(code, reason.slice(code.length + 2));
  }
  return new ScrollbackError("token-revoked", "The server signed this device out.");
}
