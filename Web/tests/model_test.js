// @ts-check
import { ConversationID } from "../sdk/model/conversation-id.js";
import { decodeHead, decodeMessage, decodePage, decodeSummary } from "../sdk/model/decode.js";
import { ScrollbackError } from "../sdk/model/errors.js";
import { MessageContent } from "../sdk/model/message-content.js";
import { messageID, newMessageID } from "../sdk/model/message-id.js";
import { Message } from "../sdk/model/message.js";
import { compareText, identifier, utf8Length } from "../sdk/model/text.js";
import { compareTimetokens, dateOf, epoch, timetoken, timetokenKey, timetokenOf } from "../sdk/model/timetoken.js";

/**
 * @param {unknown} actual
 * @param {unknown} expected
 */
function expectEqual(actual, expected) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a} is not ${b}`);
}

/**
 * @param {string} parameter
 * @param {() => unknown} body
 */
function expectInvalid(parameter, body) {
  try {
    body();
  } catch (error) {
    if (!(error instanceof ScrollbackError)) throw error;
    return expectEqual([error.code, error.parameter], ["invalid-parameter", parameter]);
  }
  throw new Error("The call succeeded.");
}

Deno.test("IDs of conversations have one text form", () => {
  for (
    const [text, canonical] of [
      ["group:swift", "group:swift"],
      ["community:city/general", "community:city/general"],
      ["group:a%2fb%3Ac%25d", "group:a%2Fb%3Ac%25d"],
      ["direct:bob/alice", "direct:alice/bob"],
      ["system:bob/alice", "system:bob/alice"],
      ["group:%252F", "group:%252F"],
    ]
  ) {
    expectEqual(ConversationID.parse(/** @type {string} */ (text)), canonical);
  }
  expectEqual(ConversationID.parts("group:%252F"), { kind: "group", target: "%2F", part: null });
  expectEqual(ConversationID.group("a/b:c%d"), "group:a%2Fb%3Ac%25d");
  expectEqual(ConversationID.community("city"), "community:city");
});

Deno.test("Invalid IDs of conversations are refused", () => {
  for (
    const text of ["swift", "team:swift", "group:", "group:a/b", "direct:a/b/c", "group:a:b", "group:a%20b", "group:%"]
  ) {
    expectInvalid("conversation", () => ConversationID.parse(text));
  }
  expectInvalid("name", () => ConversationID.group(""));
});

Deno.test("IDs of conversations are relative to a user or absolute", () => {
  expectEqual(ConversationID.absolute("direct:bob", "carol"), "direct:bob/carol");
  expectEqual(ConversationID.absolute("system:billing", "carol"), "system:carol/billing");
  expectEqual(ConversationID.absolute("group:swift", "carol"), "group:swift");
  expectEqual(ConversationID.relative("direct:bob/carol", "carol"), "direct:bob");
  expectEqual(ConversationID.relative("direct:bob/carol", "bob"), "direct:carol");
  expectEqual(ConversationID.relative("direct:bob/carol", "dave"), "direct:bob/carol");
  expectEqual(ConversationID.relative("system:carol/billing", "carol"), "system:billing");
  expectEqual(ConversationID.log("community:city"), "community:city/default");
  expectEqual(ConversationID.administered("community:city/default"), "community:city");
  expectEqual(ConversationID.administered("community:city/general"), "community:city/general");
});

Deno.test("A new group has 128 random bits", () => {
  expectEqual(ConversationID.newGroup(new Uint8Array(16)), `group:${"0".repeat(26)}`);
  expectEqual(ConversationID.newGroup(new Uint8Array(16).fill(255)), "group:3w5e11264sgsf3w5e11264sgsf");
});

Deno.test("Identifiers are 1 to 128 bytes of visible, normalized text", () => {
  for (const text of ["a", "é", "日本語", "👩‍👧", "x".repeat(128), "a/b:c"]) expectEqual(identifier(text), text);
  for (
    const text of ["", "x".repeat(129), "é".repeat(65), "e\u0301", "a\nb", "a\u202Eb", "a\u200Bb", "\u2028", "\uD800"]
  ) {
    expectInvalid("identifier", () => identifier(text));
  }
});

Deno.test("Texts are measured and ordered by their bytes in UTF-8", () => {
  for (const text of ["", "a", "é", "\uFFFD", "😀", "a😀é"]) {
    expectEqual(utf8Length(text), new TextEncoder().encode(text).length);
  }
  const texts = ["", "a", "ab", "b", "é", "\uD7FF", "\uE000", "\uFFFD", "😀", "😀a"];
  expectEqual(texts.toReversed().sort(compareText), texts);
});

Deno.test("64-bit numbers are text without leading zeros", () => {
  expectEqual(timetoken("00017000000000000001"), "17000000000000001");
  expectEqual(epoch("18446744073709551615"), "18446744073709551615");
  for (const text of ["", "-1", "1.5", "18446744073709551616", "1e3", " 1"]) {
    expectInvalid("timetoken", () => timetoken(text));
    expectInvalid("epoch", () => epoch(text));
  }
});

Deno.test("Timetokens are ordered by time", () => {
  const inOrder = ["0", "5", "9999999999999999", "17000000000000000", "17000000000000001", "18446744073709551615"];
  expectEqual(inOrder.toReversed().sort(compareTimetokens), inOrder);
  expectEqual(inOrder.toReversed().map(timetokenKey).sort(), inOrder.map(timetokenKey));
  expectEqual(dateOf("17000000000000001").toISOString(), "2023-11-14T22:13:20.000Z");
  expectEqual(timetokenOf(new Date("2023-11-14T22:13:20.001Z")), "17000000000010000");
  expectEqual(timetokenOf(new Date(-5)), "0");
});

Deno.test("Message IDs are UUIDs of version 7 in lower case", () => {
  expectEqual(messageID("0198F3C2-7C1E-7000-8000-0123456789AB"), "0198f3c2-7c1e-7000-8000-0123456789ab");
  expectInvalid("id", () => messageID("0198f3c27c1e700080000123456789ab"));
  const id = newMessageID(1_800_000_000_123.7, new Uint8Array(10).fill(255));
  expectEqual(id, "01a3185c-507b-7fff-bfff-ffffffffffff");
  expectEqual(messageID(id), id);
});

Deno.test("Errors keep their details as plain objects", () => {
  const error = new ScrollbackError("banned", "You are banned.", { until: new Date(0), reason: "Spam", retryAfter: 2 });
  const copy = ScrollbackError.from(JSON.parse(JSON.stringify(error)));
  expectEqual(copy, error);
  expectEqual([copy.message, copy.status, copy.isTemporary, copy.name], [
    "You are banned.",
    403,
    false,
    "ScrollbackError",
  ]);
  expectEqual(new ScrollbackError("overloaded", "Busy.").isTemporary, true);
  expectEqual(new ScrollbackError("of-a-newer-server", "New.").status, 500);
  expectEqual(new ScrollbackError("constructor", "No code.").status, 500);
  expectEqual(ScrollbackError.from({ status: 503 }).isTemporary, true);
  expectEqual(ScrollbackError.from({ code: "overloaded", retryAfter: -1 }).retryAfter, 0);
  expectEqual(ScrollbackError.from({ code: "overloaded", retryAfter: 1e300 }).retryAfter, undefined);
});

/** A message in the form of the protocol. */
const wireMessage = {
  conversation: "group:swift",
  seq: 7,
  n: 6,
  id: "0198F3C2-7C1E-7000-8000-0123456789AB",
  timetoken: "17000000000000001",
  epoch: "18446744073709551615",
  sender: "bob",
  type: "text",
  content: { text: "hello" },
  rev: 3,
  mentions: { users: ["alice"], pushText: "psst" },
  flags: { countsUnread: false },
  replyTo: "0198f3c2-7c1e-7000-8000-0123456789ac",
  editedAt: "2026-11-21T10:00:00.000Z",
  actions: [{ type: "reaction", value: "👍", count: 2, senders: ["alice", "bob"] }],
  replies: { count: 1, lastReplyAt: "17000000000000002" },
  ofNewerServers: true,
};

Deno.test("A message has its fields, its derived values and its date", () => {
  const message = decodeMessage(wireMessage);
  expectEqual([message.seq, message.countedIndex, message.rev, message.text], [7, 6, 3, "hello"]);
  expectEqual([message.id, message.epoch], ["0198f3c2-7c1e-7000-8000-0123456789ab", "18446744073709551615"]);
  expectEqual(message.sentAt.toISOString(), "2023-11-14T22:13:20.000Z");
  expectEqual([message.countsUnread, message.isDeleted, message.skipsRecents], [false, false, false]);
  expectEqual([message.mentions("alice"), message.mentions("carol")], [true, false]);
  expectEqual(message.editedAt, "2026-11-21T10:00:00.000Z");
  expectEqual(message.replies, { count: 1, lastReplyAt: "17000000000000002" });
});

Deno.test("A structured clone of a message becomes a message again", () => {
  const message = decodeMessage(wireMessage);
  const stored = structuredClone(message);
  const content = stored.content === null ? null : new MessageContent(stored.content.type, stored.content.json);
  const copy = new Message({ ...stored, content });
  expectEqual(copy, message);
  expectEqual(copy.text, "hello");
});

Deno.test("Recalled messages and notices have no text and do not count", () => {
  const recalled = decodeMessage({ ...wireMessage, content: null, deleted: true });
  expectEqual([recalled.isDeleted, recalled.text], [true, null]);
  const { flags: _, ...rest } = wireMessage;
  expectEqual(decodeMessage({ ...rest, type: "notice", content: { event: "frozen" } }).countsUnread, false);
  expectEqual(decodeMessage(rest).countsUnread, true);
});

Deno.test("An incomplete or imprecise message is refused", () => {
  for (const name of ["conversation", "seq", "n", "id", "timetoken", "epoch", "sender", "type"]) {
    expectInvalid(name, () => decodeMessage({ ...wireMessage, [name]: undefined }));
  }
  expectInvalid("seq", () => decodeMessage({ ...wireMessage, seq: 2 ** 53 }));
  expectInvalid("seq", () => decodeMessage({ ...wireMessage, seq: "7" }));
  expectInvalid("message", () => decodeMessage([]));
  expectInvalid("users", () => decodeMessage({ ...wireMessage, mentions: { users: [1] } }));
  for (const editedAt of ["yesterday", "2026-11-21", "21 Nov 2026 10:00:00 GMT", "2026-13-21T10:00:00.000Z"]) {
    expectInvalid("editedAt", () => decodeMessage({ ...wireMessage, editedAt }));
  }
});

Deno.test("A filtered page has the range that was scanned", () => {
  const state = { head: 9, firstSeq: 1, n: 9, rev: 0, epoch: "7", view: 1 };
  const coverage = { lower: 3, upper: 8, voids: [[4, 5]] };
  expectEqual(decodePage({ messages: [], covered: coverage, ...state }).isFiltered, false);
  const page = decodePage({ messages: [wireMessage], scanned: coverage, older: "abc", ...state });
  expectEqual([page.isFiltered, page.older, page.newer], [true, "abc", null]);
  expectEqual(page.coverage.deletedRanges.ranges, [[4, 5]]);
  expectInvalid("voids", () => decodePage({ messages: [], covered: { ...coverage, voids: [[5, 4]] }, ...state }));
  expectInvalid("covered", () => decodePage({ messages: [], ...state }));
});

Deno.test("Heads and summaries have defaults for what the server leaves out", () => {
  const state = { head: 9, firstSeq: 1, n: 9, rev: 0, epoch: "7", view: 1 };
  const head = decodeHead({ conversation: "group:swift", ...state });
  expectEqual([head.isMember, head.recentTime, head.mute, head.notifications], [true, null, null, null]);
  expectEqual(decodeHead({ conversation: "group:swift", mutedUntil: "forever", ...state }).mute, "forever");
  const summary = decodeSummary({ epoch: "7", readSeq: 1, unread: 2, mentions: 0, seq: 9, n: 9, rev: 0, userRev: 4 });
  expectEqual([summary.isMuted, summary.removedSeq, summary.countedIndex], [false, 0, 9]);
});

Deno.test("Content is created and read by type", () => {
  expectEqual(MessageContent.text("hi").json, { text: "hi" });
  const poll = MessageContent.poll({ question: "Where?", options: ["here", "there"], allowsSeveralVotes: true });
  expectEqual(poll.json, { text: "Where?", options: ["here", "there"], several: true });
  expectEqual(poll.poll, { question: "Where?", options: ["here", "there"], allowsSeveralVotes: true, isClosed: false });
  expectEqual(MessageContent.location({ latitude: 1, longitude: 2 }).location, { latitude: 1, longitude: 2 });
  expectEqual(MessageContent.text("hi").location, null);
  const preview = { url: "https://a.example/", title: "A", site: "a", picture: "/9j/" };
  const text = MessageContent.text("see https://a.example/", { preview });
  expectEqual(text.json, { text: "see https://a.example/", linkPreview: preview });
  expectEqual(text.linkPreview, preview);
  expectEqual([MessageContent.text("hi").linkPreview, MessageContent.custom("app:a", text.json).linkPreview], [
    null,
    null,
  ]);
  expectEqual(new MessageContent("text", { text: "a", linkPreview: { url: "b" } }).linkPreview, null);
  expectInvalid("latitude", () => MessageContent.location({ latitude: 91, longitude: 2 }));
  expectInvalid("options", () => MessageContent.poll({ question: "Where?", options: ["here"] }));
  expectInvalid("type", () => MessageContent.custom("pool", {}));
  expectInvalid("content", () => MessageContent.media("image", {}));
});

Deno.test("A quote of a quote copies only the inner text", () => {
  const first = MessageContent.reference("yes", decodeMessage(wireMessage));
  const message = new Message({ ...decodeMessage(wireMessage), type: first.type, content: first });
  const second = MessageContent.reference("no", message).quote;
  expectEqual([second?.text, second?.content.json], ["no", { text: "yes" }]);
  expectInvalid("to", () => MessageContent.reference("", new Message({ ...message, content: null })));
});
