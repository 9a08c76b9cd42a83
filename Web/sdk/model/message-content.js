// @ts-check
import { ScrollbackError } from "./errors.js";
import { isMediaType, messageType } from "./message-type.js";
import { utf8Length } from "./text.js";

/** @typedef {import("./message-id.js").MediaID} MediaID */
/** @typedef {import("./message-id.js").MessageID} MessageID */
/** @typedef {import("./message-type.js").MessageType} MessageType */
/** @typedef {import("./message.js").Message} Message */
/** @typedef {import("./text.js").UserID} UserID */

/**
 * A JSON object of the application.
 *
 * @typedef {Readonly<Record<string, unknown>>} JSONObject
 */

/**
 * Text about another message, with a copy of that message, which does not change with it.
 *
 * @typedef {object} Quote
 * @property {string} text The text about the quoted message.
 * @property {MessageID} id
 * @property {UserID} sender
 * @property {MessageContent} content
 */

/**
 * A geographic location.
 *
 * @typedef {object} Location
 * @property {number} latitude The latitude in degrees north, -90...90 (WGS 84).
 * @property {number} longitude The longitude in degrees east, -180...180.
 * @property {string | undefined} [name] The name of the place, at most 1 KiB of UTF-8.
 */

/**
 * A preview of a web page to which a text links, so that readers can show it without a request to the page.
 *
 * Show the host of the link beside the title, because the sender can write any title.
 *
 * @typedef {object} LinkPreview
 * @property {string} url The link as it stands in the text: an `http` or `https` URL of at most 2,048 bytes.
 * @property {string} title The title of the page, 1...256 bytes of UTF-8.
 * @property {string | undefined} [description] The description of the page, 1...1,024 bytes of UTF-8.
 * @property {string | undefined} [site] The name of the website, 1...128 bytes of UTF-8.
 * @property {string | undefined} [picture] A JPEG file of at most 12,288 bytes, in base64.
 */

/**
 * A question with options that users vote for.
 *
 * @typedef {object} Poll
 * @property {string} question The question, 1...1,024 bytes of UTF-8.
 * @property {readonly string[]} options The 2...20 options, each 1...256 bytes of UTF-8.
 * @property {boolean} [allowsSeveralVotes] Whether a user can vote for several options.
 * @property {boolean} [isClosed] Whether the poll is closed, so that votes are final.
 */

/**
 * The file of a message: its location and its properties. It has either `media` or `url`.
 *
 * @typedef {object} Media
 * @property {MediaID | undefined} [media] The ID of a file on this server.
 * @property {string | undefined} [url] An `http` or `https` URL on another server.
 * @property {string | undefined} [name] The file name, at most 255 bytes of UTF-8.
 * @property {string | undefined} [mediaType] The media type (RFC 6838), such as `image/jpeg`.
 * @property {number | undefined} [size] The size in bytes.
 * @property {number | undefined} [width] The width of an image or a video in pixels.
 * @property {number | undefined} [height] The height of an image or a video in pixels.
 * @property {number | undefined} [duration] The duration of a voice message or a video in seconds.
 * @property {{ width: number, height: number } | undefined} [thumbnail] The size of the thumbnail, if there is one.
 */

/**
 * The content of a message: a type and a JSON object.
 *
 * Content of unknown types keeps its members, so messages of newer apps can be shown and quoted by older ones.
 */
export class MessageContent {
  /**
   * @param {MessageType} type The type, which determines the message's traits and the required members.
   * @param {JSONObject} json The content as it was sent. The class does not check it; the server does.
   */
  constructor(type, json) {
    this.type = type;
    this.json = json;
  }

  /**
   * Returns plain text content.
   *
   * @param {string} text
   * @param {{ preview?: LinkPreview | undefined }} [options] The preview of a page to which the text links.
   */
  static text(text, { preview } = {}) {
    return new MessageContent("text", preview === undefined ? { text } : { text, linkPreview: { ...preview } });
  }

  /**
   * Returns content of an application-defined type.
   *
   * @param {MessageType} type A name that starts with `app:` or is in reverse-DNS form.
   * @param {JSONObject} json
   * @throws {ScrollbackError} `invalid-parameter` if the name of the type is invalid.
   */
  static custom(type, json) {
    return new MessageContent(messageType(type), json);
  }

  /**
   * Returns the content for a location.
   *
   * @param {Location} location
   * @throws {ScrollbackError} `invalid-parameter` if a coordinate or the name is out of range.
   */
  static location({ latitude, longitude, name }) {
    if (!(Math.abs(latitude) <= 90)) throw ScrollbackError.invalidParameter("latitude", "must be in -90.0...90.0");
    if (!(Math.abs(longitude) <= 180)) throw ScrollbackError.invalidParameter("longitude", "must be in -180.0...180.0");
    if (name === undefined) return new MessageContent("location", { latitude, longitude });
    checkLength("name", "of a location must be", name, 0, 1024);
    return new MessageContent("location", { latitude, longitude, name });
  }

  /**
   * Returns the content for a poll.
   *
   * @param {Poll} poll
   * @throws {ScrollbackError} `invalid-parameter` if the question, the number of options or an option is out of range.
   */
  static poll({ question, options, allowsSeveralVotes = false, isClosed = false }) {
    checkLength("text", "of a poll must be", question, 1, 1024);
    if (options.length < 2 || options.length > 20) {
      throw ScrollbackError.invalidParameter("options", "of a poll must be 2...20 texts", 20);
    }
    for (const option of options) checkLength("options", "of a poll must each be", option, 1, 256);
    const json = { text: question, options: [...options] };
    return new MessageContent("poll", {
      ...json,
      ...(allowsSeveralVotes ? { several: true } : {}),
      ...(isClosed ? { closed: true } : {}),
    });
  }

  /**
   * Returns the content of a command, which is not stored and reaches only users who are connected at the moment.
   *
   * @param {string} name 1...128 bytes of UTF-8.
   * @param {unknown} [data] The arguments of the command.
   * @throws {ScrollbackError} `invalid-parameter` if the name is empty or longer than 128 bytes.
   */
  static command(name, data) {
    checkLength("name", "of a command must be", name, 1, 128);
    return new MessageContent("command", data === undefined ? { name } : { name, data });
  }

  /**
   * Returns the content for a file.
   *
   * @param {MessageType} type `image`, `gif`, `file`, `voice` or `video`.
   * @param {Media} media
   * @throws {ScrollbackError} `invalid-parameter` if the type is no file type, or the location is missing.
   */
  static media(type, media) {
    if (!isMediaType(type)) throw ScrollbackError.invalidParameter("type", `${type} is not the type of a file`);
    if ((media.media === undefined) === (media.url === undefined)) {
      const reason = "must have either media or url if its type is a file type";
      throw ScrollbackError.invalidParameter("content", reason);
    }
    return new MessageContent(type, { ...media });
  }

  /**
   * Returns content that quotes a message. A quote of a quote copies only the inner text, so that copies don't grow.
   *
   * @param {string} text
   * @param {Message} message
   * @throws {ScrollbackError} `invalid-parameter` if the message was recalled or deleted, or if it is encrypted.
   */
  static reference(text, message) {
    if (message.content === null) {
      throw ScrollbackError.invalidParameter("to", "was recalled or deleted and has no content to quote");
    }
    if ("encrypted" in message.content.json) {
      throw ScrollbackError.invalidParameter("to", "can't be decrypted here and so can't be quoted");
    }
    const quote = message.content.quote;
    const inner = quote === null ? message.content : MessageContent.text(quote.text);
    return new MessageContent("reference", {
      text,
      message: { id: message.id, sender: message.sender, type: inner.type, content: inner.json },
    });
  }

  /** The `text` member of the content, which the types `text`, `reference` and `poll` always have. */
  get text() {
    return textMember(this.json, "text");
  }

  /**
   * The quote, if the content is one.
   *
   * @returns {Quote | null}
   */
  get quote() {
    const { text } = this;
    const message = this.type === "reference" ? objectMember(this.json, "message") : null;
    if (text === null || message === null) return null;
    const [id, sender] = [textMember(message, "id"), textMember(message, "sender")];
    const [type, content] = [textMember(message, "type"), objectMember(message, "content")];
    if (id === null || sender === null || type === null || content === null) return null;
    return { text, id, sender, content: new MessageContent(type, content) };
  }

  /**
   * The preview of a link, if the content is a text with one.
   *
   * @returns {LinkPreview | null}
   */
  get linkPreview() {
    const preview = this.type === "text" ? objectMember(this.json, "linkPreview") : null;
    const [url, title] = preview === null ? [null, null] : [textMember(preview, "url"), textMember(preview, "title")];
    if (preview === null || url === null || title === null) return null;
    /** @type {LinkPreview} */
    const read = { url, title };
    for (const name of /** @type {const} */ (["description", "site", "picture"])) {
      const text = textMember(preview, name);
      if (text !== null) read[name] = text;
    }
    return read;
  }

  /**
   * The poll, if the content is one.
   *
   * @returns {Required<Poll> | null}
   */
  get poll() {
    const { text, json } = this;
    const options = this.type === "poll" ? json["options"] : null;
    if (text === null || !Array.isArray(options) || options.some((option) => typeof option !== "string")) return null;
    return {
      question: text,
      options,
      allowsSeveralVotes: json["several"] === true,
      isClosed: json["closed"] === true,
    };
  }

  /**
   * The location, if the content is one.
   *
   * @returns {Location | null}
   */
  get location() {
    const { latitude, longitude } = this.json;
    if (this.type !== "location" || typeof latitude !== "number" || typeof longitude !== "number") return null;
    const name = textMember(this.json, "name");
    return name === null ? { latitude, longitude } : { latitude, longitude, name };
  }

  /**
   * The file, if the content is of a file type.
   *
   * @returns {Media | null}
   */
  get media() {
    return isMediaType(this.type) ? /** @type {Media} */ (this.json) : null;
  }
}

/**
 * @param {string} parameter
 * @param {string} start
 * @param {string} text
 * @param {number} lower
 * @param {number} upper
 */
function checkLength(parameter, start, text, lower, upper) {
  const length = typeof text === "string" ? utf8Length(text) : -1;
  if (length >= lower && length <= upper) return;
  throw ScrollbackError.invalidParameter(parameter, `${start} ${lower}...${upper} bytes of UTF-8`, upper);
}

/**
 * @param {JSONObject} json
 * @param {string} name
 */
function textMember(json, name) {
  const value = json[name];
  return typeof value === "string" ? value : null;
}

/**
 * @param {JSONObject} json
 * @param {string} name
 * @returns {JSONObject | null}
 */
function objectMember(json, name) {
  const value = json[name];
  return typeof value === "object" && value !== null ? /** @type {JSONObject} */ (value) : null;
}
