// @ts-check
import { element, icon, iconButton } from "../support/dom.js";
import { errorText, fullText, plain, plural, summaryOf, t, timeText } from "../support/text.js";
import { avatar } from "./avatar.js";
import { contentNode } from "./message-content.js";
import { unreadReplies } from "./threads-panel.js";

/** @typedef {import("../../sdk/scrollback.js").ActionSummary} ActionSummary */
/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("../../sdk/scrollback.js").TimelineItem} TimelineItem */
/** @typedef {import("../../sdk/scrollback.js").TimelineView} View */
/** @typedef {import("../support/dom.js").Row} Row */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * @typedef {object} RowContext
 * @property {ChatApp} app
 * @property {Conversation} conversation
 * @property {Pick<View, "items" | "peerReadSeq" | "peerDeliveredSeq">} view
 * @property {boolean} startsGroup Whether the row shows the sender's name.
 * @property {(user: string) => string} name
 * @property {((id: string) => void) | null} openThread
 * @property {(id: string) => number} unreadReplies The number of unread replies to a message.
 */

/** The maximum number of different reactions that a row shows. */
const maximumReactions = 20;

/**
 * @param {TimelineItem} item
 * @returns {Date | null}
 */
export function dateOfItem(item) {
  if (item.type === "gap") return null;
  return item.type === "message" ? item.message.sentAt : item.createdAt;
}

/**
 * @param {TimelineItem} item
 * @param {RowContext} context
 * @returns {Row}
 */
export function messageRow(item, context) {
  if (item.type === "gap") return gapRow(item);
  if (item.type === "pending") return pendingRow(item, context);
  return item.message.type === "notice" ? noticeRow(item.message) : storedRow(item.message, context);
}

/**
 * @param {Extract<TimelineItem, {type: "gap"}>} item
 * @returns {Row}
 */
function gapRow({ id, range, isLoading }) {
  const count = range[1] - range[0] + 1;
  return {
    key: id,
    signature: `${count} ${isLoading}`,
    create: () =>
      element(
        "li",
        { class: "gap", "data-id": id, "aria-busy": isLoading && "true" },
        element("span", {}, plural("gapOne", "gapOther", count)),
      ),
  };
}

/**
 * @param {Message} message
 * @returns {Row}
 */
function noticeRow(message) {
  const text = message.text ?? t("deletedMessage");
  return {
    key: message.id,
    signature: text,
    create: () =>
      element(
        "li",
        { class: "separator notice", "data-id": message.id },
        element("span", {}, element("bdi", {}, text)),
      ),
  };
}

/**
 * @param {Message} message
 * @param {RowContext} context
 * @returns {Row}
 */
function storedRow(message, context) {
  const { app, view, startsGroup, openThread } = context;
  const { id, seq, sender, actions, editedAt, replies, thread } = message;
  const isOwn = sender === app.user;
  const name = context.name(sender);
  const reception = receptionOf(seq, view);
  const isPinned = actions.some(({ type }) => type === "pin");
  const root = thread === null ? null : quoteOf(view, thread, context);
  const signature = JSON.stringify([
    message.content === null,
    message.text,
    message.content?.poll?.isClosed,
    editedAt,
    actions,
    name,
    isOwn && reception,
    startsGroup,
    replies?.count,
    context.unreadReplies(id),
    root,
  ]);
  const create = () =>
    element(
      "li",
      rowProperties(id, isOwn, startsGroup, message.mentions(app.user) && !isOwn ? "mentions-me" : ""),
      startsGroup && !isOwn && avatar(sender, name),
      element(
        "div",
        { class: "bubble" },
        startsGroup && !isOwn && element("bdi", { class: "sender" }, name),
        root && threadLink(thread ?? "", root, openThread),
        message.content
          ? contentNode(message.content, { ...context, message })
          : element("p", { class: "deleted" }, t("deletedMessage")),
        element(
          "span",
          { class: "meta" },
          isPinned &&
            element(
              "span",
              { class: "pinned" },
              icon("pin"),
              element("span", { class: "visually-hidden" }, t("pinned")),
            ),
          editedAt && message.content && element("span", {}, t("edited")),
          element(
            "time",
            { datetime: message.sentAt.toISOString(), title: fullText(message.sentAt) },
            timeText(message.sentAt),
          ),
          isOwn && tick(reception === "sent" ? "✓" : "✓✓", t(reception), reception),
        ),
      ),
      reactionBar(message, context),
      replies && openThread
        ? element(
          "button",
          { type: "button", class: "replies", click: () => openThread(id) },
          plural("repliesOne", "repliesOther", replies.count),
          unreadReplies(context.unreadReplies(id)),
        )
        : null,
    );
  return { key: id, signature, create };
}

/**
 * @param {string} id
 * @param {boolean} isOwn
 * @param {boolean} startsGroup
 * @param {string} more
 */
const rowProperties = (id, isOwn, startsGroup, more) => ({
  class: `message ${isOwn ? "own" : ""} ${startsGroup ? "starts" : ""} ${more}`,
  "data-id": id,
  tabindex: -1,
});

/**
 * @param {Extract<TimelineItem, {type: "pending"}>} item
 * @param {RowContext} context
 * @returns {Row}
 */
function pendingRow({ id, content, attributes, createdAt, state }, context) {
  const handle = context.conversation.sendHandle(id);
  const attempt = (/** @type {() => Promise<void>} */ action) => () =>
    action().catch((error) => context.app.showError(errorText(error)));
  const root = attributes.replyTo ? quoteOf(context.view, attributes.replyTo, context) : null;
  const name = plain(content.media?.name ?? t("file"));
  /** @param {HTMLElement} row */
  const update = (row) => {
    const progress = row.querySelector("progress");
    if (progress && state.state === "uploading") progress.value = state.progress;
  };
  const create = () =>
    element(
      "li",
      rowProperties(id, true, context.startsGroup, "pending"),
      element(
        "div",
        { class: "bubble" },
        root && threadLink(attributes.replyTo ?? "", root, context.openThread),
        contentNode(content, { ...context, message: null }),
        element(
          "span",
          { class: "meta" },
          element("time", {}, timeText(createdAt)),
          state.state !== "failed" && tick("🕓", t("notSentYet")),
        ),
        state.state === "uploading" && element("progress", { max: 1, "aria-label": t("upload", { name }) }),
        content.media !== null && ["stored", "uploading", "waiting"].includes(state.state) &&
          iconButton("close", t("removeFile", { name }), attempt(() => handle.cancel())),
      ),
      state.state === "failed"
        ? element(
          "p",
          { class: "failed" },
          t("sendFailed"),
          " ",
          errorText(state.error),
          " ",
          element("button", { type: "button", click: attempt(() => handle.retry()) }, t("retry")),
          element("button", { type: "button", click: attempt(() => handle.cancel()) }, t("discard")),
        )
        : null,
    );
  const error = state.state === "failed" ? state.error.message : "";
  const signature = JSON.stringify([state.state, error, content.text, context.startsGroup, root]);
  return { key: id, signature, create, update };
}

/**
 * @param {string} sign
 * @param {string} label
 */
const tick = (sign, label, reception = "") =>
  element("span", { class: `tick ${reception}`.trimEnd(), role: "img", "aria-label": label, title: label }, sign);

/**
 * Returns what the user may know of the peer of a direct conversation.
 *
 * @param {number} seq
 * @param {Pick<View, "peerReadSeq" | "peerDeliveredSeq">} view
 * @returns {"sent" | "delivered" | "read"}
 */
const receptionOf = (seq, { peerReadSeq, peerDeliveredSeq }) =>
  seq <= peerReadSeq ? "read" : seq <= peerDeliveredSeq ? "delivered" : "sent";

/**
 * Returns the sender and the beginning of the message to which a reply belongs, as far as it is shown.
 *
 * @param {Pick<View, "items">} view
 * @param {string} id
 * @param {RowContext} context
 */
function quoteOf({ items }, id, { name }) {
  const item = items.find((item) => item.id === id);
  if (item?.type !== "message") return { sender: "", text: t("earlierMessage") };
  return { sender: name(item.message.sender), text: summaryOf(item.message).slice(0, 120) };
}

/**
 * @param {string} id
 * @param {{sender: string, text: string}} quote
 * @param {((id: string) => void) | null} openThread
 */
const threadLink = (id, { sender, text }, openThread) =>
  openThread &&
  element(
    "button",
    { type: "button", class: "quote", title: t("openThread"), click: () => openThread(id) },
    element("bdi", { class: "sender" }, sender),
    element("bdi", {}, text),
  );

/**
 * @param {Message} message
 * @param {RowContext} context
 */
function reactionBar(message, { app, conversation, name }) {
  const reactions = message.actions.filter(({ type }) => type === "reaction");
  if (reactions.length === 0) return null;
  /** @param {ActionSummary} reaction */
  const chip = ({ value, count, senders }) => {
    const isOwn = senders.includes(app.user);
    const label = plain(value).slice(0, 24);
    return element(
      "button",
      {
        type: "button",
        "aria-pressed": String(isOwn),
        "aria-label": plural("reactionOne", "reactionOther", count) + ` ${label}`,
        title: senders.slice(0, 10).map(name).join(", "),
        click: () => isOwn ? conversation.unreact(message.id, value) : conversation.react(message.id, value),
      },
      element("bdi", {}, label),
      count > 1 && element("span", {}, count.toLocaleString()),
    );
  };
  const more = reactions.length - maximumReactions;
  return element(
    "div",
    { class: "reactions", role: "group", "aria-label": t("reactions") },
    ...reactions.slice(0, maximumReactions).map(chip),
    more > 0 && element("span", {}, `+${more}`),
  );
}
