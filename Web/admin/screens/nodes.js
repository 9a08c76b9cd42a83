// The servers that share one database, as they report themselves to each other.
import { APIError } from "../api.js";
import { clusterProblems, clusterSummary, nodeState } from "../cluster.js";
import { count, time } from "../format.js";
import { badge, bdi, make } from "../parts/dom.js";
import { Screen } from "../parts/screen.js";

/** @typedef {import("../parts/dom.js").Child} Child */
/** @typedef {import("../types.js").Cluster} Cluster */
/** @typedef {import("../types.js").NodeEntry} NodeEntry */

/** @type {[title: string, cell: (node: NodeEntry) => Child[]][]} */
const columns = [
  ["Node", (node) => [bdi(node.name)]],
  ["State", (node) => [badge(...nodeState(node)), node.isLeader && badge("leads", "quiet")]],
  ["Clients", (node) => [count(node.connections)]],
  ["Behind by", (node) => [`${Math.round(node.lagSeconds)} s`]],
  ["Version", (node) => [node.version]],
  ["Started", (node) => [time(node.startedAt)]],
  ["Address", (node) => [node.address !== "" && bdi(node.address)]],
];

export class NodeScreen extends Screen {
  #problems = make("ul", { class: "warnings", "aria-label": "Warnings", hidden: true });
  #content = make("div", {});
  #summary = make("p", {});
  #rows = make("tbody");
  /** The error of the last request. */
  #failure = "";

  titleText() {
    return "Nodes";
  }

  build() {
    this.append(make("div", { role: "status" }, this.#problems), this.#content);
    this.#poll();
  }

  async #poll() {
    while (!this.signal.aborted && (await this.#load())) {
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }

  /** @returns {Promise<boolean>} Whether another answer can differ. */
  async #load() {
    try {
      const cluster = /** @type {Cluster} */ (await this.api.get("/v1/admin/nodes", { signal: this.signal }));
      this.#show(cluster);
      this.#showFailure("");
    } catch (error) {
      if (error instanceof APIError && error.status === 409) {
        this.#showSingleServer();
        return false;
      }
      if (this.signal.aborted || !this.api.isSignedIn) return true;
      this.#showFailure(`The list of nodes is not current. ${error instanceof Error ? error.message : error}`);
    }
    return true;
  }

  /**
   * A screen reader announces an error once, not after each attempt.
   *
   * @param {string} text
   */
  #showFailure(text) {
    if (text === this.#failure) return;
    this.#failure = text;
    this.showError(text === "" ? null : text);
  }

  #showSingleServer() {
    this.#problems.hidden = true;
    this.#content.replaceChildren(
      make(
        "div",
        { class: "card alone" },
        make("p", {}, "This server works alone. It shares its database with no other server, so there are no nodes."),
        make("p", { class: "help" }, "Servers that share one database are started with --store and --bus."),
      ),
    );
  }

  /** @param {Cluster} cluster */
  #show(cluster) {
    const problems = clusterProblems(cluster).map((problem) => make("li", {}, problem));
    replace(this.#problems, problems);
    this.#problems.hidden = problems.length === 0;
    this.#summary.textContent = clusterSummary(cluster.nodes);
    // The first one is the node that answers, which can be another one each time.
    const nodes = [...cluster.nodes].sort((left, right) =>
      compare(left.name, right.name) || compare(left.id, right.id)
    );
    replace(this.#rows, nodes.map(row));
    if (this.#content.childElementCount === 0) this.#content.append(...this.#table());
  }

  #table() {
    const titles = columns.map(([title]) => make("th", { scope: "col" }, title));
    const help = "The numbers and connections of the overview are those of the node that answers. " +
      "“Behind by” is how long ago a node last had all commits of the database. " +
      "The node that leads sends pushes, webhooks and scheduled messages. " +
      "To stop a node without an interruption for its clients, use scrollback cluster drain.";
    return [
      this.#summary,
      make(
        "div",
        { class: "list" },
        make(
          "table",
          {},
          make("caption", { class: "unseen" }, "Nodes"),
          make("thead", {}, make("tr", {}, ...titles)),
          this.#rows,
        ),
      ),
      make("p", { class: "help" }, help),
    ];
  }
}

/** @param {NodeEntry} node */
function row(node) {
  const cells = columns.map(([title, cell], number) =>
    number === 0 ? make("th", { scope: "row" }, ...cell(node)) : make("td", { "data-title": title }, ...cell(node))
  );
  return make("tr", {}, ...cells);
}

/**
 * Replaces the children. Those that are the same stay, so that a screen reader keeps its place in them.
 *
 * @param {Element} parent
 * @param {Element[]} children
 */
function replace(parent, children) {
  const old = [...parent.children];
  const current = children.map((child) => {
    const index = old.findIndex((element) => element.isEqualNode(child));
    return index < 0 ? child : old.splice(index, 1)[0] ?? child;
  });
  for (const element of old) element.remove();
  for (const [index, element] of current.entries()) {
    const next = parent.children[index];
    if (next !== element) parent.insertBefore(element, next ?? null);
  }
}

/**
 * @param {string} left
 * @param {string} right
 */
const compare = (left, right) => (left < right ? -1 : left > right ? 1 : 0);

customElements.define("admin-nodes", NodeScreen);
