// Reads /metrics, which has the Prometheus text format.

/** One answer of /metrics. */
export class Metrics {
  /** @type {Map<string, number>} */
  #values = new Map();

  /**
   * @param {string} text
   * @param {number} time When the text arrived, in milliseconds.
   */
  constructor(text, time) {
    this.time = time;
    for (const line of text.split("\n")) {
      const end = line.lastIndexOf(" ");
      if (end > 0 && !line.startsWith("#")) this.#values.set(line.slice(0, end), Number(line.slice(end + 1)));
    }
  }

  /**
   * @param {string} name With its labels, such as `scrollback_reads_waiting{pool="read"}`.
   * @returns {number | undefined}
   */
  get(name) {
    return this.#values.get(`scrollback_${name}`);
  }

  /**
   * The sum of a metric over its labels.
   *
   * @param {string} name
   */
  sum(name) {
    let sum = 0;
    for (const [key, value] of this.#values) {
      if (key === `scrollback_${name}` || key.startsWith(`scrollback_${name}{`)) sum += value;
    }
    return sum;
  }

  /**
   * The values of a metric by one label.
   *
   * @param {string} name
   * @param {string} label
   * @returns {[string, number][]}
   */
  by(name, label) {
    const start = `scrollback_${name}{${label}="`;
    return [...this.#values].filter(([key]) => key.startsWith(start))
      .map(([key, value]) => [key.slice(start.length, -2), value]);
  }

  /**
   * How much a counter increases in a second.
   *
   * @param {string} name
   * @param {Metrics} earlier
   * @returns {number | undefined} `undefined` if the server was restarted in between.
   */
  rate(name, earlier) {
    const seconds = (this.time - earlier.time) / 1000;
    const difference = this.sum(name) - earlier.sum(name);
    return seconds > 0 && difference >= 0 ? difference / seconds : undefined;
  }

  /**
   * The bound below which a part of a histogram's values are, since an earlier answer or the start of the server.
   *
   * @param {string} name
   * @param {number} part Such as 0.99.
   * @param {Metrics} [earlier]
   * @returns {number | undefined} `undefined` without values. Infinite above the last bound.
   */
  quantile(name, part, earlier) {
    const before = new Map(earlier?.by(`${name}_bucket`, "le"));
    const buckets = this.by(`${name}_bucket`, "le").map(([bound, value]) => ({
      bound: bound === "+Inf" ? Infinity : Number(bound),
      count: value - (before.get(bound) ?? 0),
    })).sort((left, right) => left.bound - right.bound);
    const all = buckets.at(-1)?.count ?? 0;
    if (all <= 0) return earlier ? this.quantile(name, part) : undefined;
    return buckets.find((bucket) => bucket.count >= all * part)?.bound;
  }
}
