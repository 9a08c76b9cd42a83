// @ts-check
import assert from "node:assert/strict";
import { ScrollbackError } from "../sdk/model/errors.js";
import { ConnectionLifecycle } from "../sdk/sync/connection-lifecycle.js";

const noon = 1_800_000_000_000;
const unreachable = new ScrollbackError("unreachable", "The server can't be reached.");
const half = () => 0.5;

/** @param {ConnectionLifecycle} connection */
function reachOnline(connection) {
  const { generation } = connection;
  connection.tokenReceived(generation, "t", noon, half);
  connection.opened(generation, noon);
  return connection.welcomed("alice", 20);
}

function online() {
  const connection = new ConnectionLifecycle("alice");
  connection.connect();
  reachOnline(connection);
  return connection;
}

Deno.test("A client moves to another server at a moment of the requested time, and counts as online", () => {
  const connection = online();
  assert.deepEqual(connection.moving(4000, noon, half), [
    { type: "wake", at: noon + 2000 },
    { type: "wake", at: noon + 4000 },
  ]);
  assert.deepEqual(connection.moving(4000, noon, half), []);
  assert.deepEqual(connection.moveIfDue(noon + 1999, false), []);
  assert.deepEqual(connection.moveIfDue(noon + 2000, false), [
    { type: "disconnect" },
    { type: "requestToken", generation: 3 },
    { type: "wake", at: noon + 3000 },
  ]);
  assert.ok(connection.isMoving && !connection.isOnline);
  assert.deepEqual(reachOnline(connection), [{ type: "resume" }]);
  assert.deepEqual(connection.tick(noon + 3000), []);
  assert.ok(connection.isOnline && !connection.isMoving && !connection.mustMove);
});

Deno.test("A client waits for answers before it moves, but not longer than requested", () => {
  const connection = online();
  connection.moving(4000, noon, half);
  assert.deepEqual(connection.moveIfDue(noon + 3999, true), []);
  assert.deepEqual(connection.moveIfDue(noon + 4000, true)[0], { type: "disconnect" });
});

Deno.test("A move that takes over a second is published, and the failed attempts have the usual delays", () => {
  const connection = online();
  connection.moving(0, noon, half);
  connection.moveIfDue(noon, false);
  assert.deepEqual(connection.openFailed(3, unreachable, noon, half), [
    { type: "disconnect" },
    { type: "wake", at: noon + 375 },
  ]);
  assert.deepEqual(connection.tick(noon + 375), [{ type: "requestToken", generation: 5 }]);
  assert.deepEqual(connection.tick(noon + 1000), [{ type: "publishPhase" }]);
  assert.ok(!connection.isMoving);
});

Deno.test("A client that was asked to move opens the next connection at once if the server closes this one", () => {
  const connection = online();
  connection.moving(4000, noon, half);
  const actions = connection.closed(1, 1012, "", noon, half);
  assert.deepEqual(actions[1], { type: "requestToken", generation: 3 });
  connection.closed(3, 1012, "", noon, half);
  assert.deepEqual(connection.phase, { type: "waiting", until: noon + 2500 });
});

Deno.test("A client whose next server asks it to move, too, moves at most once a second", () => {
  const connection = online();
  connection.moving(0, noon, half);
  connection.moveIfDue(noon, false);
  reachOnline(connection);
  const wake = { type: "wake", at: noon + 1000 };
  assert.deepEqual(connection.moving(0, noon + 250, half), [wake, wake]);
  assert.deepEqual(connection.moveIfDue(noon + 750, false), []);
  assert.deepEqual(connection.moveIfDue(noon + 1000, true)[0], { type: "disconnect" });
});
