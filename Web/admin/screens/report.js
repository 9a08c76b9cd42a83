// One report: the message in its context, and the decision.
import { APIError, segment } from "../api.js";
import { time } from "../format.js";
import { confirm } from "../parts/confirm.js";
import { badge, button, facts, link, make } from "../parts/dom.js";
import { Field } from "../parts/field.js";
import { Screen } from "../parts/screen.js";
import { confirmBan } from "./ban.js";
import { messageItem, summary } from "./message.js";

/** @typedef {import("../types.js").Message} Message */
/** @typedef {import("../types.js").Report} Report */

/** How many messages before and after the reported one are shown. */
const context = 5;

export class ReportScreen extends Screen {
  #facts = make("div", { class: "card" });
  #messages = make("ol", { class: "messages" });
  #decision = make("div", { class: "card" });
  #note = new Field("note", "Note", make("textarea", { rows: 2 }), "Only administrators see it.");

  get #number() {
    return Number(this.path[0]);
  }

  titleText() {
    return `Report ${this.path[0]}`;
  }

  build() {
    this.append(
      link(["reports"], "All reports", { class: "back" }),
      this.#facts,
      make("section", {}, make("h2", {}, "The message in its context"), this.#messages),
      make("section", {}, make("h2", {}, "Decision"), this.#decision),
    );
    this.#load();
  }

  #load() {
    return this.run("The report was not loaded.", async () => {
      const report = /** @type {Report} */ (await this.api.get(`/v1/reports/${this.#number}`, { signal: this.signal }));
      this.#showReport(report);
      this.#messages.replaceChildren(...(await this.#context(report)));
    });
  }

  /** @param {Report} report */
  #showReport(report) {
    const { message, conversation } = report;
    this.#facts.replaceChildren(facts([
      ["State", badge(report.state, report.state === "open" ? "bad" : "quiet")],
      ["Conversation", link(["conversations", conversation], conversation)],
      ["Sender", link(["users", message.sender], message.sender)],
      ["Reported by", link(["users", report.reporter], report.reporter)],
      ["Time", time(report.at)],
      ["Reason", report.reason],
      ["Text", report.text],
      ["Message at the time of the report", summary(message)],
      ["Closed by", report.closedBy],
      ["Closed at", report.closedAt && time(report.closedAt)],
    ]));
    this.#note.control.value = report.note ?? "";
    this.#decision.replaceChildren(
      make(
        "div",
        { class: "buttons" },
        button("Delete the message", () => this.#delete(report), { class: "danger" }),
        !conversation.startsWith("direct:") &&
          button("Ban from the conversation", () => confirmBan(this, message.sender, conversation, () => undefined)),
        button("Ban from the server", () => confirmBan(this, message.sender, null, () => undefined)),
      ),
      this.#note.element,
      report.state === "open"
        ? button("Close the report", () => this.#update("closed"), { class: "main" })
        : button("Open the report again", () => this.#update("open"), { class: "main" }),
    );
  }

  /**
   * The messages around the reported one.
   *
   * @param {Report} report
   * @returns {Promise<Node[]>}
   */
  async #context({ conversation, message }) {
    try {
      const query = { around: `seq:${message.seq}`, beforeLimit: context, afterLimit: context, sort: "oldestFirst" };
      const page = /** @type {{ messages: Message[] }} */ (
        await this.api.get(`/v1/conversations/${segment(conversation)}/messages`, { query, signal: this.signal })
      );
      return page.messages.map((item) => messageItem(item, item.id === message.id));
    } catch (error) {
      if (!(error instanceof APIError) || error.status !== 404) throw error;
      return [make("li", { class: "empty" }, "The conversation does not exist anymore.")];
    }
  }

  /** @param {Report} report */
  async #delete(report) {
    const { conversation, message } = report;
    const isConfirmed = await confirm({
      title: `Delete the message of ${message.sender}?`,
      text: "The server deletes the message for everyone. This can't be undone. The report keeps its copy.",
      action: "Delete",
    });
    if (!isConfirmed) return;
    await this.run("The message was not deleted.", async () => {
      await this.api.change("DELETE", `/v1/conversations/${segment(conversation)}/messages/${message.id}`);
      await this.#load();
      this.say("The message is deleted.");
    });
  }

  /** @param {"open" | "closed"} state */
  async #update(state) {
    await this.run("The report was not changed.", async () => {
      const note = this.#note.control.value.trim();
      await this.api.change("PUT", `/v1/reports/${this.#number}`, { body: { state, note: note === "" ? null : note } });
      await this.#load();
      this.say(`The report is ${state}.`);
    }, [this.#note]);
  }
}

customElements.define("admin-report", ReportScreen);
