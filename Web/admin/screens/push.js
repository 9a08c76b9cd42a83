// The push services that are set up, their settings, and a test push.
import { segment } from "../api.js";
import { badge, make } from "../parts/dom.js";
import { Field, input } from "../parts/field.js";
import { Screen } from "../parts/screen.js";
import { changes, nested, settingField, valueAt } from "./setting-field.js";

/** @typedef {import("../types.js").Settings} Settings */
/** @typedef {import("../types.js").PushResult} PushResult */
/** @typedef {import("./setting-field.js").SettingDescription} SettingDescription */

/** @type {SettingDescription[]} */
const descriptions = [
  {
    name: "push.intervalSeconds",
    title: "Interval in seconds",
    kind: "days",
    help: "The minimum time between two pushes of one conversation to the same user, 0 to 3,600.",
  },
  {
    name: "push.link",
    title: "Link",
    kind: "optional",
    help: "The address that the app opens, such as myapp://chat/{conversation}?message={message}.",
  },
  {
    name: "push.language",
    title: "Language",
    kind: "optional",
    help: "For users without a language, and for users whose language has no texts. English by default.",
  },
  { name: "push.texts", title: "Texts", kind: "json", help: 'By language, such as {"de": {"image": "Foto"}}.' },
  {
    name: "push.templates",
    title: "Templates",
    kind: "json",
    help: 'By ID and language, such as {"sale": {"default": {"text": "{sender}: {text}"}}}.',
  },
];

export class PushScreen extends Screen {
  #services = make("div", { class: "card" });
  #form = make("form", { class: "card", "aria-label": "Settings" });
  #results = make("div", { class: "list", role: "status" });

  titleText() {
    return "Push";
  }

  build() {
    const user = new Field("user", "User ID", input({ required: true }));
    const device = new Field("device", "Device", input(), "Empty sends to all devices of the user.");
    const test = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#results.replaceChildren();
      this.run("No push was sent.", async () => {
        const body = device.control.value === "" ? {} : { device: device.control.value };
        const { devices } = /** @type {{ devices: PushResult[] }} */ (
          await this.api.change("POST", `/v1/admin/users/${segment(user.control.value.trim())}/push`, { body })
        );
        this.#results.replaceChildren(make("ul", {}, ...devices.map(resultItem)));
      }, [user, device]);
    };
    this.append(
      make("section", {}, make("h2", {}, "Services"), this.#services),
      make(
        "section",
        {},
        make("h2", {}, "Test"),
        make(
          "form",
          { class: "card", onsubmit: test, "aria-label": "Test" },
          make("p", {}, "Sends a push at once, also to users who are online and during quiet hours."),
          user.element,
          device.element,
          make("div", { class: "buttons" }, make("button", { type: "submit", class: "main" }, "Send a test push")),
          this.#results,
        ),
      ),
      make("section", {}, make("h2", {}, "Settings"), this.#form),
    );
    this.run("The settings were not loaded.", async () => {
      this.#show(/** @type {Settings} */ (await this.api.get("/v1/settings", { signal: this.signal })));
    });
  }

  /** @param {Settings} settings */
  #show(settings) {
    const services = Object.entries(
      /** @type {Record<string, { source?: string }>} */ (valueAt(settings, "push.services") ?? {}),
    );
    this.#services.replaceChildren(
      services.length === 0
        ? make("p", {}, "No push service is set up. Name a file with the credentials with serve --push-credentials.")
        : make("ul", {}, ...services.map(([name, { source }]) => make("li", {}, `${name}, from the ${source}`))),
    );
    const fields = descriptions.map((description) => settingField(description, valueAt(settings, description.name)));
    this.#form.replaceChildren(
      ...fields.map((field) => field.element),
      make("div", { class: "buttons" }, make("button", { type: "submit", class: "main" }, "Save")),
    );
    this.#form.onsubmit = (event) => {
      event.preventDefault();
      this.run("The settings were not saved.", async () => {
        const changed = changes(fields);
        if (Object.keys(changed).length === 0) return this.say("No setting has changed.");
        this.#show(await this.api.change("PUT", "/v1/settings", { body: nested(changed) }));
        this.say("The push settings are saved.");
      }, fields);
    };
  }
}

/** @param {PushResult} result */
function resultItem({ device, service, outcome, reason }) {
  const state = badge(outcome, outcome === "sent" ? "good" : "bad");
  return make("li", {}, `${device}, ${service}: `, state, reason === undefined ? "" : ` ${reason}`);
}

customElements.define("admin-push", PushScreen);
