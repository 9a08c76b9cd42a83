// @ts-check

/** The HTTP status of each error code, and whether the same request can succeed later. */
const codes = /** @type {const} */ ({
  "malformed": [400, false],
  "invalid-token": [401, false],
  "token-expired": [401, false],
  "token-revoked": [401, false],
  "forbidden": [403, false],
  "not-member": [403, false],
  "unknown-conversation": [404, false],
  "unknown-message": [404, false],
  "unknown-user": [404, false],
  "unknown-member": [404, false],
  "unknown-media": [404, false],
  "unknown-upload": [404, false],
  "unknown-operation": [404, false],
  "method-not-allowed": [405, false],
  "timeout": [408, true],
  "conflict": [409, false],
  "epoch-changed": [409, false],
  "out-of-order": [409, false],
  "expired": [410, false],
  "too-large": [413, false],
  "media-too-large": [413, false],
  "invalid-media": [422, false],
  "unsupported-media-type": [415, false],
  "invalid-parameter": [422, false],
  "rate-limited": [429, true],
  "internal-error": [500, true],
  "unreachable": [503, true],
  "overloaded": [503, true],
  "storage-full": [503, true],
  "shutting-down": [503, true],
  "closed": [499, false],
  "cancelled": [499, false],
  "query-in-progress": [409, false],
  "persistence-disabled": [403, false],
  "local-storage": [500, false],
  "upload-failed": [500, false],
  "blocked": [403, false],
  "muted": [403, false],
  "content-rejected": [422, false],
  "room-full": [503, true],
  "feature-off": [403, false],
  "unknown-invitation": [404, false],
  "invitation-required": [403, false],
  "banned": [403, false],
  "user-deactivated": [403, false],
  "unknown-report": [404, false],
  "unknown-job": [404, false],
  "decryption-failed": [422, false],
  "push-denied": [403, false],
  "push-unavailable": [501, false],
});

/**
 * A stable kebab-case error code. Newer servers may send codes that this version does not list.
 *
 * @typedef {keyof typeof codes | (string & {})} ErrorCode
 */

/**
 * Everything about an error except its code and message.
 *
 * @typedef {object} ErrorDetails
 * @property {string | undefined} [parameter] The name of the invalid argument in the protocol or the call.
 * @property {number | undefined} [limit] The limit that was exceeded, in the unit that the message names.
 * @property {number | undefined} [retryAfter] The delay in seconds after which the client can try again.
 * @property {Date | undefined} [until] The date when the cause of the error ends by itself, for example a ban.
 * @property {string | undefined} [reason] The reason given by the user who caused the error.
 * @property {boolean | undefined} [isTemporary] Whether the same request can succeed later; follows from the code if
 *   left out.
 * @property {number | undefined} [status] The HTTP status; follows from the code if left out.
 * @property {unknown} [cause] The underlying local error.
 */

/**
 * An error as a plain object, as problem details (RFC 9457) contain it. It can be stored in IndexedDB and posted to
 * other tabs, which would reduce an `Error` to its message.
 *
 * @typedef {object} Problem
 * @property {string | undefined} [code]
 * @property {string | undefined} [detail]
 * @property {string | undefined} [parameter]
 * @property {number | undefined} [limit]
 * @property {number | undefined} [retryAfter]
 * @property {string | undefined} [until]
 * @property {string | undefined} [reason]
 * @property {boolean | undefined} [temporary]
 * @property {number | undefined} [status]
 */

/** The longest delay that a server can request, in seconds: 100 years of 365.25 days. */
const longestRequestedDelay = 3_155_760_000;

/**
 * An error of the client or the server, with a stable code and a readable message.
 *
 * The message never contains message text or tokens.
 */
export class ScrollbackError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {ErrorDetails} [details]
   */
  constructor(code, message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const known = Object.hasOwn(codes, code) ? codes[/** @type {keyof typeof codes} */ (code)] : undefined;
    this.name = "ScrollbackError";
    /**
     * The stable code to branch on.
     *
     * @type {ErrorCode}
     */
    this.code = code;
    /** The name of the invalid argument in the protocol or the call. */
    this.parameter = details.parameter;
    /** The limit that was exceeded, in the unit that the message names: bytes, elements, or messages per second. */
    this.limit = details.limit;
    /** The delay in seconds after which the client can try again. */
    this.retryAfter = details.retryAfter;
    /** The date when the cause of the error ends by itself, for example a ban. */
    this.until = details.until;
    /** The reason given by the user who caused the error, for example a moderator's reason for a ban. */
    this.reason = details.reason;
    /** Whether the same request can succeed later. */
    this.isTemporary = details.isTemporary ?? known?.[1] ?? false;
    /** The HTTP status. */
    this.status = details.status ?? known?.[0] ?? 500;
  }

  /**
   * Returns the error for an argument that has an invalid form or is out of range.
   *
   * @param {string} name
   * @param {string} reason The rest of the sentence that begins with the name.
   * @param {number} [limit]
   * @returns {ScrollbackError}
   */
  static invalidParameter(name, reason, limit) {
    return new ScrollbackError("invalid-parameter", `${name} ${reason}`, { parameter: name, limit });
  }

  /**
   * Returns an error received from the server or read from a store.
   *
   * @param {Problem} problem
   * @returns {ScrollbackError}
   */
  static from(problem) {
    const { retryAfter, status = 500 } = problem;
    const isUsable = retryAfter !== undefined && retryAfter <= longestRequestedDelay;
    return new ScrollbackError(problem.code ?? "internal-error", problem.detail ?? "The server gave no reason.", {
      parameter: problem.parameter,
      limit: problem.limit,
      retryAfter: isUsable ? Math.max(0, retryAfter) : undefined,
      until: problem.until === undefined ? undefined : new Date(problem.until),
      reason: problem.reason,
      isTemporary: problem.temporary ?? status >= 500,
      status,
    });
  }

  /**
   * Returns the error as a plain object; {@link ScrollbackError.from} reads it.
   *
   * @returns {Problem}
   */
  toJSON() {
    /** @type {Problem} */
    const problem = { code: this.code, detail: this.message, temporary: this.isTemporary, status: this.status };
    if (this.parameter !== undefined) problem.parameter = this.parameter;
    if (this.limit !== undefined) problem.limit = this.limit;
    if (this.retryAfter !== undefined) problem.retryAfter = this.retryAfter;
    if (this.until !== undefined) problem.until = this.until.toISOString();
    if (this.reason !== undefined) problem.reason = this.reason;
    return problem;
  }
}

/**
 * Returns an error of the client or the server as it is, and any other error as the cause of a new one.
 *
 * @param {unknown} error
 * @param {ErrorCode} code The code for any other error.
 * @param {string} message The message for any other error.
 */
export const asScrollbackError = (error, code, message) =>
  error instanceof ScrollbackError ? error : new ScrollbackError(code, message, { cause: error });
