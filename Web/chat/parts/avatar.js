// @ts-check
import { element } from "../support/dom.js";
import { lazy, t } from "../support/text.js";

/** The number of background colours in the stylesheet. */
const colors = 8;

const segments = lazy(() => new Intl.Segmenter());

/**
 * Returns the first letter of a name, with the characters that change it.
 *
 * @param {string} name
 */
function firstLetter(name) {
  // It takes the browser many milliseconds to create the segmenter.
  if (/^[ -~]([ -~]|$)/.test(name)) return name.charAt(0);
  const [first] = segments().segment(name);
  return first?.segment ?? "?";
}

/**
 * A coloured circle with the first letter of a name. The page loads no pictures of other servers, which would learn the
 * user's address.
 *
 * @param {string} id The user or conversation, which determines the colour.
 * @param {string} name
 * @param {boolean} [isOnline]
 */
export function avatar(id, name, isOnline = false) {
  let hash = 0;
  for (const character of id) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return element(
    "span",
    { class: `avatar color-${hash % colors}` },
    element("span", { "aria-hidden": "true" }, firstLetter(name.toLocaleUpperCase())),
    isOnline && element("span", { class: "online", role: "img", "aria-label": t("online") }),
  );
}
