// @ts-check
import { conversationKinds, conversationTraits } from "./conversation-kind.js";
import { ScrollbackError } from "./errors.js";
import { compareText, identifier } from "./text.js";

/** @typedef {import("./conversation-kind.js").ConversationKind} ConversationKind */
/** @typedef {import("./conversation-kind.js").ConversationTraits} ConversationTraits */
/** @typedef {import("./text.js").UserID} UserID */

/**
 * The ID of a conversation in its text form: `direct:bob`, `group:swift`, `community:city/general`, `room:lobby`,
 * `system:billing`.
 *
 * A member identifies a direct conversation by the peer and a system conversation by the service. Administrators and
 * webhooks use the absolute forms `direct:alice/bob` (sorted by bytes) and `system:alice/billing` (receiver first).
 *
 * The functions of {@link ConversationID} return the only text form of an ID, so that equal IDs are equal with `===`
 * and can be keys. Parse texts from outside with {@link ConversationID.parse} before you use them.
 *
 * @typedef {string} ConversationID
 */

/**
 * The parts of an ID, without escapes.
 *
 * @typedef {object} ConversationParts
 * @property {ConversationKind} kind
 * @property {string} target The peer, group, community, room or service; in an absolute form, the first user.
 * @property {string | null} part The channel of a community; in an absolute form, the other user or the service.
 */

const defaultChannel = "default";

/** @type {Readonly<Record<string, string>>} */
const escapes = { "%": "%25", "/": "%2F", ":": "%3A" };

/** @param {string} name */
const escape = (name) => name.replaceAll(/[%/:]/g, (character) => escapes[character] ?? character);

/**
 * @param {ConversationKind} kind
 * @param {string} target
 * @param {string | null} [part]
 * @returns {ConversationID}
 */
const make = (kind, target, part = null) => `${kind}:${escape(target)}${part === null ? "" : `/${escape(part)}`}`;

/**
 * @param {string} part
 * @param {string} parameter
 */
function unescape(part, parameter) {
  if (part.includes(":")) {
    throw ScrollbackError.invalidParameter(parameter, "has a : inside a name; escape it as %3A");
  }
  return part.replaceAll(/%(.{0,2})/gsu, (_, code) => {
    switch (code) {
      case "25":
        return "%";
      case "2F":
      case "2f":
        return "/";
      case "3A":
      case "3a":
        return ":";
      default: {
        const reason = "has a % that is not %25, %2F or %3A; escape it as %25";
        throw ScrollbackError.invalidParameter(parameter, reason);
      }
    }
  });
}

/**
 * @param {string} text
 * @returns {string}
 */
const known = (text) => text.replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%25", "%");

/** Functions that create, parse and read the IDs of conversations. */
export const ConversationID = Object.freeze({
  /** The channel that receives messages sent to a community without a channel. */
  defaultChannel,

  /**
   * Parses the text form.
   *
   * @param {string} text
   * @param {string} [parameter]
   * @returns {ConversationID}
   * @throws {ScrollbackError} `invalid-parameter` if the kind is unknown, a part is missing or not an identifier, or an
   *   escape is not one of `%25`, `%2F` and `%3A`.
   */
  parse(text, parameter = "conversation") {
    const colon = typeof text === "string" ? text.indexOf(":") : -1;
    if (colon < 0) throw ScrollbackError.invalidParameter(parameter, "must be KIND:NAME, for example group:swift");
    const kind = conversationKinds.find((kind) => kind === text.slice(0, colon));
    if (kind === undefined) {
      const reason = `must begin with one of ${conversationKinds.join(", ")}, followed by a colon`;
      throw ScrollbackError.invalidParameter(parameter, reason);
    }
    const names = text.slice(colon + 1).split("/").map((name) => identifier(unescape(name, parameter), parameter));
    const [target, part = null] = names;
    if (target === undefined || names.length > 2 || (part !== null && !conversationTraits[kind].hasTwoPartNames)) {
      throw ScrollbackError.invalidParameter(parameter, "has too many parts; escape a / inside a name as %2F");
    }
    return kind === "direct" && part !== null ? ConversationID.directBetween(target, part) : make(kind, target, part);
  },

  /**
   * Returns the direct conversation with a peer, as its member identifies it. The user's own ID is a valid peer.
   *
   * @param {UserID} peer
   * @returns {ConversationID}
   */
  direct: (peer) => make("direct", identifier(peer, "peer")),

  /**
   * Returns the group with a name.
   *
   * @param {string} name
   * @returns {ConversationID}
   */
  group: (name) => make("group", identifier(name, "name")),

  /**
   * Returns the room with a name.
   *
   * @param {string} name
   * @returns {ConversationID}
   */
  room: (name) => make("room", identifier(name, "name")),

  /**
   * Returns the conversation in which a service sends to the current user.
   *
   * @param {UserID} service
   * @returns {ConversationID}
   */
  system: (service) => make("system", identifier(service, "service")),

  /**
   * Returns a channel of a community; without a channel, the community itself for members, roles and settings.
   *
   * @param {string} name
   * @param {string} [channel]
   * @returns {ConversationID}
   */
  community: (name, channel) =>
    make("community", identifier(name, "name"), channel === undefined ? null : identifier(channel, "channel")),

  /**
   * Returns the absolute ID of the direct conversation of two users.
   *
   * @param {UserID} a
   * @param {UserID} b
   * @returns {ConversationID}
   */
  directBetween: (a, b) => compareText(a, b) <= 0 ? make("direct", a, b) : make("direct", b, a),

  /**
   * Returns the ID of a group that doesn't exist yet.
   *
   * @param {Uint8Array} randomBytes 16 random bytes, for example from `crypto.getRandomValues`.
   * @returns {ConversationID}
   */
  newGroup(randomBytes) {
    /** @param {number} start */
    const half = (start) => {
      const value = randomBytes.subarray(start, start + 8).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
      return value.toString(36).padStart(13, "0");
    };
    return make("group", half(0) + half(8));
  },

  /**
   * Returns the kind of a conversation.
   *
   * @param {ConversationID} id
   * @returns {ConversationKind}
   */
  kind: (id) => /** @type {ConversationKind} */ (id.slice(0, id.indexOf(":"))),

  /**
   * Returns the properties of a conversation's kind.
   *
   * @param {ConversationID} id
   * @returns {ConversationTraits}
   */
  traits: (id) => conversationTraits[ConversationID.kind(id)],

  /**
   * Returns the parts of an ID, without escapes.
   *
   * @param {ConversationID} id
   * @returns {ConversationParts}
   */
  parts(id) {
    const [target = "", part] = id.slice(id.indexOf(":") + 1).split("/");
    return { kind: ConversationID.kind(id), target: known(target), part: part === undefined ? null : known(part) };
  },

  /**
   * Whether the ID is of a community and not of one of its channels.
   *
   * @param {ConversationID} id
   */
  isCommunityRoot: (id) => id.startsWith("community:") && !id.includes("/"),

  /**
   * Returns the community that a channel belongs to; `null` for other kinds.
   *
   * @param {ConversationID} id
   * @returns {ConversationID | null}
   */
  communityOf: (id) => id.startsWith("community:") ? id.split("/")[0] ?? null : null,

  /**
   * Returns the log that receives messages sent to this ID; a community uses the log of its default channel.
   *
   * @param {ConversationID} id
   * @returns {ConversationID}
   */
  log: (id) => ConversationID.isCommunityRoot(id) ? `${id}/${defaultChannel}` : id,

  /**
   * Returns the conversation that has the settings and the list of members: for the default channel of a community,
   * the community.
   *
   * @param {ConversationID} id
   * @returns {ConversationID}
   */
  administered(id) {
    const community = ConversationID.communityOf(id);
    return community !== null && ConversationID.log(community) === id ? community : id;
  },

  /**
   * Whether the ID has the same meaning for every user.
   *
   * @param {ConversationID} id
   */
  isAbsolute: (id) => !(id.startsWith("direct:") || id.startsWith("system:")) || id.includes("/"),

  /**
   * Returns the absolute form of an ID that a user used.
   *
   * @param {ConversationID} id
   * @param {UserID} user
   * @returns {ConversationID}
   */
  absolute(id, user) {
    if (ConversationID.isAbsolute(id)) return id;
    const { kind, target } = ConversationID.parts(id);
    return kind === "direct" ? ConversationID.directBetween(user, target) : make("system", user, target);
  },

  /**
   * Returns the form in which a user identifies the conversation; for users who don't take part in it, the absolute
   * form.
   *
   * @param {ConversationID} id
   * @param {UserID} user
   * @returns {ConversationID}
   */
  relative(id, user) {
    const { kind, target, part } = ConversationID.parts(id);
    if (part === null || (kind !== "direct" && kind !== "system")) return id;
    if (target === user) return make(kind, part);
    return kind === "direct" && part === user ? make(kind, target) : id;
  },

  /**
   * Compares two IDs: by kind, then by the bytes of the name; a community comes before its channels.
   *
   * @param {ConversationID} a
   * @param {ConversationID} b
   * @returns {number} Below 0 if `a` comes first, above 0 if `b` does, and 0 if the IDs are equal.
   */
  compare(a, b) {
    if (a === b) return 0;
    const [first, second] = [ConversationID.parts(a), ConversationID.parts(b)];
    if (first.kind !== second.kind) return compareText(first.kind, second.kind);
    if (first.target !== second.target) return compareText(first.target, second.target);
    if (first.part === null || second.part === null) return first.part === null ? -1 : 1;
    return compareText(first.part, second.part);
  },
});
