// @ts-check
import { element, renderRows } from "../support/dom.js";
import { errorText, t } from "../support/text.js";
import { Composer } from "./composer.js";
import { messageRow } from "./message-row.js";
import { panel } from "./panel.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("../../sdk/scrollback.js").TimelineItem} TimelineItem */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * A message and its replies.
 *
 * @param {ChatApp} app
 * @param {Conversation} conversation
 * @param {string} root The first message of the thread.
 * @param {AbortSignal} signal
 */
export function threadPanel(app, conversation, root, signal) {
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
    const { items, peerReadSeq } = timeline.value;
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
        messageRow(item, { app, conversation, view: { items, peerReadSeq }, startsGroup: true, name, openThread: null })
      ),
    );
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
  const ends = [timeline.subscribe(render), app.people.changes.subscribe(render)];
  signal.addEventListener("abort", () => {
    for (const end of ends) end();
    composer.close();
  });
  load();
  return panel(app, t("thread"), element("div", { class: "thread", tabindex: 0 }, list), status, composer);
}
