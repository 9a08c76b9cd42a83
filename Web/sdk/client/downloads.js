// @ts-check
import { decodeObject } from "../model/decode.js";
import { asScrollbackError, ScrollbackError } from "../model/errors.js";
import { queuedBytes } from "../store/outbox.js";
import { parseJSON } from "../wire/json.js";
import { abortable } from "./core.js";

/** @typedef {import("../model/errors.js").ErrorCode} ErrorCode */
/** @typedef {import("../model/errors.js").Problem} Problem */
/** @typedef {import("./core.js").Core} Core */

/**
 * Returns the address of an HTTP operation.
 *
 * @param {Core} core
 * @param {string} path
 */
export const address = ({ server }, path) => new URL(path, server);

/**
 * Downloads a file, or its thumbnail if it has one. The file of a queued message comes from the store.
 *
 * @param {Core} core
 * @param {string} id
 * @param {{prefersThumbnail?: boolean, signal?: AbortSignal}} options
 * @returns {Promise<Blob>}
 */
export async function download(core, id, { prefersThumbnail = false, signal }) {
  const queued = await core.store.read((transaction) => queuedBytes(transaction, id));
  if (queued) return queued;
  const path = `v1/media/${encodeURIComponent(id)}`;
  try {
    const headers = { Authorization: `Bearer ${await abortable(core.token(), signal)}` };
    /** @param {string} path */
    const get = (path) => fetch(address(core, path), { headers, signal: signal ?? null });
    const thumbnail = prefersThumbnail ? await get(`${path}/thumbnail`) : null;
    const answer = thumbnail?.ok ? thumbnail : await get(path);
    if (!answer.ok) throw errorOf(answer.status, await answer.text(), "unknown-media");
    return await answer.blob();
  } catch (error) {
    signal?.throwIfAborted();
    // The network failed, also after a part of the file, or the app's function for tokens did.
    throw asScrollbackError(error, "unreachable", "The file can't be downloaded without a connection and a token.");
  }
}

/** The codes of answers without a problem, which a proxy sent or which answer `HEAD`. */
const codes = /** @type {Record<number, ErrorCode | undefined>} */ ({
  401: "invalid-token",
  403: "forbidden",
  408: "timeout",
  409: "conflict",
  413: "media-too-large",
  416: "conflict",
  429: "rate-limited",
});

/**
 * Returns the error of an HTTP answer.
 *
 * @param {number} status
 * @param {string} text
 * @param {ErrorCode} missing The code for a resource that does not exist.
 */
export function errorOf(status, text, missing) {
  /** @type {Problem} */
  let problem = {};
  try {
    problem = decodeObject(parseJSON(text), "problem");
  } catch {
    // The answer has no problem.
  }
  if (problem.code !== undefined && status !== 416) return ScrollbackError.from({ ...problem, status });
  const code = status === 404 || status === 410
    ? missing
    : codes[status] ?? (status >= 500 ? "unreachable" : "forbidden");
  return new ScrollbackError(code, `The server answered with the status ${status}.`, {
    status,
    isTemporary: status === 408 || status === 429 || status >= 500,
  });
}
