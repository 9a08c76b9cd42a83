// @ts-check
import { element } from "./dom.js";

/** An http or https address, up to a space or a character that does not belong to addresses in a text. */
const address = /\bhttps?:\/\/[^\s<>"'\x60\u200B-\u200F\u202A-\u202E\u2066-\u2069]+/giu;

/** The punctuation at the end of an address that belongs to the sentence. */
const trailing = /[.,;:!?)\]}*_]+$/;

/** A mention: an at sign and the name of a user. */
const mention = /(^|[\s(])@([\p{L}\p{N}][\p{L}\p{N}._-]*)/gu;

/**
 * Returns a text with its web addresses as links. Everything else stays text: no other scheme becomes a link.
 *
 * @param {string} text
 * @param {(user: string) => boolean} [isMentioned]
 * @returns {(string | HTMLElement)[]}
 */
export function linked(text, isMentioned = () => false) {
  /** @type {(string | HTMLElement)[]} */
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(address)) {
    const href = match[0].replace(trailing, "");
    const url = URL.parse(href);
    if (!url || !["http:", "https:"].includes(url.protocol)) continue;
    parts.push(...withMentions(text.slice(end, match.index), isMentioned), link(url, href));
    end = match.index + href.length;
  }
  parts.push(...withMentions(text.slice(end), isMentioned));
  return parts;
}

/**
 * @param {URL} url
 * @param {string} text
 */
const link = (url, text) =>
  element("a", { href: url.href, target: "_blank", rel: "noopener noreferrer nofollow" }, element("bdi", {}, text));

/**
 * @param {string} text
 * @param {(user: string) => boolean} isMentioned
 * @returns {(string | HTMLElement)[]}
 */
function withMentions(text, isMentioned) {
  /** @type {(string | HTMLElement)[]} */
  const parts = [];
  let end = 0;
  for (const { 1: before = "", 2: user = "", index } of text.matchAll(mention)) {
    const name = [user, user.replace(/[._-]+$/, "")].find(isMentioned);
    if (name === undefined) continue;
    const start = index + before.length;
    parts.push(text.slice(end, start), element("bdi", { class: "mention" }, `@${name}`));
    end = start + 1 + name.length;
  }
  parts.push(text.slice(end));
  return parts;
}
