import Foundation
import ScrollbackEngine
import ScrollbackModel

// Sample data for the cases.

extension MessageID {
    /// Creates an ID that depends only on `number`.
    init(_ number: Int) {
        self.init(high: 0x0198_F3C2_7C1E_7000, low: 0x8000_0000_0000_0000 | UInt64(number))
    }
}

extension MessageRow {
    static func sample(
        _ seq: Seq, id: MessageID? = nil, sender: UserID = "alice", type: MessageType = .text,
        countedIndex: Int64? = nil,
        content: String = #"{"text":"hello"}"#, attributes: MessageAttributes = .init()
    ) -> MessageRow {
        MessageRow(
            seq: seq, countedIndex: countedIndex ?? seq,
            timetoken: Timetoken(rawValue: 17_000_000_000_000_000 + UInt64(seq)),
            id: id ?? MessageID(Int(seq)), sender: sender, type: type, content: RawJSON(known: content),
            attributes: attributes, digest: seq * 7)
    }
}

extension ActionRow {
    static func sample(_ seq: Seq, value: String) -> ActionRow {
        ActionRow(
            seq: seq, timetoken: Timetoken(rawValue: 1000 + UInt64(seq)), sender: "alice", type: "reaction",
            value: value)
    }
}

extension ConversationRow {
    static func sample(_ id: ConversationID) -> ConversationRow {
        ConversationRow(id: id, salt: 7, createdAt: Date(timeIntervalSince1970: 1_700_000_000.123))
    }
}

extension MessageStore {
    /// Stores a conversation with a log of `count` plain messages.
    @discardableResult
    func makeConversation(_ id: ConversationID, messages count: Int = 0) throws -> ConversationRow {
        try write { store, commit in
            var row = ConversationRow.sample(id)
            try store.put(&row)
            try store.append((0..<count).map { MessageRow.sample(Seq($0 + 1)) }, to: &row, commit)
            return row
        }
    }

    /// Runs `body` in a transaction.
    @discardableResult func transaction<Answer>(_ body: (any StoreWriter) throws -> Answer) throws -> Answer {
        try write { store, _ in try body(store) }
    }
}

extension StoreWriter {
    /// Inserts messages and advances the head.
    func append(_ messages: [MessageRow], to row: inout ConversationRow, _ commit: Int64) throws {
        for message in messages {
            try insert(message, in: row.number)
            row.head = message.seq
            row.countedIndex = message.countedIndex
            row.timetoken = message.timetoken
        }
        row.lastCommit = commit
        try put(&row)
    }
}

extension StoreReader {
    /// Returns all numbers in a bit set.
    func numbers(_ set: BitSet, of conversation: Int64) throws -> [Int64] {
        try bits(set, of: conversation, blocks: 0...1_000_000).flatMap { block in
            block.range.filter { block.contains($0) }
        }
    }

    /// Returns a whole log, oldest first.
    func log(of conversation: Int64) throws -> [MessageRow] {
        try messages(in: conversation, 1...Seq.max, newestFirst: false, limit: .max, filter: .all, reader: "nobody")
    }
}

/// IDs that a store would confuse or truncate if it did not compare bytes.
enum UnusualNames {
    static let all: [String] = [
        "a", "A", "a ", " a", "aa", "ab", "b", "B", "%", "_", "'", "\"", "\\", "/", ":", "a/b", "a:b", "0", "00", "1.0",
        "NULL", "é", "e\u{301}", "\u{212B}", "\u{C5}", "غرفة الدردشة", "غرفة\u{200D}الدردشة", "👩‍👩‍👧‍👦", "👩", "🇪🇺",
        "日本語", "ﬀ", "ff", String(repeating: "x", count: 128), String(repeating: "x", count: 127),
        String(repeating: "é", count: 64), String(repeating: "😀", count: 32),
    ]
}
