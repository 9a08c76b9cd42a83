// @ts-check
import { MessageContent } from "../../sdk/scrollback.js";
import { element, icon, iconButton } from "../support/dom.js";
import { errorText, summaryOf, t } from "../support/text.js";
import { Attachments } from "./attachments.js";
import { MentionMenu } from "./mention-menu.js";
import { showNewPoll } from "./new-poll.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/** What the next text is, besides a new message. @typedef {{type: "reply" | "edit", message: Message}} Mode */

/** The delay in milliseconds after which a changed text is stored as a draft. */
const draftDelay = 400;

/** Writes messages: text, files, replies and edits. */
export class Composer extends HTMLElement {
  /** Edits the newest message, for the key ArrowUp in an empty field. */
  editLast = () => {};
  #app;
  #conversation;
  /** The message to which every text replies, in a thread. @type {string | null} */
  #thread;
  #field = element("textarea", { rows: 1, dir: "auto", "aria-label": t("message"), enterkeyhint: "send" });
  #about = element("div", { class: "about", hidden: true });
  #attachments;
  #mentions;
  /** @type {Mode | null} */
  #mode = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #draftTimer;
  #draft;
  #endDraft = () => {};
  /** Whether the user changed the text since it was stored. */
  #isChanged = false;
  /** The text that was stored, until the draft has it. @type {string | null} */
  #stored = null;

  /**
   * @param {ChatApp} app
   * @param {Conversation} conversation
   * @param {{members: () => Promise<readonly string[]>, thread?: string}} options
   */
  constructor(app, conversation, { members, thread }) {
    super();
    this.#app = app;
    this.#conversation = conversation;
    this.#thread = thread ?? null;
    this.#draft = conversation.draft();
    this.#attachments = new Attachments(app, conversation);
    this.#mentions = new MentionMenu(app, this.#field, members);
  }

  connectedCallback() {
    const chooser = element("input", {
      type: "file",
      multiple: true,
      hidden: true,
      tabindex: -1,
      "aria-label": t("attach"),
    });
    chooser.addEventListener("change", () => {
      this.#attachments.add(chooser.files ?? []);
      chooser.value = "";
    });
    const form = element(
      "form",
      { submit: (/** @type {Event} */ event) => this.#submitted(event) },
      iconButton("attach", t("attach"), () => chooser.click()),
      iconButton("poll", t("newPoll"), () => showNewPoll(this.#conversation)),
      this.#field,
      element("button", { class: "icon-button primary", "aria-label": t("send"), title: t("send") }, icon("send")),
    );
    this.append(this.#about, this.#attachments.element, this.#mentions.element, form, chooser);
    this.#field.addEventListener("input", () => this.#changed());
    this.#field.addEventListener("keydown", (event) => this.#pressed(event));
    this.addEventListener("paste", (event) => this.#received(event, event.clipboardData));
    const area = this.parentElement ?? this;
    area.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    area.addEventListener("drop", (event) => this.#received(event, event.dataTransfer));
    if (this.#thread === null) this.#endDraft = this.#draft.subscribe(() => this.#showDraft());
  }

  /** @param {string} title */
  setTitle(title) {
    this.#field.placeholder = t("messageTo", { name: title });
  }

  /** @override */
  focus() {
    this.#field.focus();
  }

  /** Stores the draft. */
  close() {
    clearTimeout(this.#draftTimer);
    this.#storeDraft();
    this.#endDraft();
    this.#conversation.setTyping(false);
    this.#attachments.clear();
    this.#mentions.close();
  }

  /** @param {Message} message */
  reply(message) {
    this.#setMode({ type: "reply", message });
  }

  /** @param {Message} message */
  edit(message) {
    this.#setMode({ type: "edit", message });
    this.#setText(message.text ?? "");
  }

  /** @param {Mode | null} mode */
  #setMode(mode) {
    if (this.#mode?.type === "edit") this.#endEditing();
    this.#mode = mode;
    this.#about.hidden = mode === null;
    if (mode) {
      const name = this.#app.people.name(mode.message.sender);
      this.#about.replaceChildren(
        icon(mode.type),
        element("strong", {}, mode.type === "edit" ? t("editing") : t("replyingTo", { name })),
        element("bdi", { class: "summary" }, summaryOf(mode.message).slice(0, 120)),
        iconButton("close", t("cancel"), () => this.#setMode(null)),
      );
    }
    this.focus();
  }

  /** Shows the draft again instead of the edited text. */
  #endEditing() {
    this.#isChanged = false;
    this.#setText(this.#thread === null ? this.#draft.value?.text ?? "" : "");
  }

  /** @param {string} text */
  #setText(text) {
    this.#field.value = text;
    this.#resize();
  }

  #resize() {
    this.#field.style.blockSize = "auto";
    this.#field.style.blockSize = `${Math.min(this.#field.scrollHeight, 200)}px`;
  }

  // Input

  #changed() {
    this.#resize();
    this.#isChanged = true;
    this.#conversation.setTyping(this.#field.value !== "");
    this.#mentions.update();
    clearTimeout(this.#draftTimer);
    this.#draftTimer = setTimeout(() => this.#storeDraft(), draftDelay);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.isComposing || this.#mentions.press(event)) return;
    const isEmpty = this.#field.value === "";
    if (event.key === "Enter" && !event.shiftKey) this.#submitted(event);
    else if (event.key === "Escape" && this.#mode) this.#setMode(null);
    else if (event.key === "ArrowUp" && isEmpty) this.editLast();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Takes the files of a paste or a drop.
   *
   * @param {Event} event
   * @param {DataTransfer | null} data
   */
  #received(event, data) {
    if (!data || data.files.length === 0) return;
    event.preventDefault();
    this.#attachments.add(data.files);
  }

  // Drafts

  /** Shows the draft, which another tab or device may have changed, unless the user is changing the text. */
  #showDraft() {
    const text = this.#draft.value?.text ?? "";
    if (this.#stored !== null && this.#stored !== text) return;
    this.#stored = null;
    if (!this.#isChanged && this.#mode?.type !== "edit" && this.#field.value !== text) this.#setText(text);
  }

  #storeDraft() {
    if (this.#thread !== null || this.#mode?.type === "edit" || !this.#isChanged) return;
    const { value } = this.#field;
    this.#isChanged = false;
    this.#stored = (this.#draft.value?.text ?? "") === value ? null : value;
    this.#conversation.setDraft(value).catch((error) => this.#app.showError(errorText(error)));
  }

  // Sending

  /** @param {Event} event */
  async #submitted(event) {
    event.preventDefault();
    const text = this.#field.value.trim();
    const mode = this.#mode;
    const replyTo = this.#thread ?? (mode?.type === "reply" ? mode.message.thread ?? mode.message.id : null);
    try {
      if (text !== "") await this.#sendText(text, replyTo);
      clearTimeout(this.#draftTimer);
      const isEdit = mode?.type === "edit";
      this.#mode = null;
      this.#about.hidden = true;
      if (isEdit) this.#endEditing();
      else if (this.#field.value.trim() === text) this.#setText("");
      this.#isChanged = !isEdit;
      this.#storeDraft();
      this.#conversation.setTyping(false);
      await this.#attachments.send(replyTo === null ? {} : { replyTo });
    } catch (error) {
      this.#app.showError(errorText(error));
    }
  }

  /**
   * @param {string} text
   * @param {string | null} replyTo
   */
  async #sendText(text, replyTo) {
    const mode = this.#mode;
    const mentions = this.#mentions.in(text);
    if (mode?.type === "edit") {
      if (text !== mode.message.text) await this.#conversation.edit(mode.message.id, text, { mentions });
      return;
    }
    await this.#conversation.send(MessageContent.text(text), {
      ...mentions ? { mentions } : {},
      ...replyTo === null ? {} : { replyTo },
    });
    this.dispatchEvent(new CustomEvent("sent"));
  }
}

customElements.define("message-composer", Composer);
