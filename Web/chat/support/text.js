// @ts-check
import { en } from "../texts/en.js";
import { settings } from "./settings.js";

/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {keyof typeof en} TextKey */

/** The tag of the language that the page uses. */
export const language = settings.language ?? (navigator.language.startsWith("zh") ? "zh" : "en");
export const locale = language === "zh" ? "zh-Hans" : navigator.language.startsWith("en") ? navigator.language : "en";

/** @type {Record<TextKey, string>} */
const texts = language === "zh" ? (await import("../texts/zh.js")).zh : en;

/**
 * Returns a function that creates a value at its first call. A format takes some milliseconds to create.
 *
 * @template Value
 * @param {() => Value} create
 */
export function lazy(create) {
  /** @type {Value | null} */
  let value = null;
  return () => (value ??= create());
}

/** @param {Intl.DateTimeFormatOptions} options */
const dateFormat = (options) => lazy(() => new Intl.DateTimeFormat(locale, options));

const plurals = lazy(() => new Intl.PluralRules(locale));

/**
 * Returns a text of the page in its language.
 *
 * @param {TextKey} key
 * @param {Record<string, string | number>} [values] The values of the text's placeholders. Each is isolated, so that
 *   its writing direction does not change the rest of the text.
 */
export function t(key, values = {}) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? value.toLocaleString(locale) : `\u2068${plain(value ?? "")}\u2069`;
  });
}

/**
 * Returns the form of a text that fits a number: the text for `one` or for `other`.
 *
 * @param {TextKey} one
 * @param {TextKey} other
 * @param {number} count
 */
export const plural = (one, other, count) => t(plurals().select(count) === "one" ? one : other, { count });

/**
 * One line about a message, for a list or a quote.
 *
 * @param {Message} message
 */
export function summaryOf({ content }) {
  if (content === null) return t("deletedMessage");
  const { text, location, media } = content;
  if (content.poll) return `${t("poll")}: ${plain(content.poll.question)}`;
  if (text !== null) return plain(text);
  if (location) return plain(location.name ?? t("location"));
  if (content.type === "image" || content.type === "gif") return t("picture");
  if (content.type === "voice") return t("voiceMessage");
  if (content.type === "video") return t("video");
  return media ? plain(media.name ?? t("file")) : t("unknownContent");
}

/**
 * Removes line breaks and the characters that control the writing direction, for names inside of other texts.
 *
 * @param {string} text
 */
export const plain = (text) =>
  text.replace(/[\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, "").replace(/\s+/g, " ").trim();

const timeFormat = dateFormat({ hour: "2-digit", minute: "2-digit" });
const weekdayFormat = dateFormat({ weekday: "short" });
const shortDateFormat = dateFormat({ day: "numeric", month: "short" });
const dayFormat = dateFormat({ weekday: "long", day: "numeric", month: "long", year: "numeric" });
const fullFormat = dateFormat({ dateStyle: "full", timeStyle: "medium" });

/** @param {Date} date */
export const timeText = (date) => timeFormat().format(date);
/** @param {Date} date */
export const fullText = (date) => fullFormat().format(date);

/**
 * The number of days between the local days of two dates.
 *
 * @param {Date} earlier
 * @param {Date} later
 */
function daysBetween(earlier, later) {
  const day = (/** @type {Date} */ date) => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return Math.round((day(later) - day(earlier)) / 86_400_000);
}

/**
 * Whether two dates are on the same local day.
 *
 * @param {Date} one
 * @param {Date} other
 */
export const isSameDay = (one, other) => daysBetween(one, other) === 0;

/**
 * The name of a day, for a separator in a timeline.
 *
 * @param {Date} date
 */
export function dayText(date) {
  const days = daysBetween(date, new Date());
  return days === 0 ? t("today") : days === 1 ? t("yesterday") : dayFormat().format(date);
}

/**
 * A short time, for a list.
 *
 * @param {Date} date
 */
export function shortTimeText(date) {
  const days = daysBetween(date, new Date());
  if (days <= 0) return timeText(date);
  return days === 1 ? t("yesterday") : days < 7 ? weekdayFormat().format(date) : shortDateFormat().format(date);
}

/** @param {number} bytes */
export function sizeText(bytes) {
  const [unit, divisor] = bytes < 1_000_000 ? ["kilobyte", 1000] : ["megabyte", 1_000_000];
  const format = { style: "unit", unit, maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale, /** @type {Intl.NumberFormatOptions} */ (format)).format(
    bytes / Number(divisor),
  );
}

/**
 * The text for an error, in the page's language if the page knows its code.
 *
 * @param {unknown} error
 */
export function errorText(error) {
  const code = /** @type {{code?: string}} */ (error)?.code;
  if (code === "unreachable" || code === "timeout") return t("errorUnreachable");
  if (code === "local-storage") return t("errorStorage");
  return error instanceof Error ? error.message : String(error);
}
