// @ts-check
import { ChatClient } from "../sdk/scrollback.js";
import { embeddedSession, isEmbedded, notifyParent, onParentMessage, ownSession } from "./session.js";
import { element } from "./support/dom.js";
import { applyTheme } from "./support/settings.js";
import { errorText, locale, t, timeText } from "./support/text.js";

/** @typedef {import("./session.js").Session} Session */

applyTheme();
document.documentElement.lang = locale;

/** The address of the server, which offers this page. The address of this file has a version. */
const server = new URL(".", location.href);

/** @param {Session} session */
async function openChat(session) {
  const { user, token, store } = session;
  // The parts of the page load while the browser opens the store.
  const parts = partOf(import("./parts/app.js"));
  try {
    const opening = ChatClient.open({ server, user, token, store, sharesPresence: true });
    // So does the format of times, which takes the browser tens of milliseconds to create.
    timeText(new Date());
    const client = await opening;
    const app = await parts;
    // Another page must not wait for this one to lead.
    if (!app) return await client.close();
    if (session.isEmbedded) connectToParent(client);
    const chat = new app.ChatApp(client, session);
    // The browser draws the page once, with the list, unless the store is slow.
    await Promise.race([chat.list.isReady, new Promise((resolve) => setTimeout(resolve, 200))]);
    document.body.replaceChildren(chat);
  } catch (error) {
    await signIn(errorText(error));
  }
}

/** @param {string | null} error Why the last attempt failed. */
async function signIn(error) {
  const parts = await partOf(import("./parts/sign-in.js"));
  parts?.showSignIn(error, openChat);
}

/**
 * Returns a part of the page. If it can't be loaded, the page offers to load it again.
 *
 * @template Part
 * @param {Promise<Part>} loading
 * @returns {Promise<Part | null>}
 */
async function partOf(loading) {
  try {
    return await loading;
  } catch {
    const reload = element("button", { class: "primary", click: () => location.reload() }, t("tryNow"));
    const text = element("p", { role: "alert", class: "error" }, t("errorUnreachable"));
    document.body.replaceChildren(element("main", { class: "sign-in" }, text, reload));
    return null;
  }
}

/**
 * Reports the state to the embedding page, and obeys it.
 *
 * @param {ChatClient} client
 */
function connectToParent(client) {
  const recents = client.recents({ limit: 1 });
  const report = () =>
    notifyParent({
      type: "scrollback-state",
      connection: client.connection.value.state,
      unread: recents.value.totalUnread,
    });
  client.connection.subscribe(report);
  recents.subscribe(report);
  onParentMessage(({ type }) => {
    if (type === "scrollback-disconnect") client.disconnect();
    if (type === "scrollback-connect") client.connect();
  });
}

const session = isEmbedded ? await embeddedSession() : ownSession();
if (session) await openChat(session);
else {
  const demo = await partOf(import("./demo.js"));
  if (demo && !await demo.showDemo(server)) await signIn(null);
}
