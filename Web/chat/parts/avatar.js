// @ts-check
import { element } from "../support/dom.js";
import { t } from "../support/text.js";

/** The number of background colours in the stylesheet. */
const colors = 8;

const segments = new Intl.Segmenter();

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
  const [first] = segments.segment(name.toLocaleUpperCase());
  return element(
    "span",
    { class: `avatar color-${hash % colors}` },
    element("span", { "aria-hidden": "true" }, first?.segment ?? "?"),
    isOnline && element("span", { class: "online", role: "img", "aria-label": t("online") }),
  );
}
