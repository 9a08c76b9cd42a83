// @ts-check
import { ScrollbackError } from "../model/errors.js";
import { MessageContent } from "../model/message-content.js";
import { utf8Length } from "../model/text.js";

/** @typedef {import("../model/message-content.js").Media} Media */
/** @typedef {import("../store/outbox.js").QueuedFile} QueuedFile */

/** The maximum length of a file's name in bytes of UTF-8. */
const maximumName = 255;

/**
 * Returns the content of a message that shows a file, and the file to queue with the message.
 *
 * The content leaves out the file's type. Browsers take it from the name, and the server, which takes it from the
 * bytes, would refuse another one: a JSON file is `application/json` for a browser and `text/plain` for the server.
 *
 * @param {Blob} file A file or other bytes, which have no name.
 * @param {string} type
 * @param {Partial<Media>} properties
 * @returns {Promise<{content: MessageContent, file: Omit<QueuedFile, "message">}>}
 * @throws {ScrollbackError} `invalid-parameter` if the file is none. `invalid-media` if the browser can't read the
 *   picture.
 */
export async function prepareFile(file, type, properties) {
  if (!(file instanceof Blob)) throw ScrollbackError.invalidParameter("file", "must be a File or a Blob");
  const name = properties.name ?? (file instanceof File ? nameOf(file) : null);
  const isPicture = type === "image" || type === "gif";
  const media = crypto.randomUUID();
  const content = MessageContent.media(type, {
    media,
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
