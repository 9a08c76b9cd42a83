// @ts-check
import { decodeCounter, decodeObject, decodeText } from "../model/decode.js";
import { ScrollbackError } from "../model/errors.js";
import { MessageContent } from "../model/message-content.js";
import { parseJSON } from "../wire/json.js";

/** @typedef {import("../model/errors.js").Problem} Problem */
/** @typedef {import("./core.js").Core} Core */

/**
 * The options of an upload.
 *
 * @typedef {object} UploadOptions
 * @property {string} [type] `image`, `gif`, `file` (the default), `voice` or `video`.
 * @property {AbortSignal} [signal]
 * @property {(part: number) => void} [onProgress] Called with the transmitted part of the file, 0...1.
 */

/** The maximum length of a file's name in UTF-16 code units, which 255 bytes of UTF-8 always hold. */
const maximumName = 85;

/**
 * Returns the address of an HTTP operation.
 *
 * @param {Core} core
 * @param {string} path
 */
function address({ server }, path) {
  return new URL(path, server.href.endsWith("/") ? server : `${server.href}/`);
}

/**
 * Uploads a file and returns the content of a message that shows it.
 *
 * @param {Core} core
 * @param {string} conversation
 * @param {File} file
 * @param {UploadOptions} options
 * @returns {Promise<MessageContent>}
 */
export async function upload(core, conversation, file, { type = "file", signal, onProgress = () => {} }) {
  signal?.throwIfAborted();
  const url = address(core, "v1/media");
  url.search = new URLSearchParams({
    conversation,
    type,
    name: file.name.slice(-maximumName),
    id: crypto.randomUUID(),
  }).toString();
  const { status, text } = await post(url, await core.token(), file, signal, onProgress);
  if (status !== 200 && status !== 201) throw errorOf(status, text);
  const json = decodeObject(parseJSON(text), "media");
  const optional = (/** @type {string} */ name) =>
    json[name] === undefined ? {} : { [name]: decodeCounter(json, name) };
  return MessageContent.media(type, {
    media: decodeText(json, "media"),
    mediaType: decodeText(json, "mediaType"),
    ...json["name"] === undefined ? {} : { name: decodeText(json, "name") },
    ...optional("size"),
    ...optional("width"),
    ...optional("height"),
  });
}

/**
 * Sends a file. `fetch` reports no progress of a request, so this uses `XMLHttpRequest`.
 *
 * @param {URL} url
 * @param {string} token
 * @param {File} file
 * @param {AbortSignal | undefined} signal
 * @param {(part: number) => void} onProgress
 * @returns {Promise<{status: number, text: string}>}
 */
function post(url, token, file, signal, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    request.onload = () => resolve({ status: request.status, text: request.responseText });
    request.onerror = () => reject(new ScrollbackError("unreachable", "The upload was interrupted."));
    request.onabort = () => reject(signal?.reason);
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}

/**
 * Downloads a file, or its thumbnail if it has one.
 *
 * @param {Core} core
 * @param {string} id
 * @param {{prefersThumbnail?: boolean, signal?: AbortSignal}} options
 * @returns {Promise<Blob>}
 */
export async function download(core, id, { prefersThumbnail = false, signal }) {
  const path = `v1/media/${encodeURIComponent(id)}`;
  const headers = { Authorization: `Bearer ${await core.token()}` };
  /** @param {string} path */
  const get = (path) =>
    fetch(address(core, path), { headers, signal: signal ?? null }).catch((cause) => {
      signal?.throwIfAborted();
      throw new ScrollbackError("unreachable", "The file can't be downloaded without a connection.", { cause });
    });
  const thumbnail = prefersThumbnail ? await get(`${path}/thumbnail`) : null;
  const answer = thumbnail?.ok ? thumbnail : await get(path);
  if (!answer.ok) throw errorOf(answer.status, await answer.text());
  return await answer.blob();
}

/**
 * @param {number} status
 * @param {string} text
 */
function errorOf(status, text) {
  /** @type {Problem} */
  let problem = { status };
  try {
    problem = { ...decodeObject(parseJSON(text), "problem"), status };
  } catch {
    // A proxy sent the answer, so that only the status is known.
  }
  return ScrollbackError.from(problem);
}
