// Elements without a framework. Texts become text nodes, so nothing that a user wrote is ever markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Creates an element.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes] Functions are event listeners, such as `onclick`. `true` sets an
 *   attribute without a value, and `false` and `undefined` leave it out.
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, ...children);
  return element;
}

/**
 * @param {Element} parent
 * @param {...Child} children
 */
export function append(parent, ...children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * @param {string} label
 * @param {() => unknown} action
 * @param {Record<string, unknown>} [attributes]
 */
export const button = (label, action, attributes = {}) =>
  make("button", { type: "button", onclick: action, ...attributes }, label);

/**
 * A link to a screen of the page.
 *
 * @param {string[]} path
 * @param {Child} text
 * @param {Record<string, unknown>} [attributes]
 */
export const link = (path, text, attributes = {}) => make("a", { href: address(...path), ...attributes }, text);

/** @param {...string} path */
const address = (...path) => `#/${path.map(encodeURIComponent).join("/")}`;

/**
 * Names and values.
 *
 * @param {[string, Child][]} rows Rows without a value are left out.
 */
export function facts(rows) {
  const list = make("dl", { class: "facts" });
  for (const [name, value] of rows) {
    if (value === undefined || value === null || value === "") continue;
    list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  }
  return list;
}

/**
 * @param {string} text
 * @param {"good" | "bad" | "quiet"} kind
 */
export const badge = (text, kind) => make("span", { class: `badge ${kind}` }, text);

/**
 * A name or a text of another program, which keeps its own direction of writing.
 *
 * @param {string} text
 */
export const bdi = (text) => make("bdi", {}, text);
