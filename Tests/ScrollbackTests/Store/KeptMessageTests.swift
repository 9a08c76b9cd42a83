import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Testing

@testable import Scrollback

/// The user's own messages in a store whose server goes back to an earlier state twice.
@Suite("Messages kept across rollbacks")
struct KeptMessageTests {
    private let store: LocalStore
    private let group = StoreSamples.conversation

    init() throws {
        store = try LocalStore(directory: nil, user: "alice")
    }

    private static func own(_ seq: Seq, epoch: UInt64 = 7) -> Message {
        var message = StoreSamples.message(seq, "message \(seq)")
        (message.sender, message.epoch) = ("alice", Epoch(rawValue: epoch))
        return message
    }

    private static func ids(_ seqs: ClosedRange<Seq>) -> [MessageID] { seqs.map { own($0).id } }

    /// Stores the head of a log with three messages.
    private func storeHead(epoch: UInt64) async throws {
        var head = StoreSamples.head(3, lastCommit: Int64(epoch))
        head.state.epoch = Epoch(rawValue: epoch)
        _ = try await store.write { [head] in try $0.apply([.head(head)]) }
    }

    /// Stores three messages of the user.
    private func storeMessages() async throws {
        try await storeHead(epoch: 7)
        _ = try await store.write { try $0.apply((1...3).map { .live(.message(Self.own($0))) }) }
    }

    /// Adopts that the server's store went back.
    ///
    /// - Parameter seq: The last message that the server surely has.
    /// - Returns: The messages that it may have lost.
    private func rollBack(after seq: Seq) async throws -> [MessageID] {
        try await store.write { [files = store.files] writer in
            try writer.adoptRollback(lostAfter: StoreSamples.message(seq, "").timetoken, files: files)
        }
        return try await store.read { try $0.unconfirmedMessages(limit: 100) }.map(\.id)
    }

    /// Returns the content of a message in the outbox.
    private func queuedContent(of id: MessageID) async throws -> MessageContent? {
        guard case .send(let request)? = try await store.read({ try $0.request(id) }) else { return nil }
        return request.submission.content
    }

    @Test("Messages that only a deeper rollback loses are asked for")
    func deeperRollback() async throws {
        try await storeMessages()
        #expect(try await rollBack(after: 3) == [])
        try await storeHead(epoch: 8)
        let stored = try await store.read { [group] in try $0.message(Self.own(2).id, in: group) }
        #expect(stored == nil)
        #expect(try await rollBack(after: 1) == Self.ids(2...3))
        #expect(try await queuedContent(of: Self.own(2).id) == Self.own(2).content)
    }

    @Test("Messages that the server had after a rollback are asked for after a deeper one")
    func confirmedMessages() async throws {
        try await storeMessages()
        #expect(try await rollBack(after: 0) == Self.ids(1...3))
        try await store.write { [group] writer in
            for seq in 1...3 as ClosedRange<Seq> { try writer.confirm(Self.own(seq, epoch: 8), in: group) }
        }
        let unconfirmed = try await store.read { try $0.unconfirmedMessages(limit: 1) }
        #expect(unconfirmed.isEmpty)
        try await storeHead(epoch: 8)
        #expect(try await rollBack(after: 1) == Self.ids(2...3))
    }

    @Test("A message is asked for in its newest stored version")
    func newestVersion() async throws {
        try await storeMessages()
        #expect(try await rollBack(after: 3) == [])
        try await storeHead(epoch: 8)
        var message = Self.own(2, epoch: 8)
        (message.content, message.rev) = (.text("edited"), 1)
        let edited = message
        _ = try await store.write { [group] writer in
            try writer.apply([.live(.changed(group, edited.epoch, .message(edited)))])
        }
        #expect(try await rollBack(after: 1) == Self.ids(2...3))
        #expect(try await queuedContent(of: edited.id) == edited.content)
    }

    /// A reason why the user no longer has a message, after the first rollback.
    enum End: CaseIterable {
        case recalled, hidden, rangeDeleted, conversationDeleted, conversationCreatedAgain
    }

    @Test("Messages that were deleted between two rollbacks are not asked for", arguments: End.allCases)
    func deletedMessages(_ end: End) async throws {
        try await storeMessages()
        #expect(try await rollBack(after: 3) == [])
        try await storeHead(epoch: 8)
        let epoch = Epoch(rawValue: 8)
        switch end {
        case .recalled:
            let tombstones = (2...3 as ClosedRange<Seq>).map { seq in
                var message = Self.own(seq, epoch: 8)
                (message.content, message.rev) = (nil, seq)
                return message
            }
            _ = try await store.write { [group] writer in
                try writer.apply(tombstones.map { .live(.changed(group, epoch, .message($0))) })
            }
        case .hidden:
            _ = try await store.write { [group] in try $0.apply([.live(.hidden(group, epoch, [2...3]))]) }
        case .rangeDeleted:
            _ = try await store.write { [group] writer in
                try writer.apply([.live(.changed(group, epoch, .removed(2...3, rev: 1)))])
            }
        case .conversationDeleted: try await store.write { [group] in try $0.deleteConversation(group) }
        case .conversationCreatedAgain: try await storeHead(epoch: 9)
        }
        #expect(try await rollBack(after: 1) == [])
    }
}
