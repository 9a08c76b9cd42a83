// @ts-check
import assert from "node:assert/strict";
import { clusterProblems, clusterSummary, nodeState } from "../admin/cluster.js";
import { Metrics } from "../admin/metrics.js";
import { summary } from "../admin/screens/message.js";

/** @typedef {import("../admin/types.js").NodeEntry} NodeEntry */

/** @param {Partial<NodeEntry>} [changes] @returns {NodeEntry} */
function node(changes) {
  return {
    id: "1",
    name: "n1",
    address: "http://n1:8080",
    version: "1.0",
    connections: 1,
    isLeader: false,
    isDraining: false,
    startedAt: "2026-11-28T00:00:00.000Z",
    lagSeconds: 0.4,
    ...changes,
  };
}

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

Deno.test("The state of a node is draining, starting, behind or serving", () => {
  assert.deepEqual(nodeState(node()), ["serving", "good"]);
  assert.deepEqual(nodeState(node({ lagSeconds: 10 })), ["serving", "good"]);
  assert.deepEqual(nodeState(node({ lagSeconds: 10.1 })), ["behind", "bad"]);
  assert.deepEqual(nodeState(node({ address: "" })), ["starting", "quiet"]);
  assert.deepEqual(nodeState(node({ isDraining: true, lagSeconds: 60 })), ["draining", "bad"]);
});

Deno.test("The summary of the nodes counts those that serve clients, and the clients of all", () => {
  assert.equal(clusterSummary([node()]), "1 of 1 node serves clients. 1 client is connected.");
  const nodes = [node(), node({ isDraining: true, connections: 2000 }), node({ address: "", connections: 0 })];
  assert.equal(clusterSummary(nodes), "1 of 3 nodes serve clients. 2,001 clients are connected.");
});

Deno.test("Nodes without problems have none, and each problem is one sentence", () => {
  const leader = node({ id: "2", name: "n2", isLeader: true });
  assert.deepEqual(clusterProblems({ nodes: [node(), leader], generation: "1", busIsConnected: true }), []);
  const problems = (/** @type {NodeEntry[]} */ nodes, busIsConnected = true) =>
    clusterProblems({ nodes, generation: "1", busIsConnected }).map((text) => text.replace(/[\u2068\u2069]/g, "|"));
  assert.deepEqual(problems([node()]), ["No node sends pushes, webhooks and scheduled messages."]);
  assert.deepEqual(problems([node()], false), ["|n1| is not connected to NATS, and lists no other nodes."]);
  assert.deepEqual(problems([leader, node({ isLeader: true })]), [
    "2 nodes send pushes, webhooks and scheduled messages.",
  ]);
  assert.deepEqual(problems([leader, node({ lagSeconds: 90 })]), [
    "|n1| has not read from the database for over 10 seconds.",
  ]);
  assert.deepEqual(problems([leader, node({ name: "n2" })]), [
    "2 nodes have the name |n2|. Start them with different --node-name.",
  ]);
});

Deno.test("The text of a message has all that users read, also if a member is named like an encrypted value", () => {
  /** @param {string} type @param {Record<string, unknown>} content */
  const text = (type, content) => summary(/** @type {any} */ ({ type, content, deleted: false }));
  const encrypted = { format: 1, key: "k", data: "AAAA" };
  assert.equal(text("text", { text: "hello" }), "hello");
  assert.equal(text("text", { encrypted }), "(encrypted)");
  assert.equal(text("image", { encrypted, files: ["1"] }), "(encrypted)");
  for (const value of [1, null, {}, "x", encrypted]) {
    assert.match(text("text", { text: "abuse", encrypted: value }), /^abuse /);
  }
  assert.match(text("text", { encrypted: { format: 1, key: "k" }, note: "abuse" }), /abuse/);
  assert.match(text("poll", { text: "Which?", options: ["abuse", "b"] }), /^\[poll\] Which\? .*abuse/);
  assert.match(text("reference", { text: "yes", message: { content: { text: "abuse" } } }), /abuse/);
  assert.equal(text("image", { text: "caption", name: "a.png", media: "1", width: 4 }), "[image] caption a.png");
});
