import ScrollbackEngine
import ScrollbackWire
import Synchronization

extension RequestScope {
    /// The metrics of the bounds that keep one user from delaying others, in Prometheus' text format.
    var fairnessMetrics: String {
        var text = ""
        func write(_ name: String, _ type: String, _ help: String, _ values: [(label: String, value: Int)]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
            for (label, value) in values { text += "\(name)\(label) \(value)\n" }
        }
        write(
            "scrollback_rate_limited_total", "counter", "Requests refused because their user exceeded a rate limit.",
            limiter.refusals.map { ("{class=\"\($0.cost.rawValue)\"}", $0.count) })
        let refusals = engine.log.refusals
        write(
            "scrollback_write_queue_refusals_total", "counter",
            "Writes refused because the queue was full, or the part of it that one user may fill.",
            [("{bound=\"user\"}", refusals.owner), ("{bound=\"total\"}", refusals.total)])
        write(
            "scrollback_searches_stopped_total", "counter", "Searches stopped because they took too long.",
            [("", engine.stoppedSearches.load(ordering: .relaxed))])
        let pools = WorkPool.allCases.map { (label: "{pool=\"\($0.rawValue)\"}", pool: self.pools[$0]) }
        write(
            "scrollback_reads_waiting", "gauge", "Reads that wait for a thread.",
            pools.map { ($0.label, $0.pool.depth) })
        write(
            "scrollback_reads_refused_total", "counter",
            "Reads refused because too many reads of their user were waiting.",
            pools.map { ($0.label, $0.pool.refusals.current) })
        for name in WorkPool.allCases {
            self.pools[name].waits.write(
                "scrollback_\(name.rawValue)_wait_seconds", "Time that work waited for a thread of the \(name) pool.",
                to: &text)
        }
        return text
    }
}
