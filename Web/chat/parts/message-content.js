// @ts-check
import { element } from "../support/dom.js";
import { linked } from "../support/links.js";
import { plain, plural, sizeText, t } from "../support/text.js";
import { fileButton, picture, player } from "./media.js";

/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("../../sdk/scrollback.js").MessageContent} MessageContent */
/** @typedef {import("../../sdk/scrollback.js").LinkPreview} LinkPreview */
/** @typedef {import("../../sdk/scrollback.js").Media} Media */
/** @typedef {import("./message-row.js").RowContext} RowContext */

/** The maximum number of UTF-16 code units of a text that a row shows at first. */
const shownLength = 4000;

/**
 * Shows content of any type. Everything that users wrote is text.
 *
 * @param {MessageContent} content
 * @param {RowContext & {message: Message | null}} context
 * @returns {HTMLElement}
 */
export function contentNode(content, context) {
  const { quote, poll, location, media, text, linkPreview } = content;
  if (quote) {
    return element(
      "div",
      {},
      element(
        "blockquote",
        {},
        element("bdi", { class: "sender" }, context.name(quote.sender)),
        element("p", { dir: "auto" }, plain(quote.content.text ?? t("attachment")).slice(0, 300)),
      ),
      textNode(quote.text, context),
    );
  }
  if (poll) return pollNode(poll, context);
  if (location) return locationNode(location);
  if (media) return mediaNode(content.type, media, context);
  if (text !== null && linkPreview) return element("div", {}, textNode(text, context), previewNode(linkPreview));
  return text === null ? element("p", { class: "deleted" }, t("unknownContent")) : textNode(text, context);
}

/**
 * @param {string} text
 * @param {RowContext & {message: Message | null}} context
 */
function textNode(text, { message }) {
  const mentioned = new Set(message?.attributes.mentions?.users ?? []);
  const isMentioned = (/** @type {string} */ user) =>
    mentioned.has(user) || (user === "everyone" && message?.attributes.mentions?.everyone === true);
  const node = element("p", { class: "text", dir: "auto" }, ...linked(text.slice(0, shownLength), isMentioned));
  if (text.length > shownLength) {
    const more = element("button", {
      type: "button",
      class: "more",
      click: () => node.replaceChildren(...linked(text, isMentioned)),
    }, t("showMore"));
    node.append("… ", more);
  }
  return node;
}

/**
 * Shows a preview as a link to its page, with the host of the page, because the sender can write any title.
 *
 * @param {LinkPreview} preview
 */
function previewNode({ url, title, description, site, picture }) {
  const page = URL.parse(url);
  if (!page || !["http:", "https:"].includes(page.protocol)) return false;
  const host = element("bdi", {}, page.host);
  return element(
    "a",
    { class: "preview", href: page.href, target: "_blank", rel: "noopener noreferrer nofollow" },
    picture !== undefined && previewPicture(picture),
    element("bdi", { class: "title" }, plain(title)),
    description !== undefined && element("bdi", { class: "description" }, plain(description)),
    element(
      "span",
      { class: "subtitle" },
      ...(site === undefined ? [host] : [element("bdi", {}, plain(site)), " · ", host]),
    ),
  );
}

/** @param {string} base64 */
function previewPicture(base64) {
  /** @type {Blob} */
  let file;
  try {
    file = new Blob([Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0))], { type: "image/jpeg" });
  } catch {
    return false;
  }
  const address = URL.createObjectURL(file);
  const release = () => URL.revokeObjectURL(address);
  return element("img", { src: address, alt: "", load: release, error: release });
}

/**
 * @param {NonNullable<MessageContent["poll"]>} poll
 * @param {RowContext & {message: Message | null}} context
 */
function pollNode({ question, options, isClosed }, { app, conversation, message }) {
  const votes = options.map((_, index) =>
    message?.actions.find(({ type, value }) => type === "vote" && value === String(index))
  );
  const total = votes.reduce((sum, vote) => sum + (vote?.count ?? 0), 0);
  const rows = options.map((option, index) => {
    const vote = votes[index];
    const count = vote?.count ?? 0;
    const isOwn = vote?.senders.includes(app.user) ?? false;
    const toggle = () =>
      message && (isOwn ? conversation.withdrawVote(message.id, index) : conversation.vote(message.id, index));
    const row = element(
      "button",
      { type: "button", "aria-pressed": String(isOwn), disabled: isClosed || !message, click: toggle },
      element("bdi", {}, option),
      element("span", { class: "count" }, plural("votesOne", "votesOther", count)),
    );
    row.style.setProperty("--part", String(total === 0 ? 0 : count / total));
    return element("li", {}, row);
  });
  return element(
    "div",
    { class: "poll" },
    element("p", { class: "text", dir: "auto" }, question),
    element("ul", {}, ...rows),
    isClosed && element("p", { class: "subtitle" }, t("pollClosed")),
  );
}

/** @param {NonNullable<MessageContent["location"]>} location */
function locationNode({ latitude, longitude, name }) {
  const position = `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`;
  return element(
    "p",
    { class: "text", dir: "auto" },
    `📍 ${plain(name ?? t("location"))} `,
    element("bdi", {}, `(${position})`),
  );
}

/**
 * @param {string} type
 * @param {Media} media
 * @param {RowContext} context
 */
function mediaNode(type, media, { app }) {
  if (media.media === undefined) return element("p", { class: "text" }, ...linked(media.url ?? ""));
  if (type === "image" || type === "gif") return picture(app, media);
  if (type === "voice" || type === "video") return player(app, type, media);
  return fileButton(app, media, media.size === undefined ? "" : sizeText(media.size));
}
