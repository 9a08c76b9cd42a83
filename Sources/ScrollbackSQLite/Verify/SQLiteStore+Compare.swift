package import Foundation
import GRDB
import ScrollbackEngine
package import ScrollbackModel
package import SQLiteSupport

/// A client's copy of a log, to compare it with the server's.
package struct ClientLog: Sendable {
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var epoch: Epoch
    package var head: Seq
    package var rev: Int64
    package var messages: [(seq: Seq, id: MessageID)]

    package init(
        conversation: ConversationID, epoch: Epoch, head: Seq, rev: Int64, messages: [(seq: Seq, id: MessageID)]
    ) {
        self.conversation = conversation
        self.epoch = epoch
        self.head = head
        self.rev = rev
        self.messages = messages
    }
}

extension SQLiteStore {
    /// Compares a client's store with a data directory or a backup, from one snapshot and without changing it.
    ///
    /// The server can run. A client that is only behind has no findings.
    ///
    /// - Parameters:
    ///   - keys: The keys of an encrypted store.
    ///   - checkpoint: The client's newest checkpoint.
    ///   - checkpointKey: The key of the directory's checkpoints; `nil` if it is not known.
    /// - Returns: What the client has and the directory lacks or has differently; empty if there is nothing.
    package static func compare(
        _ logs: [ClientLog], checkpoint: String?, with directory: URL, keys: StoreKeys? = nil,
        checkpointKey: [UInt8]?
    ) throws -> [String] {
        let file = directory.appending(component: fileName)
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw ChatError.invalidParameter("against", "has no store (\(file.path)); pass a server's data directory")
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        do {
            return try DatabaseQueue(path: file.path, configuration: configuration).read { database in
                guard try schema(of: database) == schemaVersion else {
                    throw ChatError.invalidParameter(
                        "against", "was written by an older version; start the server once, which updates it")
                }
                let state = try loadState(database)
                let reader = SQLiteReader(SQLiteConnection(database, cipher: keys.map { StoreCipher($0) }))
                var findings: [String] = []
                if let checkpoint, let checkpointKey {
                    let finding = Checkpoints.check(
                        checkpoint, key: checkpointKey, try reader.incarnations(), lastCommit: state.lastCommit)
                    if case .rolledBack(let rollback) = finding {
                        findings.append(
                            "the client has seen commit \(rollback.seenCommit), which the store does not have: the "
                                + "store went back to an earlier state, or is another copy")
                    }
                }
                for log in logs { findings += try reader.differences(from: log, generation: state.generation) }
                return findings
            }
        } catch let error as DatabaseError {
            throw error.chatError("The file \(file.path) can't be read: \(error.message ?? "no reason").")
        }
    }
}

extension SQLiteReader {
    fileprivate func differences(from log: ClientLog, generation: UInt64) throws -> [String] {
        let id = log.conversation
        guard let row = try conversation(id) else { return ["\(id): the store does not have this conversation"] }
        guard row.epoch(in: generation) == log.epoch else {
            return ["\(id): the client's copy has another epoch, and will be loaded again"]
        }
        var findings: [String] = []
        if log.head > row.head {
            findings.append("\(id): the client has messages up to \(log.head), the store up to \(row.head)")
        }
        if log.rev > row.rev {
            findings.append("\(id): the client has changes up to \(log.rev), the store up to \(row.rev)")
        }
        for message in log.messages where message.seq <= row.head {
            // A missing row was deleted, which the client may not know yet.
            guard let stored = try self.message(at: message.seq, in: row.number)?.id, stored != message.id else {
                continue
            }
            findings.append("\(id): message \(message.seq) is \(message.id) on the client and \(stored) in the store")
        }
        return findings
    }
}
