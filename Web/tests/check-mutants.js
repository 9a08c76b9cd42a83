// @ts-check
// Breaks one rule of the SDK at a time, in a copy, and checks that a history of a file is no longer equal.
//
//   deno run --allow-read --allow-write=TEMPORARY_FOLDER check-mutants.js FILE
//
// Exit status: 0 if the histories show every mutant, 1 otherwise.
import { loadMachines } from "./machines.js";
import { difference, linesOf } from "./vectors.js";

/**
 * A change that breaks one rule.
 *
 * @typedef {object} Mutant
 * @property {string} name What is wrong with the change.
 * @property {string} machine The state machine whose histories show it.
 * @property {string} file The changed file in `Web/sdk`.
 * @property {string} from A text that the file has once.
 * @property {string} to
 */

/** @type {Mutant[]} */
const mutants = [
  {
    name: "A filtered page closes the gaps that it scanned",
    machine: "logState",
    file: "sync/log-state.js",
    from: "page.isFiltered ? null : coveredRange(page.coverage)",
    to: "coveredRange(page.coverage)",
  },
  {
    name: "A delayed page undoes changes of rows that were never loaded",
    machine: "logState",
    file: "sync/log-state.js",
    from: "if (page.state.rev < this.baseline.rev)",
    to: "if (page.state.rev < 0)",
  },
  {
    name: "A change above a missing one counts as applied in order",
    machine: "logState",
    file: "sync/log-state.js",
    from: "change.rev === this.rev + 1",
    to: "change.rev > this.rev",
  },
  {
    name: "An older version of a message replaces a newer one",
    machine: "logState",
    file: "sync/log-edit.js",
    from: "row.rev > held.rev",
    to: "row.rev !== held.rev",
  },
  {
    name: "Adjacent ranges stay apart",
    machine: "seqRangeSet",
    file: "model/seq-range-set.js",
    from: "range[0] <= upper + 1",
    to: "range[0] <= upper",
  },
  {
    name: "Gap requests never stop",
    machine: "gapFill",
    file: "sync/gap-fill.js",
    from: "changedGaps ? 0 : this.#attemptsWithoutProgress + 1",
    to: "0",
  },
  {
    name: "Live events are released before the missed messages are stored",
    machine: "resumeState",
    file: "sync/resume-state.js",
    from: "return isKnown && !this.#pending.has(conversation);",
    to: "return isKnown;",
  },
  {
    name: "An answer of an earlier request is accepted",
    machine: "resumeState",
    file: "sync/resume-state.js",
    from: 'if (this.#windows.type !== "pulling" || this.#windows.request !== request) return [];\n    this.#windows =',
    to: 'if (this.#windows.type !== "pulling") return [];\n    this.#windows =',
  },
  {
    name: "An item that the server refused is sent again without a delay",
    machine: "outbox",
    file: "sync/outbox.js",
    from: 'if (head.state.type === "waiting" && now < head.state.until) return;',
    to: "",
  },
  {
    name: "A transmitted item is not recorded as transmitted",
    machine: "outbox",
    file: "sync/outbox.js",
    from: "wasTransmitted: true, state",
    to: "wasTransmitted: head.wasTransmitted, state",
  },
  {
    name: "A retry comes before the time that the server requested",
    machine: "outbox",
    file: "sync/outbox.js",
    from: "Math.max(wait, error.retryAfter * 1000 * (1 + 0.5 * random()))",
    to: "Math.min(wait, error.retryAfter * 1000 * (1 + 0.5 * random()))",
  },
  {
    name: "An older answer undoes a pending read",
    machine: "readState",
    file: "sync/read-state.js",
    from: "if (summary.rev >= this.lastCountChangeRev && summary.readSeq >= before)",
    to: "if (summary.rev >= this.lastCountChangeRev)",
  },
  {
    name: "The user's own messages in gaps count as unread",
    machine: "readState",
    file: "sync/read-state.js",
    from: "if (message.countsUnread) this.unread = Math.max(0, this.unread - 1);",
    to: "",
  },
  {
    name: "An outdated head replaces a newer membership",
    machine: "recentEntry",
    file: "sync/recent-entry.js",
    from: "head.lastCommit >= this.lastCommit && head.userRev >= this.membershipRev",
    to: "head.lastCommit >= this.lastCommit",
  },
  {
    name: "Times are compared as text",
    machine: "recentEntry",
    file: "model/timetoken.js",
    from: "if (a.length !== b.length) return a.length - b.length;",
    to: "",
  },
  {
    name: "A client that moves is shown as connecting",
    machine: "connectionLifecycle",
    file: "sync/connection-lifecycle.js",
    from: 'return this.isMoving ? [] : [{ type: "publishPhase" }];',
    to: 'return [{ type: "publishPhase" }];',
  },
  {
    name: "A rejected token is refreshed without end",
    machine: "connectionLifecycle",
    file: "sync/connection-lifecycle.js",
    from: "this.#hasRefreshedToken = true;",
    to: "",
  },
  {
    name: "A conversation has two requests for its head in flight",
    machine: "headFetches",
    file: "sync/head-fetches.js",
    from: "[...this.#needed].filter((id) => !this.#inFlight.has(id))",
    to: "[...this.#needed]",
  },
  {
    name: "An escaped slash begins a channel",
    machine: "conversationID",
    file: "model/conversation-id.js",
    from: '"/": "%2F"',
    to: '"/": "/"',
  },
  {
    name: "Names can have invisible characters",
    machine: "conversationID",
    file: "model/text.js",
    from: "\\u200B\\u2060-",
    to: "\\u2060-",
  },
  {
    name: "Identifiers are ordered by UTF-16",
    machine: "headFetches",
    file: "model/text.js",
    from: "return rank(first) - rank(second);",
    to: "return first - second;",
  },
  {
    name: "Typing continues after the message",
    machine: "ownTyping",
    file: "sync/typing.js",
    from: "sent(id) {\n    this.#entries.delete(id);",
    to: "sent(id) {\n    id;",
  },
  {
    name: "A user types without end",
    machine: "typingUsers",
    file: "sync/typing.js",
    from: "if (until <= now && ",
    to: "if (until < 0 && ",
  },
  {
    name: "A transient message is delivered twice",
    machine: "receivedIDs",
    file: "sync/received-ids.js",
    from: "if (this.#times.has(id)) return false;",
    to: "",
  },
];

/**
 * Copies the modules of a folder.
 *
 * @param {URL} from
 * @param {URL} to
 */
async function copy(from, to) {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copy(new URL(`${name}/`, from), new URL(`${name}/`, to));
    else if (name.endsWith(".js")) await Deno.copyFile(new URL(name, from), new URL(name, to));
  }
}

const [path] = Deno.args;
if (path === undefined) {
  console.error("Name the file with the histories.");
  Deno.exit(1);
}
const lines = linesOf(path);
/**
 * The histories that were read.
 *
 * @type {import("./machines.js").Value[]}
 */
const histories = [];

/**
 * Returns the number of histories of a machine until the first difference; `null` if all are equal.
 *
 * @param {string} machine
 * @param {URL} sdk
 */
async function caughtAfter(machine, sdk) {
  const machines = await loadMachines(sdk.href);
  let count = 0;
  for (let index = 0;; index += 1) {
    if (index === histories.length) {
      const { value } = await lines.next();
      if (value === undefined) return null;
      histories.push(JSON.parse(value));
    }
    if (histories[index].machine !== machine) continue;
    count += 1;
    if (difference(histories[index], machines) !== null) return count;
  }
}

let survived = 0;
const folder = new URL(`file://${await Deno.makeTempDir()}/`);
try {
  for (const [index, { name, machine, file, from, to }] of mutants.entries()) {
    const sdk = new URL(`${index}/`, folder);
    await copy(new URL("../sdk/", import.meta.url), sdk);
    const source = await Deno.readTextFile(new URL(file, sdk));
    if (source.split(from).length !== 2) throw new Error(`${file} does not have the text of the mutant once: ${name}`);
    await Deno.writeTextFile(new URL(file, sdk), source.replace(from, () => to));
    const count = await caughtAfter(machine, sdk);
    console.log(`mutants: ${count === null ? "SURVIVED" : `caught by history ${count}`}: ${name}`);
    if (count === null) survived += 1;
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
console.log(`mutants: ${mutants.length - survived} of ${mutants.length} caught`);
Deno.exit(survived === 0 ? 0 : 1);
