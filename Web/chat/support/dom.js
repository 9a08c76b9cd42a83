// @ts-check

/** @typedef {Node | string | null | false} Child A text, an element, or nothing. */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Properties */

/**
 * Creates an element. Texts become text nodes, never HTML.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Properties} [properties] Attributes. `true` sets an attribute without a value; `false`, `null` and
 *   `undefined` leave it out. A function listens to the event of that name.
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, properties = {}, ...children) {
  const created = document.createElement(name);
  setProperties(created, properties);
  created.append(...present(children));
  return created;
}

/**
 * @param {Element} target
 * @param {Properties} properties
 */
export function setProperties(target, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") target.addEventListener(key, value);
    else if (value === false || value === null || value === undefined) target.removeAttribute(key);
    else target.setAttribute(key, value === true ? "" : String(value));
  }
}

/**
 * @param {readonly Child[]} children
 * @returns {(Node | string)[]}
 */
export const present = (children) => children.filter((child) => child !== null && child !== false);

/**
 * A row of a list. A row with the same `key` and `signature` as before keeps its element. `update` is called with the
 * element each time.
 *
 * @typedef {{key: string, signature: string, create: () => HTMLElement, update?: (element: HTMLElement) => void}} Row
 */

/** @type {WeakMap<Element, {key: string, signature: string}>} */
const rendered = new WeakMap();

/**
 * Shows rows as the children of an element, with as few changes as possible, so that focus and scroll position stay.
 *
 * @param {Element} parent
 * @param {Iterable<Row>} rows
 */
export function renderRows(parent, rows) {
  /** @type {Map<string, HTMLElement>} */
  const known = new Map();
  for (const child of parent.children) known.set(rendered.get(child)?.key ?? "", /** @type {HTMLElement} */ (child));
  /** @type {Element | null} */
  let place = parent.firstElementChild;
  for (const { key, signature, create, update } of rows) {
    const old = known.get(key);
    known.delete(key);
    let node = old;
    if (!node || rendered.get(node)?.signature !== signature) {
      node = create();
      rendered.set(node, { key, signature });
      if (old) {
        if (place === old) place = node;
        const hadFocus = old.contains(document.activeElement);
        old.replaceWith(node);
        const target = node.hasAttribute("tabindex") ? node : node.querySelector("button");
        if (hadFocus) target?.focus({ preventScroll: true });
      }
    }
    update?.(node);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  for (const child of known.values()) child.remove();
}

/**
 * Shows a dialog and removes it after it was closed.
 *
 * @param {string} title
 * @param {...Child} children
 * @returns {HTMLDialogElement}
 */
export function showDialog(title, ...children) {
  const dialog = element(
    "dialog",
    { "aria-label": title, close: () => dialog.remove() },
    element("h2", {}, title),
    ...present(children),
  );
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** The paths of the icons, on a grid of 24 units. */
const icons = {
  attach: "M20 11l-8 8a5 5 0 0 1-7-7l8-8a3.5 3.5 0 0 1 5 5l-8 8a2 2 0 0 1-3-3l7-7",
  back: "M15 5l-7 7 7 7",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4",
  close: "M6 6l12 12M18 6L6 18",
  down: "M12 5v14M6 13l6 6 6-6",
  edit: "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4",
  gear: "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6M12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M5.6 18.4" +
    "l2.1-2.1M16.3 7.7l2.1-2.1",
  hide: "M4 4l16 16M9 6a10 10 0 0 1 12 6 12 12 0 0 1-3 4M6 8a12 12 0 0 0-3 4 10 10 0 0 0 12 6",
  info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5M12 8v.1",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  plus: "M12 5v14M5 12h14",
  poll: "M5 20v-8M12 20V5M19 20v-5",
  remove: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  reply: "M9 7L4 12l5 5M4 12h9a7 7 0 0 1 7 7",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5",
  send: "M4 12L20 4l-5 16-3-7z",
  smile: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8.5 14a4 4 0 0 0 7 0M9 9v.1M15 9v.1",
  thread: "M4 5h16v11H10l-6 4zM8 9h8M8 12h5",
};

const svg = "http://www.w3.org/2000/svg";

/**
 * @param {keyof typeof icons} name
 * @returns {SVGElement}
 */
export function icon(name) {
  const image = document.createElementNS(svg, "svg");
  const path = document.createElementNS(svg, "path");
  setProperties(image, { viewBox: "0 0 24 24", class: `icon icon-${name}`, "aria-hidden": "true" });
  path.setAttribute("d", icons[name]);
  image.append(path);
  return image;
}

/**
 * Creates a button that shows only an icon.
 *
 * @param {keyof typeof icons} name
 * @param {string} label The name for screen readers, which is also the tooltip.
 * @param {() => void} click
 * @param {Properties} [properties]
 */
export const iconButton = (name, label, click, properties = {}) =>
  element(
    "button",
    { type: "button", class: "icon-button", "aria-label": label, title: label, click, ...properties },
    icon(name),
  );

/** Waits until the browser has drawn the changes of the page. A hidden page is not drawn. */
export const drawn = () =>
  new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 100);
  });
