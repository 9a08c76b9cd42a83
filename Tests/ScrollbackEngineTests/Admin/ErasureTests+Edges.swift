import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

extension ErasureTests {
    @Test("A new user with an erased name sees no earlier messages, even with full history visibility")
    func newUserSeesNoEarlierMessages() async throws {
        let harness = try EngineHarness()
        try harness.put(direct, .init(visibility: .everything))
        try harness.send("private", to: direct, by: "alice")
        try harness.send("words", to: direct, by: "bob")
        try await harness.erase("alice", .anonymize)
        harness.clock.advance(by: 1)
        try harness.send("hello", to: direct, by: "alice")
        #expect(try harness.log(of: direct, by: "alice").texts == ["hello"])
        #expect(try harness.log(of: direct, by: "bob").texts == ["private", "words", "hello"])
    }

    @Test("Users with only a block, an invitation or a report can be erased, and unknown users can't")
    func usersWithoutMessagesCanBeErased() async throws {
        let harness = try harness()
        for user in ["dora", "mallory", "erin"] as [UserID] {
            #expect(try traces(of: user.text, in: harness) != [])
            try await harness.erase(user, .anonymize)
            #expect(try traces(of: user.text, in: harness) == [])
            let error = await refused { try await harness.erase(user, .anonymize) }
            #expect(error?.code == .unknownUser)
        }
        // The new user is active only in a room, which creates no profile.
        try await harness.erase("alice", .anonymize)
        harness.clock.advance(by: 1)
        try harness.send("I am new", to: room, by: "alice")
        try await harness.erase("alice", .anonymize)
        #expect(try traces(of: "alice", in: harness) == [])
    }

    @Test("States in threads of a public channel are erased, although the user has no other row there")
    func threadStatesOfPublicChannels() async throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("town", channel: "news")
        try harness.make(.community("town"), members: ["alice", "bob", "carol"])
        try harness.put(channel)
        let first = harness.submission("news")
        try harness.send(first, to: channel, by: "bob")
        var reply = harness.submission("hey", mentions: .users(["carol"]))
        reply.attributes.replyTo = first.id
        try harness.send(reply, to: channel, by: "bob")
        try harness.perform(
            ChangeThread(conversation: channel, thread: first.id, ThreadChange(isFollowed: true)),
            by: Caller(user: "alice"))
        func states(of user: UserID) throws -> Int {
            try harness.store.read { store in
                let number = try #require(try store.conversation(channel)).number
                return try store.threadStates(of: user, in: number, after: nil, limit: 9).count
            }
        }
        for user in ["alice", "carol"] as [UserID] {
            #expect(try states(of: user) == 1)
            try await harness.erase(user, .anonymize)
            #expect(try states(of: user) == 0)
        }
    }

    @Test("Erasing a connected user leaves no last-seen time")
    func lastSeen() async throws {
        let harness = try harness()
        try harness.set { $0.people.presence = true }
        let device = SessionHarness(harness).sharing("alice")
        try await harness.erase("alice", .keep)
        device.session.disconnected()
        harness.clock.advance(by: 6)
        harness.engine.notifyWatchersOfOfflineUsers()
        #expect(try harness.store.read { try $0.lastSeen(of: "alice") } == nil)
    }

    @Test("An erasure adds no changes for messages that are already deleted")
    func deletedMessagesGetNoChanges() async throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        try harness.send("first", to: group, by: "bob")
        let other = harness.submission("hey", mentions: .users(["alice"]))
        try harness.send(other, to: group, by: "bob")
        try harness.react("🎉", to: other.id, in: group, by: Caller(user: "alice"))
        try harness.send("mine", to: group, by: "alice")
        try harness.send("last", to: group, by: "bob")
        try harness.delete(DeleteRange(from: .seq(2), to: .seq(4)), of: group)
        let rev = try #require(try harness.store.read { try $0.conversation(group)?.rev })
        try await harness.erase("alice", .anonymize)
        #expect(try traces(of: "alice", in: harness) == [])
        #expect(try harness.store.read { try $0.conversation(group)?.rev } == rev)
    }

    @Test("An erasure removes message IDs and reactions a hundred at a time")
    func erasureIsBatched() async throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        for number in 0..<450 { try harness.send("\(number)", to: group, by: number % 3 == 0 ? "bob" : "alice") }
        try harness.delete(DeleteRange(from: nil, to: .seq(441)), of: group)
        try await harness.engine.sweep()
        let last = (0..<5).map { _ in harness.submission("last") }
        for message in last { try harness.send(message, to: group, by: "bob") }
        for number in 0..<250 {
            try harness.react("r\(number)", to: last[number % 5].id, in: group, by: Caller(user: "alice"))
        }
        #expect(try traces(of: "alice", in: harness).count(where: { $0.hasPrefix("key") }) == 293)
        let lastCommit = try harness.store.lastCommit
        try await harness.erase("alice", .erase)
        #expect(try traces(of: "alice", in: harness) == [])
        // Three commits for the reactions, three for the message IDs, one for her messages and one for the
        // conversation. Two more begin and end the erasure.
        #expect(try harness.store.lastCommit - lastCommit >= 8)
        let number = try #require(try harness.store.read { try $0.conversation(group)?.number })
        let keys = try harness.store.read { try $0.keys(in: number, after: MessageID(high: 0, low: 0), limit: 999) }
        #expect(keys.count == 440 && keys.count(where: { $0.sender == "bob" }) == 147)
    }

    @Test("A message in progress is refused if its sender is erased, even when the name can be used again")
    func messageInProgressIsRefused() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try EngineHarness(webhooks: receiver)
        try harness.put(room)
        try harness.send("first", to: room, by: "alice")
        try harness.set {
            $0.moderation.webhooks = .init(
                before: .init(url: "http://hook.invalid/a", secret: "a secret of many bytes"))
        }
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let (answers, answer) = AsyncStream<Void>.makeStream()
        receiver.answer { _ in
            ask.yield()
            for await _ in answers { break }
            return WebhookResponse(status: 200, body: Array(#"{"action":"allow"}"#.utf8))
        }
        let slowBody = harness.engine.erasureCount
        let late = Task { try await harness.sent("late", to: room, by: "alice") }
        for await _ in asked { break }
        try await harness.erase("alice", .erase)
        harness.clock.advance(by: 1)
        answer.yield()
        let error = await refused { _ = try await late.value }
        #expect(error?.code == .userDeactivated)
        try harness.set { $0.moderation.webhooks = .init() }
        let slow = refusal {
            let _: SendResult = try harness.done { completion in
                harness.engine.send(
                    harness.submission("slow"), to: room, by: Caller(user: "alice"), since: slowBody,
                    completion: completion)
            }
        }
        #expect(slow?.code == .userDeactivated)
        try harness.send("of somebody else", to: room, by: "alice")
        #expect(try harness.log(of: room, by: "bob").texts == ["", "of somebody else"])
    }

    @Test("Requests from before an erasure are refused afterwards and do not recreate the user")
    func requestsFromBeforeErasureAreRefused() async throws {
        let harness = try harness()
        let other = harness.submission("anybody here?")
        try harness.send(other, to: room, by: "bob")
        let alice = Caller(user: "alice")
        let slowBody = harness.engine.erasureCount
        try await harness.erase("alice", .erase)
        let context = OperationContext(
            engine: harness.engine, caller: alice, erasureCount: slowBody, offload: { $0() })
        func lateRefusal<Operation: Executable>(of operation: Operation) -> ChatError? {
            refusal { _ = try harness.done { operation.execute(context, completion: $0) } }
        }
        let draft = try RawJSON(#"{"text":"late"}"#)
        let late = [
            lateRefusal(of: ReportMessage(conversation: room, id: other.id, reason: .spam)),
            lateRefusal(of: PutDraft(conversation: room, draft: draft)),
            lateRefusal(of: PutConversation(conversation: .group("late"), settings: .init())),
            lateRefusal(of: PutMember(conversation: group, user: "alice")),
            lateRefusal(of: AddRecent(conversation: .direct("bob"))),
            lateRefusal(
                of: ScheduleMessage(
                    conversation: room, submission: harness.submission("late"),
                    sendAt: harness.clock.now.addingTimeInterval(60))),
            refusal {
                _ = try harness.done {
                    harness.engine.putUser(
                        "alice", .init(name: "Alice"), by: alice, since: slowBody, completion: $0)
                }
            },
            lateRefusal(
                of: EditMessage(
                    conversation: room, id: other.id, edit: MessageEdit(.text("late")), operation: nil)),
            lateRefusal(
                of: AddAction(
                    conversation: room, id: other.id, action: ActionContent(type: "reaction", value: "👍"),
                    operation: nil)),
        ]
        #expect(late.allSatisfy { $0?.code == .userDeactivated }, "\(late)")
        #expect(try traces(of: "alice", in: harness) == [])
        #expect(try harness.store.read { try $0.user("alice")?.state } == .erased)
        // A new user with the same name.
        _ = try harness.done {
            harness.engine.putUser("alice", .init(name: "Alice"), by: alice, completion: $0)
        }
        #expect(try harness.store.read { try $0.user("alice")?.state } == .active)
    }

    @Test("Messages to an erased user do not recreate the user, and actions under the name do")
    func messagesDoNotRecreateErasedUser() async throws {
        let harness = try harness()
        try await harness.erase("alice", .anonymize)
        try harness.send("are you there?", to: .direct("alice"), by: "dave")
        #expect(try harness.store.read { try $0.user("alice")?.state } == .erased)
        #expect(refusal { _ = try harness.engine.user("alice") }?.code == .unknownUser)
        harness.clock.advance(by: 1)
        try harness.read(.direct("dave"), to: 1, by: "alice")
        #expect(try harness.store.read { try $0.user("alice")?.state } == .active)
    }

    @Test("A part of an export has at most 100 messages, and reads at most 5,001 positions of a conversation")
    func exportParts() throws {
        let (harness, log) = (try EngineHarness(), ConversationID.group("long"))
        try harness.make(log, members: ["alice", "bob"])
        func parts() throws -> [Int] {
            var data = PersonalData(of: "alice")
            var counts: [Int] = []
            while case let next = try data.next(harness.engine), let records = next.records {
                counts.append(records.count)
                data = next.data
            }
            return counts
        }
        let empty = try parts()
        try harness.fill(log, 15_000, by: "bob")
        #expect(try parts().count == empty.count + 3)
        try harness.fill(log, 250, by: "alice")
        let full = try parts()
        #expect(full.max() == 100 && full.reduce(0, +) == empty.reduce(0, +) + 250)
    }

    @Test("The export of a user's reports contains their own text and not the administrator's notes")
    func exportedReport() throws {
        let harness = try harness()
        let number = try #require(
            try harness.store.read { try $0.reports(by: "alice", after: 0, limit: 1).first?.number })
        try harness.perform(PutReport(number: number, isOpen: false, note: "again"), by: EngineHarness.admin)
        var data = PersonalData(of: "alice")
        var reports: [Report] = []
        while case let next = try data.next(harness.engine), let some = next.records {
            for case .report(let report) in some { reports.append(report) }
            data = next.data
        }
        let report = try #require(reports.first)
        #expect(report.text == "my words" && !report.isOpen && report.closedAt != nil)
        #expect(report.note == nil && report.closedBy == nil)
    }

    @Test("The export contains push preferences and push devices, without usable tokens")
    func exportedPush() throws {
        let harness = try harness()
        let token = "0123456789abcdef0123456789abcdef"
        try harness.register("alice", "phone", token: token, language: "de")
        try harness.register("alice", "watch", token: "00aaff")
        try harness.register("bob", "phone", token: "bb00")
        try harness.prefer(#"{"language":"fr","showsDetail":false}"#, by: "alice")
        var data = PersonalData(of: "alice")
        var lines: [String] = []
        while case let next = try data.next(harness.engine), let some = next.records {
            lines += some.map { record in
                var writer = JSONWriter()
                writer.object { record.writeMembers(to: &$0, link: nil) }
                return writer.text
            }
            data = next.data
        }
        let push = lines.filter { $0.contains(#""record":"push"#) }
        #expect(
            push.first == #"{"record":"pushPreferences","push":{"language":"fr","showsDetail":false}}"#, "\(push)")
        #expect(push.count == 3)
        #expect(
            push[1].hasPrefix(
                #"{"record":"pushDevice","device":"phone","service":"apns","token":"…cdef","language":"de","#))
        #expect(push[2].contains(#""token":"…","#))
        #expect(!lines.contains { $0.contains(token) || $0.contains("00aaff") || $0.contains("bb00") })
    }

    @Test("An erasure reports that the register can't be written, and continues nevertheless")
    func registerFailureIsReported() async throws {
        let register = FailingRegister()
        let harness = try harness(erasures: register)
        let work = Task { await harness.engine.runErasures { _ in } }
        let error = await FailingRegister.$fails.withValue(true) {
            await refused { _ = try await harness.engine.erase("alice", messages: .erase, by: EngineHarness.admin) }
        }
        #expect(error?.code == .storageFull)
        #expect(try await eventually { try traces(of: "alice", in: harness).isEmpty })
        work.cancel()
        #expect(register.all().map(\.user) == ["alice"])
    }
}

/// A register that fails for tasks with the value `fails`. The erasure job began outside of them and can write.
private final class FailingRegister: ErasureRegister {
    @TaskLocal static var fails = false
    private let register = MemoryErasureRegister()

    func add(_ erasure: RegisteredErasure) throws(ChatError) {
        if Self.fails { throw ChatError(.storageFull, "The disk is full.") }
        register.add(erasure)
    }

    func all() -> [RegisteredErasure] { register.all() }
}
