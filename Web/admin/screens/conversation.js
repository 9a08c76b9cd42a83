// One conversation: settings, members and bans.
import { segment } from "../api.js";
import { count, time } from "../format.js";
import { confirm } from "../parts/confirm.js";
import { button, facts, link, make } from "../parts/dom.js";
import { Field, input, select } from "../parts/field.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen } from "../parts/screen.js";
import { confirmBan, confirmUnban } from "./ban.js";
import { changes, settingField } from "./setting-field.js";

/** @typedef {import("../types.js").Ban} Ban */
/** @typedef {import("../types.js").Head} Head */
/** @typedef {import("../types.js").Member} Member */
/** @typedef {import("../types.js").Role} Role */
/** @typedef {import("./setting-field.js").SettingDescription} SettingDescription */
/** @typedef {import("./setting-field.js").SettingField} SettingField */

/** The settings of all kinds of conversations. The server returns those that a conversation has. */
/** @type {SettingDescription[]} */
const descriptions = [
  { name: "name", title: "Name", kind: "text", help: "What members see. At most 128 bytes." },
  { name: "avatar", title: "Picture", kind: "text", help: "An http or https address." },
  {
    name: "retentionDays",
    title: "Retention",
    kind: "days",
    help: "How many days messages are kept: a number, forever, or default for the server's setting.",
  },
  {
    name: "historyVisibility",
    title: "New members see",
    kind: "choice",
    options: [["everything", "The whole history"], ["sinceJoin", "Messages since they joined"]],
  },
  {
    name: "capacity",
    title: "Capacity",
    kind: "days",
    help: "The most subscribers of the room: a number, or unlimited.",
  },
  { name: "private", title: "Private", kind: "switch", help: "Whether the channel has members of its own." },
  {
    name: "frozen",
    title: "Frozen",
    kind: "switch",
    help: "Only moderators, owners and administrators can write. A frozen community freezes all of its channels.",
  },
];

const roles = /** @type {[Role, string][]} */ ([["member", "Member"], ["moderator", "Moderator"], ["owner", "Owner"]]);

export class ConversationScreen extends Screen {
  #facts = make("div", { class: "card" });
  #form = make("form", { class: "card", onsubmit: (/** @type {Event} */ event) => this.#save(event) });
  /** @type {SettingField[]} */
  #fields = [];

  get conversation() {
    return this.path[0] ?? "";
  }

  get #place() {
    return `/v1/conversations/${segment(this.conversation)}`;
  }

  titleText() {
    return this.conversation;
  }

  build() {
    const members = this.#memberTable();
    /** @type {PagedTable<Ban>} */
    const bans = new PagedTable(this, {
      caption: `Bans from ${this.conversation}`,
      empty: "No user is banned from the conversation.",
      columns: [
        ["User", (row) => link(["users", row.user], row.user)],
        ["Until", (row) => (row.until === undefined ? "without an end" : time(row.until))],
        ["Reason", (row) => row.reason],
        ["Banned by", (row) => row.by],
        [
          "",
          (row) => button("Lift the ban", () => confirmUnban(this, row.user, this.conversation, () => bans.reload())),
        ],
      ],
      load: async (cursor, signal) => {
        const page = /** @type {{ bans: Ban[], cursor?: string }} */ (
          await this.api.get(`${this.#place}/bans`, { query: { cursor }, signal })
        );
        return { ...page, rows: page.bans };
      },
    });
    this.#reloadBans = () => bans.reload();
    const user = new Field("user", "User ID", input({ required: true }));
    const add = (/** @type {Event} */ event) => {
      event.preventDefault();
      const name = user.control.value.trim();
      this.run(`${name} was not added.`, async () => {
        await this.api.change("PUT", `${this.#place}/members/${segment(name)}`, { body: {} });
        user.control.value = "";
        await members.reload();
        this.say(`${name} is a member.`);
      }, [user]);
    };
    const hasMembers = /^(group|community):/.test(this.conversation);
    const canBan = /^(group|community|room):/.test(this.conversation);
    this.append(
      link(["conversations"], "All conversations", { class: "back" }),
      this.#facts,
      make("section", {}, make("h2", {}, "Settings"), this.#form),
      make("section", {}, make("h2", {}, "Members"), members.element),
    );
    if (hasMembers) {
      const addButton = make("button", { type: "submit" }, "Add");
      members.element.before(make("form", { class: "filter", onsubmit: add }, user.element, addButton));
    }
    if (canBan) {
      this.append(make("section", {}, make("h2", {}, "Bans"), bans.element));
      bans.reload();
    }
    this.#load();
    members.reload();
  }

  #reloadBans = () => Promise.resolve();

  #memberTable() {
    /** @type {PagedTable<Member>} */
    const table = new PagedTable(this, {
      caption: `Members of ${this.conversation}`,
      empty: "The conversation has no list of members, or it is empty.",
      columns: [
        ["User", (row) => link(["users", row.user], row.user)],
        ["Role", (row) => this.#roleSelect(row, () => table.reload())],
        ["Muted", (row) => mutedText(row.mutedUntil)],
        ["", (row) => this.#memberButtons(row, () => table.reload())],
      ],
      load: async (cursor, signal) => {
        const page = /** @type {{ members: Member[], cursor?: string }} */ (
          await this.api.get(`${this.#place}/members`, { query: { cursor, limit: 50 }, signal })
        );
        return { ...page, rows: page.members };
      },
    });
    return table;
  }

  /**
   * @param {Member} member
   * @param {() => Promise<void>} then
   */
  #roleSelect(member, then) {
    if (!/^(group|community):/.test(this.conversation)) return member.role;
    const change = async () => {
      const role = /** @type {Role} */ (control.value);
      const isChanged = await this.#changeMember(member.user, { role }, `${member.user} has the role ${role}.`, then);
      if (!isChanged) control.value = member.role;
    };
    const control = select(roles, member.role, { "aria-label": `Role of ${member.user}`, onchange: change });
    return control;
  }

  /**
   * @param {Member} member
   * @param {() => Promise<void>} then
   */
  #memberButtons(member, then) {
    if (!/^(group|community):/.test(this.conversation)) return null;
    const { user, mutedUntil } = member;
    const mute = button(
      "Mute",
      () => this.#changeMember(user, { mutedUntil: "forever" }, `${user} is muted until you unmute them.`, then),
    );
    const unmute = button(
      "Unmute",
      () => this.#changeMember(user, { mutedUntil: null }, `${user} can write again.`, then),
    );
    const ban = button("Ban", () =>
      confirmBan(this, user, this.conversation, async () => {
        await then();
        await this.#reloadBans();
      }));
    return [mutedUntil === undefined ? mute : unmute, button("Remove", () => this.#remove(user, then)), ban];
  }

  /**
   * @param {string} user
   * @param {unknown} body
   * @param {string} done
   * @param {() => Promise<void>} then
   */
  #changeMember(user, body, done, then) {
    return this.run(`${user} was not changed.`, async () => {
      await this.api.change("PUT", `${this.#place}/members/${segment(user)}`, { body });
      await then();
      this.say(done);
      return true;
    });
  }

  /**
   * @param {string} user
   * @param {() => Promise<void>} then
   */
  async #remove(user, then) {
    const isConfirmed = await confirm({
      title: `Remove ${user} from ${this.conversation}?`,
      text: `${user} no longer receives the messages of the conversation. A member can add ${user} again.`,
      action: "Remove",
    });
    if (!isConfirmed) return;
    await this.run(`${user} was not removed.`, async () => {
      await this.api.change("DELETE", `${this.#place}/members/${segment(user)}`);
      await then();
      this.say(`${user} is removed.`);
    });
  }

  async #load() {
    await this.run(`${this.conversation} was not loaded.`, async () => {
      const head = /** @type {Head} */ (await this.api.get(this.#place, { signal: this.signal }));
      const { settings = {} } = head;
      this.#facts.replaceChildren(
        facts([
          ["ID", this.conversation],
          ["Name", head.name],
          ["Newest message", count(head.head)],
          ["Oldest message", head.firstSeq > head.head ? "none" : count(head.firstSeq)],
        ]),
        make("div", { class: "buttons" }, button("Delete", () => this.#delete(), { class: "danger" })),
      );
      // The server leaves out a name and a picture that are not set.
      const hasName = !this.conversation.startsWith("direct:") && !this.conversation.startsWith("system:");
      const has = (/** @type {string} */ name) => name in settings || (hasName && ["name", "avatar"].includes(name));
      this.#fields = descriptions.filter(({ name }) => has(name))
        .map((description) => settingField(description, settings[description.name]));
      this.#form.replaceChildren(
        ...this.#fields.map((field) => field.element),
        make("button", { type: "submit", class: "main" }, "Save the settings"),
      );
    });
  }

  /** @param {Event} event */
  async #save(event) {
    event.preventDefault();
    await this.run("The settings were not saved.", async () => {
      const body = changes(this.#fields);
      if (Object.keys(body).length === 0) return this.say("No setting has changed.");
      await this.api.change("PUT", this.#place, { body: { ...body, exists: true } });
      await this.#load();
      this.say("The settings are saved.");
    }, this.#fields);
  }

  async #delete() {
    const isConfirmed = await confirm({
      title: `Delete ${this.conversation}?`,
      text: "The server deletes the conversation with all messages, for all members. This can't be undone.",
      action: "Delete",
    });
    if (!isConfirmed) return;
    await this.run("The conversation was not deleted.", async () => {
      await this.api.change("DELETE", this.#place);
      location.hash = "#/conversations";
    });
  }
}

/** @param {string | undefined} until */
function mutedText(until) {
  if (until === undefined) return "no";
  return until === "forever" ? "until unmuted" : `until ${time(until)}`;
}

customElements.define("admin-conversation", ConversationScreen);
