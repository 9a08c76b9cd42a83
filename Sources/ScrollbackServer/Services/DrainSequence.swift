/// The steps in which a node stops whose clients move to other nodes.
///
/// The load balancer first has time to find out that the node is not ready. Then the clients connect to other nodes,
/// each at a random moment of a window. The node serves all requests until then.
struct DrainSequence: Sendable {
    enum Step: Equatable, Sendable {
        case wait
        /// Ask all clients to move within this time.
        case askToMove(within: Duration)
        /// Close the connections that are left, and stop.
        case stop
    }

    /// How long clients may take after the window.
    static let grace = Duration.seconds(1)

    private let delay: Duration
    private let window: Duration
    private var hasAsked = false

    /// - Parameters:
    ///   - delay: The time for the load balancer.
    ///   - window: The time in which clients move.
    init(delay: Duration, window: Duration) {
        self.delay = delay
        self.window = window
    }

    /// The longest time that the sequence takes.
    var maximum: Duration { delay + window + Self.grace }

    /// Returns the next step.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the beginning.
    ///   - connections: The number of connections that are left.
    mutating func next(after elapsed: Duration, connections: Int) -> Step {
        guard elapsed >= delay else { return .wait }
        if !hasAsked {
            hasAsked = true
            return .askToMove(within: window)
        }
        return connections == 0 || elapsed >= maximum ? .stop : .wait
    }

    /// Carries out the steps until the node can stop, or until the task is cancelled because a service of the node
    /// failed.
    ///
    /// - Parameters:
    ///   - connections: Returns the number of connections that are left.
    ///   - askToMove: Asks all clients to move within a time.
    /// - Returns: The number of connections that are left.
    mutating func run(connections: () -> Int, askToMove: (Duration) -> Void) async -> Int {
        let start = ContinuousClock.now
        while !Task.isCancelled {
            let count = connections()
            switch next(after: start.duration(to: .now), connections: count) {
            case .wait: try? await Task.sleep(for: .milliseconds(20))
            case .askToMove(let window): askToMove(window)
            case .stop: return count
            }
        }
        return connections()
    }
}
