// @ts-check
import { decodeFrame, helloFrame, requestFrame } from "../wire/frames.js";
import { ConversationID } from "../model/conversation-id.js";
import { asScrollbackError, ScrollbackError } from "../model/errors.js";
import { standardPace } from "../model/token-bucket.js";
import { deleteConversation } from "../store/heads.js";
import { getMeta } from "../store/meta.js";
import { outboxItems } from "../store/outbox.js";
import { saveProfiles } from "../store/people.js";
import { OpenConversation } from "../store/records.js";
import { adoptRollback } from "../store/rollback.js";
import { saveThreadState } from "../store/threads.js";
import { ConnectionLifecycle } from "../sync/connection-lifecycle.js";
import { Outbox } from "../sync/outbox.js";
import { ReceivedIDs } from "../sync/received-ids.js";
import { DraftsDriver } from "./drafts-driver.js";
import { LiveState } from "./live-state.js";
import { refuse } from "./mailbox.js";
import { OutboxDriver } from "./outbox-driver.js";
import { PushDriver } from "./push-driver.js";
import { DeliveryDriver, SettingsDriver } from "./settings-driver.js";
import { SyncDriver } from "./sync-driver.js";
import { Connection } from "./transport.js";

/** @typedef {import("../model/log.js").LogPosition} LogPosition */
/** @typedef {import("../model/conversation-head.js").ConversationHead} ConversationHead */
/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../sync/connection-lifecycle.js").ConnectionAction} ConnectionAction */
/** @typedef {import("../sync/live-event.js").LiveEvent} LiveEvent */
/** @typedef {import("../sync/recent-entry.js").RecentEntry} RecentEntry */
/** @typedef {import("../wire/frames.js").FrameRequest} FrameRequest */
/** @typedef {import("../wire/frames.js").ServerEvent} ServerEvent */
/** @typedef {import("../wire/frames.js").ServerFrame} ServerFrame */
/** @typedef {import("../wire/frames.js").Welcome} Welcome */
/** @typedef {import("./core.js").Core} Core */
/** @typedef {import("./transport.js").TransportEvent} TransportEvent */

/**
 * The answer to a request: the members of a result, or an error.
 *
 * @typedef {{body: JSONObject, error: null} | {body: null, error: ScrollbackError}} Answer
 */

/**
 * An input of the loop.
 *
 * @typedef {{type: "connect"} | {type: "disconnect"} | {type: "close"} | {type: "reconnectNow"}
 *   | {type: "tick", due: number} | {type: "settingChanged"} | {type: "draftChanged"} | {type: "pushChanged"}
 *   | {type: "reportDelivered"}
 *   | {type: "token", generation: number, token: string | null, error: ScrollbackError | null}
 *   | {type: "transport", generation: number, event: TransportEvent}
 *   | {type: "heartbeat", generation: number, due: number}
 *   | {type: "request", request: FrameRequest, timeout: number, reply: (answer: Answer) => void}
 *   | {type: "requestTimedOut", ref: number, generation: number}
 *   | {type: "waitTimedOut", number: number}
 *   | {type: "queued", id: string}
 *   | {type: "uploaded", id: string, error: ScrollbackError | null}
 *   | {type: "retry" | "cancel", id: string, reply: (result: Promise<unknown>) => void}
 *   | {type: "fetchHeads", ids: string[]}
 *   | {type: "behind", position: LogPosition}
 *   | {type: "storeHeads", heads: readonly ConversationHead[], cursor: string, generation: number}
 *   | {type: "recheck"}
 *   | {type: "tabEnded", tab: string}
 *   | {type: "visible", tab: string, isVisible: boolean}
 *   | {type: "subscribe", tab: string, id: string, isOn: boolean}
 *   | {type: "typing", id: string, isTyping: boolean}
 *   | {type: "watch", tab: string, users: string[], isOn: boolean}} Input
 */

/**
 * A request that waits for the connection. Its timeout includes this time.
 *
 * @typedef {{number: number, request: FrameRequest, end: number, reply: (answer: Answer) => void}} WaitingRequest
 */

/** The time in milliseconds after which a request of the client itself counts as lost. */
const requestTimeout = 20_000;

/** The time in milliseconds by which browsers delay the timers of a hidden page. */
const longestTimerDelay = 60_000;

/** The longest delay of a timer in milliseconds, 24 days. Browsers run a timer with a longer one at once. */
const longestDelay = 2 ** 31 - 1;

/** The maximum number of live events that one transaction applies. */
const maximumLiveEvents = 500;

const timedOut = () => new ScrollbackError("timeout", "The server did not answer in time.");
/** @param {string} message */
const unreachable = (message) => new ScrollbackError("unreachable", message);

/**
 * The loop of a client, which owns the connection and the state machines. It runs in the tab that leads.
 *
 * It takes inputs in order, asks the state machines for actions, stores the result and then acts.
 */
export class Driver {
  /**
   * The conversations that were deleted since the client was opened, in order. An answer can be older than those that
   * were appended since its request.
   *
   * @type {string[]}
   */
  deletions = [];
  /** @type {Connection | null} The connection that is opening, authenticating or online. */
  #connection = null;
  #lastRef = 0;
  /** @type {Map<number, {answered: (answer: Answer) => unknown, failsWithConnection: boolean}>} */
  #requests = new Map();
  /** @type {WaitingRequest[]} */
  #waiting = [];
  #lastWaiting = 0;
  /** @type {Set<ReturnType<typeof setTimeout>>} */
  #timers = new Set();
  #receivedIDs = new ReceivedIDs();
  /** The tabs that the user can see. @type {Set<string>} */
  #visibleTabs = new Set();
  random = Math.random;

  /**
   * @param {Core} core
   * @param {Outbox} outbox
   */
  constructor(core, outbox) {
    this.core = core;
    this.lifecycle = new ConnectionLifecycle(core.user);
    this.outbox = new OutboxDriver(this, outbox);
    this.sync = new SyncDriver(this);
    this.settings = new SettingsDriver(this);
    this.drafts = new DraftsDriver(this);
    this.deliveries = new DeliveryDriver(this);
    this.push = new PushDriver(this);
    this.live = new LiveState(this);
  }

  get now() {
    return Date.now();
  }

  get isOnline() {
    return this.lifecycle.isOnline && this.#connection !== null;
  }

  // The loop

  async run() {
    while (true) {
      const inputs = await this.core.mailbox.take();
      /** @type {LiveEvent[]} */
      const live = [];
      for (const [index, input] of inputs.entries()) {
        if (input.type === "close") {
          await this.sync.applyLive(live);
          return this.#end(inputs.slice(index + 1));
        }
        // Consecutive live events are applied in one transaction.
        const frame = this.#frameOf(input);
        const event = frame && this.isOnline ? liveEventOf(frame) : null;
        if (event) {
          live.push(event);
          if (live.length === maximumLiveEvents) await this.sync.applyLive(live.splice(0));
          continue;
        }
        await this.sync.applyLive(live.splice(0));
        try {
          if (frame) await this.#received(frame);
          else await this.#handle(input);
        } catch (error) {
          // A failure of one step must not end the loop.
          await this.storeFailed(error);
        }
      }
      await this.sync.applyLive(live);
    }
  }

  /**
   * Fails all requests that wait for an answer.
   *
   * @param {Input[]} rest
   */
  #end(rest) {
    const closed = new ScrollbackError("closed", "The client is closed.");
    this.lifecycle.disconnect();
    this.outbox.close();
    this.#disconnect(closed);
    this.#failWaiting(closed);
    for (const timer of this.#timers) clearTimeout(timer);
    refuse([...rest, ...this.core.mailbox.close()], closed);
  }

  /** @param {Input} input */
  async #handle(input) {
    switch (input.type) {
      case "close":
        return;
      case "connect":
        return await this.perform(this.lifecycle.connect());
      case "disconnect":
        return await this.perform([...this.lifecycle.disconnect(), { type: "publishPhase" }]);
      case "reconnectNow":
        return await this.reconnectNow();
      case "token":
        return await this.perform(
          this.lifecycle.tokenReceived(input.generation, input.error ?? input.token ?? "", this.now, this.random),
        );
      case "transport":
        return await this.#transportReported(input.generation, input.event);
      case "heartbeat":
        return await this.perform(this.lifecycle.heartbeat(input.generation, this.#timeOf(input.due), this.random));
      case "tick":
        return await this.#tick(input.due);
      case "request":
        return await this.#ask(input.request, input.timeout, input.reply);
      case "requestTimedOut":
        if (input.generation !== this.lifecycle.generation) return;
        return await this.#answered(input.ref, { body: null, error: timedOut() });
      case "waitTimedOut": {
        const index = this.#waiting.findIndex(({ number }) => number === input.number);
        if (index >= 0) this.#waiting.splice(index, 1)[0]?.reply({ body: null, error: timedOut() });
        return;
      }
      case "queued":
        await this.outbox.queued(input.id);
        return await this.reconnectNow();
      case "uploaded":
        return await this.outbox.uploaded(input.id, input.error);
      case "retry":
      case "cancel": {
        // The caller's next read finds the result.
        /** @type {Promise<unknown>} */
        const result = this.outbox[input.type](input.id);
        input.reply(result);
        await result.catch(() => {});
        return;
      }
      case "settingChanged":
        return await this.settings.send();
      case "draftChanged":
        return await this.drafts.sync();
      case "reportDelivered":
        return await this.deliveries.report();
      case "pushChanged":
        await this.push.resume();
        return await this.reconnectNow();
      case "fetchHeads":
        return this.sync.fetchHeads(input.ids);
      case "behind":
        return await this.sync.behind(input.position);
      case "storeHeads":
        if (input.generation === this.lifecycle.generation) await this.sync.storeWindow(input.heads, input.cursor);
        return;
      case "recheck":
        return await this.sync.restart();
      case "tabEnded":
        return await this.#tabEnded(input.tab);
      case "visible":
        return await this.#setVisible(input.tab, input.isVisible);
      case "subscribe":
        return this.live.subscribe(input.tab, input.id, input.isOn);
      case "typing":
        return this.live.typed(input.id, input.isTyping);
      case "watch":
        return this.live.watch(input.tab, input.users, input.isOn);
    }
  }

  /**
   * @param {string} tab
   * @param {boolean} isVisible
   */
  async #setVisible(tab, isVisible) {
    if (isVisible) this.#visibleTabs.add(tab);
    else this.#visibleTabs.delete(tab);
    await this.perform(this.lifecycle.setActive(this.#visibleTabs.size > 0, this.now));
  }

  /**
   * Does what a tab that crashed did not ask for: it may have stored a change without a notice, and its subscriptions
   * are still counted.
   *
   * @param {string} tab
   */
  async #tabEnded(tab) {
    await this.#setVisible(tab, false);
    this.live.tabEnded(tab);
    if (await this.outbox.queuedWithoutNotice()) await this.reconnectNow();
    await this.settings.send();
    await this.drafts.sync();
    await this.push.send();
    await this.deliveries.report();
  }

  /**
   * Calls the state machines that wait for a time.
   *
   * A timer can run before the clock shows its time: up to a millisecond in Firefox, which rounds times, and longer if
   * the user sets the clock back. A state machine ignores a tick before its time, and then gets no other one. The time
   * of a tick is therefore at least the time at which its timer was due.
   *
   * @param {number} due
   */
  async #tick(due) {
    const now = Math.max(this.now, due);
    await this.perform(this.lifecycle.tick(now));
    await this.#moveIfDue(now);
    await this.outbox.tick(now);
    this.sync.tick(now);
    this.live.tick(now);
    await this.deliveries.tick(now);
    await this.sync.applyReleased();
  }

  async reconnectNow() {
    await this.perform(this.lifecycle.reconnectNow(this.now));
  }

  /** @param {number} time */
  wake(time) {
    const delay = Math.min(Math.max(0, time - this.now), longestDelay);
    this.#post({ type: "tick", due: Math.min(time, this.now + delay) }, delay);
  }

  /**
   * @param {Input} input
   * @param {number} delay
   */
  #post(input, delay) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.core.mailbox.post(input);
    }, delay);
    this.#timers.add(timer);
  }

  /**
   * Returns the time of a heartbeat.
   *
   * Browsers run the timers of a hidden page once a minute. Silence until a timer was due says more about the
   * connection than silence until it ran. After a longer pause, the computer slept.
   *
   * @param {number} due
   */
  #timeOf(due) {
    return this.now - due < longestTimerDelay ? due : this.now;
  }

  // The connection

  /** @param {readonly ConnectionAction[]} actions */
  async perform(actions) {
    for (const action of actions) {
      switch (action.type) {
        case "requestToken":
          this.#requestToken(action.generation);
          break;
        case "open":
          this.#open(action.generation);
          break;
        case "sendHello":
          try {
            const checkpoint = await this.core.store.read((transaction) => getMeta(transaction, "checkpoint"), [
              "meta",
            ]);
            const { device, sharesPresence } = this.core;
            this.#connection?.send(helloFrame({ ...action, device, checkpoint, sharesPresence }));
          } catch (error) {
            return await this.storeFailed(error);
          }
          break;
        case "sendActivity":
          this.send({ type: "activity", active: action.isActive });
          break;
        case "resume":
          await this.#resume();
          break;
        case "sendPing":
          this.send({ type: "ping" });
          break;
        case "scheduleHeartbeat": {
          const delay = action.after * 1000;
          this.#post({ type: "heartbeat", generation: action.generation, due: this.now + delay }, delay);
          break;
        }
        case "retryRequests":
          await this.#retryRequests();
          break;
        case "disconnect":
          this.#disconnect(unreachable("The connection was lost before the server answered."));
          await this.outbox.disconnected();
          break;
        case "publishPhase":
          this.#publishPhase();
          break;
        case "wake":
          this.wake(action.at);
      }
    }
  }

  /** @param {number} generation */
  async #requestToken(generation) {
    /** @type {string | null} */
    let token = null;
    /** @type {ScrollbackError | null} */
    let error = null;
    try {
      token = await this.core.token();
    } catch (cause) {
      error = asScrollbackError(cause, "unreachable", "The app's token provider failed.");
      // The connection only shows that it waits for the next attempt.
      console.warn("Scrollback: the app's function for tokens failed.", cause);
    }
    this.core.mailbox.post({ type: "token", generation, token, error });
  }

  /** @param {number} generation */
  #open(generation) {
    this.#connection?.close();
    this.#connection = new Connection(this.core.server, (event) => {
      this.core.mailbox.post({ type: "transport", generation, event });
    });
  }

  /**
   * @param {number} generation
   * @param {TransportEvent} event
   */
  async #transportReported(generation, event) {
    const { now, random } = this;
    if (event.type === "opened") return await this.perform(this.lifecycle.opened(generation, now));
    if (event.type !== "closed") return;
    if (this.lifecycle.phase.type === "opening") {
      const error = unreachable("The server can't be reached.");
      return await this.perform(this.lifecycle.openFailed(generation, error, now, random));
    }
    await this.perform(this.lifecycle.closed(generation, event.code, event.reason, now, random));
  }

  async #resume() {
    this.live.connected();
    try {
      await this.sync.connected();
    } catch (error) {
      return await this.storeFailed(error);
    }
    for (const waiting of this.#waiting.splice(0)) {
      this.#request(waiting.request, waiting.end - this.now, waiting.reply, true);
    }
    await this.outbox.connected();
    await this.settings.send();
    await this.deliveries.connected();
    await this.drafts.sync();
    await this.push.connected();
  }

  #publishPhase() {
    const { phase } = this.lifecycle;
    switch (phase.type) {
      case "idle":
        this.core.setConnection({ state: "idle" });
        return this.#failWaiting(unreachable("The client is disconnected."));
      case "opening":
        return this.core.setConnection({ state: "connecting" });
      case "online":
        return this.core.setConnection({ state: "online" });
      case "waiting":
        this.core.setConnection({ state: "waiting", until: new Date(phase.until) });
        return this.#failWaiting(unreachable("The server can't be reached."));
      case "rejected":
        this.core.setConnection({ state: "rejected", error: phase.error });
        return this.#failWaiting(phase.error);
    }
  }

  /** @param {ScrollbackError} error */
  #failWaiting(error) {
    for (const { reply } of this.#waiting.splice(0)) reply({ body: null, error });
  }

  /**
   * Closes the connection, and fails all requests that wait for an answer.
   *
   * @param {ScrollbackError} error
   */
  #disconnect(error) {
    this.#connection?.close();
    this.#connection = null;
    this.sync.disconnected();
    this.settings.disconnected();
    this.drafts.disconnected();
    this.deliveries.disconnected();
    this.push.disconnected();
    this.live.disconnected();
    const unanswered = [...this.#requests.values()];
    this.#requests.clear();
    for (const { answered, failsWithConnection } of unanswered) {
      if (failsWithConnection) answered({ body: null, error });
    }
  }

  /**
   * Opens the next connection if the server asked for it and it is time.
   *
   * @param {number} now
   */
  async #moveIfDue(now) {
    if (!this.lifecycle.mustMove) return;
    const awaitsAnswers = [...this.#requests.values()].some(({ failsWithConnection }) => failsWithConnection);
    await this.perform(this.lifecycle.moveIfDue(now, awaitsAnswers));
  }

  /** Drops the connection and starts over. */
  async dropConnection() {
    await this.perform(this.lifecycle.drop(this.now, this.random));
  }

  /**
   * Handles a failure of the store: reports it, drops the connection and starts over.
   *
   * @param {unknown} error
   */
  async storeFailed(error) {
    this.core.storageFailed(error);
    await this.dropConnection();
  }

  // Requests

  /**
   * Sends a request that the client repeats itself after the next connection.
   *
   * @param {FrameRequest} request
   * @param {(answer: Answer, since: number) => unknown} [answered] Called with the answer and the number of deletions
   *   before the request, unless the connection is lost before.
   */
  send(request, answered = () => {}) {
    const since = this.deletions.length;
    if (this.isOnline) this.#request(request, requestTimeout, (answer) => answered(answer, since), false);
  }

  /**
   * @param {FrameRequest} request
   * @param {number} timeout
   * @param {(answer: Answer) => unknown} answered
   * @param {boolean} failsWithConnection
   */
  #request(request, timeout, answered, failsWithConnection) {
    const ref = ++this.#lastRef;
    this.#requests.set(ref, { answered, failsWithConnection });
    this.#connection?.send(requestFrame(request, ref));
    this.#post({ type: "requestTimedOut", ref, generation: this.lifecycle.generation }, timeout);
  }

  /**
   * @param {FrameRequest} request
   * @param {number} timeout
   * @param {(answer: Answer) => void} reply
   */
  async #ask(request, timeout, reply) {
    const { lifecycle } = this;
    if (lifecycle.phase.type === "waiting" && !lifecycle.isMoving) await this.reconnectNow();
    /** @param {string} reason */
    const refuse = (reason) => reply({ body: null, error: unreachable(reason) });
    switch (lifecycle.phase.type) {
      case "online":
        return this.#request(request, timeout, reply, true);
      case "idle":
        return refuse("The client is not connected. Call connect() first.");
      case "rejected":
        return refuse("The server rejected this client. Call connect() to try again.");
      case "waiting":
        if (!lifecycle.isMoving) return refuse("The server can't be reached.");
    }
    const number = ++this.#lastWaiting;
    this.#waiting.push({ number, request, end: this.now + timeout, reply });
    this.#post({ type: "waitTimedOut", number }, timeout);
  }

  /**
   * @param {number} ref
   * @param {Answer} answer
   */
  async #answered(ref, answer) {
    const request = this.#requests.get(ref);
    this.#requests.delete(ref);
    await request?.answered(answer);
  }

  async #retryRequests() {
    this.sync.retry();
    this.live.retry();
    this.settings.resume();
    await this.sync.recoverFromRollback();
    await this.settings.send();
    await this.deliveries.resume();
    await this.drafts.resume();
    await this.push.resume();
  }

  /**
   * Schedules a retry after a temporary error on a connection that stays open, such as a full disk or an overload.
   *
   * @param {ScrollbackError} error
   */
  retryAfter(error) {
    if (error.isTemporary) this.retryIn((error.retryAfter ?? 5) * 1000);
  }

  /** @param {number} delay */
  retryIn(delay) {
    const time = this.lifecycle.retryRequests(delay, this.now, this.random);
    if (time !== null) this.wake(time);
  }

  // Frames

  /**
   * @param {Input} input
   * @returns {ServerFrame | null}
   */
  #frameOf(input) {
    if (input.type !== "transport" || input.event.type !== "frame") return null;
    if (input.generation !== this.lifecycle.generation) return { type: "unknown" };
    this.lifecycle.received(this.now);
    try {
      const { frame, checkpoint } = decodeFrame(input.event.text);
      if (checkpoint !== null) this.core.store.checkpoint.note(checkpoint);
      return frame;
    } catch (error) {
      console.warn("Scrollback: a frame of the server could not be read.", error);
      return { type: "unknown" };
    }
  }

  /** @param {ServerFrame} frame */
  async #received(frame) {
    switch (frame.type) {
      case "welcome":
        return await this.#welcomed(frame.welcome);
      case "result":
        await this.#answered(frame.ref, { body: frame.body, error: null });
        return await this.#moveIfDue(this.now);
      case "error":
        if (frame.ref !== null) {
          await this.#answered(frame.ref, { body: null, error: frame.error });
          return await this.#moveIfDue(this.now);
        }
        return console.warn("Scrollback: the server rejected a frame.", frame.error);
      case "event":
        return await this.#eventReceived(frame.event);
      case "moving":
        return await this.perform(this.lifecycle.moving(frame.within, this.now, this.random));
      case "unknown":
        return;
    }
  }

  /** @param {Welcome} welcome */
  async #welcomed({ user, heartbeat, lineage, lostAfter }) {
    const { store } = this.core;
    if (lostAfter !== null) {
      try {
        // This precedes every checkpoint of this connection. If the page closes, the next connection repeats it.
        await store.write((transaction) => adoptRollback(transaction, this.core.user, lostAfter));
        this.core.changedAnything();
      } catch (error) {
        return await this.storeFailed(error);
      }
    }
    store.checkpoint.connected(lineage);
    await this.perform(this.lifecycle.welcomed(user, heartbeat));
  }

  /** @param {ServerEvent} event */
  async #eventReceived(event) {
    const { core } = this;
    switch (event.type) {
      case "message":
      case "changed":
      case "head":
      case "hidden":
        // The loop handles these as live events.
        return;
      case "transient":
        this.live.messageReceived(event.message.sender, event.message.conversation);
        if (this.#receivedIDs.isNew(event.message.id, this.now)) core.notify(event);
        return;
      case "read":
        return await this.settings.changed([event]);
      case "reads":
        return await this.settings.changed(event.reads);
      case "draft":
        return await this.drafts.received(event.draft);
      case "thread":
        await core.store.write((transaction) => saveThreadState(transaction, event.conversation, event.state));
        return core.changed([event.conversation]);
      case "peerRead":
        return await this.#peerAdvanced(event.conversation, (entry) => entry.advancePeerRead(event.seq));
      case "delivered":
        if (ConversationID.kind(event.conversation) !== "direct") return;
        return await this.#peerAdvanced(event.conversation, (entry) => entry.delivery.advancePeer(event.seq));
      case "member":
        // Joining or leaving a community affects many channels at once. A sync pass fetches their heads and holds back
        // their live events until then.
        if (event.user === core.user) await this.sync.restart();
        else await this.sync.fetchHeadIfUnknown(event.conversation);
        // The server reports why the user may no longer be subscribed.
        if (event.user === core.user && event.role === null) this.live.resubscribe(event.conversation);
        return core.notify(event);
      case "typing":
        this.live.receivedTyping(event.user, event.conversation, event.isTyping);
        return;
      case "conversation":
        if (!event.isDeleted) this.sync.fetchHeads([event.conversation]);
        else {
          this.deletions.push(event.conversation);
          await core.store.write((transaction) => deleteConversation(transaction, event.conversation));
          core.changed([event.conversation]);
          // A window from before the deletion would restore the conversation. Another pass reports the deletion.
          if (this.sync.mayRestore(event.conversation)) await this.sync.restart();
        }
        return core.notify(event);
      case "user": {
        const { profile } = event;
        await core.store.write((transaction) => saveProfiles(transaction, [profile], [profile.user], this.now));
        return core.changedAnything();
      }
      case "presence":
        this.live.receivedPresence([event.presence]);
        return;
      case "invitation":
        return core.notify(event);
      case "resync":
        return await this.sync.restart();
    }
  }

  /**
   * Stores how far another user has received or read a conversation.
   *
   * @param {string} id
   * @param {(entry: RecentEntry) => void} advance
   */
  async #peerAdvanced(id, advance) {
    await this.core.store.write(async (transaction) => {
      const conversation = await OpenConversation.load(transaction, id);
      advance(conversation.entry);
      conversation.save(transaction);
    });
    // A head with a new epoch, which is still to come, discards the stored position.
    if (this.sync.mayRestore(id)) this.sync.fetchHeads([id]);
    else await this.sync.fetchHeadIfUnknown(id);
    this.core.changed([id]);
  }
}

/**
 * Runs the loop until the client closes.
 *
 * Messages that were in flight when the previous leader ended are queued again.
 *
 * @param {Core} core
 */
export async function drive(core) {
  const oldest = Date.now() - Outbox.lifetime;
  const items = await core.store.write((transaction) => outboxItems(transaction, oldest), {
    changesOutbox: true,
    stores: ["outbox"],
  });
  await new Driver(core, new Outbox(items, standardPace)).run();
}

/**
 * Returns the log update of a frame, or `null` for any other frame.
 *
 * @param {ServerFrame} frame
 * @returns {LiveEvent | null}
 */
function liveEventOf(frame) {
  if (frame.type !== "event") return null;
  const { event } = frame;
  switch (event.type) {
    case "message":
      return { type: "message", conversation: event.message.conversation, message: event.message };
    case "head":
      return {
        type: "head",
        conversation: event.conversation,
        // The event does not include the view, which is specific to the reader.
        head: {
          epoch: event.epoch,
          view: 0,
          head: event.seq,
          firstSeq: event.firstSeq ?? 1,
          countedIndex: event.countedIndex,
          rev: event.rev,
        },
        last: event.last,
        altersCounts: event.altersCounts,
      };
    case "changed":
    case "hidden":
      return event;
    default:
      return null;
  }
}
