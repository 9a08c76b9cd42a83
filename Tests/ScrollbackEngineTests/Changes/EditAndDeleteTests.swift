import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Edits and deletes")
struct EditAndDeleteTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness
    private let alice = Caller(user: "alice")
    private let bob = Caller(user: "bob")

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    private func sent(_ text: String = "hi", replyTo: MessageID? = nil, to id: ConversationID? = nil) throws
        -> Submission
    {
        var submission = harness.submission(text)
        submission.attributes.replyTo = replyTo
        try harness.send(submission, to: id ?? group, by: "alice")
        return submission
    }

    private func rev(_ id: ConversationID? = nil) throws -> Int64 {
        let id = id ?? group
        return try harness.store.read { try $0.conversation(id)?.rev ?? 0 }
    }

    // MARK: Lists of IDs

    @Test("One call deletes 1 to 100 messages, and a repeated ID counts once")
    func lists() throws {
        let messages = try (0..<101).map { try sent("\($0)") }.map(\.id)
        for ids in [[], messages] {
            #expect(refusal { try harness.delete(ids, in: group, by: alice) }?.parameter == "ids")
            #expect(refusal { try harness.hide(ids, in: group, by: "alice") }?.parameter == "ids")
        }
        #expect(try harness.delete([messages[100], messages[100]], in: group, by: alice) == 1)
        #expect(try harness.delete(Array(messages.prefix(100)), in: group, by: alice) == 100)
        #expect(try harness.delete(Array(messages.prefix(100)), in: group, by: alice) == 0)
        #expect(try rev() == 101)
        #expect(try harness.hide([messages[0], messages[0], harness.newID()], in: group, by: "bob") == 1)
    }

    @Test("A list with one message of another sender is refused, and none of its messages is deleted")
    func deletingAListIsAllOrNothing() throws {
        let mine = try sent()
        let theirs = harness.submission("bob's")
        try harness.send(theirs, to: group, by: "bob")
        #expect(refusal { try harness.delete([mine.id, theirs.id], in: group, by: alice) }?.code == .forbidden)
        #expect(try rev() == 0)
        try harness.join(group, "alice", as: .moderator)
        #expect(try harness.delete([mine.id, theirs.id], in: group, by: alice) == 2)
    }

    // MARK: Threads

    @Test("One call can delete a thread's first message and its replies, in any order")
    func oneCallDeletesAThread() throws {
        for isRootFirst in [true, false] {
            let root = try sent("root")
            let replies = [try sent("one", replyTo: root.id), try sent("two", replyTo: root.id)]
            let ids = isRootFirst ? [root.id, replies[0].id] : [replies[0].id, root.id]
            #expect(try harness.delete(ids, in: group, by: alice) == 2)
            let tombstone = try harness.engine.message(root.id, in: group, by: bob)
            #expect(tombstone.isDeleted)
            #expect(tombstone.replies?.count == 1, "the other reply still exists")
            try harness.delete(replies[1].id, in: group, by: alice)
            #expect(try harness.engine.message(root.id, in: group, by: bob).replies == nil)
        }
    }

    @Test("The time of the last reply is that of the newest remaining reply, after any deletions")
    func lastReply() throws {
        let root = try sent("root")
        var replies: [Message] = []
        for number in 0..<30 {
            let reply = try sent("\(number)", replyTo: root.id)
            replies.append(try harness.engine.message(reply.id, in: group, by: alice))
        }
        func summary() throws -> ReplySummary? { try harness.engine.message(root.id, in: group, by: bob).replies }
        #expect(try summary() == ReplySummary(count: 30, lastReplyAt: replies[29].timetoken))
        // More tombstones than one query reads.
        try harness.delete(replies[4..<29].map(\.id), in: group, by: alice)
        try harness.delete(replies[29].id, in: group, by: alice)
        #expect(try summary() == ReplySummary(count: 4, lastReplyAt: replies[3].timetoken))
        try harness.delete(DeleteRange(from: .id(replies[1].id), to: nil), of: group)
        try harness.change { [group] in while try $0.sweep(group, limit: 2).hasMore {} }
        #expect(try summary() == ReplySummary(count: 1, lastReplyAt: replies[0].timetoken))
    }

    @Test("A reply to a reply belongs to the thread of the first message, even if that message is a tombstone")
    func nested() throws {
        let root = try sent("root")
        let reply = try sent("reply", replyTo: root.id)
        try harness.delete(root.id, in: group, by: alice)
        let nested = try sent("nested", replyTo: reply.id)
        let message = try harness.engine.message(nested.id, in: group, by: bob)
        #expect(message.thread == root.id)
        let tombstone = try harness.engine.message(root.id, in: group, by: bob)
        #expect(tombstone.isDeleted && tombstone.replies?.count == 2)
        let page = try harness.page(HistoryQuery(filter: .thread(root.id)), of: group, by: "bob")
        #expect(page.texts == ["nested", "reply"])
    }

    @Test("In a room, replies form threads, and senders can edit and recall their own messages")
    func room() throws {
        let room = ConversationID.room("lobby")
        try harness.put(room)
        let root = try sent("root", to: room)
        let reply = try sent("reply", replyTo: root.id, to: room)
        #expect(try harness.engine.message(reply.id, in: room, by: bob).thread == root.id)
        #expect(try harness.engine.message(root.id, in: room, by: bob).replies?.count == 1)
        try harness.react("+1", to: root.id, in: room, by: bob)
        #expect(try harness.edit(root.id, in: room, "edited", by: alice).text == "edited")
        let refused = refusal { try harness.edit(root.id, in: room, "bob was here", by: bob) }
        #expect(refused?.code == .forbidden)
        #expect(refused?.message == "In room:lobby, only administrators can edit messages of other users.")
        #expect(refusal { try harness.delete(root.id, in: room, by: bob) }?.code == .forbidden)
        #expect(try harness.delete(root.id, in: room, by: alice).isDeleted)
        #expect(refusal { try harness.hide([reply.id], in: room, by: "bob") }?.code == .notMember)
        #expect(refusal { try harness.clear(room, through: 1, by: "bob") }?.code == .notMember)
        #expect(try harness.delete(.all, of: room) == 1)
    }

    // MARK: Edits

    @Test("A tombstone can't be edited, and an edit keeps the type")
    func refusedEdits() throws {
        let message = try sent()
        let poll = MessageEdit(MessageContent(known: .appPoll, json: MessageContent.text("hi").json))
        #expect(
            refusal {
                let _: Message = try harness.done {
                    harness.engine.edit(message.id, in: group, poll, by: alice, completion: $0)
                }
            }?.parameter == "type")
        try harness.delete(message.id, in: group, by: alice)
        #expect(refusal { try harness.edit(message.id, in: group, "again", by: alice) }?.code == .conflict)
        #expect(try harness.delete(message.id, in: group, by: alice).isDeleted, "deleting a tombstone succeeds")
        #expect(try rev() == 1)
    }

    @Test("A retried edit after another edit returns the current message and changes nothing")
    func retriedEditAfterAnotherEdit() throws {
        let message = try sent()
        let operation = harness.newID()
        func ask() throws -> Message {
            try harness.edit(message.id, in: group, "one", operation: operation, by: alice)
        }
        #expect(try ask().text == "one")
        try harness.edit(message.id, in: group, "two", by: alice)
        #expect(try ask().text == "two")
        try harness.delete(message.id, in: group, by: alice)
        #expect(try ask().isDeleted)
        #expect(try rev() == 3)
        // The sender gets an error if they can't see the message any more.
        try harness.clear(group, through: 1, by: "alice")
        #expect(refusal { _ = try ask() }?.code == .unknownMessage)
    }

    @Test("An operation ID identifies one operation of one user in one conversation")
    func operations() throws {
        let other = ConversationID.group("h")
        try harness.make(other, members: ["alice", "bob"])
        let (message, elsewhere) = (try sent(), try sent(to: other))
        let operation = harness.newID()
        try harness.edit(message.id, in: group, "one", operation: operation, by: alice)
        #expect(
            refusal { try harness.edit(message.id, in: group, "two", operation: operation, by: alice) }?.code
                == .conflict
        )
        #expect(
            refusal { try harness.react("+1", to: message.id, in: group, operation: operation, by: alice) }?.code
                == .conflict)
        #expect(
            refusal { try harness.edit(message.id, in: group, "one", operation: operation, by: bob) }?.code == .conflict
        )
        #expect(refusal { try harness.delete(.all, of: group, operation: operation) }?.parameter == "operation")
        #expect(try harness.edit(elsewhere.id, in: other, "two", operation: operation, by: alice).text == "two")
        #expect(try rev() == 1)
        #expect(try rev(other) == 1)
    }

    // MARK: Permissions

    @Test("Former members can hide and clear messages that they see, but not edit, recall or react")
    func formerMembersCanOnlyHideAndClear() throws {
        let message = try sent()
        _ = try sent("more")
        try harness.leave(group, "alice")
        for refused in [
            refusal { try harness.edit(message.id, in: group, "x", by: alice) },
            refusal { try harness.delete(message.id, in: group, by: alice) },
            refusal { try harness.react("+1", to: message.id, in: group, by: alice) },
        ] { #expect(refused?.code == .notMember) }
        #expect(try harness.hide([message.id], in: group, by: "alice") == 1)
        #expect(try harness.page(of: group, by: "alice").seqs == [2])
        try harness.send("after", to: group, by: "bob")
        #expect(refusal { try harness.clear(group, through: 3, by: "alice") }?.parameter == "seq")
        #expect(try harness.clear(group, through: 2, by: "alice").seq == 2)
        #expect(try harness.page(of: group, by: "alice").seqs == [])
        #expect(try harness.page(of: group, by: "bob").seqs == [3, 2, 1])
        // Former members learn nothing about later changes, not even their positions.
        try harness.delete(DeleteRange(from: .seq(3), to: nil), of: group)
        let state = try harness.head(group, "alice").state
        let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 2, rev: 0)
        let sync = try harness.engine.syncLogs([position], by: alice)[0].result.get()
        #expect(sync.changes.isEmpty)
        #expect(sync.changedThrough == state.rev)
    }

    @Test("All community members can hide, clear and react in a public channel, and only its members in a private one")
    func channels() throws {
        let city = ConversationID.community("city")
        let open = ConversationID.community("city", channel: "open")
        let secret = ConversationID.community("city", channel: "secret")
        try harness.make(city, members: ["alice", "bob"])
        try harness.put(open)
        try harness.put(secret, .init(isPrivate: true, members: ["alice"]))
        let (one, two) = (try sent("one", to: open), try sent("two", to: open))
        let hush = try sent("hush", to: secret)
        #expect(try harness.unread(open, "bob") == Counts(2))
        #expect(try harness.hide([one.id], in: open, by: "bob") == 1)
        #expect(try harness.unread(open, "bob") == Counts(1))
        #expect(try harness.page(of: open, by: "bob").seqs == [2])
        try harness.react("+1", to: two.id, in: open, by: bob)
        #expect(refusal { try harness.react("+1", to: one.id, in: open, by: bob) }?.code == .unknownMessage)
        #expect(try harness.clear(open, through: 2, by: "bob").unread == 0)
        #expect(try harness.page(of: open, by: "bob").seqs == [])
        #expect(try harness.page(of: open, by: "alice").seqs == [2, 1])
        for refused in [
            refusal { try harness.hide([hush.id], in: secret, by: "bob") },
            refusal { try harness.react("+1", to: hush.id, in: secret, by: bob) },
            refusal { try harness.delete(hush.id, in: secret, by: bob) },
        ] { #expect(refused?.code == .unknownConversation) }
    }

    @Test("Users change only their own direct messages, and only the server changes system messages")
    func directAndSystem() throws {
        let message = try sent("hi", to: .direct("bob"))
        #expect(try harness.edit(message.id, in: .direct("bob"), "hello", by: alice).conversation == .direct("bob"))
        #expect(refusal { try harness.delete(message.id, in: .direct("alice"), by: bob) }?.code == .forbidden)
        #expect(try harness.react("+1", to: message.id, in: .direct("alice"), by: bob).sender == "bob")
        #expect(try harness.delete(message.id, in: .direct("bob"), by: alice).isDeleted)

        let bill = harness.submission("bill")
        let system = ConversationID.system(to: "alice", from: "billing")
        try harness.send(bill, to: system, by: Caller(user: "billing", isAdmin: true))
        let mine = ConversationID.system("billing")
        #expect(refusal { try harness.edit(bill.id, in: mine, "free", by: alice) }?.code == .forbidden)
        #expect(refusal { try harness.delete(bill.id, in: mine, by: alice) }?.code == .forbidden)
        try harness.react("+1", to: bill.id, in: mine, by: alice)
        #expect(try harness.hide([bill.id], in: mine, by: "alice") == 1)
        let billing = Caller(user: "billing", isAdmin: true)
        #expect(try harness.edit(bill.id, in: system, "paid", by: billing).text == "paid")
        #expect(try harness.unread(mine, "alice") == Counts(0))
    }

    @Test("A deleted conversation accepts no changes, and a recreated one ignores operations on the old one")
    func recreatedConversationIgnoresOldOperations() throws {
        let message = try sent()
        let operation = harness.newID()
        try harness.edit(message.id, in: group, "one", operation: operation, by: alice)
        try harness.hide([message.id], in: group, by: "bob")
        try harness.delete(group)
        for refused in [
            refusal { try harness.edit(message.id, in: group, "two", by: alice) },
            refusal { try harness.delete(message.id, in: group, by: alice) },
            refusal { try harness.hide([message.id], in: group, by: "bob") },
            refusal { try harness.delete(.all, of: group) },
        ] { #expect(refused?.code == .unknownConversation) }
        try harness.make(group, members: ["alice", "bob"])
        #expect(try rev() == 0)
        #expect(
            refusal { try harness.edit(message.id, in: group, "one", operation: operation, by: alice) }?.code
                == .unknownMessage)
        #expect(try harness.send(message, to: group, by: "alice").outcome == .committed)
        #expect(try harness.page(of: group, by: "bob").seqs == [1], "bob hid a message of the old log")
        #expect(try harness.unread(group, "bob") == Counts(1))
        try harness.edit(message.id, in: group, "two", operation: operation, by: alice)
        #expect(try rev() == 1)
    }

    @Test("Imported replies have threads, and a later edit can add an unread mention")
    func imports() throws {
        let old = harness.clock.now.addingTimeInterval(-86_400)
        let root = harness.importedMessage("root", by: "alice", at: old)
        var reply = harness.importedMessage("reply", by: "bob", at: old + 1, mentions: .users(["alice"]))
        reply.submission.attributes.replyTo = root.submission.id
        try harness.importHistory([root, reply], into: group)
        let message = try harness.engine.message(root.submission.id, in: group, by: bob)
        #expect(message.replies?.count == 1)
        #expect(message.replies?.lastReplyAt.date == (old + 1))
        #expect(try harness.unread(group, "alice") == Counts(0, 0))
        try harness.edit(root.submission.id, in: group, "root", mentions: .set(.users(["bob"])), by: alice)
        #expect(try harness.unread(group, "bob") == Counts(0, 1))
        try harness.delete(root.submission.id, in: group, by: alice)
        #expect(try harness.unread(group, "bob") == Counts(0, 0))
        #expect(try harness.importHistory([root, reply], into: group).skipped == 2)
    }

    @Test("A recall that does not lower unread counts leaves the message counted until it is read", .rows(217))
    func recallKeepsUnread() throws {
        try harness.set { $0.recallLowersUnread = false }
        let (one, two) = (try sent(), try sent())
        try harness.delete(one.id, in: group, by: alice)
        #expect(try harness.unread(group, "bob") == Counts(2))
        try harness.set { $0.recallLowersUnread = true }
        try harness.delete(two.id, in: group, by: alice)
        #expect(try harness.unread(group, "bob") == Counts(1))
        let first = try harness.page(.around(.firstUnread, before: 0, after: 0), of: group, by: "bob")
        #expect(first.messages.map(\.isDeleted) == [true])
        #expect(first.seqs == [1])
    }
}
