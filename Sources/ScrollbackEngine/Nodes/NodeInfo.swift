import ScrollbackModel
import ScrollbackWire

/// What a node reports about itself to the other nodes, and to administrators.
package struct NodeInfo: Hashable, Sendable {
    package var id: NodeID
    /// The name for commands, which its operator gave it.
    package var name: String
    /// The URL of the address at which it listens, or an empty text before it listens.
    package var address: String
    package var version: String
    /// The start of the process, in whole seconds since 1970.
    package var startedAt: Int64
    /// The number of WebSockets.
    package var connections: Int
    /// How long ago the node last had all commits of the database, in milliseconds.
    package var lag: Int
    /// Whether it sends pushes, webhooks and scheduled messages, and removes expired data.
    package var isLeader: Bool
    /// Whether it stops, and its clients move to other nodes.
    package var isDraining: Bool

    package init(
        id: NodeID, name: String, address: String = "", version: String, startedAt: Int64, connections: Int = 0,
        lag: Int = 0, isLeader: Bool = false, isDraining: Bool = false
    ) {
        self.id = id
        self.name = name
        self.address = address
        self.version = version
        self.startedAt = startedAt
        self.connections = connections
        self.lag = lag
        self.isLeader = isLeader
        self.isDraining = isDraining
    }

    /// Writes the members that signals between nodes and the list for administrators share.
    func writeMembers(to writer: inout JSONWriter) {
        writer.field("name", name)
        writer.field("address", address)
        writer.field("version", version)
        writer.field("connections", connections)
        writer.field("isLeader", isLeader)
        writer.field("isDraining", isDraining)
    }
}
