// @ts-check
/** @typedef {import("../sdk/sync/log-state.js").LogState} LogState */

/**
 * Returns violations of the invariant of a log: rows, gaps and deleted ranges must be disjoint and together be exactly
 * `firstSeq...head`.
 *
 * @param {LogState} log
 * @param {readonly number[]} rows The sequence numbers of all rows in the store, in ascending order.
 * @returns {string[]}
 */
export function violations(log, rows) {
  const { firstSeq, head, gaps, deletedRanges } = log;
  /** @type {string[]} */
  const found = [];
  const check = (/** @type {boolean} */ holds, /** @type {string} */ violation) => {
    if (!holds) found.push(violation);
  };
  check(firstSeq >= 1 && firstSeq <= head + 1, `firstSeq ${firstSeq} is not in 1...${head + 1}`);
  check(
    log.replayed >= firstSeq - 1 && log.replayed <= Math.max(head, firstSeq - 1),
    `replayed ${log.replayed} is outside the log`,
  );
  check(log.rev <= log.latestRev, `rev ${log.rev} is above the newest revision ${log.latestRev}`);
  check(log.baseline.seq <= head, `the baseline ${log.baseline.seq} is above the head ${head}`);
  for (const [lower, upper] of [...gaps.ranges, ...deletedRanges.ranges]) {
    check(lower >= firstSeq && upper <= head, `the range ${lower}...${upper} is outside ${firstSeq}...${head}`);
  }
  for (const gap of gaps.ranges) check(!deletedRanges.intersects(gap), `gap ${gap} contains deleted ranges`);
  let previous = -Infinity;
  for (const row of rows) {
    check(row > previous, `row ${row} comes after row ${previous}`);
    check(row >= firstSeq && row <= head, `row ${row} is outside ${firstSeq}...${head}`);
    check(!gaps.contains(row), `row ${row} is in a gap`);
    check(!deletedRanges.contains(row), `row ${row} is in a deleted range`);
    previous = row;
  }
  const known = rows.length + gaps.count + deletedRanges.count;
  check(known === head - firstSeq + 1, `${known} known sequence numbers don't cover ${firstSeq}...${head}`);
  return found;
}
