// A table of a list that the server returns in pages.
import { button, make } from "./dom.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {import("./field.js").Field} Field */
/** @typedef {import("./screen.js").Screen} Screen */

/**
 * @template Row
 * @typedef {object} TableOptions
 * @property {string} caption
 * @property {string} empty What to show without rows.
 * @property {[title: string, cell: (row: Row) => Child | Child[]][]} columns
 * @property {Field[]} [fields] The filters, which show an error of the server that names them.
 * @property {(cursor: string | undefined, signal: AbortSignal) => Promise<{ rows: Row[], cursor?: string }>} load
 */

/**
 * A table with a button for the next page.
 *
 * @template Row
 */
export class PagedTable {
  /** @type {string | undefined} */
  #cursor;
  #loads = 0;
  #body = make("tbody");
  #more = button("Show more", () => this.#load(), { hidden: true });
  #empty = make("p", { class: "empty", hidden: true });

  /**
   * @param {Screen} screen Shows the errors.
   * @param {TableOptions<Row>} options
   */
  constructor(screen, options) {
    this.screen = screen;
    this.options = options;
    this.#empty.textContent = options.empty;
    const titles = options.columns.map(([title]) =>
      make("th", { scope: "col" }, title === "" ? make("span", { class: "unseen" }, "Actions") : title)
    );
    this.element = make(
      "div",
      { class: "list" },
      make(
        "table",
        {},
        make("caption", { class: "unseen" }, options.caption),
        make("thead", {}, make("tr", {}, ...titles)),
        this.#body,
      ),
      this.#empty,
      this.#more,
    );
  }

  /** Loads the first page again. */
  reload() {
    this.#cursor = undefined;
    return this.#load();
  }

  async #load() {
    const load = ++this.#loads;
    const isFirst = this.#cursor === undefined;
    const page = await this.screen.run(
      `The list "${this.options.caption}" was not loaded.`,
      () => this.options.load(this.#cursor, this.screen.signal),
      this.options.fields,
    );
    // A later request, such as a new search, replaces this one.
    if (!page || load !== this.#loads) return;
    const rows = page.rows.map((row) => this.#row(row));
    if (isFirst) this.#body.replaceChildren(...rows);
    else this.#body.append(...rows);
    this.#cursor = page.cursor;
    this.#more.hidden = page.cursor === undefined;
    this.#empty.hidden = this.#body.childElementCount > 0 || page.cursor !== undefined;
    const table = this.element.querySelector("table");
    if (table) table.hidden = this.#body.childElementCount === 0;
  }

  /** @param {Row} row */
  #row(row) {
    const cells = this.options.columns.map(([title, cell], number) => {
      const content = cell(row);
      const children = Array.isArray(content) ? content : [content];
      if (number === 0) return make("th", { scope: "row" }, ...children);
      return make("td", { "data-title": title, class: title === "" ? "actions" : undefined }, ...children);
    });
    return make("tr", {}, ...cells);
  }
}
