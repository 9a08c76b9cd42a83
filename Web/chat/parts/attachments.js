// @ts-check
import { element, iconButton } from "../support/dom.js";
import { errorText, plain, sizeText, t } from "../support/text.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * @typedef {{
 *   file: File, row: HTMLElement, progress: HTMLProgressElement, abort: AbortController, preview: string | null
 * }} Attachment
 */

/** The files that are sent with the next message, with a preview of pictures and the progress of their upload. */
export class Attachments {
  element = element("ul", { class: "attachments", "aria-label": t("attachments"), hidden: true });
  #app;
  #conversation;
  /** @type {Attachment[]} */
  #files = [];

  /**
   * @param {ChatApp} app
   * @param {Conversation} conversation
   */
  constructor(app, conversation) {
    this.#app = app;
    this.#conversation = conversation;
  }

  /** @param {Iterable<File>} files */
  add(files) {
    for (const file of files) this.#files.push(this.#attachment(file));
    this.#render();
  }

  clear() {
    for (const file of [...this.#files]) this.#remove(file);
  }

  /**
   * Uploads and sends the files, one after the other. A file that fails stays, so that the user can try again.
   *
   * @param {{replyTo?: string}} attributes
   */
  async send(attributes) {
    for (const attachment of [...this.#files]) {
      const { file, abort, progress, row } = attachment;
      if (row.classList.contains("is-sending")) continue;
      row.classList.add("is-sending");
      progress.hidden = false;
      try {
        const content = await this.#conversation.upload(file, {
          type: typeOf(file),
          signal: abort.signal,
          onProgress: (part) => (progress.value = part),
        });
        await this.#conversation.send(content, attributes);
        this.#remove(attachment);
      } catch (error) {
        row.classList.remove("is-sending");
        progress.hidden = true;
        if (!abort.signal.aborted) this.#app.showError(`${plain(file.name)}: ${errorText(error)}`);
      }
    }
  }

  /**
   * @param {File} file
   * @returns {Attachment}
   */
  #attachment(file) {
    const name = plain(file.name);
    const preview = typeOf(file) === "file" ? null : URL.createObjectURL(file);
    const progress = element("progress", { max: 1, value: 0, hidden: true, "aria-label": t("upload", { name }) });
    const abort = new AbortController();
    const row = element(
      "li",
      {},
      preview && element("img", { src: preview, alt: "" }),
      element("span", {}, element("bdi", {}, name), " ", element("span", { class: "subtitle" }, sizeText(file.size))),
      progress,
      iconButton("close", t("removeFile", { name }), () => this.#remove(attachment)),
    );
    const attachment = { file, row, progress, abort, preview };
    return attachment;
  }

  /** @param {Attachment} attachment */
  #remove(attachment) {
    attachment.abort.abort();
    if (attachment.preview) URL.revokeObjectURL(attachment.preview);
    this.#files = this.#files.filter((other) => other !== attachment);
    this.#render();
  }

  #render() {
    this.element.hidden = this.#files.length === 0;
    this.element.replaceChildren(...this.#files.map(({ row }) => row));
  }
}

/**
 * The type of the message for a file.
 *
 * @param {File} file
 */
const typeOf = ({ type }) => ["image/jpeg", "image/png", "image/webp"].includes(type) ? "image" : "file";
