// @ts-check

/** @typedef {import("./machines.js").Machine} Machine */
/** @typedef {import("./machines.js").Value} Value */

/**
 * Repeats a history on a state machine of the SDK.
 *
 * @param {Value} history
 * @param {Record<string, (start: Value, random: () => number) => Machine>} machines
 * @returns {string | null} The first difference; `null` if there is none.
 */
export function difference(history, machines) {
  const create = machines[history.machine];
  if (create === undefined) return `The checker does not know the state machine ${history.machine}.`;
  /** @type {number[]} */
  let fractions = [];
  const machine = create(history.start, () => {
    const fraction = fractions.shift();
    if (fraction === undefined) throw new Error("It draws more random numbers.");
    return fraction;
  });
  for (const [index, step] of history.steps.entries()) {
    const name = `${history.machine}, seed ${history.seed}, step ${index + 1} (${step.call})`;
    const call = machine.calls[step.call];
    if (call === undefined) return `${name}: the checker does not know the call.`;
    fractions = (step.random ?? []).slice();
    try {
      const returned = call(step.with);
      if (fractions.length > 0) return `${name}: It draws fewer random numbers.`;
      const found = compare(step.returns, encoded(returned), "returns") ??
        compare(step.state, encoded(machine.state(step.state)), "state");
      if (found !== null) return `${name}: ${found}`;
    } catch (error) {
      return `${name}: ${error instanceof Error ? error.message : error}`;
    }
  }
  return null;
}

/**
 * Returns a value in the form of the vectors: errors without their text and status, and dates as text.
 *
 * @param {unknown} value
 * @returns {Value}
 */
function encoded(value) {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Error) {
    const { detail: _, status: __, ...problem } = JSON.parse(JSON.stringify(value));
    return problem;
  }
  if (Array.isArray(value)) return value.map(encoded);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, encoded(member)]));
}

/**
 * Returns the first difference between two values. A missing member is the same as `null`.
 *
 * @param {Value} expected
 * @param {Value} actual
 * @param {string} path
 * @returns {string | null}
 */
function compare(expected, actual, path) {
  const [a, b] = [expected ?? null, actual ?? null];
  if (a === b) return null;
  const isList = Array.isArray(a);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || isList !== Array.isArray(b)) {
    return `${path} is ${JSON.stringify(b)} instead of ${JSON.stringify(a)}`;
  }
  if (isList && a.length !== b.length) return `${path} is ${JSON.stringify(b)} instead of ${JSON.stringify(a)}`;
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = compare(a[name], b[name], `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Returns the lines of a file one by one.
 *
 * @param {string | URL} path
 */
export async function* linesOf(path) {
  const file = await Deno.open(path);
  let rest = "";
  for await (const text of file.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
