// What all screens share: the connection, errors, and texts for screen readers.
import { AdminAPI, APIError } from "../api.js";
import { make } from "./dom.js";
import { showFieldError } from "./field.js";

/** @typedef {import("./field.js").Field} Field */

/** A screen of the page. The shell sets `api` and `path` before it adds the screen. */
export class Screen extends HTMLElement {
  /** @type {AdminAPI} */
  api = new AdminAPI();
  /** The parts of the address after the name of the screen. @type {string[]} */
  path = [];
  #controller = new AbortController();
  #alert = make("p", { role: "alert", class: "alert", hidden: true });
  #status = make("p", { role: "status", class: "status" });
  #heading = make("h1", { tabindex: "-1" });

  /** Ends when the operator leaves the screen. */
  get signal() {
    return this.#controller.signal;
  }

  connectedCallback() {
    this.append(this.#heading, this.#alert, this.#status);
    this.heading = this.titleText();
    this.build();
  }

  disconnectedCallback() {
    this.#controller.abort();
  }

  /** @returns {string} */
  titleText() {
    throw new Error("A screen has a title.");
  }

  /** Adds the content of the screen. */
  build() {}

  /** @param {string} text */
  set heading(text) {
    this.#heading.textContent = text;
    document.title = `${text} – Scrollback admin`;
  }

  focusHeading() {
    this.#heading.focus({ preventScroll: true });
  }

  /**
   * Shows what has been done.
   *
   * @param {string} text
   */
  say(text) {
    this.#status.textContent = text;
  }

  /** @param {string | null} text */
  showError(text) {
    this.#alert.textContent = text ?? "";
    this.#alert.hidden = text === null;
  }

  /**
   * Runs an action, and shows its error: at the field that it names, or at the top.
   *
   * @template Result
   * @param {string} failure What failed, such as "The user was not saved."
   * @param {() => Promise<Result>} action
   * @param {Field[]} [fields]
   * @returns {Promise<Result | undefined>} `undefined` if the action failed.
   */
  async run(failure, action, fields = []) {
    this.showError(null);
    this.say("");
    for (const field of fields) field.showError(null);
    try {
      return await action();
    } catch (error) {
      if (this.signal.aborted || !this.api.isSignedIn) return undefined;
      if (!(error instanceof APIError)) {
        this.showError(`${failure} The page has an error: ${error}. Reload it.`);
        throw error;
      }
      const detail = sentence(error.message);
      if (!showFieldError(fields, error.parameter, detail)) {
        this.showError(`${failure} ${detail}`);
        this.#alert.scrollIntoView({ block: "nearest" });
      }
      return undefined;
    } finally {
      // The button of the action may be gone. The keyboard then continues at the heading.
      if (document.activeElement === document.body) this.focusHeading();
    }
  }
}

/**
 * An error of the server as a sentence: the server leaves out the full stop after the name of a parameter.
 *
 * @param {string} text
 */
export const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);
