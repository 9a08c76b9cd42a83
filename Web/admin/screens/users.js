// All users, by the beginning of their ID.
import { badge, link, make } from "../parts/dom.js";
import { Field, input, select } from "../parts/field.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen } from "../parts/screen.js";

/** @typedef {import("../types.js").UserEntry} UserEntry */

export class UserListScreen extends Screen {
  titleText() {
    return "Users";
  }

  build() {
    const prefix = new Field("prefix", "User ID begins with", input({ type: "search" }));
    const states = select([
      ["", "All but erased"],
      ["active", "Active"],
      ["deactivated", "Deactivated"],
      ["erasing", "Being erased"],
      ["erased", "Erased"],
    ]);
    const state = new Field("state", "State", states);
    /** @type {PagedTable<UserEntry>} */
    const table = new PagedTable(this, {
      caption: "Users",
      empty: "No user matches.",
      columns: [
        ["User", (row) => link(["users", row.user], row.user)],
        ["Name", (row) => row.name],
        ["State", (row) => stateBadges(row)],
      ],
      load: async (cursor, signal) => {
        const query = { prefix: prefix.control.value, state: state.control.value, cursor, limit: 50 };
        const page = /** @type {{ users: UserEntry[], cursor?: string }} */ (
          await this.api.get("/v1/admin/users", { query, signal })
        );
        return { ...page, rows: page.users };
      },
    });
    const search = (/** @type {Event} */ event) => {
      event.preventDefault();
      table.reload();
    };
    states.addEventListener("change", () => table.reload());
    this.append(
      make(
        "form",
        { class: "filter", role: "search", onsubmit: search },
        prefix.element,
        state.element,
        make("button", { type: "submit" }, "Search"),
      ),
      table.element,
    );
    table.reload();
  }
}

/** @param {UserEntry} user */
export function stateBadges(user) {
  const states = /** @type {const} */ ({
    active: badge("active", "good"),
    deactivated: badge("deactivated", "bad"),
    erasing: badge("being erased", "bad"),
    erased: badge("erased", "quiet"),
  });
  return [states[user.state], user.ban ? badge("banned", "bad") : null];
}

customElements.define("admin-users", UserListScreen);
