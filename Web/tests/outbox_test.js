// @ts-check
import assert from "node:assert/strict";
import { ScrollbackError } from "../sdk/model/errors.js";
import { Outbox } from "../sdk/sync/outbox.js";

const noon = 1_800_000_000_000;
const crew = "group:crew";
const half = () => 0.5;

Deno.test("An upload that was refused before the server created its conversation is repeated once", () => {
  const outbox = new Outbox();
  outbox.connected(noon);
  assert.deepEqual(outbox.enqueue("creation", crew, noon, { isMessage: false }).transmit, ["creation"]);
  assert.deepEqual(outbox.enqueue("file", crew, noon, { needsUpload: true }).upload, ["file"]);
  assert.deepEqual(outbox.enqueue("other", "direct:bob", noon, { needsUpload: true }).upload, ["other"]);
  // The refusal of the upload arrives after the acknowledgement of the creation.
  outbox.answered("creation", null, noon, half);
  const refusal = new ScrollbackError("unknown-conversation", "no");
  outbox.uploaded("file", refusal, noon, half);
  assert.equal(outbox.get("file")?.state.type, "waiting");
  // An upload to another conversation is not repeated.
  outbox.uploaded("other", refusal, noon, half);
  assert.equal(outbox.get("other")?.state.type, "failed");
  // The repeated upload began after the creation.
  assert.deepEqual(outbox.tick(outbox.wakeAt ?? noon).upload, ["file"]);
  outbox.uploaded("file", refusal, noon, half);
  assert.equal(outbox.get("file")?.state.type, "failed");
});
