/// What the answers of the nodes show about a node that should stop.
package struct DrainProgress: Sendable {
    /// The number of answers in a row that must show that the node has stopped.
    ///
    /// A node that has just started does not list the others for about a second, and a load balancer can be unreachable
    /// for a moment.
    package static let signsThatStopped = 4

    /// Whether the node has received the request to stop.
    package private(set) var isDraining = false
    /// Whether the server that the command talks to is the node itself.
    private var isAnswering: Bool
    private var signs = 0

    package init(isAnswering: Bool) {
        self.isAnswering = isAnswering
    }

    package var hasStopped: Bool { signs >= Self.signsThatStopped }

    /// Takes a list of nodes.
    ///
    /// - Parameters:
    ///   - isDraining: Whether the node stops, or `nil` if it is not listed.
    ///   - isAnswering: Whether the node answered.
    ///   - busIsConnected: Whether the node that answered knows the other nodes.
    package mutating func listed(isDraining: Bool?, isAnswering: Bool, busIsConnected: Bool) {
        if let isDraining {
            self.isDraining = isDraining
            self.isAnswering = isAnswering
            signs = 0
        } else if busIsConnected {
            signs += 1
        }
    }

    /// Takes the answer to the request to stop, which can be lost on its way to another node.
    package mutating func requested() { isDraining = isAnswering }

    /// Takes a request that no server answered.
    package mutating func unreachable() {
        if isDraining, isAnswering { signs += 1 }
    }
}
