// The frame of the page: signing in, the list of screens, and the screen of the address.
import { AdminAPI, APIError } from "./api.js";
import { append, button, link, make } from "./parts/dom.js";
import { Field, input } from "./parts/field.js";
import { sentence } from "./parts/screen.js";
import { AuditScreen } from "./screens/audit.js";
import { BanScreen } from "./screens/bans.js";
import { ConversationScreen } from "./screens/conversation.js";
import { ConversationListScreen } from "./screens/conversations.js";
import { DeliveryScreen } from "./screens/deliveries.js";
import { NodeScreen } from "./screens/nodes.js";
import { OverviewScreen } from "./screens/overview.js";
import { PushScreen } from "./screens/push.js";
import { ReportScreen } from "./screens/report.js";
import { ReportListScreen } from "./screens/reports.js";
import { SettingsScreen } from "./screens/settings.js";
import { UserScreen } from "./screens/user.js";
import { UserListScreen } from "./screens/users.js";
import { WebhookScreen } from "./screens/webhooks.js";

/** @typedef {import("./parts/screen.js").Screen} Screen */
/** @typedef {new () => Screen} ScreenClass */

/**
 * The name in the address, the title in the list, the element of the screen, and that of an entry.
 *
 * @type {[name: string, title: string, screen: ScreenClass, entry?: ScreenClass][]}
 */
const screens = [
  ["overview", "Overview", OverviewScreen],
  ["nodes", "Nodes", NodeScreen],
  ["users", "Users", UserListScreen, UserScreen],
  ["conversations", "Conversations", ConversationListScreen, ConversationScreen],
  ["reports", "Reports", ReportListScreen, ReportScreen],
  ["bans", "Bans", BanScreen],
  ["audit", "Audit log", AuditScreen],
  ["settings", "Settings", SettingsScreen],
  ["webhooks", "Webhooks", WebhookScreen, DeliveryScreen],
  ["push", "Push", PushScreen],
];

class Shell extends HTMLElement {
  #api = new AdminAPI();
  #main = make("main", { id: "main" });
  #navigation = make("nav", { "aria-label": "Screens" });
  #user = make("span", { class: "user" });
  #frame = make("div", { class: "frame", hidden: true });
  #signIn = make("section", { class: "sign-in", "aria-labelledby": "sign-in-title" });
  #reason = make("p", { role: "status" });
  #key = new Field(
    "key",
    "Admin key",
    input({ type: "password", required: true }),
    "The content of the file admin.key in the data directory, or another token with the scope admin.",
  );

  connectedCallback() {
    append(this.#navigation, make("ul", {}, ...screens.map(([name, title]) => make("li", {}, link([name], title)))));
    const skip = () => this.screen?.focusHeading();
    append(
      this.#frame,
      button("Skip to the content", skip, { class: "skip" }),
      make(
        "header",
        {},
        make("a", { class: "brand", href: "#/overview" }, "Scrollback"),
        this.#navigation,
        make("div", { class: "session" }, this.#user, button("Sign out", () => this.#signOut())),
      ),
      this.#main,
    );
    append(
      this.#signIn,
      make("h1", { id: "sign-in-title" }, "Scrollback admin"),
      this.#reason,
      make(
        "form",
        { onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
        this.#key.element,
        make("button", { type: "submit", class: "main" }, "Sign in"),
      ),
      make("p", { class: "help" }, "The session lasts an hour, and ends when you close or reload the page."),
    );
    this.append(this.#frame, this.#signIn);
    this.#api.addEventListener("end", () => this.#showSignIn("The session has ended. Sign in to continue."));
    addEventListener("hashchange", () => this.#show());
    this.#key.control.focus();
  }

  /** @returns {Screen | null} */
  get screen() {
    return /** @type {Screen | null} */ (this.#main.firstElementChild);
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const key = this.#key.control.value.trim();
    this.#key.showError(null);
    try {
      await this.#api.signIn(key);
    } catch (error) {
      if (!(error instanceof APIError)) throw error;
      this.#key.showError(`You are not signed in. ${sentence(error.message)}`);
      this.#key.control.focus();
      return;
    }
    this.#key.control.value = "";
    this.#user.textContent = this.#api.user;
    this.#signIn.hidden = true;
    this.#frame.hidden = false;
    // A screen that was open when the session ended keeps what the operator wrote.
    if (this.screen) this.screen.focusHeading();
    else this.#show();
  }

  #signOut() {
    this.#api.signOut();
    this.#main.replaceChildren();
    this.#showSignIn("You are signed out.");
  }

  /** @param {string} reason */
  #showSignIn(reason) {
    this.#frame.hidden = true;
    this.#signIn.hidden = false;
    this.#reason.textContent = reason;
    document.title = "Scrollback admin";
    for (const dialog of document.querySelectorAll("dialog")) dialog.close();
    this.#key.control.focus();
  }

  /** Shows the screen of the address. */
  #show() {
    // After the operator has signed in, the page shows the screen of the new address.
    if (!this.#api.isSignedIn) return this.#main.replaceChildren();
    const [name, ...path] = location.hash.slice(2).split("/").map(decode);
    const found = screens.find((screen) => screen[0] === name) ?? screens[0];
    if (!found) return;
    const [known, , List, Entry] = found;
    const screen = path[0] && Entry ? new Entry() : new List();
    screen.api = this.#api;
    screen.path = path;
    this.#main.replaceChildren(screen);
    for (const anchor of this.#navigation.querySelectorAll("a")) {
      anchor.removeAttribute("aria-current");
      if (anchor.getAttribute("href") !== `#/${known}`) continue;
      anchor.setAttribute("aria-current", "page");
      anchor.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    scrollTo(0, 0);
    screen.focusHeading();
  }
}

/** @param {string} text A part of an address, which the operator can edit. */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

customElements.define("scrollback-admin", Shell);
