// @ts-check
import { violations } from "./invariants.js";

// The calls of the vectors (Documentation/vectors.md) on the state machines in Web/sdk/sync.

/**
 * A JSON value of the vectors.
 *
 * @typedef {any} Value
 */

/**
 * A state machine as the checker uses it.
 *
 * @typedef {object} Machine
 * @property {Record<string, (value: Value) => unknown>} calls Each call: runs it with its arguments, and returns what
 *   the machine returns.
 * @property {(value: Value) => unknown} state Returns what an owner of the machine can observe.
 */

/**
 * Loads the SDK from a folder, and returns a function for each state machine that creates it for a history.
 *
 * @param {string} sdk The URL of the SDK's folder, which ends with a slash.
 * @returns {Promise<Record<string, (start: Value, random: () => number) => Machine>>}
 */
export async function loadMachines(sdk) {
  const load = (/** @type {string} */ path) => import(sdk + path);
  /** @type {[typeof import("../sdk/model/decode.js"), typeof import("../sdk/model/errors.js")]} */
  const [decode, { ScrollbackError }] = await Promise.all([load("model/decode.js"), load("model/errors.js")]);
  /** @type {typeof import("../sdk/model/conversation-id.js")} */
  const { ConversationID } = await load("model/conversation-id.js");
  /** @type {typeof import("../sdk/model/seq-range-set.js")} */
  const { intersection, SeqRangeSet } = await load("model/seq-range-set.js");
  /** @type {typeof import("../sdk/sync/log-edit.js")} */
  const { LogEdit } = await load("sync/log-edit.js");
  /** @type {typeof import("../sdk/sync/log-state.js")} */
  const { LogState } = await load("sync/log-state.js");
  /** @type {typeof import("../sdk/sync/gap-fill.js")} */
  const { GapFill } = await load("sync/gap-fill.js");
  /** @type {typeof import("../sdk/sync/resume-state.js")} */
  const { ResumeState } = await load("sync/resume-state.js");
  /** @type {typeof import("../sdk/sync/outbox.js")} */
  const { Outbox } = await load("sync/outbox.js");
  /** @type {typeof import("../sdk/sync/read-state.js")} */
  const { ReadState } = await load("sync/read-state.js");
  /** @type {typeof import("../sdk/sync/recent-entry.js")} */
  const { RecentEntry } = await load("sync/recent-entry.js");
  /** @type {typeof import("../sdk/sync/connection-lifecycle.js")} */
  const { ConnectionLifecycle } = await load("sync/connection-lifecycle.js");
  /** @type {typeof import("../sdk/sync/head-fetches.js")} */
  const { HeadFetches } = await load("sync/head-fetches.js");
  /** @type {typeof import("../sdk/sync/received-ids.js")} */
  const { ReceivedIDs } = await load("sync/received-ids.js");
  /** @type {typeof import("../sdk/sync/typing.js")} */
  const { OwnTyping, TypingUsers } = await load("sync/typing.js");

  const error = (/** @type {Value} */ value) => ScrollbackError.from(value);
  /** @param {Value} value @returns {import("../sdk/model/log.js").LogPosition} */
  const positionOf = ({ conversation, epoch, view = 0, seq, rev = 0 }) => ({ conversation, epoch, view, seq, rev });
  const errorOrNull = (/** @type {Value} */ value) => value === undefined ? null : error(value);

  /**
   * @param {Value} event
   * @returns {import("../sdk/sync/live-event.js").LiveEvent}
   */
  function decodeEvent(event) {
    const { type, conversation, epoch } = event;
    switch (type) {
      case "message": {
        const message = decode.decodeMessage(event.message);
        return { type, conversation: message.conversation, message };
      }
      case "changed":
        return { type, conversation, epoch, change: decode.decodeChange(event.change) };
      case "head":
        return { type, conversation, head: decode.decodeLogHead(event.head), last: null, altersCounts: true };
      case "hidden":
        return { type, conversation, epoch, ranges: event.ranges };
      default:
        throw new Error(`The vectors have an event of the unknown type ${type}.`);
    }
  }

  /** @param {Value} item */
  const decodeItem = (item) => ({
    ...item,
    state: item.state.type === "failed" ? { type: "failed", error: error(item.state.error) } : item.state,
  });

  return {
    conversationID({ user }) {
      const parse = (/** @type {Value} */ { text }) => {
        try {
          const id = ConversationID.parse(text);
          const { target, part } = ConversationID.parts(id);
          return {
            id,
            target,
            part,
            isAbsolute: ConversationID.isAbsolute(id),
            absolute: ConversationID.absolute(id, user),
            relative: ConversationID.relative(id, user),
            log: ConversationID.log(id),
            administered: ConversationID.administered(id),
            community: ConversationID.communityOf(id),
            isCommunityRoot: ConversationID.isCommunityRoot(id),
          };
        } catch (error) {
          return { error };
        }
      };
      return { calls: { parse }, state: () => ({}) };
    },

    seqRangeSet() {
      const set = new SeqRangeSet();
      return {
        calls: {
          insert: ({ range }) => set.insert(range),
          remove: ({ range }) => set.remove(range),
          formUnion: ({ other }) => set.formUnion(new SeqRangeSet(other)),
          subtract: ({ other }) => set.subtract(new SeqRangeSet(other)),
        },
        state: ({ seq, range }) => ({
          ranges: set.ranges,
          count: set.count,
          lowest: set.ranges[0]?.[0] ?? null,
          highest: set.ranges.at(-1)?.[1] ?? null,
          seq,
          contains: set.contains(seq),
          rangeContaining: set.rangeContaining(seq),
          lastAtOrBelow: set.lastAtOrBelow(seq),
          firstAtOrAbove: set.firstAtOrAbove(seq),
          range,
          intersects: set.intersects(range),
          clippedTo: set.clippedTo(range).ranges,
          missingIn: set.missingIn(range).ranges,
        }),
      };
    },

    logState({ head }) {
      const log = LogState.adopting(decode.decodeLogHead(head));
      /** @type {Map<number, import("../sdk/model/message.js").Message>} */
      const rows = new Map();
      const numbersOf = (/** @type {{ seq: number, rev: number }} */ row) => [row.seq, row.rev];
      const apply = (/** @type {import("../sdk/sync/log-edit.js").LogEdit} */ edit) => {
        if (edit.erasesEverything) rows.clear();
        for (const [lower, upper] of edit.erased) {
          for (const seq of [...rows.keys()]) if (seq >= lower && seq <= upper) rows.delete(seq);
        }
        for (const row of edit.upserts) if (LogEdit.replaces(row, rows.get(row.seq))) rows.set(row.seq, row);
        return { ...edit, upserts: edit.upserts.map(numbersOf) };
      };
      /** Deletes rows as the Swift SDK does. The browser SDK does not delete them. @param {number} seq */
      const forget = (seq) => {
        const edit = new LogEdit();
        const range = log.range && intersection(log.range, [log.firstSeq, seq]);
        if (range === null) return edit;
        edit.erase(range);
        log.gaps.insert(range);
        log.gaps.subtract(log.deletedRanges.clippedTo(range));
        log.baseline = { seq: Math.max(log.baseline.seq, range[1]), rev: Math.max(log.baseline.rev, log.rev) };
        return edit;
      };
      /** @param {import("../sdk/sync/live-event.js").LiveEvent} event */
      const editOf = (event) => {
        switch (event.type) {
          case "message":
            return log.applyMessage(event.message);
          case "changed":
            return log.applyChange(event.change, event.epoch);
          case "head":
            return log.applyHead(event.head);
          case "hidden":
            return log.applyHidden(event.ranges, event.epoch);
        }
      };
      return {
        calls: {
          applyHead: ({ head }) => apply(log.applyHead(decode.decodeLogHead(head))),
          applyMessage: ({ message, rev }) => apply(log.applyMessage(decode.decodeMessage(message), rev)),
          applyEvent: ({ event }) => apply(editOf(decodeEvent(event))),
          applyPage: ({ page }) => apply(log.applyPage(decode.decodePage(page))),
          applySync: ({ sync, asked }) => apply(log.applySync(decode.decodeSync(sync), positionOf(asked))),
          forget: ({ seq }) => apply(forget(seq)),
        },
        state() {
          const sorted = [...rows.values()].sort((a, b) => a.seq - b.seq);
          const found = violations(log, sorted.map((row) => row.seq));
          if (found.length > 0) throw new Error(found.join("; "));
          return {
            ...log.toJSON(),
            isBehind: log.isBehind,
            gapToFill: log.gapToFill(Math.trunc((log.firstSeq + log.head) / 2), 4),
            lowerEnd: log.lowerEnd(log.head % 4, log.head - 1),
            upperEnd: log.upperEnd(log.head % 4, log.firstSeq + 1),
            rows: sorted.map(numbersOf),
          };
        },
      };
    },

    gapFill(_start, random) {
      const fill = new GapFill();
      return {
        calls: {
          next: ({ wanted = null, now }) => fill.next(wanted, now),
          answered: ({ request, changedGaps }) => fill.answered(request, changedGaps),
          failed: ({ request, error: problem, now }) => fill.failed(request, error(problem), now, random),
          allowRequests: () => fill.allowRequests(),
          disconnected: () => fill.disconnected(),
        },
        state: () => ({ inFlight: fill.inFlight, isStuck: fill.isStuck }),
      };
    },

    resumeState({ conversations }, random) {
      const resume = new ResumeState();
      /** @type {Map<unknown, number>} */
      const numbers = new Map();
      const encode = (/** @type {import("../sdk/sync/resume-state.js").ResumeAction} */ action) => {
        if (action.type === "release") return { ...action, events: action.events.map((event) => numbers.get(event)) };
        if (action.type === "storeHeads") return { ...action, heads: action.heads.map((head) => head.conversation) };
        return action;
      };
      const positions = (/** @type {Value} */ list) => list.map(positionOf);
      const live = (/** @type {Value} */ { number, event }) => {
        const decoded = decodeEvent(event);
        numbers.set(decoded, number);
        return resume.live(decoded).map(encode);
      };
      return {
        calls: {
          connected: ({ cursor = null, behind, isNew }) => resume.connected(cursor, positions(behind), isNew),
          disconnected: () => (resume.disconnected(), []),
          tick: ({ now }) => resume.tick(now),
          windowAnswered: ({ request, heads, cursor, isDone }) =>
            resume.windowAnswered(request, heads.map(decode.decodeHead), cursor, isDone).map(encode),
          windowStored({ behind }) {
            const known = new Map(behind.map((/** @type {Value} */ position) => [position.conversation, position]));
            return resume.windowStored((head) => known.get(head.conversation) ?? null).map(encode);
          },
          windowFailed: ({ request, error: problem, now }) => resume.windowFailed(request, error(problem), now, random),
          live,
          needsSync: ({ position }) => resume.needsSync(positionOf(position)),
          syncAnswered: ({ batch, behind, now }) =>
            resume.syncAnswered(batch, positions(behind), now, random).map(encode),
          syncFailed: ({ batch, error: problem, now }) =>
            resume.syncFailed(batch, error(problem), now, random).map(encode),
        },
        state: () => ({
          isFetchingWindows: resume.isFetchingWindows,
          heldCount: resume.heldCount,
          resumed: conversations.filter((/** @type {string} */ id) => resume.isResumed(id)),
        }),
      };
    },

    outbox({ items, pace = null }, random) {
      const outbox = new Outbox(items.map(decodeItem), pace);
      return {
        calls: {
          enqueue: ({ id, conversation, now, isMessage, needsUpload }) =>
            outbox.enqueue(id, conversation, now, { isMessage, needsUpload }),
          requeue: ({ item, now }) => outbox.requeue(decodeItem(item), now),
          connected: ({ now }) => outbox.connected(now),
          disconnected: () => outbox.disconnected(),
          tick: ({ now }) => outbox.tick(now),
          answered: ({ id, error: problem, now }) => outbox.answered(id, errorOrNull(problem), now, random),
          uploaded: ({ id, error: problem, now }) => outbox.uploaded(id, errorOrNull(problem), now, random),
          reupload: ({ id, now }) => outbox.reupload(id, now),
          retry: ({ id, now }) => outbox.retry(id, now),
          cancel: ({ id, now }) => outbox.cancel(id, now),
        },
        state: () => ({
          isConnected: outbox.isConnected,
          isEmpty: outbox.isEmpty,
          items: outbox.items.map((item) => [item.id, item.state.type]),
        }),
      };
    },

    readState({ epoch, seq, countedIndex, reader }) {
      const read = ReadState.unknown(epoch, seq, countedIndex);
      return {
        calls: {
          apply: ({ summary, answersRead }) => read.apply(decode.decodeSummary(summary), answersRead),
          changed({ message, old, mayHaveSentLater }) {
            const before = old === undefined ? null : decode.decodeMessage(old);
            read.changed(decode.decodeMessage(message), before, reader, mayHaveSentLater);
          },
          advanceRevision: ({ rev, previous }) => read.advanceRevision(rev, previous),
          erased: ({ range, rev = null }) => read.erased(range, rev),
          // The Swift SDK can delete rows.
          forgot({ seq }) {
            if (read.isExact) read.knownThrough = Math.max(read.knownThrough, Math.min(seq, read.countedAt.seq));
          },
          gapFilled: ({ message }) => read.gapFilled(decode.decodeMessage(message), reader),
          updateCounts({ log, receivesOwnMessages, counts }) {
            const state = new LogState(log);
            const answers = counts.slice();
            const announced = read.countRanges(state).map(String);
            read.updateCounts(state, receivesOwnMessages, (range) => {
              const answer = answers.shift();
              if (String(answer?.range) !== String(range)) throw new Error(`It counts the range ${range}.`);
              if (!announced.includes(String(range))) throw new Error(`countRanges does not have the range ${range}.`);
              return answer.counts ?? null;
            });
            if (answers.length > 0) throw new Error(`It does not count the range ${answers[0].range}.`);
          },
          markRead: ({ seq, countedIndex = null }) => read.markRead(seq, countedIndex),
          dropPendingRead: () => read.dropPendingRead(),
          viewChanged: () => read.viewChanged(),
        },
        state: () => read.toJSON(),
      };
    },

    recentEntry({ kind }) {
      const entry = new RecentEntry(kind);
      const change = (/** @type {Value} */ { type, ...change }) => {
        switch (type) {
          case "settings":
            return { type, isMuted: change.isMuted ?? null, isPinned: change.isPinned ?? null };
          case "notifications":
            return { type, level: change.level ?? null };
          default:
            return { type, ...change };
        }
      };
      return {
        calls: {
          updateListing: (activity) => entry.updateListing(activity),
          applyHead: ({ head, pending, isRead }) => entry.applyHead(decode.decodeHead(head), new Set(pending), isRead),
          applySettings: ({ summary, pending, isRead }) =>
            entry.applySettings(decode.decodeSummary(summary), new Set(pending), isRead),
          applyChange: (value) => entry.applyChange(change(value.change)),
          add: ({ time = null, showsLast }) => entry.add(time, showsLast),
          endUnreadMarker: () => entry.endUnreadMarker(),
          updateLastMessage: ({ gaps, hadRow, newest, current = null }) =>
            entry.updateLastMessage({ gaps: new SeqRangeSet(gaps), hadRow, newest, current }),
          recordMissed: ({ before, log, isLive }) =>
            entry.recordMissed(before === undefined ? null : new LogState(before), new LogState(log), isLive),
          rename: ({ profile: { name = null, avatar = null } }) => void (entry.newProfile = { name, avatar }),
          advancePeerRead: ({ seq }) => entry.advancePeerRead(seq),
          reset: () => entry.reset(),
        },
        // The vectors don't contain the delivery receipts, which have tests of their own.
        state: () => ({ ...entry, delivery: undefined }),
      };
    },

    connectionLifecycle({ user }, random) {
      const connection = new ConnectionLifecycle(user);
      return {
        calls: {
          connect: () => connection.connect(),
          reconnectNow: ({ now }) => connection.reconnectNow(now),
          tokenReceived: ({ generation, token, error: problem, now }) =>
            connection.tokenReceived(generation, token ?? error(problem), now, random),
          opened: ({ generation, now }) => connection.opened(generation, now),
          openFailed: ({ generation, error: problem, now }) =>
            connection.openFailed(generation, error(problem), now, random),
          welcomed: ({ user, heartbeat }) => connection.welcomed(user, heartbeat),
          received: ({ now }) => connection.received(now),
          setActive: ({ isActive, now }) => connection.setActive(isActive, now),
          heartbeat: ({ generation, now }) => connection.heartbeat(generation, now, random),
          retryRequests: ({ delay, now }) => connection.retryRequests(delay, now, random),
          tick: ({ now }) => connection.tick(now),
          moving: ({ within, now }) => connection.moving(within, now, random),
          moveIfDue: ({ now, awaitsAnswers }) => connection.moveIfDue(now, awaitsAnswers),
          closed: ({ generation, code = null, reason, now }) =>
            connection.closed(generation, code, reason, now, random),
          drop: ({ retryAfter, now }) => connection.drop(now, random, retryAfter),
          disconnect: () => connection.disconnect(),
        },
        state: () => ({
          phase: connection.phase,
          generation: connection.generation,
          isMoving: connection.isMoving,
        }),
      };
    },

    headFetches({ conversations }) {
      const heads = new HeadFetches();
      return {
        calls: {
          connected: () => heads.connected(),
          disconnected: () => heads.disconnected(),
          fetch: ({ ids }) => heads.fetch(ids),
          storedUncertain: ({ id }) => heads.storedUncertain(id),
          next: ({ subscribed }) => heads.next((id) => subscribed.includes(id)),
          answered: ({ ids }) => heads.answered(ids),
          failed: ({ ids, error: problem }) => heads.failed(ids, error(problem)),
          tick: () => heads.tick(),
        },
        state: () => ({
          isWaiting: heads.isWaiting,
          inFlight: conversations.filter((/** @type {string} */ id) => heads.isInFlight(id)),
          needed: conversations.filter((/** @type {string} */ id) => heads.isNeeded(id)),
        }),
      };
    },

    ownTyping() {
      const typing = new OwnTyping();
      return {
        calls: {
          typed: ({ id, now }) => typing.typed(id, now),
          stopped: ({ id }) => typing.stopped(id),
          sent: ({ id }) => typing.sent(id),
          tick: ({ now }) => typing.tick(now),
        },
        state: () => ({ next: typing.next }),
      };
    },

    receivedIDs() {
      const received = new ReceivedIDs();
      return { calls: { isNew: ({ id, now }) => received.isNew(id, now) }, state: () => ({}) };
    },

    typingUsers({ conversations }) {
      const typing = new TypingUsers();
      return {
        calls: {
          received: ({ user, id, isTyping, now }) => typing.received(user, id, isTyping, now),
          messageReceived: ({ user, id }) => typing.messageReceived(user, id),
          tick: ({ now }) => typing.tick(now),
          disconnected: () => typing.disconnected(),
        },
        state: () => ({
          users: conversations.map((/** @type {string} */ id) => typing.users(id)),
          next: typing.next,
        }),
      };
    },
  };
}
