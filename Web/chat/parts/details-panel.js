// @ts-check
import { ConversationID } from "../../sdk/scrollback.js";
import { element, renderRows } from "../support/dom.js";
import { errorText, summaryOf, t } from "../support/text.js";
import { avatar } from "./avatar.js";
import { panel } from "./panel.js";

/** @typedef {import("../../sdk/scrollback.js").Conversation} Conversation */
/** @typedef {import("./app.js").ChatApp} ChatApp */

/**
 * The members, the pinned messages and the settings of a conversation.
 *
 * @param {ChatApp} app
 * @param {Conversation} conversation
 * @param {AbortSignal} signal
 */
export function detailsPanel(app, conversation, signal) {
  const kind = ConversationID.kind(conversation.id);
  const status = element("p", { class: "subtitle", role: "status" });
  const attempt = (/** @type {() => Promise<unknown>} */ action) => async () => {
    status.textContent = "";
    try {
      await action();
    } catch (error) {
      if (!signal.aborted) status.textContent = errorText(error);
    }
  };
  const parts = [settingsOf(app, conversation, attempt, signal), pinsOf(app, conversation, attempt, signal)];
  if (kind !== "direct" && kind !== "system") parts.push(membersOf(app, conversation, attempt, signal));
  return panel(app, t("details"), status, ...parts);
}

/** @typedef {(action: () => Promise<unknown>) => () => Promise<void>} Attempt */

/**
 * @param {ChatApp} app
 * @param {Conversation} conversation
 * @param {Attempt} attempt
 * @param {AbortSignal} signal
 */
function settingsOf(app, conversation, attempt, signal) {
  if (ConversationID.kind(conversation.id) === "room") return null;
  const pinned = element("input", { type: "checkbox" });
  const muted = element("input", { type: "checkbox" });
  pinned.addEventListener("change", attempt(() => conversation.setPinned(pinned.checked)));
  muted.addEventListener("change", attempt(() => conversation.setMuted(muted.checked)));
  const unread = attempt(async () => {
    await conversation.markUnread();
    app.closeConversation();
  });
  const remove = attempt(async () => {
    await conversation.removeFromRecents();
    app.closeConversation();
  });
  const end = conversation.recent().subscribe((entry) => {
    pinned.checked = entry?.isPinned ?? false;
    muted.checked = entry?.isMuted ?? false;
  });
  signal.addEventListener("abort", end);
  return element(
    "section",
    { class: "settings" },
    element("label", {}, pinned, t("pinInList")),
    element("label", {}, muted, t("mute")),
    element("button", { type: "button", click: unread }, t("markUnread")),
    element("button", { type: "button", click: remove }, t("removeFromList")),
  );
}

/**
 * @param {ChatApp} app
 * @param {Conversation} conversation
 * @param {Attempt} attempt
 * @param {AbortSignal} signal
 */
function pinsOf(app, conversation, attempt, signal) {
  const list = element("ul", { class: "hits" });
  const section = element("section", { hidden: true }, element("h3", {}, t("pinnedMessages")), list);
  const load = attempt(async () => {
    const messages = await conversation.pins({ signal });
    section.hidden = messages.length === 0;
    list.replaceChildren(...messages.map((message) =>
      element(
        "li",
        {},
        element(
          "button",
          { type: "button", click: () => app.open(conversation.id, { at: { id: message.id } }) },
          element("bdi", { class: "sender" }, app.people.name(message.sender)),
          element("span", { class: "text", dir: "auto" }, summaryOf(message).slice(0, 200)),
        ),
      )
    ));
  });
  load();
  return section;
}

/**
 * @param {ChatApp} app
 * @param {Conversation} conversation
 * @param {Attempt} attempt
 * @param {AbortSignal} signal
 */
function membersOf(app, conversation, attempt, signal) {
  const list = element("ul", { class: "members" });
  const heading = element("h3", {}, t("members"));
  const load = attempt(async () => {
    const members = await conversation.members({ signal });
    heading.textContent = `${t("members")} (${members.length.toLocaleString()})`;
    renderRows(
      list,
      members.slice(0, 500).map(({ user, role }) => {
        const name = app.people.name(user);
        const create = () =>
          element(
            "li",
            {},
            avatar(user, name),
            element("span", {}, element("bdi", {}, name), element("bdi", { class: "subtitle" }, `@${user}`)),
            role !== "member" && element("span", { class: "role" }, role),
          );
        return { key: user, signature: JSON.stringify([name, role]), create };
      }),
    );
  });
  const field = element("input", {
    "aria-label": t("userName"),
    placeholder: t("userName"),
    required: true,
    autocomplete: "off",
  });
  /** @param {"add" | "invite"} action */
  const admit = (action) =>
    attempt(async () => {
      const user = field.value.trim().replace(/^@/, "");
      if (user === "") return;
      if (action === "add") await conversation.addMember(user, { signal });
      else await app.client.request({ type: "invite", conversation: conversation.id, user }, { signal });
      field.value = "";
      await load();
    });
  const leave = attempt(async () => {
    if (!confirm(t("leaveQuestion"))) return;
    await conversation.leave();
    app.closeConversation();
  });
  const add = admit("add");
  const form = element(
    "form",
    {
      class: "add-member",
      submit: (/** @type {Event} */ event) => {
        event.preventDefault();
        add();
      },
    },
    field,
    element("button", {}, t("add")),
    element("button", { type: "button", click: admit("invite") }, t("invite")),
  );
  const endNames = app.people.changes.subscribe(() => load());
  signal.addEventListener("abort", endNames);
  return element(
    "section",
    {},
    heading,
    form,
    list,
    element("button", { type: "button", class: "danger", click: leave }, t("leave")),
  );
}
