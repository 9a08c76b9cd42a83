// @ts-check
import { loadMachines } from "./machines.js";
import { difference, linesOf } from "./vectors.js";

const machines = await loadMachines(import.meta.resolve("../sdk/"));
const folder = new URL("../vectors/", import.meta.url);

for (const machine of Object.keys(machines)) {
  Deno.test(`The sample vectors of ${machine} are equal`, async () => {
    let count = 0;
    for await (const line of linesOf(new URL(`${machine}.jsonl`, folder))) {
      const found = difference(JSON.parse(line), machines);
      if (found !== null) throw new Error(found);
      count += 1;
    }
    if (count === 0) throw new Error("The file has no histories.");
  });
}
