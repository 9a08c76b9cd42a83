// @ts-check
import { element, iconButton } from "../support/dom.js";
import { errorText, plain, sizeText, t } from "../support/text.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/** @typedef {{file: File, row: HTMLElement, preview: string | null}} Attachment */

/** The files that are sent with the next message, with a preview of pictures. */
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
   * Sends the files, one after the other. A file that can't be sent stays, so that the user can try again.
   *
   * @param {{replyTo?: string}} attributes
   */
  async send(attributes) {
    for (const attachment of [...this.#files]) {
      const { file, row } = attachment;
      if (row.classList.contains("is-sending")) continue;
      row.classList.add("is-sending");
      try {
        await this.#conversation.sendFile(file, { type: typeOf(file) }, attributes);
        this.#remove(attachment);
      } catch (error) {
        row.classList.remove("is-sending");
        this.#app.showError(`${plain(file.name)}: ${errorText(error)}`);
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
    const row = element(
      "li",
      {},
      preview && element("img", { src: preview, alt: "" }),
      element("span", {}, element("bdi", {}, name), " ", element("span", { class: "subtitle" }, sizeText(file.size))),
      iconButton("close", t("removeFile", { name }), () => this.#remove(attachment)),
    );
    const attachment = { file, row, preview };
    return attachment;
  }

  /** @param {Attachment} attachment */
  #remove(attachment) {
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
