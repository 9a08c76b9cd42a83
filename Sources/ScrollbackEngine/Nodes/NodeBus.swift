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
    /// The note of a commit, and the ID of the commit before it.
    case note(CommitNote, after: CommitID)
    /// A commit whose note the other nodes read from the store.
    case commit
    /// The bytes of a ``NodeSignal``.
    case signal([UInt8])

    private enum Kind: UInt8 {
        // 1 was a note without the ID of the commit before it.
        case commit = 2
        case signal = 3
        case note = 4
    }

    /// The number of bytes before the body of a note.
    private static let noteHeader = 25

    /// Creates the message about a commit.
    ///
    /// - Parameter previous: The ID of the commit before it, if this node knows it.
    init(_ note: CommitNote, after previous: CommitID?, maximumBytes: Int) {
        guard let previous, note.body.count + Self.noteHeader <= maximumBytes else {
            self = .commit
            return
        }
        self = .note(note, after: previous)
    }

    package var bytes: [UInt8] {
        switch self {
        case .note(let note, let previous):
            var bytes = [Kind.note.rawValue]
            bytes.reserveCapacity(note.body.count + Self.noteHeader)
            for number in [UInt64(bitPattern: note.number), note.id.bits, previous.bits] {
                withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
            }
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
            guard bytes.count >= Self.noteHeader else { return nil }
            func number(at offset: Int) -> UInt64 {
                bytes.dropFirst(offset).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            }
            self = .note(
                CommitNote(
                    number: Int64(bitPattern: number(at: 1)), id: CommitID(bits: number(at: 9)),
                    body: Array(bytes.dropFirst(Self.noteHeader))),
                after: CommitID(bits: number(at: 17)))
        case .commit: self = .commit
        case .signal: self = .signal(Array(bytes.dropFirst()))
        }
    }
}
