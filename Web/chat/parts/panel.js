// @ts-check
import { element, iconButton, present } from "../support/dom.js";
import { t } from "../support/text.js";

/**
 * The frame of a panel beside the conversation.
 *
 * @param {import("./app.js").ChatApp} app
 * @param {string} title
 * @param {...import("../support/dom.js").Child} children
 */
export const panel = (app, title, ...children) =>
  element(
    "section",
    { class: "panel", "aria-label": title },
    element(
      "header",
      { class: "bar" },
      element("h2", {}, title),
      iconButton("close", t("close"), () => app.closePanel()),
    ),
    ...present(children),
  );
