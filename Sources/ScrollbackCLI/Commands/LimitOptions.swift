import ArgumentParser
import ScrollbackModel
import ScrollbackServer

/// The options of `serve` that bound connections, queued bytes and slow transfers.
struct LimitOptions: ParsableArguments {
    @Option(
        help: """
            The maximum number of connections (default: as many as the number of open files permits, with a reserve).
            """)
    var connectionsMax: Int?

    @Option(
        help:
            "The maximum number of connections from one address, or from one IPv6 /64. 0 for no limit (default: 1000).")
    var connectionsPerAddress: Int?

    @Option(help: "The maximum number of WebSockets of one user. 0 for no limit (default: 50).")
    var connectionsPerUser: Int?

    @Option(
        help: """
            The memory for data that clients have not read yet, in MiB. When it is used up, the server closes the \
            connections with the most unread data (default: 256).
            """)
    var outboundMemory: Int?

    @Option(
        help: """
            The minimum rate of HTTP bodies, in bytes per second. Slower requests and downloads are ended after 30 \
            seconds. 0 for no minimum (default: 1024).
            """)
    var transferRate: Int?

    @Option(
        help: """
            The rate at which the server receives the uploads of one user, in bytes per second. Faster clients wait. 0 \
            for no limit (default: 33554432, which is 32 MiB).
            """)
    var uploadRate: Int?

    /// Sets the limits that are given here or in the configuration.
    ///
    /// - Throws: `invalid-parameter` for a value out of range.
    func apply(to options: inout ServerOptions, _ settings: ProcessSettings) throws(ChatError) {
        options.connections = try Self.check(
            settings.int("connections.max", connectionsMax), "connections-max", atLeast: 1)
        let perAddress = try settings.int("connections.perAddress", connectionsPerAddress)
        options.connectionsPerAddress = try Self.limit(
            perAddress, "connections-per-address", default: options.connectionsPerAddress)
        let perUser = try settings.int("connections.perUser", connectionsPerUser)
        options.connectionsPerUser = try Self.limit(
            perUser, "connections-per-user", default: options.connectionsPerUser)
        let memory = try Self.check(
            settings.int("outbound.memory", outboundMemory), "outbound-memory", atLeast: 1)
        if let memory { options.outboundMemory = memory << 20 }
        options.transferRate = try Self.limit(
            settings.int("transfer.rate", transferRate), "transfer-rate", default: options.transferRate)
        options.transferGrace = try settings.double("transfer.graceSeconds") ?? options.transferGrace
        guard options.transferGrace > 0 else {
            throw .invalidParameter("transfer.graceSeconds", "must be above 0")
        }
        options.uploadRate = try Self.limit(
            settings.int("upload.rate", uploadRate), "upload-rate", default: options.uploadRate)
    }

    private static func check(_ value: Int?, _ name: String, atLeast least: Int) throws(ChatError) -> Int? {
        // The upper bound keeps a number of MiB from overflowing as a number of bytes.
        guard let value, !(least...1 << 30).contains(value) else { return value }
        throw .invalidParameter(name, "must be in \(least)...\(1 << 30)", limit: value < least ? least : 1 << 30)
    }

    /// Returns a limit, in which 0 means no limit.
    private static func limit(_ value: Int?, _ name: String, default standard: Int?) throws(ChatError) -> Int? {
        guard let value = try check(value, name, atLeast: 0) else { return standard }
        return value == 0 ? nil : value
    }
}
