// Bans from the server.
import { time } from "../format.js";
import { button, link, make } from "../parts/dom.js";
import { Field, input } from "../parts/field.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen } from "../parts/screen.js";
import { confirmBan, confirmUnban } from "./ban.js";

/** @typedef {import("../types.js").Ban} Ban */

export class BanScreen extends Screen {
  titleText() {
    return "Bans";
  }

  build() {
    const user = new Field("user", "User ID", input({ required: true }));
    /** @type {PagedTable<Ban>} */
    const table = new PagedTable(this, {
      caption: "Bans from the server",
      empty: "No user is banned from the server.",
      columns: [
        ["User", (row) => link(["users", row.user], row.user)],
        ["Until", (row) => (row.until === undefined ? "without an end" : time(row.until))],
        ["Reason", (row) => row.reason],
        ["Banned by", (row) => row.by],
        ["Since", (row) => time(row.at)],
        ["", (row) => button("Lift the ban", () => confirmUnban(this, row.user, null, () => table.reload()))],
      ],
      load: async (cursor, signal) => {
        const page = /** @type {{ bans: Ban[], cursor?: string }} */ (
          await this.api.get("/v1/bans", { query: { cursor, limit: 50 }, signal })
        );
        return { ...page, rows: page.bans };
      },
    });
    const ban = (/** @type {Event} */ event) => {
      event.preventDefault();
      confirmBan(this, user.control.value.trim(), null, () => {
        user.control.value = "";
        return table.reload();
      });
    };
    this.append(
      make("form", { class: "filter", onsubmit: ban }, user.element, make("button", { type: "submit" }, "Ban…")),
      table.element,
    );
    table.reload();
  }
}

customElements.define("admin-bans", BanScreen);
