// @ts-check
// Repeats the histories of a file on the state machines of the SDK, and prints the first differences.
//
//   deno run --allow-read check-vectors.js FILE
//
// Exit status: 0 if all histories are equal, 1 otherwise.
import { loadMachines } from "./machines.js";
import { difference, linesOf } from "./vectors.js";

const [path] = Deno.args;
if (path === undefined) {
  console.error("Name the file with the histories.");
  Deno.exit(1);
}
const machines = await loadMachines(import.meta.resolve("../sdk/"));
/** @type {Map<string, number>} */
const counts = new Map();
let [histories, steps] = [0, 0];
/** @type {string[]} */
const differences = [];
for await (const line of linesOf(path)) {
  const history = JSON.parse(line);
  const found = difference(history, machines);
  if (found !== null) differences.push(found);
  if (differences.length >= 5) break;
  histories += 1;
  steps += history.steps.length;
  counts.set(history.machine, (counts.get(history.machine) ?? 0) + 1);
  if (histories % 2000 === 0) console.log(`vectors: ${histories} histories checked`);
}
for (const [machine, count] of counts) console.log(`vectors: ${machine}: ${count} histories`);
for (const found of differences) console.error(found);
const isEqual = differences.length === 0 && histories > 0;
console.log(`vectors: ${histories} histories with ${steps} calls, ${isEqual ? "all equal" : "differences above"}`);
Deno.exit(isEqual ? 0 : 1);
