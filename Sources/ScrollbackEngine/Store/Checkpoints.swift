import Crypto
import Foundation
package import ScrollbackModel
import Synchronization

/// Issues checkpoints to clients, and detects a store that went back to an earlier state.
///
/// A checkpoint names an incarnation and its newest commit that a client can have seen. A client stores the newest one
/// with the data that it covers, and presents it when it connects. If the store does not have that commit, it was put
/// back behind the server's back (decision 33).
///
/// Checkpoints are authenticated, so that a client can't cause a false alarm.
package final class Checkpoints: Sendable {
    /// What a client's checkpoint shows about the store.
    package enum Finding: Hashable, Sendable {
        /// The store has everything that the client has seen, or the client has no valid checkpoint.
        case consistent
        /// The client has seen an earlier generation of this store.
        ///
        /// Messages after this time may be lost.
        case earlierGeneration(lostAfter: Timetoken)
        /// The store does not have what the client has seen.
        case rolledBack(Rollback)
    }

    /// A store that went back to an earlier state.
    package struct Rollback: Hashable, Sendable {
        /// The generation of the store when the rollback was found.
        package var generation: UInt64
        /// The incarnation that a client has seen.
        package var seenIncarnation: MessageID
        /// The commit that a client has seen.
        package var seenCommit: Int64
        /// The newest commit of the store.
        package var lastCommit: Int64
        /// The time after which messages may be lost.
        package var lostAfter: Timetoken
    }

    private let store: any MessageStore
    private let node: Node?
    private let key: SymmetricKey
    private let state: Mutex<State>

    private struct State {
        /// All incarnations of the store, oldest first.
        var incarnations: [IncarnationRow]
        var lineage: String
        /// The last issued checkpoint, which many answers share.
        var last: (commit: Int64, text: String)?
    }

    /// Creates a random key.
    package static func makeKey() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<32).map { _ in .random(in: 0...255, using: &generator) }
    }

    /// Begins an incarnation of the store, unless other nodes already use the store.
    init(_ store: any MessageStore, node: Node? = nil, key: [UInt8], now: Date) throws {
        self.store = store
        self.node = node
        self.key = SymmetricKey(data: key)
        if let node { try node.beginIncarnation() } else { try store.beginIncarnation(at: now) }
        let incarnations = try store.read { try $0.incarnations() }
        state = Mutex(State(incarnations: incarnations, lineage: Self.lineage(of: incarnations)))
    }

    private static func lineage(of incarnations: [IncarnationRow]) -> String {
        guard let row = incarnations.last else { return "" }
        return Lineage(generation: row.generation, incarnation: row.id).bytes.base64URL
    }

    /// The incarnations of the store that this server knows, oldest first.
    var incarnations: [IncarnationRow] { state.withLock { $0.incarnations } }

    /// The generation and incarnation of the store, the first part of a client's checkpoint.
    package var lineage: String { state.withLock { $0.lineage } }

    /// The checkpoint of a commit: its number and an authentication tag, the second part of a client's checkpoint.
    package func checkpoint(of commit: Int64) -> String {
        state.withLock { checkpoint(of: commit, &$0) }
    }

    private func checkpoint(of commit: Int64, _ state: inout State) -> String {
        if let last = state.last, last.commit == commit { return last.text }
        let text = "\(commit).\(Self.tag(of: commit, state.lineage, key).base64URL)"
        state.last = (commit, text)
        return text
    }

    /// The checkpoint for an answer that was read from the store before.
    ///
    /// A node knows of a new incarnation when it has delivered its commit, so later commits can't be named before.
    ///
    /// - Parameter lineage: The lineage that the client knows.
    /// - Returns: `nil` if the store has another lineage, or the answer may have epochs of another generation. A client
    ///   must not get such an answer before it knows which messages may be lost.
    package func current(on lineage: String) throws -> String? {
        let commit = try node?.position ?? store.coveringCommit
        return state.withLock { state in
            guard state.lineage == lineage, state.incarnations.last?.generation == store.generation else { return nil }
            return checkpoint(of: commit, &state)
        }
    }

    /// The first bytes of the authentication code of a commit.
    ///
    /// Eight bytes suffice, because a forger needs a connection for each attempt.
    private static func tag(of commit: Int64, _ lineage: String, _ key: SymmetricKey) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data("\(lineage).\(commit)".utf8), using: key).prefix(8))
    }

    /// Continues with a new incarnation after its commit.
    func adopt(_ row: IncarnationRow) {
        state.withLock { state in
            guard !state.incarnations.contains(where: { $0.id == row.id }) else { return }
            state.incarnations.append(row)
            state.lineage = Self.lineage(of: state.incarnations)
            state.last = nil
        }
    }

    /// Checks what a client has seen.
    ///
    /// - Returns: The finding, and the lineage of the store for which it is right.
    package func check(_ text: String?) throws -> (finding: Finding, lineage: String) {
        let (incarnations, lineage) = state.withLock { ($0.incarnations, $0.lineage) }
        guard let text else { return (.consistent, lineage) }
        return (Self.check(text, key: key, incarnations, lastCommit: try store.lastCommit), lineage)
    }

    /// Checks what a client has seen against the contents of a store.
    package static func check(
        _ text: String, key: [UInt8], _ incarnations: [IncarnationRow], lastCommit: Int64
    ) -> Finding {
        check(text, key: SymmetricKey(data: key), incarnations, lastCommit: lastCommit)
    }

    private static func check(
        _ text: String, key: SymmetricKey, _ incarnations: [IncarnationRow], lastCommit: Int64
    ) -> Finding {
        guard let seen = decode(text, key), let current = incarnations.last else { return .consistent }
        func rollback(lostAfter: Timetoken) -> Finding {
            .rolledBack(
                Rollback(
                    generation: current.generation, seenIncarnation: seen.lineage.incarnation,
                    seenCommit: seen.commit, lastCommit: lastCommit, lostAfter: lostAfter))
        }
        if seen.lineage.generation != current.generation,
            let last = incarnations.lastIndex(where: { $0.generation == seen.lineage.generation })
        {
            let lost = incarnations[(last + 1)...].compactMap(\.lostAfter).min()
            return .earlierGeneration(lostAfter: lost ?? Timetoken(rawValue: 0))
        }
        guard let index = incarnations.firstIndex(where: { $0.id == seen.lineage.incarnation }) else {
            // The store went back before this incarnation and then began another one. That is the first one that began
            // later. If the clock went back too, everything may be lost.
            let other = incarnations.first { $0.id > seen.lineage.incarnation }
            let lostAfter = other?.newest ?? Timetoken(rawValue: 0)
            // If the current generation began later too, no client has seen it in the lost part of the store, and
            // another generation would change nothing.
            let start = incarnations.first { $0.generation == current.generation }
            let isLater = start.map { $0.id.time > seen.lineage.incarnation.time } ?? false
            guard isLater else { return rollback(lostAfter: lostAfter) }
            return .earlierGeneration(lostAfter: lostAfter)
        }
        guard index + 1 < incarnations.count else {
            // A virtual machine that is resumed from a snapshot continues its incarnation.
            return seen.commit <= lastCommit ? .consistent : rollback(lostAfter: current.newest)
        }
        let next = incarnations[index + 1]
        return seen.commit < next.firstCommit ? .consistent : rollback(lostAfter: next.newest)
    }

    /// Decodes and authenticates a client's checkpoint.
    private static func decode(_ text: String, _ key: SymmetricKey) -> (lineage: Lineage, commit: Int64)? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let commit = Int64(parts[1]),
            let lineage = Data(base64URL: String(parts[0])).flatMap({ Lineage($0) }),
            let given = Data(base64URL: String(parts[2]))
        else { return nil }
        let expected = tag(of: commit, String(parts[0]), key)
        guard given.count == expected.count else { return nil }
        // Compare all bytes, so that the duration does not reveal how many are right.
        guard zip(given, expected).reduce(0, { $0 | ($1.0 ^ $1.1) }) == 0 else { return nil }
        return (lineage, commit)
    }
}

/// The generation and incarnation of a store.
private struct Lineage {
    var generation: UInt64
    var incarnation: MessageID

    init(generation: UInt64, incarnation: MessageID) {
        self.generation = generation
        self.incarnation = incarnation
    }

    init?(_ data: Data) {
        guard data.count == 24 else { return nil }
        let bytes = Array(data)
        func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(generation: number(0..<8), incarnation: MessageID(high: number(8..<16), low: number(16..<24)))
    }

    var bytes: Data {
        var data = Data()
        withUnsafeBytes(of: generation.bigEndian) { data.append(contentsOf: $0) }
        withUnsafeBytes(of: incarnation.uuid.uuid) { data.append(contentsOf: $0) }
        return data
    }
}
