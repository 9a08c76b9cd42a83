import ArgumentParser
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire

/// The rate limits of `serve`.
struct RateOptions: ParsableArguments {
    @Option(help: "The rate limit for messages of one user, per second. 0 for no limit (default: 20).")
    var sendRate: Double?

    @Option(
        help: "The maximum burst of messages of one user, at least 1 (default: 40, or twice --send-rate if larger).")
    var sendBurst: Double?

    @Option(help: "The rate limit for other changes by one user, per second. 0 for no limit (default: 50).")
    var writeRate: Double?

    @Option(help: "The maximum burst of other changes (default: 1000, or twice --write-rate if larger).")
    var writeBurst: Double?

    @Option(help: "The rate limit for reads by one user, per second. 0 for no limit (default: 200).")
    var readRate: Double?

    @Option(help: "The maximum burst of reads (default: 5000, or twice --read-rate if larger).")
    var readBurst: Double?

    @Option(
        help: """
            The rate limit for users whose profile or presence one user requests by name, per second. 0 for no limit \
            (default: 50).
            """)
    var lookupRate: Double?

    @Option(help: "The maximum burst of users requested by name, at least 100 (default: 5000, or twice the rate).")
    var lookupBurst: Double?

    @Option(help: "The rate limit for searches and exports by one user, per second. 0 for no limit (default: 5).")
    var searchRate: Double?

    @Option(help: "The maximum burst of searches and exports (default: 50, or twice --search-rate if larger).")
    var searchBurst: Double?

    @Option(help: "The time in seconds after which a search is stopped, above 0 (default: 2).")
    var searchSeconds: Double?

    /// Applies the options, and the settings of the environment and the configuration file behind them.
    func apply(to options: inout ServerOptions, _ settings: ProcessSettings) throws(ChatError) {
        let given: [(name: String, cost: CostClass, rate: Double?, burst: Double?)] = [
            ("send", .message, sendRate, sendBurst), ("write", .write, writeRate, writeBurst),
            ("read", .read, readRate, readBurst), ("lookup", .lookup, lookupRate, lookupBurst),
            ("search", .search, searchRate, searchBurst),
        ]
        for (name, cost, rate, burst) in given {
            try options.setRate(
                of: cost, named: name, perSecond: settings.double("\(name).rate", rate),
                burst: settings.double("\(name).burst", burst))
        }
        if let seconds = try settings.double("search.seconds", searchSeconds) {
            guard seconds > 0, seconds <= 3_600 else {
                throw .invalidParameter("search-seconds", "must be above 0 and at most 3600", limit: 3_600)
            }
            options.searchLimit = .seconds(seconds)
        }
    }
}
