import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackNATS
import ScrollbackPostgres

/// The connection of this server to the other nodes of its database.
struct Nodes {
    let node: Node
    let store: PostgresStore

    /// Joins the nodes of a store that is shared.
    init?(_ store: any ServerStore, _ options: ServerOptions) throws {
        guard options.busURL != nil, let store = store as? PostgresStore else { return nil }
        self.store = store
        node = try Node(store, name: options.nodeName, version: Server.version)
    }

    /// Replaces the keys of this data directory by those of the other nodes, if there are any.
    func shareKeys(in directory: URL) throws {
        let own = try SigningKeys.open(in: directory)
        let shared = try store.secrets(orStore: own.encoded())
        try SigningKeys(decoding: shared).save(in: directory)
    }

    /// Reads the keys that all nodes use, and lets the tokens use them.
    func readKeys(for tokens: TokenService) async throws {
        let start = ContinuousClock.now
        try await tokens.useShared(store.secrets(orStore: tokens.encodedSecrets()), readAt: start)
    }

    /// Connects to the bus.
    func connect(_ options: ServerOptions) throws -> NATSBus? {
        guard let url = options.busURL else { return nil }
        let first = try store.read { try $0.incarnations().first?.id }
        let bus = try NATSBus(url, subject: "scrollback.\(first.map { "\($0)" } ?? "none")") { [weak node] bytes in
            node?.receive(bytes)
        }
        node.connect(to: bus)
        return bus
    }
}
