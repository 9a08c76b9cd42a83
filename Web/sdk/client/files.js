// @ts-check
import { decodeObject } from "../model/decode.js";
import { ScrollbackError } from "../model/errors.js";
import { MessageContent } from "../model/message-content.js";
import { utf8Length } from "../model/text.js";
import { queuedBytes } from "../store/outbox.js";
import { parseJSON } from "../wire/frames.js";

/** @typedef {import("../model/errors.js").ErrorCode} ErrorCode */
/** @typedef {import("../model/errors.js").Problem} Problem */
/** @typedef {import("../model/message-content.js").Media} Media */
/** @typedef {import("../store/outbox.js").QueuedFile} QueuedFile */
/** @typedef {import("./core.js").Core} Core */

/** The maximum length of a file's name in bytes of UTF-8. */
const maximumName = 255;

/**
 * Returns the address of an HTTP operation.
 *
 * @param {Core} core
 * @param {string} path
 */
export const address = ({ server }, path) => new URL(path, server);

/**
 * Returns the content of a message that shows a file, and the file to queue with the message.
 *
 * @param {Blob} file A file or other bytes, which have no name.
 * @param {string} type
 * @param {Partial<Media>} properties
 * @returns {Promise<{content: MessageContent, file: Omit<QueuedFile, "message">}>}
 * @throws {ScrollbackError} `invalid-media` if the browser can't read the picture.
 */
export async function prepareFile(file, type, properties) {
  const name = properties.name ?? (file instanceof File ? nameOf(file) : null);
  const isPicture = type === "image" || type === "gif";
  const media = crypto.randomUUID();
  const content = MessageContent.media(type, {
    media,
    ...file.type === "" ? {} : { mediaType: file.type },
    ...name === null ? {} : { name },
    size: file.size,
    ...isPicture ? await sizeOf(file) : {},
    ...properties,
  });
  return { content, file: { media, type, name, blob: file, upload: null, isDone: false } };
}

/**
 * Returns the name of a file as the server accepts it. A name that is too long loses its beginning.
 *
 * @param {File} file
 * @returns {string | null} `null` if nothing remains.
 */
function nameOf({ name }) {
  const characters = [...name.toWellFormed().replace(/\p{Cc}/gu, "")];
  while (utf8Length(characters.join("")) > maximumName) characters.shift();
  return characters.join("") || null;
}

/**
 * Returns the size of a picture in pixels, as it is shown.
 *
 * @param {Blob} file
 */
async function sizeOf(file) {
  try {
    const bitmap = await createImageBitmap(file);
    const { width, height } = bitmap;
    bitmap.close();
    return { width, height };
  } catch (cause) {
    throw new ScrollbackError("invalid-media", "The browser can't read this picture. Send it as a file.", { cause });
  }
}

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
  const headers = { Authorization: `Bearer ${await core.token()}` };
  /** @param {string} path */
  const get = (path) =>
    fetch(address(core, path), { headers, signal: signal ?? null }).catch((cause) => {
      signal?.throwIfAborted();
      throw new ScrollbackError("unreachable", "The file can't be downloaded without a connection.", { cause });
    });
  const thumbnail = prefersThumbnail ? await get(`${path}/thumbnail`) : null;
  const answer = thumbnail?.ok ? thumbnail : await get(path);
  if (!answer.ok) throw errorOf(answer.status, await answer.text(), "unknown-media");
  return await answer.blob();
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
