// The webhook before a message, those for events, and how their deliveries go.
import { count } from "../format.js";
import { Metrics } from "../metrics.js";
import { confirm } from "../parts/confirm.js";
import { badge, button, facts, make } from "../parts/dom.js";
import { Screen } from "../parts/screen.js";
import { eventWebhookTable } from "./event-webhooks.js";
import { changes, nested, settingField, valueAt } from "./setting-field.js";

/** @typedef {import("../types.js").Settings} Settings */
/** @typedef {import("./setting-field.js").SettingDescription} SettingDescription */

const secret = "At least 16 bytes. The server signs its requests with it and never shows it. Empty keeps the secret.";

/**
 * @typedef {object} Webhook
 * @property {"before" | "after"} name
 * @property {string} title
 * @property {string} help
 * @property {string} removal What happens without it.
 * @property {SettingDescription[]} fields
 */

/** @type {Webhook[]} */
const webhooks = [
  {
    name: "before",
    title: "Before a message",
    help: "The server asks your program before it stores a message. The program can allow, change or refuse it.",
    removal: "The server stores messages without asking your program.",
    fields: [
      { name: "url", title: "Address", kind: "text", help: "An http or https address." },
      { name: "secret", title: "Secret", kind: "text", help: secret },
      { name: "timeoutSeconds", title: "Timeout in seconds", kind: "days", help: "0.1 to 10." },
      {
        name: "onFailure",
        title: "Without an answer in time",
        kind: "choice",
        options: [["allow", "Store the message"], ["reject", "Refuse the message, so that devices send it again"]],
      },
    ],
  },
  {
    name: "after",
    title: "After a message",
    help: "The server reports stored messages, changes and reports to your program.",
    removal: "The server reports nothing to your program, and discards the events that wait for it.",
    fields: [
      { name: "url", title: "Address", kind: "text", help: "An http or https address." },
      { name: "secret", title: "Secret", kind: "text", help: secret },
    ],
  },
];

export class WebhookScreen extends Screen {
  #queue = make("div", { class: "card" });
  #forms = make("div", {});
  /** @type {Settings} */
  #settings = {};
  #events = eventWebhookTable(this, () => this.#settings);

  titleText() {
    return "Webhooks";
  }

  build() {
    this.append(
      this.#queue,
      make(
        "section",
        {},
        make("h2", {}, "Deliveries"),
        this.#events.element,
        make("p", { class: "help" }, "The name of a webhook leads to its delivery log."),
      ),
      this.#forms,
    );
    this.#load();
  }

  #load() {
    return this.run("The webhooks were not loaded.", async () => {
      const { signal } = this;
      const settings = /** @type {Settings} */ (await this.api.get("/v1/settings", { signal }));
      const metrics = new Metrics(await (await this.api.response("/metrics", { signal })).text(), 0);
      this.#queue.replaceChildren(facts([
        ["Events that wait", count(metrics.sum("webhook_waiting"))],
        ["Accepted requests since the start", count(metrics.sum("webhook_posts_total"))],
        ["Failed requests since the start", count(metrics.sum("webhook_failures_total"))],
      ]));
      this.#forms.replaceChildren(...webhooks.map((webhook) => this.#form(webhook, settings)));
      this.#settings = settings;
      await this.#events.reload();
    });
  }

  /**
   * @param {Webhook} webhook
   * @param {Settings} settings
   */
  #form({ name, title, help, removal, fields: descriptions }, settings) {
    const path = `webhooks.${name}`;
    const isSet = Boolean(valueAt(settings, path));
    const fields = descriptions.map((description) => {
      const full = { ...description, name: `${path}.${description.name}` };
      return settingField(
        full,
        valueAt(settings, full.name) ?? { timeoutSeconds: 2, onFailure: "allow" }[description.name],
      );
    });
    const save = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.run("The webhook was not saved.", async () => {
        const changed = changes(fields);
        if (Object.keys(changed).length === 0) return this.say("Nothing has changed.");
        await this.api.change("PUT", "/v1/settings", { body: nested(changed) });
        await this.#load();
        this.say(`The webhook "${title}" is saved.`);
      }, fields);
    };
    const remove = async () => {
      const isConfirmed = await confirm({
        title: `Remove the webhook "${title}"?`,
        text: removal,
        action: "Remove",
      });
      if (!isConfirmed) return;
      await this.run("The webhook was not removed.", async () => {
        await this.api.change("PUT", "/v1/settings", { body: { webhooks: { [name]: null } } });
        await this.#load();
        this.say(`The webhook "${title}" is removed.`);
      });
    };
    return make(
      "section",
      {},
      make("h2", {}, title, " ", isSet ? badge("set", "good") : badge("not set", "quiet")),
      make(
        "form",
        { class: "card", onsubmit: save, "aria-label": title },
        make("p", {}, help),
        ...fields.map((field) => field.element),
        make(
          "div",
          { class: "buttons" },
          make("button", { type: "submit", class: "main" }, "Save"),
          isSet && button("Remove", remove, { class: "danger" }),
        ),
      ),
    );
  }
}

customElements.define("admin-webhooks", WebhookScreen);
