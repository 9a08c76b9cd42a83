// @ts-check
import assert from "node:assert/strict";
import { MessageContent } from "../sdk/model/message-content.js";
import { Message } from "../sdk/model/message.js";
import { decodeHead } from "../sdk/model/decode.js";
import { adoptRollback, confirm, unconfirmed } from "../sdk/store/rollback.js";
import { apply } from "../sdk/store/log.js";
import { deleteConversation, storeHeads } from "../sdk/store/heads.js";
import { MemoryStore } from "./memory-store.js";

/** @typedef {import("../sdk/store/log.js").LogInput} LogInput */

const crew = "group:crew";

/**
 * A message of Alice.
 *
 * @param {number} seq
 * @param {string} epoch
 * @param {{rev?: number, content?: MessageContent | null}} [changes]
 */
const own = (seq, epoch, { rev = 0, content = new MessageContent("text", { text: `message ${seq}` }) } = {}) =>
  new Message({
    conversation: crew,
    seq,
    countedIndex: seq,
    id: idOf(seq),
    timetoken: `${seq}000`,
    epoch,
    sender: "alice",
    type: "text",
    content,
    rev,
    attributes: {},
  });

/** @param {number} seq */
const idOf = (seq) => `0198f3c2-7c1e-7000-8000-00000000000${seq}`;

/** Alice's store, with three of her messages. */
class Device {
  store = /** @type {any} */ (new MemoryStore());

  static async withMessages() {
    const device = new Device();
    await device.storeHead("7");
    await device.apply(...[1, 2, 3].map((seq) => /** @type {LogInput} */ ({
      type: "live",
      event: { type: "message", conversation: crew, message: own(seq, "7") },
    })));
    return device;
  }

  /** @param {LogInput[]} inputs */
  async apply(...inputs) {
    await apply(this.store, "alice", inputs);
  }

  /** Stores the head of a log with three messages. @param {string} epoch */
  async storeHead(epoch) {
    const log = { epoch, view: 1, head: 3, firstSeq: 1, n: 3, rev: 0 };
    const state = { readSeq: 0, unread: 0, moved: Number(epoch), userRev: 5, recentTime: "3000" };
    await storeHeads(this.store, "alice", [decodeHead({ conversation: crew, ...log, ...state })]);
  }

  /**
   * Adopts that the server's store went back.
   *
   * @param {number} seq The last message that the server surely has.
   * @returns {Promise<string[]>} The messages that it may have lost.
   */
  async rollBack(seq) {
    await adoptRollback(this.store, "alice", `${seq}000`);
    return (await unconfirmed(this.store, 100)).messages.map(({ id }) => id);
  }
}

Deno.test("Messages that only a deeper rollback loses are asked for", async () => {
  const device = await Device.withMessages();
  assert.deepEqual(await device.rollBack(3), []);
  await device.storeHead("8");
  assert.deepEqual(await device.store.all("messages"), []);
  assert.deepEqual(await device.rollBack(1), [idOf(2), idOf(3)]);
  const { submission } = (await device.store.get("outbox", idOf(2))).request;
  assert.deepEqual(submission.content.json, { text: "message 2" });
});

Deno.test("Messages that the server had after a rollback are asked for after a deeper one", async () => {
  const device = await Device.withMessages();
  const all = [1, 2, 3].map(idOf);
  assert.deepEqual(await device.rollBack(0), all);
  for (const seq of [1, 2, 3]) assert.equal(await confirm(device.store, idOf(seq), own(seq, "8"), 0), null);
  await device.storeHead("8");
  assert.deepEqual((await unconfirmed(device.store, 100)).messages, []);
  assert.deepEqual(await device.rollBack(1), all.slice(1));
});

Deno.test("Messages that were deleted between two rollbacks are not asked for", async () => {
  /** @type {{[reason: string]: (device: Device) => unknown}} */
  const ends = {
    recalled: (device) =>
      device.apply(...[2, 3].map((seq) => {
        const message = own(seq, "8", { rev: seq, content: null });
        const change = /** @type {const} */ ({ type: "message", rev: seq, message });
        return /** @type {LogInput} */ ({
          type: "live",
          event: { type: "changed", conversation: crew, epoch: "8", change },
        });
      })),
    hidden: (device) =>
      device.apply({ type: "live", event: { type: "hidden", conversation: crew, epoch: "8", ranges: [[2, 3]] } }),
    conversationDeleted: (device) => deleteConversation(device.store, crew),
    conversationCreatedAgain: (device) => device.storeHead("9"),
  };
  for (const [reason, end] of Object.entries(ends)) {
    const device = await Device.withMessages();
    assert.deepEqual(await device.rollBack(3), []);
    await device.storeHead("8");
    await end(device);
    assert.deepEqual(await device.rollBack(1), [], reason);
  }
});
