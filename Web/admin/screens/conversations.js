// All conversations, by kind and the beginning of their name.
import { count, time } from "../format.js";
import { badge, link, make } from "../parts/dom.js";
import { Field, input, select } from "../parts/field.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen } from "../parts/screen.js";

/** @typedef {import("../types.js").ConversationEntry} ConversationEntry */

export class ConversationListScreen extends Screen {
  titleText() {
    return "Conversations";
  }

  build() {
    const kinds = select([
      ["", "All kinds"],
      ["direct", "Direct"],
      ["group", "Groups"],
      ["community", "Communities"],
      ["room", "Chat rooms"],
      ["system", "System"],
    ]);
    const kind = new Field("kind", "Kind", kinds);
    const prefix = new Field("prefix", "ID begins with", input({ type: "search" }));
    /** @type {PagedTable<ConversationEntry>} */
    const table = new PagedTable(this, {
      caption: "Conversations",
      empty: "No conversation matches.",
      columns: [
        ["Conversation", (row) => link(["conversations", row.conversation], row.conversation)],
        ["Name", (row) => row.name],
        ["Messages", (row) => count(row.head)],
        ["Last activity", (row) => time(row.lastActivity)],
        [
          "State",
          (row) => [row.frozen ? badge("frozen", "bad") : null, row.private ? badge("private", "quiet") : null],
        ],
      ],
      load: async (cursor, signal) => {
        const query = { kind: kinds.value, prefix: prefix.control.value, cursor, limit: 50 };
        const page = /** @type {{ conversations: ConversationEntry[], cursor?: string }} */ (
          await this.api.get("/v1/admin/conversations", { query, signal })
        );
        return { ...page, rows: page.conversations };
      },
    });
    const search = (/** @type {Event} */ event) => {
      event.preventDefault();
      table.reload();
    };
    kinds.addEventListener("change", () => table.reload());
    this.append(
      make(
        "form",
        { class: "filter", role: "search", onsubmit: search },
        prefix.element,
        kind.element,
        make("button", { type: "submit" }, "Search"),
      ),
      table.element,
    );
    table.reload();
  }
}

customElements.define("admin-conversations", ConversationListScreen);
