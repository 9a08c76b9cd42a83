import ContractRows
import Scrollback
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Initial sync of a new client")
struct FirstSyncTests {
    private let store: LocalStore

    init() throws {
        store = try LocalStore(directory: nil, user: "alice")
    }

    private func head(
        _ name: String, kind: ConversationKind = .group, unread: Int64, at time: UInt64 = 10, removedSeq: Seq = 0
    ) -> ConversationHead {
        ConversationHead(
            conversation: kind == .group ? .group(Identifier(known: name)) : .direct(UserID(known: name)),
            state: LogHead(
                epoch: Epoch(rawValue: 7), view: 0, head: unread + 1, firstSeq: 1, countedIndex: unread + 1, rev: 0),
            unread: unread, readSeq: 1, removedSeq: removedSeq, recentTime: Timetoken(rawValue: time))
    }

    private func totals(_ unread: [ConversationKind: Int64]) -> UnreadTotals {
        unread.reduce(into: UnreadTotals()) { $0.add($1.value, mentions: 0, kind: $1.key, isMuted: false) }
    }

    @discardableResult
    private func window(
        _ heads: [ConversationHead], totals: UnreadTotals? = nil, isLastWindow: Bool = false
    ) async throws -> Int64 {
        try await store.write { writer in
            _ = try writer.store(heads, totals: totals, isLastWindow: isLastWindow)
            try writer.saveCursor("somewhere", isLastWindow: isLastWindow)
        }
        return try await store.read { try $0.totals().unread }
    }

    @Test(
        "The total is complete from the first window on, with repeated, removed and recreated conversations",
        .rows(205, 206))
    func totalIsCompleteFromFirstWindow() async throws {
        let all = totals([.group: 6, .direct: 4])
        #expect(try await window([head("a", unread: 1)], totals: all) == 10)
        #expect(try await window([head("b", unread: 2), head("gone", unread: 9, removedSeq: 10)]) == 10)
        #expect(try await window([head("b", unread: 2), head("bob", kind: .direct, unread: 4)]) == 10)
        // The server lost the cursor and starts from the top.
        #expect(try await window([head("a", unread: 1)], totals: all) == 10)
        #expect(try await window([head("b", unread: 2), head("c", unread: 3)], isLastWindow: true) == 10)
        // The next sync is not an initial one, although it has totals. After a restore, the server knows no cursor.
        #expect(try await window([head("a", unread: 1)], totals: all) == 10)
    }

    @Test(
        "Marking all as read covers conversations that arrive later, except for newer messages",
        .rows(214, 215))
    func readAll() async throws {
        try await window([head("a", unread: 1)], totals: totals([.group: 9, .direct: 4]))
        try await store.write { try $0.markAllRead(of: .group, at: Timetoken(rawValue: 10)) }
        #expect(try await store.read { try $0.totals().unread } == 4)
        let heads = [head("b", unread: 2), head("late", unread: 3, at: 11), head("bob", kind: .direct, unread: 4)]
        #expect(try await window(heads) == 7)
        #expect(
            try await store.read { try $0.pendingReads().map(\.conversation) } == [.group("a"), .group("b")])
        try await store.write { try $0.markAllRead(of: nil, at: Timetoken(rawValue: 12)) }
        #expect(try await store.read { try $0.totals().unread } == 0)
        #expect(try await window([head("carol", kind: .direct, unread: 1)], isLastWindow: true) == 0)
        #expect(try await window([head("dora", kind: .direct, unread: 1)]) == 1)
    }

    @Test(
        "A message that arrives before its conversation's head counts once, also in the total", .rows(205, 206))
    func messageBeforeItsHeadCountsOnce() async throws {
        // This conversation has four unread messages of a hundred, and another one has three. The total has more than
        // the windows so far.
        #expect(try await window([head("a", unread: 1)], totals: totals([.group: 8])) == 8)
        // One more message arrives.
        let message = Message(
            conversation: .group("b"), seq: 101, countedIndex: 101, id: MessageID(high: 0x7000, low: 101),
            timetoken: Timetoken(rawValue: 20), epoch: Epoch(rawValue: 7), sender: "bob", type: .text,
            content: .text("hello"), rev: 0)
        _ = try await store.write { try $0.apply([.live(.message(message))]) }
        #expect(try await store.read { try $0.recent(.group("b"))?.unread } == 1)
        #expect(try await store.read { try $0.totals().unread } == 9)
        var whole = head("b", unread: 5, at: 20)
        whole.state.head = 101
        whole.state.countedIndex = 101
        whole.readSeq = 96
        whole.lastCommit = 1
        #expect(try await window([whole]) == 9)
        #expect(try await store.read { try $0.recent(.group("b"))?.unread } == 5)
        #expect(try await window([whole]) == 9)
        // A later window reports one more unread message, which is newer.
        whole.state.head = 102
        whole.state.countedIndex = 102
        whole.unread = 6
        whole.lastCommit = 2
        #expect(try await window([whole]) == 10)
        #expect(try await window([head("c", unread: 3)], isLastWindow: true) == 10)
    }
}
