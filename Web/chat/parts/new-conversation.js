// @ts-check
import { element, showDialog } from "../support/dom.js";
import { errorText, t } from "../support/text.js";

/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * Asks for users, and opens a direct conversation with one or makes a group of several.
 *
 * @param {ChatApp} app
 */
export function showNewConversation(app) {
  const users = element("input", { id: "new-users", required: true, autocomplete: "off", autofocus: true });
  const name = element("input", { id: "new-name", autocomplete: "off", maxlength: 100 });
  const message = element("p", { class: "error", role: "alert" });
  const form = element(
    "form",
    {
      submit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        const members = users.value.split(/[\s,]+/).map((user) => user.replace(/^@/, "")).filter((user) => user !== "");
        try {
          const id = await conversationWith(members, name.value.trim());
          dialog.close();
          app.open(id, { name: name.value.trim() || null });
        } catch (error) {
          message.textContent = errorText(error);
        }
      },
    },
    element("label", { for: "new-users" }, t("newUsers")),
    users,
    element("label", { for: "new-name" }, t("newName")),
    name,
    message,
    element(
      "div",
      { class: "buttons" },
      element("button", { type: "button", click: () => dialog.close() }, t("cancel")),
      element("button", { class: "primary" }, t("start")),
    ),
  );
  const dialog = showDialog(t("newConversation"), form);

  /**
   * @param {string[]} members
   * @param {string} title
   */
  async function conversationWith(members, title) {
    const [only] = members;
    if (only !== undefined && members.length === 1 && title === "") return app.client.conversation(`direct:${only}`).id;
    const group = await app.client.createGroup({ members, ...title === "" ? {} : { name: title } });
    return group.id;
  }
}
