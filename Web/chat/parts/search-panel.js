// @ts-check
import { element } from "../support/dom.js";
import { errorText, shortTimeText, t } from "../support/text.js";
import { panel } from "./panel.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("./app.js").ChatApp} ChatApp */
/** @typedef {{message: Message, ranges: [number, number][]}} Hit */

/**
 * Searches messages, and jumps to a hit or a date.
 *
 * @param {ChatApp} app
 * @param {Conversation | null} conversation `null` for all conversations.
 * @param {AbortSignal} signal
 * @param {string} text What to search at once.
 */
export function searchPanel(app, conversation, signal, text) {
  const hits = element("ul", { class: "hits" });
  const status = element("p", { class: "subtitle", role: "status" });
  const field = element("input", {
    type: "search",
    "aria-label": t("search"),
    placeholder: t("search"),
    autofocus: true,
  });
  field.value = text;
  let current = new AbortController();

  /** @param {string} [cursor] */
  const search = async (cursor) => {
    current.abort();
    current = new AbortController();
    const query = field.value.trim();
    if (cursor === undefined) hits.replaceChildren();
    if (query === "") return;
    status.textContent = t("searching");
    const options = { signal: AbortSignal.any([signal, current.signal]), ...cursor === undefined ? {} : { cursor } };
    try {
      const page = await (conversation ?? app.client).search(query, options);
      hits.querySelector(".more")?.remove();
      hits.append(...page.hits.map((hit) => hitRow(app, hit, conversation === null)));
      const next = page.cursor;
      if (next !== null) {
        const more = element("button", { type: "button", click: () => search(next) }, t("showMore"));
        hits.append(element("li", { class: "more" }, more));
      }
      status.textContent = hits.childElementCount === 0 ? t("noHits") : page.isIndexing ? t("indexing") : "";
    } catch (error) {
      if (!options.signal.aborted) status.textContent = errorText(error);
    }
  };
  const form = element("form", {
    role: "search",
    submit: (/** @type {Event} */ event) => {
      event.preventDefault();
      search();
    },
  }, field);
  if (text !== "") search();
  const title = t(conversation ? "searchHere" : "searchEverywhere");
  return panel(app, title, form, conversation && dateField(app, conversation), status, hits);
}

/**
 * @param {ChatApp} app
 * @param {Conversation} conversation
 */
function dateField(app, conversation) {
  const jump = (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLInputElement} */ (event.target);
    const date = new Date(`${value}T00:00`);
    if (!Number.isNaN(date.getTime())) app.open(conversation.id, { at: date });
  };
  return element("label", { class: "date" }, t("toDate"), element("input", { type: "date", change: jump }));
}

/**
 * @param {ChatApp} app
 * @param {Hit} hit
 * @param {boolean} namesConversation
 */
function hitRow(app, { message, ranges }, namesConversation) {
  const { conversation, id, sender, sentAt, content } = message;
  const entry = app.list.entry(conversation);
  const title = app.titleOf({ id: conversation, name: entry?.name ?? null });
  const open = () => {
    app.open(conversation, { at: { id } });
    if (matchMedia("(max-width: 70rem)").matches) app.closePanel();
  };
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", click: open },
      namesConversation && element("bdi", { class: "subtitle" }, title),
      element("bdi", { class: "sender" }, app.people.name(sender)),
      element("span", { class: "time" }, shortTimeText(sentAt)),
      element("span", { class: "text", dir: "auto" }, ...marked(content?.text ?? t("attachment"), ranges)),
    ),
  );
}

/** The maximum number of bytes before the first match, and in a whole hit. */
const [bytesBefore, bytesShown] = [40, 240];

/**
 * Returns the part of a text around the first match, with its matches marked.
 *
 * @param {string} text
 * @param {[number, number][]} ranges Half-open ranges of bytes of UTF-8.
 */
function marked(text, ranges) {
  const bytes = new TextEncoder().encode(text);
  const part = (/** @type {number} */ lower, /** @type {number} */ upper) =>
    new TextDecoder().decode(bytes.subarray(lower, upper));
  // A character of UTF-8 continues with bytes of the form 10xxxxxx.
  const boundary = (/** @type {number} */ offset) => {
    while (offset < bytes.length && ((bytes[offset] ?? 0) & 0xC0) === 0x80) offset += 1;
    return Math.min(offset, bytes.length);
  };
  const start = boundary(Math.max(0, (ranges[0]?.[0] ?? 0) - bytesBefore));
  const end = boundary(start + bytesShown);
  /** @type {(string | HTMLElement)[]} */
  const parts = start > 0 ? ["…"] : [];
  let position = start;
  for (const [lower, upper] of ranges) {
    if (lower < position || upper > end) continue;
    parts.push(part(position, lower), element("mark", {}, part(lower, upper)));
    position = upper;
  }
  parts.push(part(position, end), end < bytes.length ? "…" : "");
  return parts;
}
