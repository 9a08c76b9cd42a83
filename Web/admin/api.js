// Requests to the server. The token is in memory only and ends with the page.

/** An error that the server answered (RFC 9457), or that the request failed on the way. */
export class APIError extends Error {
  /**
   * @param {{ code: string, detail: string, parameter?: string, status?: number }} problem
   */
  constructor(problem) {
    super(problem.detail);
    this.name = "APIError";
    this.code = problem.code;
    /** The name of the invalid argument, such as `webhooks.before.url`. */
    this.parameter = problem.parameter;
    this.status = problem.status;
  }
}

/**
 * @typedef {object} RequestOptions
 * @property {Record<string, string | number | null | undefined>} [query] Empty values are left out.
 * @property {unknown} [body] A value that is sent as JSON.
 * @property {AbortSignal} [signal]
 */

/**
 * The connection to the server with the token of an administrator.
 *
 * Sends the event `end` when the server refuses the token.
 */
export class AdminAPI extends EventTarget {
  /** How long a session lasts, in seconds. */
  static get lifetime() {
    return 3600;
  }
  /** @type {string | null} */
  #token = null;
  /** The administrator's user name. */
  user = "";

  get isSignedIn() {
    return this.#token !== null;
  }

  /**
   * Exchanges the admin key for a token that lasts an hour. The page does not keep the key.
   *
   * @param {string} key
   */
  async signIn(key) {
    // Header fields have no other characters, and `fetch` would fail without a useful reason.
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new APIError({ code: "invalid-token", detail: "The key has spaces or characters that no key has." });
    }
    const { user } = /** @type {{ user: string }} */ (await json(await send("GET", "/v1/me", key)));
    const body = { user, expiresIn: AdminAPI.lifetime, scopes: ["admin"] };
    const { token } = /** @type {{ token: string }} */ (await json(await send("POST", "/v1/tokens", key, { body })));
    this.#token = token;
    this.user = user;
  }

  signOut() {
    this.#token = null;
  }

  /**
   * @template Answer
   * @param {string} path
   * @param {RequestOptions} [options]
   * @returns {Promise<Answer>}
   */
  async get(path, options) {
    return /** @type {Answer} */ (await json(await this.#send("GET", path, options)));
  }

  /**
   * @template Answer
   * @param {"PUT" | "POST" | "DELETE"} method
   * @param {string} path
   * @param {RequestOptions} [options]
   * @returns {Promise<Answer>}
   */
  async change(method, path, options) {
    return /** @type {Answer} */ (await json(await this.#send(method, path, options)));
  }

  /**
   * Gets a body that is not JSON.
   *
   * @param {string} path
   * @param {RequestOptions} [options]
   */
  response(path, options) {
    return this.#send("GET", path, options);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} [options]
   */
  async #send(method, path, options) {
    const token = this.#token;
    if (token === null) throw new APIError({ code: "invalid-token", detail: "You are signed out.", status: 401 });
    try {
      return await send(method, path, token, options);
    } catch (error) {
      const isOver = error instanceof APIError && error.status === 401;
      if (isOver && this.#token === token) {
        this.#token = null;
        this.dispatchEvent(new Event("end"));
      }
      throw error;
    }
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {string} token
 * @param {RequestOptions} [options]
 */
async function send(method, path, token, { query = {}, body, signal } = {}) {
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)]));
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${token}` };
  /** @type {RequestInit} */
  const request = { method, headers, cache: "no-store", credentials: "omit", redirect: "error" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  if (signal) request.signal = signal;
  let response;
  try {
    response = await fetch(search.size > 0 ? `${path}?${search}` : path, request);
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = "The server can't be reached. Check that it runs and that you are online, and try again.";
    throw new APIError({ code: "unreachable", detail });
  }
  if (!response.ok) throw await problem(response);
  return response;
}

/** @param {Response} response */
async function json(response) {
  const text = await response.text();
  return text === "" ? {} : JSON.parse(text);
}

/** @param {Response} response */
async function problem(response) {
  try {
    const { code, detail, parameter } = await response.json();
    if (typeof code === "string" && typeof detail === "string") {
      return new APIError({ code, detail, parameter, status: response.status });
    }
  } catch {
    // The answer is not from the server, but from a proxy before it.
  }
  const detail = `The server, or a proxy before it, answered with status ${response.status}. Try again later.`;
  return new APIError({ code: "unknown", detail, status: response.status });
}

/** @param {string} name A user or a conversation. */
export const segment = (name) => encodeURIComponent(name);
