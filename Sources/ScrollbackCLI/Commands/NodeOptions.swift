import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer

/// The options of `serve` for one of several nodes.
struct NodeOptions: ParsableArguments {
    @Option(
        help: """
            With --bus: the name of this node for `scrollback cluster`, 1...64 bytes (default: the name of the machine \
            and the port).
            """)
    var nodeName: String?

    @Option(
        help: """
            With --bus: how long a stopping node serves all requests after /readyz reports it as not ready, in \
            seconds, 0...600. It should be longer than the load balancer takes to notice it (default: 3).
            """)
    var drainDelay: Double?

    @Option(
        help: """
            With --bus: the time in which the clients of a stopping node connect to other nodes, in seconds, 0...600 \
            (default: 5).
            """)
    var drainWindow: Double?

    /// Sets the options that are given here or in the configuration.
    ///
    /// - Throws: `invalid-parameter` for a value out of range.
    func apply(to options: inout ServerOptions, _ settings: ProcessSettings) throws(ChatError) {
        options.nodeName =
            try settings.string("node.name", nodeName) ?? "\(Self.machine.prefix(50)):\(options.port)"
        guard (1...64).contains(options.nodeName.utf8.count) else {
            throw .invalidParameter("node-name", "must have 1...64 bytes", limit: 64)
        }
        options.drainDelay = try Self.duration(
            settings.double("drain.delay", drainDelay), "drain-delay", default: options.drainDelay)
        options.drainWindow = try Self.duration(
            settings.double("drain.window", drainWindow), "drain-window", default: options.drainWindow)
    }

    private static func duration(
        _ seconds: Double?, _ name: String, default standard: Duration
    ) throws(ChatError) -> Duration {
        guard let seconds else { return standard }
        guard (0...600).contains(seconds) else { throw .invalidParameter(name, "must be in 0...600", limit: 600) }
        return .seconds(seconds)
    }

    /// The name of this machine, without a query to a name server.
    private static var machine: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "node" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
