// @ts-check
import assert from "node:assert/strict";
import { decodeHead } from "../sdk/model/decode.js";
import { SeqRangeSet } from "../sdk/model/seq-range-set.js";
import { DeliveryReports } from "../sdk/sync/delivery-reports.js";
import { DeliveryState } from "../sdk/sync/delivery-state.js";
import { LogState } from "../sdk/sync/log-state.js";
import { RecentEntry } from "../sdk/sync/recent-entry.js";
import { decodeFrame } from "../sdk/wire/frames.js";

const start = 1_795_255_260_000;

/**
 * Returns a log whose only gaps are the given ones.
 *
 * @param {number} head
 * @param {[number, number][]} [gaps]
 */
function log(head, gaps = []) {
  const state = LogState.adopting({ epoch: "7", view: 1, head, firstSeq: 1, countedIndex: head, rev: 0 });
  state.gaps = new SeqRangeSet(gaps);
  return state;
}

Deno.test("The newest message of another user below the first gap is due", () => {
  const delivery = DeliveryState.from({ isOn: true, reportedSeq: 2 });
  assert.deepEqual(delivery.unreported(log(9, [[1, 1], [6, 7]])), [3, 5]);
  delivery.searched([3, 5], 4);
  assert.deepEqual([delivery.dueSeq, delivery.isDue], [4, true]);
  // Filling the gap makes the rest due.
  assert.deepEqual(delivery.unreported(log(9, [[1, 1]])), [6, 9]);
  assert.equal(DeliveryState.from({ isOn: true, reportedSeq: 2 }).unreported(log(9, [[3, 3]])), null);
});

Deno.test("A position that the server knows is not due again", () => {
  const delivery = DeliveryState.from({ isOn: true, reportedSeq: 3 });
  assert.deepEqual([delivery.unreported(log(5)), delivery.isDue], [[4, 5], false]);
  delivery.searched([4, 5], 5);
  assert.equal(delivery.isDue, true);
  delivery.reported(5);
  delivery.reported(4);
  assert.deepEqual([delivery.reportedSeq, delivery.isDue, delivery.unreported(log(5))], [5, false, null]);
});

Deno.test("Own messages alone are not due, and are searched once", () => {
  const delivery = DeliveryState.from({ isOn: true, reportedSeq: 3 });
  delivery.searched([4, 5], null);
  assert.deepEqual([delivery.isDue, delivery.unreported(log(5)), delivery.unreported(log(6))], [false, null, [6, 6]]);
});

Deno.test("Messages that the device no longer has hold nothing back if it had searched them before", () => {
  const delivery = DeliveryState.from({ isOn: true, reportedSeq: 2 });
  delivery.searched([3, 5], null);
  assert.deepEqual(delivery.unreported(log(6, [[1, 4]])), [6, 6]);
  assert.equal(delivery.unreported(log(6, [[1, 6]])), null);
});

Deno.test("What the user has read needs no report in groups, as the server reports it with heads and reads", () => {
  for (const [kind, reported, due] of /** @type {const} */ ([["group", 6, [7, 9]], ["direct", 0, null]])) {
    const entry = new RecentEntry(kind);
    const head = { conversation: `${kind}:bob`, epoch: "7", view: 1, head: 9, firstSeq: 1, n: 9, rev: 0, readSeq: 6 };
    entry.applyHead(decodeHead({ ...head, deliveryReceipts: true }), new Set(), false);
    assert.equal(entry.delivery.reportedSeq, reported);
    assert.deepEqual(entry.delivery.unreported(log(9, [[1, 5]])), due);
  }
});

Deno.test("Without delivery receipts in the conversation, nothing is due", () => {
  assert.equal(new DeliveryState().unreported(log(9)), null);
  assert.equal(DeliveryState.from({ reportedSeq: 1, dueSeq: 5 }).isDue, false);
});

Deno.test("The peer's delivered position never decreases, and includes what the peer has read", () => {
  const head = (/** @type {object} */ members) =>
    decodeHead({
      ...{ conversation: "direct:bob", epoch: "7", view: 1, head: 9, firstSeq: 1, n: 9, rev: 0 },
      ...members,
    });
  const entry = new RecentEntry("direct");
  entry.applyHead(head({ peerReadSeq: 2, peerDeliveredSeq: 5, deliveryReceipts: true }), new Set(), false);
  assert.deepEqual([entry.delivery.peerSeq, entry.delivery.isOn], [5, true]);
  entry.applyHead(head({ peerReadSeq: 3 }), new Set(), false);
  assert.deepEqual([entry.delivery.peerSeq, entry.delivery.isOn], [5, false]);
  entry.advancePeerRead(7);
  assert.equal(entry.delivery.peerSeq, 7);
  assert.equal(entry.copy().delivery.peerSeq, 7);
  entry.reset();
  assert.deepEqual(entry.delivery, new DeliveryState());
});

Deno.test("A due report is sent immediately, and the next ones once a second together", () => {
  const reports = new DeliveryReports();
  assert.equal(reports.needed(start), null);
  assert.deepEqual(reports.connected(start), { type: "report" });
  reports.foundNothing();
  assert.deepEqual(reports.needed(start), { type: "report" });
  // One request is in flight at a time.
  assert.equal(reports.needed(start), null);
  assert.deepEqual(reports.answered(start + 100), { type: "wake", at: start + 1000 });
  assert.equal(reports.needed(start + 200), null);
  assert.equal(reports.tick(start + 500), null);
  assert.deepEqual(reports.tick(start + 1000), { type: "report" });
  // After a temporary error, nothing is reported before the retry, whatever becomes due.
  assert.equal(reports.needed(start + 1000), null);
  reports.failed();
  assert.equal(reports.tick(start + 9000), null);
  assert.equal(reports.needed(start + 9000), null);
  // A clock that is set back delays no report.
  assert.deepEqual(reports.retry(start - 3_600_000), { type: "report" });
  reports.disconnected();
  assert.equal(reports.needed(start + 9000), null);
});

Deno.test("An event names the member whose devices received messages", () => {
  const { frame } = decodeFrame('{"type":"delivered","conversation":"direct:bob","user":"bob","deliveredSeq":9}');
  assert.deepEqual(frame, {
    type: "event",
    event: { type: "delivered", conversation: "direct:bob", user: "bob", seq: 9 },
  });
});
