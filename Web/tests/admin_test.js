// @ts-check
import assert from "node:assert/strict";
import { Metrics } from "../admin/metrics.js";

/** @param {Record<string, number>} buckets @param {number} time */
function histogram(buckets, time) {
  const lines = Object.entries(buckets).map(([bound, count]) =>
    `scrollback_commit_seconds_bucket{le="${bound}"} ${count}`
  );
  return new Metrics(lines.join("\n"), time);
}

Deno.test("Metrics are read by name, summed over their labels, and listed by a label", () => {
  const text = [
    "# TYPE scrollback_connections gauge",
    "scrollback_connections 3",
    'scrollback_reads_waiting{pool="read"} 2',
    'scrollback_reads_waiting{pool="search"} 5',
    "scrollback_reads_waiting_more 100",
    "",
  ].join("\n");
  const metrics = new Metrics(text, 0);
  assert.equal(metrics.get("connections"), 3);
  assert.equal(metrics.get("sealed_ratio"), undefined);
  assert.equal(metrics.sum("reads_waiting"), 7);
  assert.deepEqual(metrics.by("reads_waiting", "pool"), [["read", 2], ["search", 5]]);
});

Deno.test("A rate is the increase of a counter in a second, and unknown after a restart of the server", () => {
  const earlier = new Metrics("scrollback_http_requests_total 100", 1000);
  assert.equal(new Metrics("scrollback_http_requests_total 130", 4000).rate("http_requests_total", earlier), 10);
  assert.equal(new Metrics("scrollback_http_requests_total 5", 4000).rate("http_requests_total", earlier), undefined);
  assert.equal(earlier.rate("http_requests_total", earlier), undefined);
});

Deno.test("A quantile is the bound of the bucket that reaches it", () => {
  const all = histogram({ "0.01": 10, "0.1": 99, "1.0": 100, "+Inf": 100 }, 0);
  assert.equal(all.quantile("commit_seconds", 0.1), 0.01);
  assert.equal(all.quantile("commit_seconds", 0.5), 0.1);
  assert.equal(all.quantile("commit_seconds", 1), 1);
  assert.equal(histogram({ "0.01": 0, "+Inf": 1 }, 0).quantile("commit_seconds", 0.5), Infinity);
  assert.equal(histogram({ "0.01": 0, "+Inf": 0 }, 0).quantile("commit_seconds", 0.5), undefined);
});

Deno.test("A quantile since an earlier answer counts only later values, and all values if there are none", () => {
  const earlier = histogram({ "0.01": 100, "0.1": 100, "+Inf": 100 }, 0);
  const later = histogram({ "0.01": 100, "0.1": 110, "+Inf": 110 }, 1000);
  assert.equal(later.quantile("commit_seconds", 0.5, earlier), 0.1);
  assert.equal(later.quantile("commit_seconds", 0.5, later), 0.01);
});
