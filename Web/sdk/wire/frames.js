// @ts-check
import { ConversationID } from "../model/conversation-id.js";
import {
  decodeChange,
  decodeCounter,
  decodeList,
  decodeMessage,
  decodeObject,
  decodeRanges,
  decodeSummary,
  decodeText,
  decodeTransientMessage,
  isStoredMessage,
  optional,
} from "../model/decode.js";
import { ScrollbackError } from "../model/errors.js";
import { epoch, timetoken } from "../model/timetoken.js";
import { encodeJSON, parseJSON } from "./json.js";
import { decodeDraft, decodeThreadState } from "./requests.js";

/** @typedef {import("../model/conversation-head.js").ReadSummary} ReadSummary */
/** @typedef {import("../model/log.js").LogChange} LogChange */
/** @typedef {import("../model/message-content.js").JSONObject} JSONObject */
/** @typedef {import("../model/message.js").Message} Message */
/** @typedef {import("../model/message.js").TransientMessage} TransientMessage */
/** @typedef {import("../model/seq-range-set.js").SeqRange} SeqRange */
/** @typedef {import("./requests.js").SyncedDraft} SyncedDraft */
/** @typedef {import("./requests.js").ThreadState} ThreadState */

/**
 * A profile of a user.
 *
 * @typedef {object} UserProfile
 * @property {string} user
 * @property {string | null} name
 * @property {string | null} avatar
 * @property {JSONObject | null} metadata
 */

/**
 * A user's presence, as far as the caller may know it.
 *
 * @typedef {object} Presence
 * @property {string} user
 * @property {boolean} isOnline
 * @property {Date | null} lastSeen
 */

/**
 * The first answer of the server.
 *
 * @typedef {object} Welcome
 * @property {string} user The user of the token.
 * @property {number} heartbeat The time between two heartbeats in seconds.
 * @property {string | null} lineage The identity of the store that issues the connection's checkpoints.
 * @property {string | null} lostAfter The time after which messages may be lost, if the store went back to an earlier
 *   state.
 */

/**
 * An event of the server. `message`, `changed`, `head` and `hidden` change a log.
 *
 * @typedef {{type: "message", message: Message}
 *   | {type: "transient", message: TransientMessage}
 *   | {type: "changed", conversation: string, epoch: string, change: LogChange}
 *   | {type: "head", conversation: string, epoch: string, seq: number, countedIndex: number, rev: number,
 *      firstSeq: number | null, last: Message | null, altersCounts: boolean}
 *   | {type: "hidden", conversation: string, epoch: string, ranges: readonly SeqRange[]}
 *   | {type: "read", conversation: string, summary: ReadSummary}
 *   | {type: "reads", reads: {conversation: string, summary: ReadSummary}[]}
 *   | {type: "draft", draft: SyncedDraft}
 *   | {type: "thread", conversation: string, state: ThreadState}
 *   | {type: "peerRead", conversation: string, user: string, seq: number}
 *   | {type: "delivered", conversation: string, user: string, seq: number}
 *   | {type: "conversation", conversation: string, isDeleted: boolean}
 *   | {type: "member", conversation: string, user: string, role: string | null}
 *   | {type: "typing", conversation: string, user: string, isTyping: boolean}
 *   | {type: "user", profile: UserProfile}
 *   | {type: "invitation", conversation: string, isEnded: boolean}
 *   | {type: "presence", presence: Presence}
 *   | {type: "resync"}} ServerEvent
 */

/**
 * A frame of the server. The body of a result has the members of the answer.
 *
 * @typedef {{type: "welcome", welcome: Welcome}
 *   | {type: "result", ref: number, body: JSONObject}
 *   | {type: "error", ref: number | null, error: ScrollbackError}
 *   | {type: "event", event: ServerEvent}
 *   | {type: "moving", within: number}
 *   | {type: "unknown"}} ServerFrame
 */

/**
 * A request: the type of its frame, and its members.
 *
 * @typedef {{type: string} & Record<string, unknown>} FrameRequest
 */

/**
 * Returns the text of a request's frame.
 *
 * @param {FrameRequest} request
 * @param {number} ref The number that the answer carries.
 */
export const requestFrame = ({ type, ...members }, ref) => encodeJSON({ type, ref, ...members });

/**
 * Returns the text of a client's first frame.
 *
 * @param {{token: string, device: string, checkpoint: string | null, sharesPresence: boolean, isActive: boolean}} hello
 */
export function helloFrame({ token, device, checkpoint, sharesPresence, isActive }) {
  return encodeJSON({
    type: "hello",
    token,
    device,
    checkpoint: checkpoint ?? undefined,
    presence: sharesPresence || undefined,
    active: isActive ? undefined : false,
  });
}

/**
 * Reads a frame of the server.
 *
 * @param {string} text
 * @returns {{frame: ServerFrame, checkpoint: string | null}} The frame, and the checkpoint that it carries.
 * @throws {ScrollbackError} `invalid-parameter` or `malformed` if the frame can't be read.
 */
export function decodeFrame(text) {
  let parsed;
  try {
    parsed = parseJSON(text);
  } catch (cause) {
    throw new ScrollbackError("malformed", "The server sent a frame that is not JSON.", { cause });
  }
  const json = decodeObject(parsed, "frame");
  const checkpoint = textOrNull(json, "checkpoint");
  return { frame: frame(decodeText(json, "type"), json), checkpoint };
}

/**
 * @param {JSONObject} json
 * @param {string} name
 */
const textOrNull = (json, name) => optional(json, name, decodeText);

/** @param {JSONObject} json */
const conversation = (json) => ConversationID.parse(decodeText(json, "conversation"));

/**
 * The time between two heartbeats in seconds. Timers of browsers fire at once after 2,147,483 seconds.
 *
 * @param {JSONObject} json
 */
function decodeHeartbeat(json) {
  const seconds = decodeCounter(json, "heartbeat");
  if (seconds < 1 || seconds > 86_400) throw ScrollbackError.invalidParameter("heartbeat", "must be in 1...86400");
  return seconds;
}

/**
 * @param {string} type
 * @param {JSONObject} json
 * @returns {ServerFrame}
 */
function frame(type, json) {
  switch (type) {
    case "welcome": {
      const lostAfter = textOrNull(json, "lostAfter");
      return {
        type,
        welcome: {
          user: decodeText(json, "user"),
          heartbeat: json["heartbeat"] === undefined ? 30 : decodeHeartbeat(json),
          lineage: textOrNull(json, "lineage"),
          lostAfter: lostAfter === null ? null : timetoken(lostAfter, "lostAfter"),
        },
      };
    }
    case "result":
      return { type, ref: decodeCounter(json, "ref"), body: json };
    case "error": {
      const ref = json["ref"] === undefined ? null : decodeCounter(json, "ref");
      return { type, ref, error: ScrollbackError.from(json) };
    }
    case "moving":
      return { type, within: decodeCounter(json, "within") };
    default: {
      const event = decodeEvent(type, json);
      return event === null ? { type: "unknown" } : { type: "event", event };
    }
  }
}

/**
 * @param {string} type
 * @param {JSONObject} json
 * @returns {ServerEvent | null} `null` if this version does not know the type.
 */
function decodeEvent(type, json) {
  switch (type) {
    case "message": {
      const message = decodeObject(json["message"], "message");
      return isStoredMessage(message)
        ? { type, message: decodeMessage(message) }
        : { type: "transient", message: decodeTransientMessage(message) };
    }
    case "changed":
      return {
        type,
        conversation: conversation(json),
        epoch: epoch(decodeText(json, "epoch")),
        change: decodeChange(json["change"]),
      };
    case "head":
      return {
        type,
        conversation: conversation(json),
        epoch: epoch(decodeText(json, "epoch")),
        seq: decodeCounter(json, "seq"),
        countedIndex: decodeCounter(json, "n"),
        rev: decodeCounter(json, "rev"),
        firstSeq: json["firstSeq"] === undefined ? null : decodeCounter(json, "firstSeq"),
        last: json["lastMessage"] === undefined ? null : decodeMessage(json["lastMessage"]),
        altersCounts: json["altersCounts"] === true,
      };
    case "hidden":
      return {
        type,
        conversation: conversation(json),
        epoch: epoch(decodeText(json, "epoch")),
        ranges: decodeRanges(json, "places").ranges,
      };
    case "read":
      if (json["user"] === undefined) return { type, conversation: conversation(json), summary: decodeSummary(json) };
      return {
        type: "peerRead",
        conversation: conversation(json),
        user: decodeText(json, "user"),
        seq: decodeCounter(json, "readSeq"),
      };
    case "reads":
      return {
        type,
        reads: decodeList(json["reads"], "reads", (read) => {
          const json = decodeObject(read, "reads");
          return { conversation: conversation(json), summary: decodeSummary(json) };
        }),
      };
    case "delivered":
      return {
        type,
        conversation: conversation(json),
        user: decodeText(json, "user"),
        seq: decodeCounter(json, "deliveredSeq"),
      };
    case "draft": {
      const draft = decodeDraft(json);
      return draft && { type, draft };
    }
    case "thread":
      return { type, conversation: conversation(json), state: decodeThreadState(json) };
    case "conversation":
      return { type, conversation: conversation(json), isDeleted: json["deleted"] === true };
    case "member": {
      const role = decodeText(json, "role");
      return {
        type,
        conversation: conversation(json),
        user: decodeText(json, "user"),
        role: role === "none" ? null : role,
      };
    }
    case "typing":
      return {
        type,
        conversation: conversation(json),
        user: decodeText(json, "user"),
        isTyping: json["isTyping"] === true,
      };
    case "user":
      return { type, profile: decodeProfile(json["profile"]) };
    case "invitation":
      return { type, conversation: conversation(json), isEnded: json["ended"] === true };
    case "presence":
      return { type, presence: decodePresence(json) };
    case "resync":
      return { type };
    default:
      return null;
  }
}

/**
 * @param {unknown} value
 * @returns {UserProfile}
 */
export function decodeProfile(value) {
  const json = decodeObject(value, "profile");
  const metadata = json["metadata"];
  return {
    user: decodeText(json, "user"),
    name: textOrNull(json, "name"),
    avatar: textOrNull(json, "avatar"),
    metadata: metadata === undefined || metadata === null ? null : decodeObject(metadata, "metadata"),
  };
}

/**
 * @param {unknown} value
 * @returns {Presence}
 */
export function decodePresence(value) {
  const json = decodeObject(value, "presence");
  const lastSeen = textOrNull(json, "lastSeen");
  return {
    user: decodeText(json, "user"),
    isOnline: json["online"] === true,
    lastSeen: lastSeen === null ? null : new Date(lastSeen),
  };
}
