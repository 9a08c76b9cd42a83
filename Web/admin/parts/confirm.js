// Asks before an act that can't be undone, or that takes something from a user.
import { append, button, make } from "./dom.js";

/** @typedef {import("./field.js").Field} Field */

/**
 * @typedef {object} Question
 * @property {string} title Names the act and its object.
 * @property {string} text What will happen.
 * @property {string} action The label of the button that does it.
 * @property {Field[]} [fields] More to choose.
 */

/**
 * Shows a question with a button to cancel, which has the focus at first. Escape cancels too.
 *
 * @param {Question} question
 * @returns {Promise<boolean>} Whether to do it.
 */
export function confirm({ title, text, action, fields = [] }) {
  const form = make("form", {
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      dialog.close("do");
    },
  });
  const dialog = make("dialog", { "aria-labelledby": "question-title", "aria-describedby": "question-text" }, form);
  append(
    form,
    make("h2", { id: "question-title" }, title),
    make("p", { id: "question-text" }, text),
    ...fields.map((field) => field.element),
    make(
      "div",
      { class: "buttons" },
      button("Cancel", () => dialog.close(), { autofocus: true }),
      make("button", { type: "submit", class: "danger" }, action),
    ),
  );
  const focused = document.activeElement;
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (focused instanceof HTMLElement) focused.focus();
      resolve(dialog.returnValue === "do");
    });
  });
}
