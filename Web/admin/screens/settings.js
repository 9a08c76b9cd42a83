// The server settings. Each has an explanation, and the server's error if it refuses the value.
import { make } from "../parts/dom.js";
import { Screen } from "../parts/screen.js";
import { changes, nested, settingField, valueAt } from "./setting-field.js";

/** @typedef {import("../types.js").Settings} Settings */
/** @typedef {import("./setting-field.js").SettingDescription} SettingDescription */
/** @typedef {import("./setting-field.js").SettingField} SettingField */

/** @type {[title: string, settings: SettingDescription[]][]} */
const groups = [
  ["History", [
    {
      name: "retentionDays",
      title: "Message retention",
      kind: "days",
      help: "How many days messages are stored, unless a conversation has its own value: a number, or forever. " +
        "A smaller number deletes older messages.",
    },
    {
      name: "mediaRetentionDays",
      title: "File retention",
      kind: "days",
      help: "How many days files are stored, regardless of the messages that refer to them: a number, or forever.",
    },
    {
      name: "countWindowDays",
      title: "Count window",
      kind: "number",
      help: "How many days back message counts reach while messages are stored forever. Empty for no limit.",
    },
    {
      name: "replayDays",
      title: "Replay",
      kind: "days",
      help: "How many days of missed messages a device loads when it reconnects. It loads older messages on demand.",
    },
    {
      name: "allowsHistory",
      title: "Clients can read history",
      kind: "switch",
      help: "When off, the server still delivers messages, also to devices that were offline.",
    },
    {
      name: "allowsHistoryDelete",
      title: "Ranges of history can be deleted",
      kind: "switch",
    },
    {
      name: "recallLowersUnread",
      title: "Recalls lower unread counts",
      kind: "switch",
      help: "Whether a recalled or deleted message no longer counts as unread.",
    },
    {
      name: "auditDays",
      title: "Audit log",
      kind: "days",
      help: "How many days the acts of administrators and moderators are stored.",
    },
  ]],
  ["Features", [
    { name: "readReceipts", title: "Read receipts", kind: "switch", help: "Members see who has read a message." },
    { name: "presence", title: "Presence", kind: "switch", help: "Users who share it are shown as online or offline." },
    {
      name: "notices",
      title: "Notices",
      kind: "switch",
      help: "Changes to the members and settings of a group appear in its log as messages of the type notice.",
    },
    {
      name: "roomMessagesPerSecond",
      title: "Messages of a chat room per second",
      kind: "days",
      help: "The server leaves out messages of a room above this number, 1 to 10,000.",
    },
  ]],
  ["Files", [
    { name: "fileBytes", title: "File size", kind: "days", help: "The maximum size of a file in bytes." },
    { name: "gifBytes", title: "GIF size", kind: "days", help: "The maximum size of a GIF in bytes." },
    {
      name: "thumbnailBytes",
      title: "Thumbnail size",
      kind: "days",
      help: "The maximum size of a thumbnail in bytes.",
    },
    {
      name: "openUploads",
      title: "Open uploads",
      kind: "days",
      help: "The uploads in progress of each user, 1 to 10,000.",
    },
  ]],
  ["Quotas of each user", [
    {
      name: "groupsPerDay",
      title: "Groups per day",
      kind: "number",
      help: "Groups, communities and channels that a user creates. Empty for no limit.",
    },
    {
      name: "membersPerDay",
      title: "Members per day",
      kind: "number",
      help: "Users that a user adds, invites, or begins a direct conversation with. Empty for no limit.",
    },
    {
      name: "fileBytesPerDay",
      title: "Bytes of files per day",
      kind: "number",
      help: "Files and thumbnails that a user uploads. Empty for no limit.",
    },
    {
      name: "messageBytesPerDay",
      title: "Bytes of messages per day",
      kind: "number",
      help: "Messages, edits, reactions and reports of a user. Empty for no limit.",
    },
  ]],
  ["Banned words", [
    {
      name: "bannedWords.words",
      title: "Words",
      kind: "lines",
      help: "One word in a line, at most 10,000. Case and invisible characters make no difference.",
    },
    {
      name: "bannedWords.action",
      title: "Messages with a banned word",
      kind: "choice",
      options: [["reject", "Are refused"], ["replace", "Are stored with * instead of the word"]],
    },
  ]],
];

export class SettingsScreen extends Screen {
  #groups = make("div", {});

  titleText() {
    return "Settings";
  }

  build() {
    this.append(
      make(
        "p",
        {},
        "Settings take effect at once. Those of the process, such as addresses and rate limits, are options " +
          "of the command serve.",
      ),
      this.#groups,
    );
    this.run("The settings were not loaded.", async () => {
      this.#show(/** @type {Settings} */ (await this.api.get("/v1/settings", { signal: this.signal })));
    });
  }

  /** @param {Settings} settings */
  #show(settings) {
    this.#groups.replaceChildren(...groups.map(([title, descriptions]) => this.#group(title, descriptions, settings)));
  }

  /**
   * @param {string} title
   * @param {SettingDescription[]} descriptions
   * @param {Settings} settings
   */
  #group(title, descriptions, settings) {
    /** @type {SettingField[]} */
    let fields = [];
    const body = make("div", { class: "fields" });
    const fill = (/** @type {Settings} */ values) => {
      fields = descriptions.map((description) => settingField(description, valueAt(values, description.name)));
      body.replaceChildren(...fields.map((field) => field.element));
    };
    fill(settings);
    const save = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.run("The settings were not saved.", async () => {
        const changed = changes(fields);
        if (Object.keys(changed).length === 0) return this.say("No setting has changed.");
        fill(await this.api.change("PUT", "/v1/settings", { body: nested(changed) }));
        this.say(`The settings "${title}" are saved.`);
      }, fields);
    };
    return make(
      "section",
      {},
      make("h2", {}, title),
      make(
        "form",
        { class: "card", onsubmit: save, "aria-label": title },
        body,
        make("div", { class: "buttons" }, make("button", { type: "submit", class: "main" }, "Save")),
      ),
    );
  }
}

customElements.define("admin-settings", SettingsScreen);
