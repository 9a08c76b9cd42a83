import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import SQLiteSupport

@testable import Scrollback

/// Sample rows for every table of the local store that has text columns. Each text has a word that occurs nowhere else.
enum StoreSamples {
    static let words = [
        "name", "avatar", "extension", "content", "metadata", "extra", "push", "mention", "action", "error", "outgoing",
        "edit", "kept", "profile", "draft", "local", "file", "url",
    ].map(word)

    static func word(_ name: String) -> String { "quartz\(name)" }

    private static func json(_ name: String) -> RawJSON { RawJSON(known: #"{"text":"\#(word(name))"}"#) }

    static let conversation: ConversationID = .group("g")
    private static let messageID = MessageID(high: 0x7000, low: 1)
    private static let outgoing = MessageID(high: 0x7000, low: 2)
    private static let edit = MessageID(high: 0x7000, low: 3)
    private static let at = Date(timeIntervalSince1970: 1_795_255_260)

    static func head(_ seq: Seq, lastCommit: Int64 = 1) -> ConversationHead {
        var head = ConversationHead(
            conversation: conversation,
            state: LogHead(epoch: Epoch(rawValue: 7), view: 0, head: seq, firstSeq: 1, countedIndex: seq, rev: 0),
            unread: seq,
            readSeq: 0, userRev: 1)
        (head.name, head.avatar, head.lastCommit) = (word("name"), word("avatar"), lastCommit)
        return head
    }

    static func message(_ seq: Seq, _ text: String) -> Message {
        Message(
            conversation: conversation, seq: seq, countedIndex: seq, id: MessageID(high: 0x7001, low: UInt64(seq)),
            timetoken: Timetoken(rawValue: 17_000_000_000_000_000 + UInt64(seq)), epoch: Epoch(rawValue: 7),
            sender: "bob", type: .text, content: .text(text))
    }

    private static var first: Message {
        var message = message(1, "")
        message.content = MessageContent(known: .text, json: json("content"))
        message.attributes = MessageAttributes(
            mentions: .users(["alice"], pushText: word("mention")), metadata: json("metadata"), extra: json("extra"))
        message.attributes.push = json("push")
        message.actions = [ActionSummary(type: "reaction", value: word("action"), count: 1, senders: ["bob"])]
        return message
    }

    static func write(to store: LocalStore) async throws {
        try await store.write { writer in
            var head = head(1)
            head.lastMessage = first
            _ = try writer.apply([.head(head)])
            try writer.setExtension(json("extension"), of: conversation)
            try writer.save(localExtension: json("local"), of: messageID, in: conversation)
            try writer.save(Draft(word("draft")), in: conversation, now: at)
            var profile = UserProfile(id: "bob")
            profile.name = word("profile")
            try writer.save([profile], of: ["bob", "carol"], now: at)
            var item = try writer.insert(
                Submission(id: outgoing, content: .text(word("outgoing"))), to: conversation, needsUpload: true, now: at
            )
            item.state = .failed(ChatError(.invalidParameter, word("error")))
            try writer.save(item)
            let change = EditMessage(
                conversation: conversation, id: messageID, edit: MessageEdit(.text(word("edit"))), operation: edit)
            _ = try writer.insert(.edit(change), edit, about: messageID, in: conversation, now: at)
            var own = message(2, word("kept"))
            own.sender = "alice"
            try writer.keep(own, in: writer.number(of: conversation))
            var upload = LocalUpload(
                media: MediaID(outgoing.uuid), message: outgoing, type: .file, name: word("file"),
                mediaType: "text/plain", hash: "00", size: 1)
            try writer.insert(upload, ordinal: 0)
            upload.url = URL(string: "https://example.com/\(word("url"))")
            try writer.save(upload)
        }
    }

    /// Everything that ``write(to:)`` wrote, as the store returns it.
    static func read(from store: LocalStore) async throws -> [String] {
        try await store.read { reader in
            let values: [Any?] = [
                try reader.recent(conversation), try reader.message(first.id, in: conversation),
                try reader.localExtension(of: messageID, in: conversation), try reader.draft(in: conversation),
                try reader.profiles(["bob", "carol"], fetchedSince: at), try reader.pending(in: conversation),
                try reader.pendingChanges(in: conversation), try reader.outbox(), try reader.uploads(of: outgoing),
                try reader.keptMessages(after: Timetoken(rawValue: 0)),
            ]
            return values.map { value in value.map { String(describing: $0) } ?? "nothing" }
        }
    }

    /// A key that is the same in every run.
    static func key(_ number: UInt8) -> Data { Data(repeating: number, count: 32) }
}

extension StoreEncryption {
    /// Creates a configuration with the newest key first. The number 0 decrypts the store.
    static func sample(_ numbers: UInt8...) throws -> StoreEncryption {
        try StoreEncryption(
            key: numbers.first.flatMap { $0 == 0 ? nil : StoreSamples.key($0) },
            olderKeys: numbers.dropFirst().map { StoreSamples.key($0) })
    }
}
