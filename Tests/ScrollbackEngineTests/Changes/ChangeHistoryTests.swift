import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

/// Tests the histories in `Documentation/semantics.md` that concern changes to stored messages.
@Suite("Histories of changes")
struct ChangeHistoryTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    private func sent(_ text: String, by user: UserID = "alice", mentions: Mentions? = nil) throws -> Submission {
        let submission = harness.submission(text, mentions: mentions)
        try harness.send(submission, to: group, by: user)
        return submission
    }

    private func sync(_ seq: Seq, _ rev: Int64, by user: UserID) throws -> LogSync {
        let state = try harness.head(group, user).state
        let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: seq, rev: rev)
        return try harness.engine.syncLogs([position], by: Caller(user: user))[0].result.get()
    }

    @Test(
        "A page that was read before a recall has a lower revision than the tombstone, and so have its rows",
        .history(3))
    func pageReadBeforeRecallHasLowerRevision() throws {
        let message = try sent("secret")
        let late = try harness.page(of: group, by: "bob")
        let tombstone = try harness.delete(message.id, in: group, by: Caller(user: "alice"))
        #expect(late.state.rev < tombstone.rev)
        let row = try #require(late.messages.first)
        #expect(row.rev < tombstone.rev)
        // Sync from the page's revision returns the tombstone, without a text.
        let missed = try sync(1, late.state.rev, by: "bob").changes
        #expect(missed == [.message(tombstone)])
        #expect(tombstone.isDeleted && tombstone.text == nil)
        #expect(try harness.page(of: group, by: "bob").messages == [tombstone])
    }

    @Test("The later of two changes to a message contains both, and sync returns it once", .history(4))
    func laterOfTwoChangesContainsBoth() throws {
        let message = try sent("helo")
        let reaction = try harness.react("+1", to: message.id, in: group, by: Caller(user: "bob"))
        let afterReaction = try harness.engine.message(message.id, in: group, by: Caller(user: "bob"))
        let edited = try harness.edit(message.id, in: group, "hello", by: Caller(user: "alice"))
        #expect(edited.rev == afterReaction.rev + 1)
        #expect(edited.actions.map(\.senders) == [[reaction.sender]])
        #expect(edited.text == "hello")
        // From before both changes, and from between the two.
        for rev in [afterReaction.rev - 1, afterReaction.rev] {
            let sync = try sync(1, rev, by: "bob")
            #expect(sync.changes == [.message(edited)])
            #expect(sync.changedThrough == edited.rev)
        }
    }

    @Test("No entry point returns messages from between two memberships, even after edits and recalls", .history(5))
    func entryPointsExcludeTimeBetweenMemberships() throws {
        let sessions = SessionHarness(harness)
        try harness.fill(group, 50)
        try harness.join(group, "carol")
        let shown = try sent("shown \(1)")
        try harness.fill(group, 29)
        try harness.leave(group, "carol")
        var away: [Submission] = []
        for number in 0..<39 { away.append(try sent("away \(number)", mentions: .users(["carol"]))) }
        try harness.join(group, "carol")
        let carol = Caller(user: "carol")
        let device = sessions.device("carol")
        let other = sessions.device("bob")
        let (edited, recalled, reacted) = (away[3].id, away[4].id, away[5].id)
        try harness.edit(edited, in: group, "edited away", mentions: .set(.everyone()), by: Caller(user: "alice"))
        try harness.delete(recalled, in: group, by: Caller(user: "alice"))
        try harness.react("+1", to: reacted, in: group, by: Caller(user: "bob"))
        try harness.send("now", to: group, by: "alice")
        try harness.edit(shown.id, in: group, "shown again", by: Caller(user: "alice"))

        // History, and each message by its ID.
        let seqs = try harness.page(of: group, by: "carol").seqs
        #expect(seqs == [120] + (51...80).reversed())
        for id in [edited, recalled, reacted] {
            #expect(refusal { _ = try harness.engine.message(id, in: group, by: carol) }?.code == .unknownMessage)
            #expect(refusal { _ = try harness.page(.before(.id(id)), of: group, by: "carol") }?.code == .unknownMessage)
            #expect(
                refusal {
                    _ = try harness.engine.actions(on: id, in: group, after: nil, limit: 10, by: carol)
                }?.code == .unknownMessage)
            #expect(refusal { try harness.react("eyes", to: id, in: group, by: carol) }?.code == .unknownMessage)
            #expect(try harness.hide([id], in: group, by: "carol") == 0)
            #expect(try harness.delete([id], in: group, by: carol) == 0)
        }
        let refreshed = try harness.engine.refresh([MessageReference(edited, in: group)], by: carol)
        #expect(refusal { _ = try refreshed[0].result.get() }?.code == .unknownMessage)
        #expect(try harness.engine.actions(on: nil, in: group, after: nil, limit: 10, by: carol).actions.isEmpty)
        // Counts and fetch.
        let beginning = Timetoken(rawValue: 0)
        try harness.set { $0.countWindowDays = nil }
        #expect(try harness.engine.counts(since: [(group, beginning)], by: carol)[0].count.get() == 31)
        #expect(try harness.unread(group, "carol") == Counts(1))
        let fetched = try harness.engine.fetch(FetchQuery([(group, nil)]), by: carol)[0].result.get()
        #expect(fetched.seqs == (51...80) + [120])
        // Sync returns only the change to the message that carol can see, although `changedThrough` covers all changes.
        let sync = try sync(119, 0, by: "carol")
        #expect(sync.changes.compactMap(\.text) == ["shown again"])
        #expect(sync.changes.count == 1)
        #expect(sync.changedThrough == sync.page.state.rev)
        #expect(sync.page.seqs == [120])
        // Live events: carol gets revisions only, and bob gets the changed messages.
        let output = try device.transport.frames.map { "\($0)" }.joined()
        #expect(!output.contains("edited away"))
        #expect(try device.changes.isEmpty)
        #expect(try other.changes.compactMap(\.text) == ["edited away", "", "away 5", "shown again"])
        #expect(try device.heads.map(\.rev) == [1, 2, 3, 4])

        // With wider visibility, the older part becomes readable.
        try harness.put(group, .init(visibility: .everything))
        #expect(try harness.engine.message(edited, in: group, by: carol).text == "edited away")
        #expect(try harness.head(group, "carol").state.firstSeq == 1)
    }

    @Test("A page across 500,000 deleted sequence numbers takes one request, and counts are exact", .history(6))
    func pageAcrossWideDeletedRangeTakesOneRequest() async throws {
        let isLong = ProcessInfo.processInfo.environment["SCROLLBACK_LONG"] != nil
        let count: Seq = isLong ? 500_000 : 20_000
        try harness.fill(group, Int(count) + 20)
        let range = DeleteRange(from: .seq(11), to: .seq(count + 11))
        #expect(try harness.delete(range, of: group) == count)
        let expected = Array((1...10 as SeqRange).reversed())
        func check() throws {
            let page = try harness.page(.before(.seq(count + 11)), limit: 100, of: group, by: "bob")
            #expect(page.seqs == expected)
            #expect(
                page.coverage == Coverage(lower: 1, upper: count + 10, deletedRanges: SeqRangeSet([11...count + 10])))
            #expect(page.older == nil)
            #expect(try harness.page(limit: 100, of: group, by: "bob").seqs.count == 20)
            #expect(try harness.page(.after(.seq(10)), limit: 1, of: group, by: "bob").seqs == [count + 11])
            #expect(try harness.unread(group, "bob") == Counts(20))
            let first = try harness.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "bob")
            #expect(first.seqs == [1])
            #expect(
                try harness.engine.counts(since: [(group, Timetoken(rawValue: 0))], by: Caller(user: "bob"))[0].count
                    .get()
                    == 20)
        }
        try harness.set { $0.countWindowDays = nil }
        try check()
        #expect(try sync(count + 20, 0, by: "bob").changes == [.removed(11...count + 10, rev: 1)])
        // The rows are removed in batches, which changes no result.
        let number = try #require(try harness.store.read { try $0.conversation(group)?.number })
        func rows() throws -> Int {
            try harness.store.read {
                try $0.messages(
                    in: number, 1...Seq.max, newestFirst: false, limit: .max, filter: .all, reader: "bob"
                ).count
            }
        }
        try harness.change { [group] in _ = try $0.sweep(group, limit: 100) }
        #expect(try rows() == Int(count) - 80)
        try check()
        if !isLong {
            try harness.change { [group] in while try $0.sweep(group, limit: 5_000).hasMore {} }
            #expect(try rows() == 20)
            try check()
        }
        try harness.read(group, to: count, by: "bob")
        #expect(try harness.unread(group, "bob") == Counts(10))
    }

    @Test(
        "A mention in a message that does not count is an unread mention until it is edited out or recalled",
        .history(14)
    )
    func mentionInUncountedMessageIsUnread() throws {
        try harness.fill(group, 9)
        try harness.read(group, to: 9, by: "bob")
        let notices = (0..<3).map { _ in harness.submission("look", type: .notice, mentions: .users(["bob"])) }
        for notice in notices { try harness.send(notice, to: group, by: "alice") }
        #expect(try harness.unread(group, "bob") == Counts(0, 3))
        let edit = MessageEdit(
            MessageContent(known: .notice, json: MessageContent.text("never mind").json), mentions: .remove)
        let _: Message = try harness.done {
            harness.engine.edit(notices[0].id, in: group, edit, by: Caller(user: "alice"), completion: $0)
        }
        #expect(try harness.unread(group, "bob") == Counts(0, 2))
        try harness.delete(notices[1].id, in: group, by: Caller(user: "alice"))
        #expect(try harness.unread(group, "bob") == Counts(0, 1))
        try harness.hide([notices[2].id], in: group, by: "bob")
        #expect(try harness.unread(group, "bob") == Counts(0, 0))
    }

    @Test(
        "A message that is deleted for oneself and recalled, in either order, lowers the unread count once",
        .history(15))
    func hideAndRecallLowerUnreadCountOnce() throws {
        let messages = try (0..<4).map { try sent("\($0)") }
        #expect(try harness.unread(group, "bob") == Counts(4))
        try harness.hide([messages[0].id], in: group, by: "bob")
        #expect(try harness.unread(group, "bob") == Counts(3))
        try harness.delete(messages[0].id, in: group, by: Caller(user: "alice"))
        #expect(try harness.unread(group, "bob") == Counts(3))
        try harness.delete(messages[1].id, in: group, by: Caller(user: "alice"))
        #expect(try harness.unread(group, "bob") == Counts(2))
        try harness.hide([messages[1].id], in: group, by: "bob")
        #expect(try harness.unread(group, "bob") == Counts(2))
        // A range deletion of the first three messages, and then of all messages.
        try harness.delete(DeleteRange(from: .seq(1), to: .seq(4)), of: group)
        #expect(try harness.unread(group, "bob") == Counts(1))
        try harness.delete(.all, of: group)
        #expect(try harness.unread(group, "bob") == Counts(0))
    }

    @Test(
        "A retry after retention removed the message gets the first result for 180 days and stores nothing",
        .history(19))
    func retryAfterRetention() async throws {
        let message = try sent("once")
        try harness.send("later", to: group, by: "alice")
        try harness.set { $0.retention = .days(1) }
        harness.clock.advance(by: 3 * 86_400)
        #expect(try await harness.engine.expire() == 1)
        try harness.send("today", to: group, by: "bob")
        func retry() throws -> SendResult { try harness.send(message, to: group, by: "alice") }
        #expect(try retry().outcome == .duplicate, "the message is below the retention floor, and its row still exists")
        try await harness.engine.sweep()
        let answer = try retry()
        #expect(answer.outcome == .duplicate)
        #expect(answer.position?.seq == 1)
        #expect(try harness.page(of: group, by: "bob").texts == ["today"])
        // Another sender with the same ID, or another text.
        #expect(refusal { try harness.send(message, to: group, by: "bob") }?.code == .conflict)
        #expect(
            refusal { try harness.send(harness.submission("other", id: message.id), to: group, by: "alice") }?.code
                == .conflict)
        harness.clock.advance(by: 176 * 86_400)
        try await harness.engine.prune()
        #expect(try retry().outcome == .duplicate)
        harness.clock.advance(by: 2 * 86_400)
        try await harness.engine.prune()
        let number = try #require(try harness.store.read { try $0.conversation(group)?.number })
        #expect(try harness.store.read { try $0.key(message.id, in: number) } == nil)
    }

    @Test(
        "A retry gets the first result if the rows were removed before the retention floor passed the deleted range",
        .history(19))
    func retryInsideAbsorbedDeletedRange() async throws {
        let early = try sent("early")
        harness.clock.advance(by: 86_400)
        let holed = try (0..<3).map { try sent("\($0)") }
        try harness.delete(DeleteRange(from: .seq(2), to: .seq(5)), of: group)
        try harness.change { [group] in while try $0.sweep(group, limit: 100).hasMore {} }
        try harness.set { $0.retention = .days(1) }
        harness.clock.advance(by: 10 * 3_600)
        #expect(try await harness.engine.expire() == 1)
        #expect(try harness.head(group, "bob").state.firstSeq == 5)
        for message in holed + [early] {
            #expect(try harness.send(message, to: group, by: "alice").outcome == .duplicate)
        }
        #expect(try harness.head(group, "bob").state.head == 4)
    }

    @Test("A retry of the original send after an edit or a recall is a duplicate and undoes nothing", .history(20))
    func retryAfterChange() throws {
        let message = try sent("helo")
        try harness.edit(message.id, in: group, "hello", by: Caller(user: "alice"))
        #expect(try harness.send(message, to: group, by: "alice").outcome == .duplicate)
        #expect(try harness.page(of: group, by: "bob").texts == ["hello"])
        try harness.delete(message.id, in: group, by: Caller(user: "alice"))
        let answer = try harness.send(message, to: group, by: "alice")
        #expect(answer.outcome == .duplicate)
        #expect(answer.position?.seq == 1)
        let page = try harness.page(of: group, by: "bob")
        #expect(page.messages.map(\.isDeleted) == [true])
        #expect(page.state.head == 1)
    }

    @Test("Unread counts stay exact when thousands of messages above the read marker are recalled", .history(24))
    func unreadCountsStayExactAfterManyRecalls() throws {
        let count = ProcessInfo.processInfo.environment["SCROLLBACK_LONG"] == nil ? 3_000 : 50_000
        try harness.fill(group, count, by: "alice")
        let ids = (1...count).map { MessageID(high: 0x7000, low: 0x8000_0000_0000_0000 | UInt64($0)) }
        for start in stride(from: 0, to: count, by: 100) where start / 100 % 3 != 0 {
            try harness.delete(Array(ids[start..<min(start + 100, count)]), in: group, by: Caller(user: "alice"))
        }
        let left = (0..<count).count { $0 / 100 % 3 == 0 }
        #expect(try harness.unread(group, "bob") == Counts(Int64(left)))
        try harness.read(group, to: 50, by: "bob")
        #expect(try harness.unread(group, "bob") == Counts(Int64(left - 50)))
        try harness.read(group, to: 150, by: "bob")
        let first = try harness.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "bob")
        #expect(first.seqs == [301])
    }
}

extension LogChange {
    var text: String? {
        if case .message(let message) = self { return message.text ?? "" }
        return nil
    }
}

extension Device {
    /// The changes that the device received.
    var changes: [LogChange] {
        get throws {
            try events.compactMap { event in
                if case .changed(_, _, let change) = event { return change }
                return nil
            }
        }
    }

    /// The heads that the device received without the change itself.
    var heads: [(seq: Seq, rev: Int64)] {
        get throws {
            try events.compactMap { event in
                if case .head(_, let update) = event { return (update.seq, update.rev) }
                return nil
            }
        }
    }
}
