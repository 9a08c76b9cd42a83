// Numbers, sizes and times as an operator reads them.

const numbers = new Intl.NumberFormat("en");
const dates = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

/** @param {number} value */
export const count = (value) => numbers.format(value);

/** @param {number} value */
export function bytes(value) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? count(value) : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  return `${seconds.toFixed(1)} s`;
}

/** @param {number} value Events in a second. */
export const rate = (value) => `${value >= 10 || value === 0 ? Math.round(value) : value.toFixed(1)}/s`;

/** @param {string | undefined} text A time of the server. */
export const time = (text) => (text === undefined ? "" : dates.format(new Date(text)));

/**
 * A name inside of a text, which keeps its own direction of writing.
 *
 * @param {string} name
 */
export const isolated = (name) => `\u2068${name}\u2069`;
