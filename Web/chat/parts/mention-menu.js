// @ts-check
import { element } from "../support/dom.js";
import { t } from "../support/text.js";
import { avatar } from "./avatar.js";

/** @typedef {import("./app.js").ChatApp} ChatApp */

const maximumSuggestions = 8;
const maximumMentions = 100;

/** The beginning of a mention directly before the cursor. */
const beginning = /(?:^|[\s(])@([\p{L}\p{N}._-]*)$/u;

let lastMenu = 0;

/** Completes the names of members after an at sign. */
export class MentionMenu {
  #app;
  #field;
  #members;
  /** @type {readonly string[]} */
  #known = [];
  /** @type {string[]} */
  #suggestions = [];
  #selected = 0;
  #id = `mentions-${++lastMenu}`;

  /**
   * @param {ChatApp} app
   * @param {HTMLTextAreaElement} field
   * @param {() => Promise<readonly string[]>} members
   */
  constructor(app, field, members) {
    this.#app = app;
    this.#field = field;
    this.#members = members;
    this.element = element("ul", {
      class: "mention-menu",
      role: "listbox",
      id: this.#id,
      "aria-label": t("members"),
      hidden: true,
    });
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", this.#id);
    field.addEventListener("blur", () => this.#show([]));
    /** Ends the menu. */
    this.close = app.people.changes.subscribe(() => this.#render());
  }

  /** Shows the members that match the text before the cursor. */
  async update() {
    const typed = this.#typed();
    if (typed === null) return this.#show([]);
    this.#known = await this.#members();
    if (this.#typed() !== typed) return;
    const start = typed.toLocaleLowerCase();
    const matches = (/** @type {string} */ text) => text.toLocaleLowerCase().startsWith(start);
    const others = this.#known.filter((user) => user !== this.#app.user);
    const found = [...others, "everyone"].filter((user) => matches(user) || matches(this.#app.people.name(user)));
    this.#show(found.slice(0, maximumSuggestions));
  }

  /** @returns {string | null} */
  #typed() {
    const { value, selectionStart } = this.#field;
    return beginning.exec(value.slice(0, selectionStart))?.[1] ?? null;
  }

  /** @param {string[]} suggestions */
  #show(suggestions) {
    this.#suggestions = suggestions;
    this.#selected = 0;
    this.#render();
  }

  #render() {
    this.element.hidden = this.#suggestions.length === 0;
    this.element.replaceChildren(...this.#suggestions.map((user, index) => {
      const name = user === "everyone" ? t("everyone") : this.#app.people.name(user);
      return element(
        "li",
        {
          role: "option",
          id: `${this.#id}-${index}`,
          "aria-selected": String(index === this.#selected),
          pointerdown: (event) => {
            event.preventDefault();
            this.#insert(user);
          },
        },
        avatar(user, name),
        element("bdi", {}, name),
        element("bdi", { class: "subtitle" }, `@${user}`),
      );
    }));
    if (this.#suggestions.length === 0) this.#field.removeAttribute("aria-activedescendant");
    else this.#field.setAttribute("aria-activedescendant", `${this.#id}-${this.#selected}`);
  }

  /**
   * Handles a key in the field.
   *
   * @param {KeyboardEvent} event
   * @returns {boolean} Whether the menu used the key.
   */
  press(event) {
    const count = this.#suggestions.length;
    if (count === 0) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      this.#selected = (this.#selected + step + count) % count;
      this.#render();
    } else if (event.key === "Enter" || event.key === "Tab") {
      this.#insert(this.#suggestions[this.#selected] ?? "");
    } else if (event.key === "Escape") {
      this.#show([]);
    } else {
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** @param {string} user */
  #insert(user) {
    const { selectionStart } = this.#field;
    const start = selectionStart - (this.#typed()?.length ?? 0);
    this.#field.setRangeText(`${user} `, start, selectionStart, "end");
    this.#show([]);
    this.#field.dispatchEvent(new Event("input"));
  }

  /**
   * Returns the members that a text mentions; `null` if it mentions none.
   *
   * @param {string} text
   */
  in(text) {
    const names = [...text.matchAll(/(?:^|[\s(])@([\p{L}\p{N}][\p{L}\p{N}._-]*)/gu)]
      .flatMap(({ 1: name = "" }) => [name, name.replace(/[._-]+$/, "")]);
    const users = [...new Set(names.filter((name) => this.#known.includes(name)))].slice(0, maximumMentions);
    const everyone = names.includes("everyone");
    return users.length > 0 || everyone ? { everyone, users } : null;
  }
}
