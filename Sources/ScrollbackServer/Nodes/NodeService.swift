import Foundation
import Logging
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import ServiceLifecycle

/// Follows the commits of the other nodes in the store, and leads them if no other node does.
struct NodeService: Service {
    let engine: Engine
    let node: Node
    let store: PostgresStore
    let threads: NIOThreadPool
    let logger: Logger

    /// How often the node looks for commits if messages of the bus may be missing.
    static let interval = Duration.milliseconds(100)
    /// The number of intervals after which the node looks for commits in any case, and checks whether it leads.
    static let intervalsPerCheck = 20
    /// How long the store keeps notes, in seconds.
    ///
    /// A node that was inactive for longer must start again.
    static let noteLifetime: TimeInterval = 600

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                try await withThrowingTaskGroup { group in
                    // A database that does not answer must not silence the node.
                    group.addTask { try await announce() }
                    group.addTask { try await follow() }
                    // The first error ends both.
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch is CancellationError {
            return
        }
    }

    private func announce() async throws {
        while true {
            try await Task.sleep(for: .seconds(NodeDirectory.interval))
            engine.announceNode()
        }
    }

    private func follow() async throws {
        var turn = 0
        while true {
            try await Task.sleep(for: Self.interval)
            turn += 1
            let isCheck = turn % Self.intervalsPerCheck == 0
            if isCheck || node.mustPoll { try await catchUp() }
            if isCheck { lead() }
            // Once a minute.
            if turn % 600 == 0, engine.isLeader { await dropNotes() }
        }
    }

    /// - Throws: `conflict` if the node can't continue.
    private func catchUp() async throws {
        do {
            try await threads.runIfActive { [node] in try node.catchUp() }
        } catch let failure as CommitOrder.Failure {
            throw ChatError(.conflict, "\(failure)")
        } catch {
            logger.debug("Commits could not be read.", metadata: ["reason": "\(ChatError(wrapping: error))"])
        }
    }

    private func lead() {
        guard store.isLeader != engine.isLeader else { return }
        engine.lead(store.isLeader)
        logger.notice(
            store.isLeader
                ? "This node sends pushes, webhooks and scheduled messages now, and removes expired data."
                : "This node has lost its connection to the database, so another one sends pushes and webhooks.")
    }

    private func dropNotes() async {
        do {
            try await threads.runIfActive { [store] in try store.dropNotes(olderThan: Self.noteLifetime) }
        } catch {
            logger.warning(
                "Old notes could not be removed.", metadata: ["reason": "\(ChatError(wrapping: error))"])
        }
    }
}
