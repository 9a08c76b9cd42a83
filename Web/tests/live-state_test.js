// @ts-check
import assert from "node:assert/strict";
import { LiveState } from "../sdk/client/live-state.js";

/** @typedef {import("../sdk/client/driver.js").Driver} Driver */

/** A driver whose time advances by hand, and that calls the state at the times that it asked for. */
class Clock {
  isOnline = true;
  now = 0;
  ticks = 0;
  core = { setTyping() {}, setPresence() {} };
  /** @type {number[]} */
  #times = [];
  state = new LiveState(/** @type {Driver} */ (/** @type {unknown} */ (this)));

  /** @param {number} time */
  wake(time) {
    this.#times.push(time);
  }

  send() {}

  /** @param {number} time */
  advance(time) {
    while (this.#times.some((due) => due <= time)) {
      this.#times.sort((a, b) => a - b);
      this.now = Math.max(this.now, this.#times.shift() ?? 0);
      this.ticks += 1;
      this.state.tick(this.now);
    }
    this.now = time;
  }

  get pending() {
    return this.#times.length;
  }
}

Deno.test("Typing for an hour needs one timer at a time", () => {
  const clock = new Clock();
  for (let second = 0; second < 3600; second += 1) {
    clock.advance(second * 1000);
    clock.state.receivedTyping("bob", "group:g", true);
    clock.state.typed("group:g", true);
    // The driver also calls the state for other reasons.
    if (second % 7 === 0) clock.state.tick(clock.now);
    assert.ok(clock.pending <= 3, `${clock.pending} timers at second ${second}`);
  }
  assert.ok(clock.ticks <= 3600);
  clock.advance(3_700_000);
  assert.equal(clock.pending, 0);
});
