// @ts-check
import assert from "node:assert/strict";
import { decodeLogHead } from "../sdk/model/decode.js";
import { ScrollbackError } from "../sdk/model/errors.js";
import { MessageContent } from "../sdk/model/message-content.js";
import { decodeFrame, helloFrame, requestFrame } from "../sdk/wire/frames.js";
import { encodeJSON, parseJSON } from "../sdk/wire/json.js";
import { changeState, getHistory, submissionMembers } from "../sdk/wire/requests.js";

Deno.test("Integers keep their value, however many digits they have", () => {
  const text = '{"a":[9007199254740993,-12345678901234567890],"b":1.5,"c":"12345678901234567890","d":1e300,"e":0}';
  const value = /** @type {any} */ (parseJSON(text));
  assert.deepEqual(value.a, [9007199254740993n, -12345678901234567890n]);
  assert.deepEqual([value.b, value.c, value.d, value.e], [1.5, "12345678901234567890", 1e300, 0]);
  assert.equal(
    encodeJSON({ a: value.a, c: value.c }),
    '{"a":[9007199254740993,-12345678901234567890],"c":"12345678901234567890"}',
  );
  assert.throws(() => parseJSON("{"), SyntaxError);
});

Deno.test("A head whose lowest sequence number is not in the log is refused", () => {
  const head = { epoch: "1", view: 0, head: 12, firstSeq: 13, n: 0, rev: 0 };
  assert.equal(decodeLogHead(head).firstSeq, 13);
  for (const firstSeq of [51, 14, 0, -1]) assert.throws(() => decodeLogHead({ ...head, firstSeq }), ScrollbackError);
});

Deno.test("A frame has the members of its request, without those that are undefined", () => {
  assert.equal(requestFrame({ type: "ping" }, 7), '{"type":"ping","ref":7}');
  const page = getHistory("group:swift", { before: { seq: 12 }, limit: 5 });
  const text = '{"type":"history","ref":1,"conversation":"group:swift","before":"seq:12","limit":5}';
  assert.equal(requestFrame(page, 1), text);
  const hello = { token: "t", device: "d", checkpoint: null, sharesPresence: false, isActive: true };
  assert.equal(helloFrame(hello), '{"type":"hello","token":"t","device":"d"}');
  const away = { ...hello, checkpoint: "c", sharesPresence: true, isActive: false };
  const members = '"checkpoint":"c","presence":true,"active":false';
  assert.equal(helloFrame(away), `{"type":"hello","token":"t","device":"d",${members}}`);
});

Deno.test("A submission has the wire form of its attributes", () => {
  const members = submissionMembers({
    id: "i",
    content: MessageContent.text("hi"),
    attributes: {
      mentions: { everyone: false, users: ["bob"] },
      traits: { countsUnread: false },
      priority: "normal",
      replyTo: "r",
    },
  });
  assert.deepEqual(JSON.parse(encodeJSON(members)), {
    id: "i",
    type: "text",
    content: { text: "hi" },
    mentions: { users: ["bob"] },
    flags: { countsUnread: false },
    replyTo: "r",
  });
});

Deno.test("Each change of the user's state has its request", () => {
  const at = { seq: 3, epoch: "9" };
  /** @type {[import("../sdk/model/conversation-head.js").StateChange, string][]} */
  const changes = [
    [{ type: "read", ...at, userRev: 4 }, '{"type":"read","conversation":"c","seq":3,"epoch":"9","userRev":4}'],
    [{ type: "markUnread" }, '{"type":"markUnread","conversation":"c"}'],
    [{ type: "settings", isMuted: true, isPinned: null }, '{"type":"settings","conversation":"c","muted":true}'],
    [{ type: "notifications", level: null }, '{"type":"notifications","conversation":"c","notifications":null}'],
    [
      { type: "removeRecent", at, excludesFromNewDevices: true },
      '{"type":"removeRecent","conversation":"c","seq":3,"epoch":"9","stopRoaming":true}',
    ],
    [{ type: "addRecent" }, '{"type":"addRecent","conversation":"c"}'],
    [{ type: "excludeFromNewDevices", at: null }, '{"type":"stopRoaming","conversation":"c"}'],
  ];
  for (const [change, text] of changes) assert.equal(encodeJSON(changeState("c", change)), text);
});

Deno.test("Frames of the server are read, and unknown ones are skipped", () => {
  const welcome = decodeFrame('{"type":"welcome","user":"alice","heartbeat":20,"limits":{},"lineage":"l"}');
  assert.deepEqual(welcome.frame, {
    type: "welcome",
    welcome: { user: "alice", heartbeat: 20, lineage: "l", lostAfter: null },
  });
  const result = decodeFrame('{"type":"result","ref":3,"checkpoint":"7.x","deleted":1}');
  assert.equal(result.checkpoint, "7.x");
  assert.equal(result.frame.type === "result" && result.frame.body["deleted"], 1);
  const { frame } = decodeFrame('{"type":"error","ref":4,"code":"rate-limited","status":429,"retryAfter":2}');
  assert.ok(frame.type === "error" && frame.error.code === "rate-limited" && frame.error.retryAfter === 2);
  const typing = decodeFrame('{"type":"typing","conversation":"group:x","user":"bob","isTyping":true}').frame;
  assert.deepEqual(typing, {
    type: "event",
    event: { type: "typing", conversation: "group:x", user: "bob", isTyping: true },
  });
  assert.deepEqual(decodeFrame('{"type":"moving","within":5000}').frame, { type: "moving", within: 5000 });
  assert.deepEqual(decodeFrame('{"type":"future"}').frame, { type: "unknown" });
});

Deno.test("Drafts and the states of threads are read, and encrypted drafts are left out", () => {
  const event = (/** @type {object} */ json) => decodeFrame(JSON.stringify(json)).frame;
  const draft = { type: "draft", conversation: "group:crew", rev: 4 };
  assert.deepEqual(event({ ...draft, draft: { text: "Dear", replyTo: "id", mentions: {} } }), {
    type: "event",
    event: { type: "draft", draft: { conversation: "group:crew", draft: { text: "Dear", replyTo: "id" }, rev: 4 } },
  });
  assert.deepEqual(event(draft), {
    type: "event",
    event: { type: "draft", draft: { conversation: "group:crew", draft: null, rev: 4 } },
  });
  assert.deepEqual(event({ ...draft, draft: { encrypted: "AAAA" } }), { type: "unknown" });
  const state = { thread: "id", readSeq: 3, unread: 2, mentions: 1, userRev: 5 };
  assert.deepEqual(event({ type: "thread", conversation: "group:crew", followed: true, ...state }), {
    type: "event",
    event: { type: "thread", conversation: "group:crew", state: { ...state, isFollowed: true } },
  });
});

Deno.test("A frame that can't be read is an error and not an exception of JSON", () => {
  for (const text of ["", "[]", "{", '{"type":7}', '{"type":"message"}', '{"type":"head","conversation":"group:x"}']) {
    assert.throws(() => decodeFrame(text), ScrollbackError, text);
  }
});
