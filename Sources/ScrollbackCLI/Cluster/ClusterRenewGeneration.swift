import ArgumentParser
import ScrollbackModel
import ScrollbackWire

struct ClusterRenewGeneration: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "renew-generation",
        abstract: "Make all clients synchronize again after the database was restored.",
        discussion: """
            Use it after you restored the PostgreSQL database from a backup and started the nodes, as `scrollback \
            restore` does for a data directory. The nodes close all connections. Clients then check what they have \
            stored: they send messages again that the database lost, and messages from after the backup disappear.

            The nodes also detect a restored database themselves when a client connects that has seen more. After a \
            failover to a standby that lacked commits, each node that knows a lost commit ends, and one of them does \
            the same as this command. Use it then only if these nodes were lost together with the primary, because \
            the other nodes can't know of the loss.
            """)

    @Flag(help: "Confirm that all clients synchronize again. Without this flag, the command does nothing.")
    var yes = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            guard yes else {
                throw ChatError.invalidParameter(
                    "--yes", "is required, because the nodes close all connections and all clients synchronize again")
            }
            let api = try connection.adminAPI()
            let generation = try await api.nodes().generation
            let renewed = try await api.object("POST", "/v1/admin/generation") {
                $0.field("generation", generation)
            } read: { (reader) throws(ChatError) in
                var renewed: String?
                try reader.object { (name, value) throws(ChatError) in
                    if name == "generation" { renewed = try value.string() } else { try value.skip() }
                }
                return try renewed.required("generation")
            }
            if connection.json {
                Output.json { $0.field("generation", renewed) }
            } else {
                Output.line("the database has the generation \(renewed): all clients synchronize again")
            }
        }
    }
}
