// @ts-check
import { ScrollbackChat } from "./embed.js";
import { element } from "./support/dom.js";
import { t } from "./support/text.js";

/** @typedef {{user: string, token: string}} DemoUser */

/**
 * Shows two users side by side, if the server was started with `--demo`.
 *
 * @param {URL} server
 * @returns {Promise<boolean>} Whether it is a demonstration.
 */
export async function showDemo(server) {
  const users = await demoUsers(server);
  if (users.length === 0) return false;
  const columns = element("main", { class: "demo" });
  const [first] = users;
  for (const user of users) columns.append(device(server, user, null));
  const add = element("button", {
    type: "button",
    click: () => {
      if (!first) return;
      add.remove();
      columns.append(device(server, first, "second device"));
    },
  }, t("demoAnotherDevice"));
  document.body.replaceChildren(
    element("header", { class: "demo-header" }, element("h1", {}, "Scrollback"), element("p", {}, t("demoHint")), add),
    columns,
  );
  return true;
}

/**
 * @param {URL} server
 * @returns {Promise<DemoUser[]>} No users if the server is no demonstration.
 */
async function demoUsers(server) {
  try {
    const answer = await fetch(new URL("chat/demo.json", server));
    return answer.ok ? (await answer.json()).users : [];
  } catch {
    return [];
  }
}

/**
 * The chat of a user on one device, with buttons that disturb its connection.
 *
 * @param {URL} server
 * @param {DemoUser} user
 * @param {string | null} store
 */
function device(server, { user, token }, store) {
  const chat = new ScrollbackChat();
  chat.setAttribute("server", server.href);
  chat.token = token;
  chat.title = store === null ? user : t("demoSecondDevice", { user });
  if (store !== null) chat.setAttribute("store", store);
  let isOffline = false;
  const toggle = element("button", {
    type: "button",
    "aria-pressed": "false",
    click: () => {
      isOffline = !isOffline;
      toggle.setAttribute("aria-pressed", String(isOffline));
      toggle.textContent = t(isOffline ? "demoGoOnline" : "demoGoOffline");
      if (isOffline) chat.disconnect();
      else chat.connect();
    },
  }, t("demoGoOffline"));
  const cut = element("button", {
    type: "button",
    click: () => {
      if (isOffline) return;
      chat.disconnect();
      chat.connect();
    },
  }, t("demoCut"));
  const dot = element("span", { class: "demo-dot" });
  chat.addEventListener("statechange", (event) => {
    const { connection } = /** @type {CustomEvent<{connection: string}>} */ (event).detail;
    dot.classList.toggle("is-online", connection === "online");
  });
  return element(
    "section",
    { class: "demo-device", "aria-label": chat.title },
    element("header", {}, dot, element("h2", {}, chat.title), toggle, cut),
    chat,
  );
}
