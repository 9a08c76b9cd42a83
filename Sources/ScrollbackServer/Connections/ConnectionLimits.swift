import CoreMetrics
import Logging
import Synchronization

/// Counts the open connections, in total and by client address, and refuses those above the limits.
final class ConnectionLimits: Sendable {
    /// The limit that a refused connection would exceed.
    enum Refusal: String, CaseIterable, Sendable {
        case total, address, user
    }

    /// The maximum number of connections.
    let maximum: Int
    /// The maximum number of connections from one address, or `nil` for no limit.
    let maximumPerAddress: Int?
    private let metrics: ServerMetrics
    private let logger: Logger
    private let state = Mutex(State())
    /// The refusals are logged at most once in this time, because a flood must not fill the disk.
    private static let logInterval = Duration.seconds(60)

    private struct State {
        var total = 0
        var byAddress: [ClientAddress: Int] = [:]
        var loggedAt: [Refusal: ContinuousClock.Instant] = [:]
    }

    init(maximum: Int, maximumPerAddress: Int?, metrics: ServerMetrics, logger: Logger) {
        self.maximum = maximum
        self.maximumPerAddress = maximumPerAddress
        self.metrics = metrics
        self.logger = logger
    }

    /// The number of open connections.
    var total: Int { state.withLock { $0.total } }

    /// Counts a new connection; if it is accepted, `close(_:)` must follow.
    ///
    /// - Parameter address: The peer's address, or `nil` if it has none.
    /// - Returns: Whether the connection is within the limits.
    func open(_ address: ClientAddress?) -> Bool {
        let refusal: Refusal? = state.withLock { state in
            guard state.total < maximum else { return .total }
            if let address {
                let count = state.byAddress[address, default: 0]
                if let maximumPerAddress, count >= maximumPerAddress { return .address }
                state.byAddress[address] = count + 1
            }
            state.total += 1
            return nil
        }
        guard let refusal else { return true }
        metrics.refusedConnections[refusal]?.increment()
        log(refusal, address)
        return false
    }

    func close(_ address: ClientAddress?) {
        state.withLock { state in
            state.total -= 1
            guard let address, let count = state.byAddress[address] else { return }
            state.byAddress[address] = count > 1 ? count - 1 : nil
        }
    }

    private func log(_ refusal: Refusal, _ address: ClientAddress?) {
        let mustLog = state.withLock { state in
            let now = ContinuousClock.now
            if let last = state.loggedAt[refusal], now - last < Self.logInterval { return false }
            state.loggedAt[refusal] = now
            return true
        }
        guard mustLog else { return }
        switch refusal {
        case .address:
            logger.warning(
                "Refused connections, because their address has too many. Behind a proxy, raise the limit per address.",
                metadata: ["address": "\(address.map { "\($0)" } ?? "none")", "limit": "\(maximumPerAddress ?? 0)"])
        case .total, .user:
            logger.warning("Refused connections, because too many are open.", metadata: ["limit": "\(maximum)"])
        }
    }
}
