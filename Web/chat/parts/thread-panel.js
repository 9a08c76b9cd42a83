// @ts-check
import { element, iconButton, renderRows } from "../support/dom.js";
import { errorText, t } from "../support/text.js";
import { Composer } from "./composer.js";
import { messageRow } from "./message-row.js";
import { panel } from "./panel.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("../../sdk/scrollback.js").SendHandle} SendHandle */
/** @typedef {import("../../sdk/scrollback.js").Threads} Threads */
/** @typedef {import("../../sdk/scrollback.js").TimelineItem} TimelineItem */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * A message and its replies.
 *
 * @param {ChatApp} app
 * @param {Conversation} conversation
 * @param {string} root The first message of the thread.
 * @param {Threads} threads
 * @param {AbortSignal} signal
 */
export function threadPanel(app, conversation, root, threads, signal) {
  const list = element("ol", { role: "list" });
  const status = element("p", { class: "subtitle", role: "status" });
  const composer = new Composer(app, conversation, {
    members: async () => await app.view?.members() ?? [],
    thread: root,
  });
  composer.setTitle(t("thread"));
  /** The messages of the server's page, by ID. @type {Map<string, Message>} */
  const loaded = new Map();
  const timeline = conversation.timeline();

  const render = () => {
    const { items, peerReadSeq, peerDeliveredSeq } = timeline.value;
    const stored = new Map(loaded);
    /** @type {TimelineItem[]} */
    const pending = [];
    for (const item of items) {
      if (item.type === "pending" && item.attributes.replyTo === root) pending.push(item);
      if (item.type !== "message") continue;
      const { id, thread } = item.message;
      if (id === root || thread === root) stored.set(id, item.message);
    }
    const messages = [...stored.values()].sort((one, other) => one.seq - other.seq);
    const rows = [
      ...messages.map((message) => /** @type {TimelineItem} */ ({ type: "message", id: message.id, message })),
      ...pending,
    ];
    const name = (/** @type {string} */ user) => app.people.name(user);
    renderRows(
      list,
      rows.map((item) =>
        messageRow(item, {
          app,
          conversation,
          view: { items, peerReadSeq, peerDeliveredSeq },
          startsGroup: true,
          name,
          openThread: null,
          unreadReplies: () => 0,
        })
      ),
    );
  };
  const stateOf = () => threads.value.threads.find(({ parent }) => parent.id === root)?.state ?? null;
  const attempt = async (/** @type {() => Promise<SendHandle>} */ action) => {
    try {
      const handle = await action();
      await handle.sent({ signal }).catch(async (error) => {
        // Following and reading have no item in the timeline that could be discarded.
        if (!signal.aborted) await handle.cancel();
        throw error;
      });
    } catch (error) {
      if (!signal.aborted) status.textContent = errorText(error);
    }
  };
  const toggle = () =>
    attempt(() => stateOf()?.isFollowed ? conversation.unfollowThread(root) : conversation.followThread(root));
  const follow = iconButton("bell", t("followThread"), toggle);
  /** The newest reply that was marked as read. @type {string | null} */
  let lastRead = null;
  const showState = () => {
    const state = stateOf();
    follow.hidden = state === null;
    follow.setAttribute("aria-pressed", String(state?.isFollowed ?? false));
    const last = threads.value.threads.find(({ parent }) => parent.id === root)?.lastReply?.id ?? null;
    if (!state || state.unread === 0 || document.hidden || last === lastRead) return;
    lastRead = last;
    attempt(() => conversation.markThreadRead(root));
  };
  const load = async () => {
    try {
      const [first, replies] = await Promise.all([
        conversation.history({ around: { id: root }, beforeLimit: 0, afterLimit: 1, signal }),
        conversation.history({ thread: root, limit: 100, signal }),
      ]);
      for (const message of [...first.messages, ...replies.messages]) {
        if (message.id === root || message.thread === root) loaded.set(message.id, message);
      }
      status.textContent = replies.older ? t("newestReplies") : "";
      render();
      list.lastElementChild?.scrollIntoView({ block: "end" });
    } catch (error) {
      if (!signal.aborted) status.textContent = errorText(error);
    }
  };
  const ends = [timeline.subscribe(render), app.people.changes.subscribe(render), threads.subscribe(showState)];
  document.addEventListener("visibilitychange", showState, { signal });
  signal.addEventListener("abort", () => {
    for (const end of ends) end();
    composer.close();
  });
  load();
  return panel(app, t("thread"), follow, element("div", { class: "thread", tabindex: 0 }, list), status, composer);
}
