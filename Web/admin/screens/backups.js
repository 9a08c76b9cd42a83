// The backups that the server writes into its folder for backups.
import { APIError } from "../api.js";
import { bytes, count, time } from "../format.js";
import { bdi, button, facts, make } from "../parts/dom.js";
import { sentence } from "../parts/screen.js";

/** @typedef {import("../parts/screen.js").Screen} Screen */
/** @typedef {import("../types.js").Backup} Backup */
/** @typedef {import("../types.js").BackupFailure} BackupFailure */
/** @typedef {import("../types.js").BackupList} BackupList */
/** @typedef {import("../types.js").BackupProgress} BackupProgress */

const path = "/v1/admin/backups";

/** The last backup, a button for a new one, and its progress. It stays current while its screen is shown. */
export class BackupSection {
  #status = make("p", { class: "progress", hidden: true });
  #failure = make("p", { class: "alert", hidden: true });
  #bar = make("progress", { "aria-label": "Copied part of the database", hidden: true });
  #copied = make("p", { class: "help", hidden: true });
  #last = facts([]);
  #help = make("p", { class: "help" });
  #button = button("Back up now", () => this.#start());
  #content = make("div", { class: "card", hidden: true });
  #error = make("p", { class: "help", hidden: true });
  /** The backup that runs, or was the last one to run while the page was open. */
  #name = "";

  /** @param {Screen} screen */
  constructor(screen) {
    this.screen = screen;
    this.#content.append(
      make("div", { role: "status" }, this.#status, this.#failure),
      this.#bar,
      this.#copied,
      this.#last,
      this.#help,
      make("div", { class: "buttons" }, this.#button),
    );
    this.element = make("section", {}, make("h2", {}, "Backups"), this.#content, this.#error);
    this.#poll();
  }

  async #poll() {
    while (!this.screen.signal.aborted && (await this.#load())) {
      await new Promise((resolve) => setTimeout(resolve, this.#bar.hidden ? 3000 : 500));
    }
  }

  /** @returns {Promise<boolean>} Whether to load again. */
  async #load() {
    const { api, signal } = this.screen;
    try {
      this.#show(/** @type {BackupList} */ (await api.get(path, { signal })));
      setText(this.#error, "");
      return true;
    } catch (error) {
      if (signal.aborted || !api.isSignedIn) return true;
      const detail = sentence(error instanceof Error ? error.message : `${error}`);
      const isRefused = error instanceof APIError && error.status === 409;
      // The server names its option if the operator can repair the folder.
      const isFinal = isRefused && error.parameter === undefined;
      if (isRefused) this.#content.hidden = true;
      this.#error.className = isFinal ? "help" : "alert";
      setText(this.#error, isRefused ? detail : `The list of backups is not current. ${detail}`);
      return !isFinal;
    }
  }

  async #start() {
    if (this.#button.getAttribute("aria-disabled") === "true") return;
    this.#setBusy(true);
    const { api } = this.screen;
    const started = await this.screen.run(
      "The backup was not started.",
      async () => /** @type {BackupProgress} */ (await api.change("POST", path)),
    );
    if (started) this.#name = started.name;
    await this.#load();
  }

  /**
   * The button keeps the focus, which a disabled one would lose.
   *
   * @param {boolean} isBusy
   */
  #setBusy(isBusy) {
    this.#button.setAttribute("aria-disabled", String(isBusy));
  }

  /** @param {BackupList} list */
  #show({ running, failure, backups, includesFiles }) {
    if (running) this.#name = running.name;
    this.#setBusy(running !== undefined);
    const isComplete = !running && backups.some(({ name }) => name === this.#name);
    setText(this.#status, running ? stepText(running) : isComplete ? `The backup ${this.#name} is complete.` : "");
    setText(this.#failure, running || !failure ? "" : failureText(failure));
    const total = running?.totalBytes ?? 0;
    this.#bar.hidden = !running;
    this.#bar.max = Math.max(1, total);
    this.#bar.value = running?.copiedBytes ?? 0;
    setText(this.#copied, running && total > 0 ? `${bytes(running.copiedBytes)} of ${bytes(total)}` : "");
    this.#last.replaceChildren(...facts(backups[0] ? rows(backups[0]) : []).children);
    setText(
      this.#help,
      (backups.length === 0 ? "The folder for backups has no backup yet. " : "") +
        (includesFiles ? "" : "The files are in an S3 store, and are not part of a backup. ") +
        "Check a backup with scrollback verify, and keep a copy on another machine.",
    );
    this.#content.hidden = false;
  }
}

/** @param {BackupProgress} backup */
function stepText({ name, copiedBytes, totalBytes }) {
  const isCopied = totalBytes !== undefined && copiedBytes >= totalBytes;
  return isCopied
    ? `The backup ${name} is running. The database is copied, and files and checksums follow.`
    : `The backup ${name} is running. The server copies the database.`;
}

/** @param {BackupFailure} failure */
const failureText = ({ name, failedAt, error }) => `The backup ${name} failed at ${time(failedAt)}. ${sentence(error)}`;

/**
 * @param {Backup} backup
 * @returns {[string, string | Node][]}
 */
const rows = ({ name, createdAt, bytes: size, conversations, messages }) => [
  ["Last backup", time(createdAt)],
  ["Folder", bdi(name)],
  ["Messages", count(messages)],
  ["Conversations", count(conversations)],
  ["Size", `${bytes(size)}, without media files`],
];

/**
 * Shows a text, or hides its element if it is empty. A text that stays the same is not announced again.
 *
 * @param {HTMLElement} element
 * @param {string} text
 */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === "";
}
