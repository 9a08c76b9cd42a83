// @ts-check
import { ChatClient } from "../sdk/scrollback.js";
import { embeddedSession, isEmbedded, notifyParent, onParentMessage, ownSession } from "./session.js";
import { applyTheme } from "./support/settings.js";
import { errorText, locale } from "./support/text.js";

/** @typedef {import("./session.js").Session} Session */

applyTheme();
document.documentElement.lang = locale;

/** The address of the server, whose folder `chat` has this file. */
const server = new URL("..", import.meta.url);

/** @param {Session} session */
async function openChat(session) {
  const { user, token, store } = session;
  try {
    // The parts of the page load while the browser opens the store.
    const [client, { ChatApp }] = await Promise.all([
      ChatClient.open({ server, user, token, store, sharesPresence: true }),
      import("./parts/app.js"),
    ]);
    if (session.isEmbedded) connectToParent(client);
    document.body.replaceChildren(new ChatApp(client, session));
  } catch (error) {
    await signIn(errorText(error));
  }
}

/** @param {string | null} error Why the last attempt failed. */
async function signIn(error) {
  const { showSignIn } = await import("./parts/sign-in.js");
  showSignIn(error, openChat);
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
else if (!await (await import("./demo.js")).showDemo(server)) await signIn(null);
