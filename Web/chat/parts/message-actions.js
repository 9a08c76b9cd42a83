// @ts-check
import { element, iconButton } from "../support/dom.js";
import { errorText, t } from "../support/text.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("../../sdk/scrollback.js").Message} Message */
/** @typedef {import("./app.js").ChatApp} ChatApp */

const emoji = ["👍", "❤️", "😂", "🎉", "😮", "😢", "🙏", "👀"];

/** The buttons of the message under the pointer or with the focus. All messages share one set of buttons. */
export class MessageActions {
  #app;
  #conversation;
  #actions;
  #bar = element("div", { class: "actions", role: "toolbar", "aria-label": t("messageActions") });
  /** @type {Message | null} */
  #message = null;

  /**
   * @param {ChatApp} app
   * @param {Conversation} conversation
   * @param {import("./timeline-view.js").TimelineActions} actions
   */
  constructor(app, conversation, actions) {
    this.#app = app;
    this.#conversation = conversation;
    this.#actions = actions;
    this.#bar.addEventListener("keydown", (event) => this.#pressedInBar(event));
  }

  /**
   * Shows the buttons in the rows of a list.
   *
   * @param {HTMLElement} list
   * @param {(id: string) => Message | null} find
   */
  attach(list, find) {
    const show = (/** @type {Event} */ { target }) => {
      const row = target instanceof Element ? target.closest("li.message") : null;
      if (!(row instanceof HTMLElement) || row.contains(this.#bar)) return;
      this.#message = find(row.dataset["id"] ?? "");
      if (!this.#message?.content) return this.#bar.remove();
      this.#showButtons();
      row.querySelector(".bubble")?.append(this.#bar);
    };
    list.addEventListener("focusin", show);
    list.addEventListener("pointerover", show);
    list.addEventListener("pointerleave", () => {
      if (!this.#bar.closest("li")?.contains(document.activeElement)) this.#bar.remove();
    });
  }

  /**
   * Handles a key on a message.
   *
   * @param {string} key
   * @returns {boolean} Whether the key has a meaning.
   */
  press(key) {
    const message = this.#message;
    if (!message?.content) return false;
    if (key === "Enter") this.#bar.querySelector("button")?.focus();
    else if (key === "r") this.#actions.reply(message);
    else if (key === "t") this.#actions.openThread(message.thread ?? message.id);
    else if (key === "e" && this.#canEdit(message)) this.#actions.edit(message);
    else if (key === "Delete") this.#delete(message);
    else return false;
    return true;
  }

  /** @param {Message} message */
  #canEdit({ sender, type }) {
    return sender === this.#app.user && type === "text";
  }

  #showButtons() {
    const message = this.#message;
    if (!message) return;
    const { id, sender, actions } = message;
    const isPinned = actions.some(({ type }) => type === "pin");
    const togglePin = () => isPinned ? this.#conversation.unpin(id) : this.#conversation.pin(id);
    this.#bar.replaceChildren(
      iconButton("smile", t("react"), () => this.#showEmoji(message), { "aria-haspopup": "true" }),
      iconButton("reply", t("reply"), () => this.#actions.reply(message)),
      ...this.#canEdit(message) ? [iconButton("edit", t("edit"), () => this.#actions.edit(message))] : [],
      iconButton("pin", t(isPinned ? "unpin" : "pin"), () => this.#try(togglePin)),
      sender === this.#app.user
        ? iconButton("remove", t("recall"), () => this.#delete(message))
        : iconButton("hide", t("deleteForMe"), () => this.#delete(message)),
    );
  }

  /** @param {Message} message */
  #showEmoji(message) {
    this.#bar.replaceChildren(...emoji.map((value) => {
      const isOwn = message.actions.some((action) =>
        action.type === "reaction" && action.value === value && action.senders.includes(this.#app.user)
      );
      const toggle = () =>
        isOwn ? this.#conversation.unreact(message.id, value) : this.#conversation.react(message.id, value);
      const button = element("button", {
        type: "button",
        class: "icon-button emoji",
        "aria-pressed": String(isOwn),
        "aria-label": `${t("react")} ${value}`,
        click: () => {
          this.#try(toggle);
          this.#close();
        },
      }, value);
      return button;
    }));
    this.#bar.querySelector("button")?.focus();
  }

  /** Returns the focus to the message. */
  #close() {
    const row = this.#bar.closest("li");
    this.#bar.remove();
    row?.focus({ preventScroll: true });
  }

  /** @param {Message} message */
  #delete({ id, sender }) {
    const isOwn = sender === this.#app.user;
    if (!confirm(t(isOwn ? "recallQuestion" : "deleteForMeQuestion"))) return;
    this.#try(() => isOwn ? this.#conversation.recall(id) : this.#conversation.delete([id], { for: "me" }));
  }

  /** @param {() => Promise<{sent(): Promise<unknown>}>} action */
  async #try(action) {
    try {
      const change = await action();
      await change.sent();
    } catch (error) {
      this.#app.showError(errorText(error));
    }
  }

  /** @param {KeyboardEvent} event */
  #pressedInBar(event) {
    const buttons = [...this.#bar.querySelectorAll("button")];
    const index = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const isReversed = getComputedStyle(this.#bar).direction === "rtl";
    const step = { ArrowRight: isReversed ? -1 : 1, ArrowLeft: isReversed ? 1 : -1 }[event.key];
    if (step !== undefined) buttons[(index + step + buttons.length) % buttons.length]?.focus();
    else if (event.key === "Escape") this.#close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
