// @ts-check

/** A member or element that is a number of at least 16 digits, which may have more than 53 bits. */
const longNumber = /[:[,]\s*-?\d{16}/;

/**
 * Parses JSON without changing integers: an integer of more than 53 bits becomes a `BigInt`.
 *
 * @param {string} text
 * @returns {unknown}
 * @throws {SyntaxError} The text is not JSON.
 */
export function parseJSON(text) {
  if (!longNumber.test(text)) return JSON.parse(text);
  return JSON.parse(
    text,
    /** @type {(key: string, value: unknown) => unknown} */ (exactNumber),
  );
}

/**
 * @param {string} _key
 * @param {unknown} value
 * @param {{source?: string}} context
 */
function exactNumber(_key, value, { source } = {}) {
  const isExact = typeof value !== "number" || Number.isSafeInteger(value) || source === undefined;
  return isExact || !/^-?\d+$/.test(source) ? value : BigInt(source);
}

/**
 * Writes JSON. A `BigInt` becomes an integer.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function encodeJSON(value) {
  return JSON.stringify(
    value,
    (_key, value) =>
      typeof value === "bigint"
        ? /** @type {{rawJSON(text: string): unknown}} */ (/** @type {unknown} */ (JSON)).rawJSON(String(value))
        : value,
  );
}

/**
 * Returns a value as the server and other devices receive it.
 *
 * IndexedDB can't store everything that JSON leaves out, and neither the proxies with which frameworks such as Vue
 * observe objects.
 *
 * @template Value
 * @param {Value} value
 * @returns {Value}
 */
export const plainJSON = (value) => /** @type {Value} */ (parseJSON(encodeJSON(value)));
