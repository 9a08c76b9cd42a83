// The reported messages, newest first.
import { time } from "../format.js";
import { badge, link, make } from "../parts/dom.js";
import { Field, select } from "../parts/field.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen } from "../parts/screen.js";
import { summary } from "./message.js";

/** @typedef {import("../types.js").Report} Report */

export class ReportListScreen extends Screen {
  titleText() {
    return "Reports";
  }

  build() {
    const states = select([["open", "Open"], ["closed", "Closed"], ["", "All"]], "open");
    const state = new Field("state", "State", states);
    /** @type {PagedTable<Report>} */
    const table = new PagedTable(this, {
      caption: "Reports",
      empty: "No report is here.",
      columns: [
        ["Report", (row) => link(["reports", String(row.number)], `Report ${row.number}`)],
        ["Message", (row) => make("span", { class: "excerpt" }, summary(row.message))],
        ["Sender", (row) => link(["users", row.message.sender], row.message.sender)],
        ["Reason", (row) => row.reason],
        ["Reported by", (row) => link(["users", row.reporter], row.reporter)],
        ["Time", (row) => time(row.at)],
        ["State", (row) => badge(row.state, row.state === "open" ? "bad" : "quiet")],
      ],
      load: async (cursor, signal) => {
        const page = /** @type {{ reports: Report[], cursor?: string }} */ (
          await this.api.get("/v1/reports", { query: { state: states.value, cursor, limit: 50 }, signal })
        );
        return { ...page, rows: page.reports };
      },
    });
    states.addEventListener("change", () => table.reload());
    this.append(make("div", { class: "filter" }, state.element), table.element);
    table.reload();
  }
}

customElements.define("admin-reports", ReportListScreen);
