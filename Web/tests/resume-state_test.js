// @ts-check
import { decodeMessage } from "../sdk/model/decode.js";
import { ResumeState } from "../sdk/sync/resume-state.js";

/** @param {number} seq */
function event(seq) {
  const message = decodeMessage({
    conversation: "group:swift",
    seq,
    n: seq,
    id: "0198f3c2-7c1e-7000-8000-0123456789ab",
    timetoken: String(seq),
    epoch: "7",
    sender: "bob",
    type: "text",
    content: { text: "hello" },
  });
  return /** @type {const} */ ({ type: "message", conversation: message.conversation, message });
}

/**
 * @param {boolean} holds
 * @param {unknown} actual
 */
function expect(holds, actual) {
  if (!holds) throw new Error(`It is ${JSON.stringify(actual)}.`);
}

Deno.test("A conversation that lost events because too many were held is synchronized instead", () => {
  const resume = new ResumeState();
  const position = { conversation: "group:swift", epoch: "7", view: 1, seq: 0, rev: 0 };
  const random = () => 0.5;
  resume.connected(null, [position]);
  for (let seq = 1; seq <= ResumeState.maximumHeldEvents + 5; seq += 1) resume.live(event(seq));
  expect(resume.heldCount === ResumeState.maximumHeldEvents, resume.heldCount);

  const [release, recheck, ...rest] = resume.syncAnswered(2, [], 0, random);
  expect(release?.type === "release" && release.events.length === ResumeState.maximumHeldEvents, release?.type);
  expect(recheck?.type === "recheck" && recheck.conversations.join() === "group:swift", recheck);
  expect(rest.length === 0 && !resume.isResumed("group:swift"), rest);

  const [sync] = resume.needsSync(position);
  expect(sync?.type === "sync" && sync.batch === 3, sync);
  resume.syncAnswered(3, [], 0, random);
  expect(resume.isResumed("group:swift"), false);
});
