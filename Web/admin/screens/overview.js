// Numbers of the running server, its backups, and its connections.
import { bytes, count, duration, rate, time } from "../format.js";
import { Metrics } from "../metrics.js";
import { badge, button, facts, link, make } from "../parts/dom.js";
import { PagedTable } from "../parts/paged-table.js";
import { Screen } from "../parts/screen.js";
import { BackupSection } from "./backups.js";
import { confirmDisconnect, listConnections } from "./connections.js";

/** @typedef {import("../types.js").ConnectionEntry} ConnectionEntry */

/** Counters that should stay the same, and what an increase means. @type {[name: string, meaning: string][]} */
const warnings = [
  ["failed_commits_total", "transactions failed: the disk is full or faulty"],
  ["store_rollbacks_total", "times the store went back to an earlier state: restore a backup"],
  ["storage_refusals_total", "requests were refused because the volume is full"],
  ["http_failures_total", "requests were answered with an error of the server: see the log"],
  ["accept_errors_total", "connections were not accepted by the system"],
  ["memory_closes_total", "connections were closed because clients read too slowly"],
];

export class OverviewScreen extends Screen {
  #tiles = make("div", { class: "tiles" });
  #details = make("div", { class: "columns" });
  #warnings = make("ul", { class: "warnings", "aria-label": "Warnings" });
  #version = make("p", { class: "help" });
  /** The newest answers, oldest first. @type {Metrics[]} */
  #history = [];

  titleText() {
    return "Overview";
  }

  build() {
    /** @type {PagedTable<ConnectionEntry>} */
    const connections = new PagedTable(this, {
      caption: "Connections",
      empty: "No user is connected.",
      columns: [
        ["User", (row) => link(["users", row.user], row.user)],
        ["Device", (row) => row.device],
        ["App", (row) => (row.active ? badge("foreground", "good") : badge("background", "quiet"))],
        ["Connected since", (row) => time(row.since)],
        ["Unread data", (row) => bytes(row.queuedBytes)],
        ["", (row) => button("Disconnect", () => confirmDisconnect(this, row, () => connections.reload()))],
      ],
      load: (cursor, signal) => listConnections(this.api, { cursor }, signal),
    });
    this.append(
      this.#warnings,
      this.#tiles,
      this.#details,
      new BackupSection(this).element,
      make("section", {}, make("h2", {}, "Connections"), connections.element),
      this.#version,
    );
    connections.reload();
    this.#poll();
    this.run("The version was not loaded.", async () => {
      const { version } = /** @type {{ version: string }} */ (await this.api.get("/healthz", { signal: this.signal }));
      this.#version.textContent = `Scrollback ${version}`;
    });
  }

  async #poll() {
    while (!this.signal.aborted) {
      await this.#load();
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }

  async #load() {
    // An error of another action stays until this one fails too.
    try {
      const response = await this.api.response("/metrics", { signal: this.signal });
      this.#history.push(new Metrics(await response.text(), performance.now()));
      this.#history = this.#history.slice(-60);
      this.#render();
    } catch (error) {
      if (this.signal.aborted || !this.api.isSignedIn) return;
      this.showError(`The numbers are not current. ${error instanceof Error ? error.message : error}`);
    }
  }

  #render() {
    const now = this.#history.at(-1);
    if (!now) return;
    const earlier = this.#history.at(-6) ?? this.#history[0];
    const previous = earlier === now ? undefined : earlier;
    /** @param {string} name */
    const rateOf = (name) => {
      const value = previous && now.rate(name, previous);
      return value === undefined ? "…" : rate(value);
    };
    /** @param {number} part */
    const commit = (part) => {
      const bound = now.quantile("commit_seconds", part, previous);
      if (bound === undefined) return "none yet";
      return bound === Infinity ? "over 1 s" : `≤ ${duration(bound)}`;
    };
    /** @param {string} name */
    const series = (name) => this.#history.map((metrics) => metrics.sum(name));
    /** @param {string} name */
    const rates = (name) =>
      this.#history.slice(1).map((metrics, index) => metrics.rate(name, this.#history[index] ?? metrics) ?? 0);
    this.#tiles.replaceChildren(
      tile("Connections", count(now.sum("connections")), "open WebSockets", series("connections")),
      tile("Writes", rateOf("commit_writes_sum"), "messages and other changes", rates("commit_writes_sum")),
      tile("Requests", rateOf("http_requests_total"), "over HTTP", rates("http_requests_total")),
      tile("Commit latency", commit(0.99), `99 % of commits; half ${commit(0.5)}`),
      tile("Write queue", count(now.sum("write_queue_depth")), "waiting writes", series("write_queue_depth")),
      tile("Free space", bytes(now.sum("disk_free_bytes")), "on the volume of the data directory"),
    );
    this.#details.replaceChildren(
      card("Queues", [
        ...now.by("reads_waiting", "pool").map((
          [pool, value],
        ) => /** @type {[string, string]} */ ([`Waiting for a thread: ${pool}`, count(value)])),
        ["Events for the webhook", count(now.sum("webhook_waiting"))],
        ["Pushes", count(now.sum("push_waiting"))],
        ["Pushes that wait for a retry", count(now.sum("push_retries"))],
      ]),
      card("Disk", [
        ["Database", bytes(now.sum("database_bytes"))],
        ["Write-ahead log", bytes(now.sum("wal_bytes"))],
        ["Received files since the start", bytes(now.sum("media_received_bytes_total"))],
        ["Encrypted", encrypted(now.get("sealed_ratio"))],
      ]),
      card("Connections and limits", [
        ["Sockets", `${count(now.sum("sockets"))} of ${count(now.sum("sockets_limit"))}`],
        ["Data that clients have not read", bytes(now.sum("outbound_queued_bytes"))],
        ["Refused connections", count(now.sum("refused_connections_total"))],
        ["Slow clients disconnected", count(now.sum("slow_closes_total"))],
        ["Requests above a rate limit", count(now.sum("rate_limited_total"))],
      ]),
    );
    const shown = warnings.map(([name, meaning]) => ({ value: now.sum(name), meaning })).filter(({ value }) =>
      value > 0
    );
    this.#warnings.replaceChildren(
      ...shown.map(({ value, meaning }) => make("li", {}, `Since the start: ${count(value)} ${meaning}.`)),
    );
    this.#warnings.hidden = shown.length === 0;
  }
}

/** @param {number | undefined} ratio Absent without storage encryption. */
const encrypted = (ratio) => (ratio === undefined ? "no" : `${Math.floor(ratio * 100)} %`);

/**
 * @param {string} title
 * @param {[string, string][]} rows
 */
const card = (title, rows) => make("section", { class: "card" }, make("h2", {}, title), facts(rows));

/**
 * @param {string} title
 * @param {string} value
 * @param {string} help
 * @param {number[]} [history]
 */
const tile = (title, value, help, history) =>
  make(
    "section",
    { class: "tile" },
    make("h2", {}, title),
    make("p", { class: "value" }, value),
    make("p", { class: "help" }, help),
    history && history.length > 1 && line(history),
  );

/** @param {number[]} values Drawn from zero to the largest. */
function line(values) {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", "0 0 100 20");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const top = Math.max(1, ...values);
  const points = values.map((value, index) =>
    `${((index * 100) / (values.length - 1)).toFixed(1)},${(19 - (value * 18) / top).toFixed(1)}`
  );
  const path = document.createElementNS(namespace, "polyline");
  path.setAttribute("points", points.join(" "));
  svg.append(path);
  return svg;
}

customElements.define("admin-overview", OverviewScreen);
