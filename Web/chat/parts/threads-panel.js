// @ts-check
import { element, renderRows } from "../support/dom.js";
import { errorText, plural, shortTimeText, summaryOf, t } from "../support/text.js";
import { panel } from "./panel.js";

/** @typedef {import("../../sdk/scrollback.js").MessageThread} MessageThread */
/** @typedef {import("../../sdk/scrollback.js").Threads} Threads */
/** @typedef {import("../support/dom.js").Row} Row */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * The threads of a conversation, with their unread replies.
 *
 * @param {ChatApp} app
 * @param {Threads} threads
 * @param {(id: string) => void} open Opens the thread of a message.
 * @param {AbortSignal} signal
 */
export function threadsPanel(app, threads, open, signal) {
  const list = element("ul", { role: "list", class: "hits" });
  const status = element("p", { class: "subtitle", role: "status" });
  const followed = element("input", { type: "checkbox", change: () => render() });
  const loadMore = async () => {
    try {
      await threads.loadMore({ signal });
    } catch (error) {
      if (!signal.aborted) status.textContent = errorText(error);
    }
  };
  const more = element("button", { type: "button", click: loadMore }, t("showMore"));
  const render = () => {
    const { threads: all, hasMore, error } = threads.value;
    const shown = followed.checked ? all.filter(({ state }) => state.isFollowed) : all;
    renderRows(list, shown.map((thread) => threadRow(app, thread, open)));
    more.hidden = !hasMore;
    status.textContent = error ? errorText(error) : shown.length === 0 ? t("noThreads") : "";
  };
  const ends = [threads.subscribe(render), app.people.changes.subscribe(render)];
  signal.addEventListener("abort", () => {
    for (const end of ends) end();
  });
  return panel(app, t("threads"), element("label", {}, followed, " ", t("onlyFollowed")), status, list, more);
}

/**
 * A mark with the number of unread replies.
 *
 * @param {number} unread
 */
export const unreadReplies = (unread) =>
  unread > 0 &&
  element(
    "span",
    { class: "badge" },
    element("span", { "aria-hidden": "true" }, unread > 999 ? "999+" : String(unread)),
    element("span", { class: "visually-hidden" }, plural("unreadOne", "unreadOther", unread)),
  );

/**
 * @param {ChatApp} app
 * @param {MessageThread} thread
 * @param {(id: string) => void} open
 * @returns {Row}
 */
function threadRow(app, { parent, lastReply, state }, open) {
  const name = app.people.name(parent.sender);
  const count = parent.replies?.count ?? 0;
  const time = shortTimeText((lastReply ?? parent).sentAt);
  const reply = lastReply && `${app.people.name(lastReply.sender)}: ${summaryOf(lastReply).slice(0, 120)}`;
  const summary = summaryOf(parent).slice(0, 200);
  const create = () =>
    element(
      "li",
      {},
      element(
        "button",
        { type: "button", click: () => open(parent.id) },
        element("bdi", { class: "sender" }, name),
        element("span", { class: "time" }, time),
        element("span", { class: "text", dir: "auto" }, summary),
        reply !== null && element("bdi", { class: "subtitle" }, reply),
        element("span", { class: "subtitle" }, plural("repliesOne", "repliesOther", count), " "),
        unreadReplies(state.unread),
      ),
    );
  return { key: parent.id, signature: JSON.stringify([name, count, time, reply, summary, state.unread]), create };
}
