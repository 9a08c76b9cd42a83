// What the list of nodes means. `scrollback cluster status` reports the same problems (ClusterNodes.swift).
import { count, isolated } from "./format.js";

/** @typedef {import("./types.js").NodeEntry} NodeEntry */
/** @typedef {import("./types.js").Cluster} Cluster */

/** How many seconds may pass until a node has the commits of the others. */
const maximumLag = 10;

/**
 * The state of a node in a few words, and how to show it.
 *
 * @param {NodeEntry} node
 * @returns {[text: string, kind: "good" | "bad" | "quiet"]}
 */
export function nodeState({ address, isDraining, lagSeconds }) {
  if (isDraining) return ["draining", "bad"];
  if (address === "") return ["starting", "quiet"];
  return lagSeconds > maximumLag ? ["behind", "bad"] : ["serving", "good"];
}

/**
 * How many nodes serve clients, and how many clients are connected to all of them.
 *
 * @param {NodeEntry[]} nodes
 */
export function clusterSummary(nodes) {
  const serving = nodes.filter((node) => !node.isDraining && node.address !== "").length;
  const clients = nodes.reduce((sum, node) => sum + node.connections, 0);
  const servers = `${count(serving)} of ${count(nodes.length)} ${nodes.length === 1 ? "node serves" : "nodes serve"}`;
  return `${servers} clients. ${count(clients)} ${clients === 1 ? "client is" : "clients are"} connected.`;
}

/**
 * The problems of the nodes, as sentences.
 *
 * @param {Cluster} cluster
 * @returns {string[]}
 */
export function clusterProblems({ nodes, busIsConnected }) {
  const problems = [];
  if (!busIsConnected) {
    const name = nodes[0] ? isolated(nodes[0].name) : "The node";
    problems.push(`${name} is not connected to NATS, and lists no other nodes.`);
  }
  const leaders = nodes.filter((node) => node.isLeader).length;
  if (leaders === 0 && busIsConnected) {
    problems.push("No node sends pushes, webhooks and scheduled messages.");
  } else if (leaders > 1) {
    problems.push(`${leaders} nodes send pushes, webhooks and scheduled messages.`);
  }
  for (const { name, lagSeconds } of nodes) {
    if (lagSeconds <= maximumLag) continue;
    // Without the exact number, which the table has: a screen reader announces the sentence once.
    problems.push(`${isolated(name)} has not read from the database for over ${maximumLag} seconds.`);
  }
  for (const name of new Set(nodes.map((node) => node.name))) {
    const { length } = nodes.filter((node) => node.name === name);
    if (length === 1) continue;
    problems.push(`${length} nodes have the name ${isolated(name)}. Start them with different --node-name.`);
  }
  return problems;
}
