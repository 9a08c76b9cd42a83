// @ts-check
import { MessageContent } from "../../sdk/scrollback.js";
import { element, showDialog } from "../support/dom.js";
import { errorText, t } from "../support/text.js";

/**
 * Asks for a question and its options, and sends the poll.
 *
 * @param {import("../../sdk/scrollback.js").Conversation} conversation
 */
export function showNewPoll(conversation) {
  const question = element("input", { id: "poll-question", required: true, autocomplete: "off", autofocus: true });
  const options = element("textarea", { id: "poll-options", required: true, rows: 4 });
  const several = element("input", { type: "checkbox" });
  const message = element("p", { class: "error", role: "alert" });
  const form = element(
    "form",
    {
      submit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        try {
          await conversation.send(MessageContent.poll({
            question: question.value.trim(),
            options: options.value.split("\n").map((line) => line.trim()).filter((line) => line !== ""),
            allowsSeveralVotes: several.checked,
          }));
          dialog.close();
        } catch (error) {
          message.textContent = errorText(error);
        }
      },
    },
    element("label", { for: "poll-question" }, t("pollQuestion")),
    question,
    element("label", { for: "poll-options" }, t("pollOptions")),
    options,
    element("label", { class: "check" }, several, t("pollSeveral")),
    message,
    element(
      "div",
      { class: "buttons" },
      element("button", { type: "button", click: () => dialog.close() }, t("cancel")),
      element("button", { class: "primary" }, t("send")),
    ),
  );
  const dialog = showDialog(t("newPoll"), form);
}
