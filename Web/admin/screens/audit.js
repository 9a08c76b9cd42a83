// The audit log: the acts of administrators and moderators, newest first.
import { time } from "../format.js";
import { bdi, link, make } from "../parts/dom.js";
import { Field, input, select } from "../parts/field.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen } from "../parts/screen.js";

/** @typedef {import("../types.js").Act} Act */

/** The actions that the server records, and their names. @type {[action: string, name: string][]} */
const actions = [
  ["ban", "Ban"],
  ["unban", "Lift a ban"],
  ["mute", "Mute"],
  ["unmute", "Unmute"],
  ["deactivate", "Deactivate a user"],
  ["activate", "Activate a user"],
  ["erase", "Erase a user"],
  ["issue-token", "Issue a token"],
  ["revoke-tokens", "Revoke all tokens"],
  ["close-connections", "Close connections"],
  ["test-push", "Send a test push"],
  ["change-settings", "Change settings"],
  ["change-profile", "Change a profile"],
  ["change-role", "Change a role"],
  ["remove-member", "Remove a member"],
  ["change-conversation", "Change a conversation"],
  ["delete-conversation", "Delete a conversation"],
  ["delete-messages", "Delete messages"],
  ["delete-history", "Delete history"],
  ["import-history", "Import history"],
  ["update-report", "Update a report"],
  ["replay-deliveries", "Send events again"],
  ["cancel-scheduled", "Cancel a scheduled message"],
  ["put-hook", "Set an incoming webhook"],
  ["replace-hook-secret", "Replace the secret of an incoming webhook"],
  ["delete-hook", "Delete an incoming webhook"],
  ["drain-node", "Drain a node"],
  ["renew-generation", "Renew the generation"],
  ["rotate-secret", "Rotate the secret of tokens"],
  ["start-backup", "Start a backup"],
];
const names = new Map(actions);

export class AuditScreen extends Screen {
  titleText() {
    return "Audit log";
  }

  build() {
    const action = new Field("action", "Action", select([["", "All"], ...actions]));
    const actor = new Field("actor", "By the user", input({ type: "search" }));
    const user = new Field("user", "Concerns the user", input({ type: "search" }));
    const conversation = new Field("conversation", "In the conversation", input({ type: "search" }));
    const fields = [action, actor, user, conversation];
    /** @type {PagedTable<Act>} */
    const table = new PagedTable(this, {
      caption: "Audit log",
      empty: "No act matches.",
      fields,
      columns: [
        ["Time", (row) => time(row.at)],
        // A newer version of the server may have recorded other actions.
        ["Action", (row) => names.get(row.action) ?? bdi(row.action)],
        ["By", (row) => userLink(row.actor)],
        ["User", (row) => row.user !== undefined && userLink(row.user)],
        ["Conversation", (row) => row.conversation !== undefined && conversationLink(row.conversation)],
        ["Detail", (row) => row.detail !== undefined && bdi(row.detail)],
        ["Key", (row) => row.key !== undefined && bdi(row.key)],
      ],
      load: async (cursor, signal) => {
        const filters = Object.fromEntries(fields.map(({ name, control }) => [name, control.value.trim()]));
        const page = /** @type {{ acts: Act[], cursor?: string }} */ (
          await this.api.get("/v1/audit", { query: { ...filters, cursor, limit: 50 }, signal })
        );
        return { ...page, rows: page.acts };
      },
    });
    const search = (/** @type {Event} */ event) => {
      event.preventDefault();
      table.reload();
    };
    action.control.addEventListener("change", () => table.reload());
    this.append(
      make(
        "p",
        {},
        "The acts of administrators and moderators, newest first. “Key” is the ID of the key that signed the token. " +
          "The setting “Audit log” bounds how long the server keeps them.",
      ),
      make(
        "form",
        { class: "filter", role: "search", onsubmit: search },
        ...fields.map((field) => field.element),
        make("button", { type: "submit" }, "Search"),
      ),
      table.element,
    );
    table.reload();
  }
}

/** @param {string} user */
const userLink = (user) => link(["users", user], bdi(user));

/** @param {string} conversation */
const conversationLink = (conversation) => link(["conversations", conversation], bdi(conversation));

customElements.define("admin-audit", AuditScreen);
