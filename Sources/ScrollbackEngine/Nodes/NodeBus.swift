/// Passes messages from each node to all others.
///
/// Messages can be lost, repeated and reordered. Nodes read lost commits from the store.
package protocol NodeBus: AnyObject, Sendable {
    /// Sends a message to the other nodes, without waiting for them.
    func send(_ bytes: [UInt8])
    /// The maximum size of a message in bytes.
    var maximumBytes: Int { get }
    /// Whether messages are passed now.
    var isConnected: Bool { get }
}

/// A message between nodes: one byte for its kind, which is also its version, and its contents.
package enum BusMessage: Hashable, Sendable {
    /// The note of a commit.
    case note(CommitNote)
    /// A commit whose note is too large for the bus.
    case commit
    /// The bytes of a ``NodeSignal``.
    case signal([UInt8])

    private enum Kind: UInt8 {
        case note = 1
        case commit = 2
        case signal = 3
    }

    /// Creates the message about a commit.
    init(_ note: CommitNote, maximumBytes: Int) {
        self = note.body.count + 17 <= maximumBytes ? .note(note) : .commit
    }

    package var bytes: [UInt8] {
        switch self {
        case .note(let note):
            var bytes = [Kind.note.rawValue]
            bytes.reserveCapacity(note.body.count + 17)
            withUnsafeBytes(of: note.number.bigEndian) { bytes += $0 }
            withUnsafeBytes(of: note.id.bits.bigEndian) { bytes += $0 }
            return bytes + note.body
        case .commit: return [Kind.commit.rawValue]
        case .signal(let signal): return [Kind.signal.rawValue] + signal
        }
    }

    /// Decodes a message.
    ///
    /// - Returns: `nil` for a message of a newer version, which this node does not need to understand.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let kind = bytes.first.flatMap(Kind.init) else { return nil }
        switch kind {
        case .note:
            let numbers = bytes.dropFirst().prefix(16)
            guard numbers.count == 16 else { return nil }
            func number(_ part: some Collection<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
            self = .note(
                CommitNote(
                    number: Int64(bitPattern: number(numbers.prefix(8))),
                    id: CommitID(bits: number(numbers.dropFirst(8))), body: Array(bytes.dropFirst(17))))
        case .commit: self = .commit
        case .signal: self = .signal(Array(bytes.dropFirst()))
        }
    }
}
