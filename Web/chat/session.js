// @ts-check

/**
 * How the page got its token, and how it gets the next one.
 *
 * @typedef {object} Session
 * @property {string} user The user of the token.
 * @property {() => string | Promise<string>} token
 * @property {string | null} store The name of a separate local store.
 * @property {boolean} isEmbedded Whether the page is embedded into another page, which has the token.
 */

const storageKey = "scrollback-chat-token";

/** Whether the page is in a frame. The server lets only its own pages and those of allowed origins embed it. */
export const isEmbedded = globalThis.parent !== globalThis.self;

/**
 * Sends a message to the embedding page.
 *
 * @param {{type: string} & Record<string, unknown>} message A message without secrets.
 */
export const notifyParent = (message) => globalThis.parent.postMessage(message, "*");

/**
 * Calls a function with each message of the embedding page.
 *
 * @param {(message: Record<string, unknown> & {type: string}) => void} listener
 */
export function onParentMessage(listener) {
  addEventListener("message", ({ source, data }) => {
    const isMessage = typeof data === "object" && data !== null && typeof data.type === "string";
    if (isEmbedded && source === globalThis.parent && isMessage) listener(data);
  });
}

/**
 * Returns the user of a token. The page does not verify the token; the server does.
 *
 * @param {string} token
 * @returns {string | null} `null` if the text is no token of a user.
 */
export function userOf(token) {
  try {
    const payload = (token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    const { sub } = JSON.parse(new TextDecoder().decode(bytes));
    return typeof sub === "string" && sub !== "" ? sub : null;
  } catch {
    return null;
  }
}

/**
 * Returns the session of an embedded page. The embedding page sends the token, and a new one whenever it is asked.
 *
 * @returns {Promise<Session>}
 */
export function embeddedSession() {
  return new Promise((resolve) => {
    /** @type {string | null} The token that was not used yet. */
    let unused = null;
    /** @type {((token: string) => void)[]} */
    let waiting = [];
    let isOpen = false;
    const token = () => {
      const known = unused;
      unused = null;
      if (known !== null) return known;
      notifyParent({ type: "scrollback-token-wanted" });
      return new Promise((/** @type {(token: string) => void} */ resolve) => waiting.push(resolve));
    };
    onParentMessage((message) => {
      if (message.type !== "scrollback-token" || typeof message["token"] !== "string") return;
      const user = userOf(message["token"]);
      if (user === null) return;
      const waited = waiting;
      waiting = [];
      if (waited.length === 0) unused = message["token"];
      for (const answer of waited) answer(message["token"]);
      if (isOpen) return;
      isOpen = true;
      const store = typeof message["store"] === "string" ? message["store"] : null;
      resolve({ user, token, store, isEmbedded: true });
    });
    notifyParent({ type: "scrollback-ready" });
  });
}

/**
 * Returns the session of a token that the address has after `#token=`, or that this tab had before a reload. Removes
 * the token from the address at once.
 *
 * @returns {Session | null}
 */
export function ownSession() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) history.replaceState(null, "", location.pathname);
  return sessionOf(given ?? sessionStorage.getItem(storageKey) ?? "");
}

/**
 * Keeps a token for this tab and returns its session.
 *
 * @param {string} token
 * @returns {Session | null} `null` if the text is no token.
 */
export function sessionOf(token) {
  const user = userOf(token);
  if (user === null) return null;
  // Only this tab can read it, and it ends with the tab (decision 50).
  sessionStorage.setItem(storageKey, token);
  return { user, token: () => token, store: null, isEmbedded: false };
}

export const forgetSession = () => sessionStorage.removeItem(storageKey);
