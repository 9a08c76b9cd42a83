// One user: profile, state, devices, conversations, and everything that an operator does with a user.
import { APIError, segment } from "../api.js";
import { bytes, count, time } from "../format.js";
import { confirm } from "../parts/confirm.js";
import { badge, button, facts, link, make } from "../parts/dom.js";
import { Field, input, select } from "../parts/field.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen } from "../parts/screen.js";
import { confirmBan, confirmUnban } from "./ban.js";
import { confirmDisconnect, listConnections } from "./connections.js";
import { stateBadges } from "./users.js";

/** @typedef {import("../types.js").Profile} Profile */
/** @typedef {import("../types.js").UserEntry} UserEntry */
/** @typedef {import("../types.js").ConnectionEntry} ConnectionEntry */
/** @typedef {import("../types.js").ConversationEntry} ConversationEntry */
/** @typedef {import("../types.js").Job} Job */

export class UserScreen extends Screen {
  #state = make("div", { class: "card" });
  #progress = make("p", { role: "status", class: "progress", hidden: true });
  #name = new Field("name", "Name", input(), "What other users see.");
  #avatar = new Field("avatar", "Picture", input({ type: "text", inputmode: "url" }), "An http or https address.");

  get user() {
    return this.path[0] ?? "";
  }

  get #place() {
    return `/v1/users/${segment(this.user)}`;
  }

  titleText() {
    return this.user;
  }

  build() {
    /** @type {PagedTable<ConnectionEntry>} */
    const devices = new PagedTable(this, {
      caption: `Connected devices of ${this.user}`,
      empty: "No device is connected.",
      columns: [
        ["Device", (row) => row.device],
        ["App", (row) => (row.active ? badge("foreground", "good") : badge("background", "quiet"))],
        ["Connected since", (row) => time(row.since)],
        ["Unread data", (row) => bytes(row.queuedBytes)],
        ["", (row) => button("Disconnect", () => confirmDisconnect(this, row, () => devices.reload()))],
      ],
      load: (cursor, signal) => listConnections(this.api, { user: this.user, cursor }, signal),
    });
    /** @type {PagedTable<ConversationEntry>} */
    const conversations = new PagedTable(this, {
      caption: `Conversations of ${this.user}`,
      empty: "The user is in no conversation.",
      columns: [
        ["Conversation", (row) => link(["conversations", row.conversation], row.conversation)],
        ["Name", (row) => row.name],
        ["Role", (row) => (row.standing === "member" ? row.role : row.standing)],
        ["Messages", (row) => count(row.head)],
        ["Last activity", (row) => time(row.lastActivity)],
      ],
      load: async (cursor, signal) => {
        const page = /** @type {{ conversations: ConversationEntry[], cursor?: string }} */ (
          await this.api.get("/v1/admin/conversations", { query: { user: this.user, cursor }, signal })
        );
        return { ...page, rows: page.conversations };
      },
    });
    const save = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#save();
    };
    this.append(
      link(["users"], "All users", { class: "back" }),
      this.#state,
      this.#progress,
      make(
        "section",
        {},
        make("h2", {}, "Profile"),
        make(
          "form",
          { class: "card", onsubmit: save },
          this.#name.element,
          this.#avatar.element,
          make("button", { type: "submit", class: "main" }, "Save the profile"),
        ),
      ),
      make("section", {}, make("h2", {}, "Connected devices"), devices.element),
      make("section", {}, make("h2", {}, "Conversations"), conversations.element),
    );
    this.#load();
    devices.reload();
    conversations.reload();
  }

  async #load() {
    await this.run(`${this.user} was not loaded.`, async () => {
      const query = { prefix: this.user, limit: 1 };
      const { users } = /** @type {{ users: UserEntry[] }} */ (
        await this.api.get("/v1/admin/users", { query, signal: this.signal })
      );
      const entry = users[0]?.user === this.user ? users[0] : undefined;
      const profile = await this.#profile();
      this.#name.control.value = profile.name ?? "";
      this.#avatar.control.value = profile.avatar ?? "";
      this.#show(entry);
    });
  }

  /** @returns {Promise<Profile>} */
  async #profile() {
    try {
      return /** @type {Profile} */ (await this.api.get(this.#place, { signal: this.signal }));
    } catch (error) {
      // A user without a profile can be in conversations.
      if (error instanceof APIError && error.code === "unknown-user") return { user: this.user };
      throw error;
    }
  }

  /** @param {UserEntry | undefined} entry Absent if the user was erased or never existed. */
  #show(entry) {
    const isActive = entry?.state === "active";
    const ban = entry?.ban;
    this.#state.replaceChildren(
      facts([
        ["ID", this.user],
        ["State", entry ? make("span", {}, ...stateBadges(entry).filter((part) => part !== null)) : "no such user"],
        ["Banned by", ban?.by],
        ["Banned until", ban && (ban.until === undefined ? "without an end" : time(ban.until))],
        ["Reason", ban?.reason],
      ]),
      make(
        "div",
        { class: "buttons" },
        isActive && button("Deactivate", () => this.#deactivate()),
        entry?.state === "deactivated" && button("Activate", () => this.#setState("active")),
        button("Sign out", () => this.#signOut()),
        ban
          ? button("Lift the ban", () => confirmUnban(this, this.user, null, () => this.#load()))
          : button("Ban", () => confirmBan(this, this.user, null, () => this.#load())),
        button("Export", () => this.#export()),
        button("Erase", () => this.#erase(), { class: "danger" }),
      ),
    );
  }

  async #save() {
    const fields = [this.#name, this.#avatar];
    await this.run("The profile was not saved.", async () => {
      const body = { name: this.#name.control.value, avatar: this.#avatar.control.value };
      await this.api.change("PUT", this.#place, { body });
      await this.#load();
      this.say("The profile is saved.");
    }, fields);
  }

  async #deactivate() {
    const isConfirmed = await confirm({
      title: `Deactivate ${this.user}?`,
      text: "The server closes the user's connections and refuses their tokens. Their data stays, and you can " +
        "activate the user again.",
      action: "Deactivate",
    });
    if (isConfirmed) await this.#setState("deactivated");
  }

  /** @param {"active" | "deactivated"} state */
  async #setState(state) {
    await this.run(`${this.user} was not changed.`, async () => {
      await this.api.change("PUT", `${this.#place}/state`, { body: { state } });
      await this.#load();
      this.say(`${this.user} is ${state}.`);
    });
  }

  async #signOut() {
    const isConfirmed = await confirm({
      title: `Sign out ${this.user}?`,
      text: "The server refuses all tokens that the user has now, and closes their connections. The user can sign " +
        "in again with a new token.",
      action: "Sign out",
    });
    if (!isConfirmed) return;
    await this.run(`${this.user} was not signed out.`, async () => {
      await this.api.change("DELETE", `${this.#place}/tokens`);
      this.say(`${this.user} is signed out on all devices.`);
    });
  }

  async #export() {
    await this.run("The export was not saved.", async () => {
      this.say(`The server collects the data about ${this.user}.`);
      const response = await this.api.response(`${this.#place}/export`, { signal: this.signal });
      const url = URL.createObjectURL(await response.blob());
      make("a", { href: url, download: `${this.user}.jsonl` }).click();
      // The browser reads the file after the click.
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      this.say(`The data about ${this.user} is in the file ${this.user}.jsonl. Protect it: it has private messages.`);
    });
  }

  async #erase() {
    const messages = new Field(
      "messages",
      "The user's messages",
      select([
        ["anonymize", "Keep them under a random name"],
        ["keep", `Keep them under the name ${this.user}`],
        ["erase", "Erase them: only placeholders stay"],
      ]),
    );
    const isConfirmed = await confirm({
      title: `Erase ${this.user}?`,
      text: "The server removes the profile, memberships, read positions, blocks and unused files of the user, and " +
        "ends their sessions. This can't be undone. Backups that you made before still have the data.",
      action: "Erase",
      fields: [messages],
    });
    if (!isConfirmed) return;
    await this.run(`${this.user} was not erased.`, async () => {
      const query = { messages: messages.control.value };
      let job = /** @type {Job} */ (await this.api.change("DELETE", this.#place, { query }));
      while (job.state !== "done") {
        this.#showProgress(job);
        await new Promise((resolve) => setTimeout(resolve, 500));
        job = await this.api.get(`/v1/admin/jobs/${job.id}`, { signal: this.signal });
      }
      this.#showProgress(job);
      await this.#load();
    });
  }

  /** @param {Job} job */
  #showProgress({ state, done, error }) {
    const states = { running: "Erasing", waiting: "A step failed, and the server repeats it", done: "Erased" };
    const progress = `${states[state]}: ${count(done.conversations)} conversations, ${count(done.messages)} messages ` +
      `and ${count(done.files)} files are done.`;
    this.#progress.textContent = error === undefined ? progress : `${progress} ${error}`;
    this.#progress.hidden = false;
  }
}

customElements.define("admin-user", UserScreen);
