// @ts-check

/**
 * The sequence number of a message in its conversation.
 *
 * Sequence numbers are dense from 1. The server assigns numbers of at most 53 bits, as it does revisions, counted
 * indexes, counts and commits.
 *
 * @typedef {number} Seq
 */

/**
 * A range of sequence numbers, including both ends.
 *
 * @typedef {readonly [lower: Seq, upper: Seq]} SeqRange
 */

/**
 * Returns the sequence numbers that both ranges contain, if any.
 *
 * @param {SeqRange} a
 * @param {SeqRange} b
 * @returns {SeqRange | null}
 */
export function intersection(a, b) {
  const lower = Math.max(a[0], b[0]);
  const upper = Math.min(a[1], b[1]);
  return lower <= upper ? [lower, upper] : null;
}

/**
 * Returns the range of a coverage; `null` if it covers no sequence number.
 *
 * @param {import("./log.js").Coverage} coverage
 * @returns {SeqRange | null}
 */
export const coveredRange = ({ lower, upper }) => lower <= upper ? [lower, upper] : null;

/**
 * A set of sequence numbers, stored as sorted ranges that neither overlap nor touch.
 *
 * Each operation costs a binary search plus the ranges it changes.
 */
export class SeqRangeSet {
  /** @param {Iterable<SeqRange>} [ranges] */
  constructor(ranges = []) {
    /** @type {SeqRange[]} */
    this.ranges = [];
    for (const range of ranges) this.insert(range);
  }

  /** @returns {SeqRangeSet} */
  copy() {
    const copy = new SeqRangeSet();
    copy.ranges = this.ranges.slice();
    return copy;
  }

  get isEmpty() {
    return this.ranges.length === 0;
  }

  get count() {
    return this.ranges.reduce((sum, [lower, upper]) => sum + upper - lower + 1, 0);
  }

  /** @param {Seq} seq */
  contains(seq) {
    return this.rangeContaining(seq) !== null;
  }

  /**
   * @param {Seq} seq
   * @returns {SeqRange | null}
   */
  rangeContaining(seq) {
    const range = this.ranges[this.#firstIndexEndingAtOrAbove(seq)];
    return range !== undefined && range[0] <= seq ? range : null;
  }

  /** @param {SeqRange} range */
  intersects([lower, upper]) {
    const first = this.ranges[this.#firstIndexEndingAtOrAbove(lower)];
    return first !== undefined && first[0] <= upper;
  }

  /**
   * Returns the parts of the set inside `range`.
   *
   * @param {SeqRange} range
   */
  clippedTo(range) {
    const result = new SeqRangeSet();
    for (let index = this.#firstIndexEndingAtOrAbove(range[0]); index < this.ranges.length; index += 1) {
      const part = intersection(/** @type {SeqRange} */ (this.ranges[index]), range);
      if (part === null) break;
      result.ranges.push(part);
    }
    return result;
  }

  /**
   * Returns the parts of `range` that are not in the set.
   *
   * @param {SeqRange} range
   */
  missingIn(range) {
    const result = new SeqRangeSet([range]);
    result.subtract(this.clippedTo(range));
    return result;
  }

  /**
   * Returns the highest range at or below `seq`, cut off at `seq`.
   *
   * @param {Seq} seq
   * @returns {SeqRange | null}
   */
  lastAtOrBelow(seq) {
    const index = this.#firstIndexEndingAtOrAbove(seq);
    const range = this.ranges[index];
    if (range !== undefined && range[0] <= seq) return [range[0], seq];
    return this.ranges[index - 1] ?? null;
  }

  /**
   * Returns the lowest range at or above `seq`, cut off at `seq`.
   *
   * @param {Seq} seq
   * @returns {SeqRange | null}
   */
  firstAtOrAbove(seq) {
    const range = this.ranges[this.#firstIndexEndingAtOrAbove(seq)];
    return range === undefined ? null : [Math.max(range[0], seq), range[1]];
  }

  /** @param {SeqRange} range */
  insert([lower, upper]) {
    // Adjacent ranges are joined, so search one number further on both sides.
    const start = this.#firstIndexEndingAtOrAbove(lower - 1);
    let end = start;
    let [low, high] = [lower, upper];
    for (let range = this.ranges[end]; range !== undefined && range[0] <= upper + 1; range = this.ranges[end]) {
      low = Math.min(low, range[0]);
      high = Math.max(high, range[1]);
      end += 1;
    }
    this.ranges.splice(start, end - start, [low, high]);
  }

  /** @param {SeqRange} range */
  remove([lower, upper]) {
    const start = this.#firstIndexEndingAtOrAbove(lower);
    let end = start;
    /** @type {SeqRange[]} */
    const kept = [];
    for (let range = this.ranges[end]; range !== undefined && range[0] <= upper; range = this.ranges[end]) {
      if (range[0] < lower) kept.push([range[0], lower - 1]);
      if (range[1] > upper) kept.push([upper + 1, range[1]]);
      end += 1;
    }
    this.ranges.splice(start, end - start, ...kept);
  }

  /** @param {SeqRangeSet} other */
  formUnion(other) {
    for (const range of other.ranges) this.insert(range);
  }

  /** @param {SeqRangeSet} other */
  subtract(other) {
    for (const range of other.ranges) this.remove(range);
  }

  /** @param {Seq} seq */
  #firstIndexEndingAtOrAbove(seq) {
    let low = 0;
    let high = this.ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (/** @type {SeqRange} */ (this.ranges[middle])[1] < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
