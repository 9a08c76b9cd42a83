import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Import")
struct ImportTests {
    private let group = ConversationID.group("g")
    private let past = Date(timeIntervalSince1970: 1_400_000_000)

    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.put(group)
        return harness
    }

    private func batch(_ harness: EngineHarness, _ texts: [String], every seconds: TimeInterval = 60)
        -> [ImportedMessage]
    {
        texts.enumerated().map {
            harness.importedMessage($1, by: "alice", at: past.addingTimeInterval(Double($0) * seconds))
        }
    }

    @Test("Imported messages keep their times, their order and their senders")
    func times() throws {
        let harness = try harness()
        let messages = [
            harness.importedMessage("one", by: "alice", at: past),
            harness.importedMessage("two", by: "bob", at: past + 0.001),
            harness.importedMessage("three", by: "alice", at: past + 3_600),
        ]
        let report = try harness.importHistory(messages, into: group)
        #expect(report == ImportReport(imported: 3, skipped: 0, head: 3))
        let page = try harness.page(.earliest, of: group, by: "bob")
        #expect(page.texts == ["three", "two", "one"])
        #expect(page.messages.map(\.timetoken) == messages.reversed().map { Timetoken($0.sentAt) })
        #expect(page.messages.map(\.sender) == ["alice", "bob", "alice"])
        #expect(page.messages.map(\.id) == messages.reversed().map(\.submission.id))
    }

    @Test("An import that runs again after live messages succeeds and changes nothing", .history(22))
    func repeatedImportChangesNothing() throws {
        let harness = try harness()
        let messages = batch(harness, ["one", "two", "three"])
        try harness.importHistory(messages, into: group)
        try harness.send("live", to: group, by: "alice")
        let before = try harness.page(of: group, by: "alice")
        let lastCommit = try harness.store.lastCommit
        #expect(try harness.importHistory(messages, into: group) == ImportReport(imported: 0, skipped: 3, head: 4))
        #expect(
            try harness.importHistory(Array(messages.dropFirst()), into: group)
                == ImportReport(imported: 0, skipped: 2, head: 4))
        #expect(try harness.page(of: group, by: "alice") == before)
        // The conversation does not count as changed.
        #expect(try harness.store.read { try $0.conversation(group)?.lastCommit ?? 0 } <= lastCommit)
    }

    @Test("A new message older than the head is refused by ID, and its batch with it", .history(22))
    func outOfOrder() throws {
        let harness = try harness()
        try harness.importHistory(batch(harness, ["one", "two"]), into: group)
        try harness.send("live", to: group, by: "alice")
        let late = harness.importedMessage("late", by: "alice", at: past + 30)
        let now = harness.importedMessage("now", by: "alice", at: harness.clock.now)
        let error = refusal { try harness.importHistory([now, late], into: group) }
        #expect(error?.code == .outOfOrder)
        #expect(error?.status == 409)
        #expect(error?.parameter == "sentAt")
        #expect(error?.message.contains(late.submission.id.description) == true)
        #expect(error?.message.contains("2014-05-13T16:53:50.000Z") == true, "\(error?.message ?? "")")
        #expect(try harness.page(of: group, by: "alice").texts == ["live", "two", "one"])
        // With a later time, the message is accepted.
        #expect(try harness.importHistory([now], into: group).imported == 1)
    }

    @Test("Known IDs are skipped even if new messages lie between and after them", .history(22))
    func knownMessagesAreSkipped() throws {
        let harness = try harness()
        let messages = batch(harness, ["one", "two", "three", "four"])
        try harness.importHistory(Array(messages.prefix(2)), into: group)
        #expect(try harness.importHistory(messages, into: group) == ImportReport(imported: 2, skipped: 2, head: 4))
        #expect(try harness.page(of: group, by: "alice").texts == ["four", "three", "two", "one"])
    }

    @Test("Messages with equal times keep the order of the file, even across batches", .history(22))
    func equalTimes() throws {
        let harness = try harness()
        let messages = batch(harness, (1...40).map { "\($0)" }, every: 0)
        try harness.importHistory(Array(messages.prefix(15)), into: group)
        try harness.importHistory(Array(messages.dropFirst(15)), into: group)
        let page = try harness.page(.earliest, of: group, by: "alice")
        #expect(page.texts == (1...40).reversed().map { "\($0)" })
        #expect(Set(page.messages.map(\.sentAt)) == [past])
        #expect(Set(page.messages.map(\.timetoken)).count == 40)
        #expect(try harness.importHistory(messages, into: group).skipped == 40)
    }

    @Test("An ID of another message is a conflict, both in the log and inside one file", .history(22))
    func reusedIDs() throws {
        let harness = try harness()
        let first = harness.importedMessage("one", by: "alice", at: past)
        try harness.importHistory([first], into: group)
        let id = first.submission.id
        for other in [
            harness.importedMessage("other", by: "alice", at: past, id: id),
            harness.importedMessage("one", by: "bob", at: past, id: id),
        ] {
            let error = refusal { try harness.importHistory([other], into: group) }
            #expect(error?.code == .conflict)
            #expect(error?.parameter == "id")
            #expect(error?.message.contains(id.description) == true)
        }
        let twin = harness.newID()
        let twins = [
            harness.importedMessage("a", by: "alice", at: past + 1, id: twin),
            harness.importedMessage("a", by: "bob", at: past + 2, id: twin),
        ]
        #expect(refusal { try harness.importHistory(twins, into: group) }?.code == .conflict)
        let others = [
            harness.importedMessage("a", by: "alice", at: past + 1, id: twin),
            harness.importedMessage("b", by: "alice", at: past + 2, id: twin),
        ]
        #expect(refusal { try harness.importHistory(others, into: group) }?.code == .conflict)
        // The same line twice is one message.
        let same = [
            harness.importedMessage("a", by: "alice", at: past + 1, id: twin),
            harness.importedMessage("a", by: "alice", at: past + 2, id: twin),
        ]
        #expect(try harness.importHistory(same, into: group) == ImportReport(imported: 1, skipped: 1, head: 2))
        #expect(try harness.page(of: group, by: "alice").texts == ["a", "one"])
    }

    @Test("A file that the server does not have fails the import with its ID, until it is uploaded with this ID")
    func missingFile() async throws {
        let harness = try harness()
        try harness.join(group, "alice")
        let media = MediaID(UUID())
        func message(_ content: String, after seconds: TimeInterval) throws -> ImportedMessage {
            ImportedMessage(
                sender: "alice", sentAt: past + seconds, submission: try harness.submission(.file, content))
        }
        let file = try message(#"{"media":"\#(media)"}"#, after: 1)
        let messages = [harness.importedMessage("one", by: "alice", at: past), file]
        let error = refusal { try harness.importHistory(messages, into: group) }
        #expect(error?.code == .unknownMedia && error?.parameter == "media")
        let start = "Message \(file.submission.id) refers to the file \(media), which the server does not have."
        #expect(error?.message.hasPrefix(start) == true, "\(error?.message ?? "")")
        #expect(try harness.engine.head(of: group, by: EngineHarness.admin).head == 0)
        _ = try await harness.engine.upload(
            Array("text".utf8), UploadRequest(conversation: group, media: media), by: Caller(user: "alice"))
        #expect(try harness.importHistory(messages, into: group).imported == 2)
        // Another fault of the file names the message, too.
        let wrong = try message(#"{"media":"\#(media)","size":9}"#, after: 2)
        let other = refusal { try harness.importHistory([wrong], into: group) }
        #expect(other?.parameter == "size")
        #expect(other?.message.hasPrefix("Message \(wrong.submission.id): size must") == true)
    }

    @Test("A time before 1970 is refused and not clamped")
    func timeBefore1970IsRefused() throws {
        let harness = try harness()
        let error = refusal {
            try harness.importHistory(
                [harness.importedMessage("moon", by: "neil", at: Date(timeIntervalSince1970: -14_159_040))], into: group
            )
        }
        #expect(error?.parameter == "sentAt")
    }

    @Test("A time in the future is refused, and its batch with it")
    func futureTimeIsRefused() throws {
        let harness = try harness()
        let messages = [
            harness.importedMessage("now", by: "alice", at: harness.clock.now),
            harness.importedMessage("then", by: "alice", at: harness.clock.now + 60),
        ]
        let error = refusal { try harness.importHistory(messages, into: group) }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == "sentAt")
        #expect(try harness.engine.head(of: group, by: EngineHarness.admin).head == 0)
    }

    @Test("Every sender of an imported message becomes a member who sees all messages")
    func members() throws {
        let harness = try harness()
        try harness.importHistory(
            [
                harness.importedMessage("one", by: "alice", at: past),
                harness.importedMessage("two", by: "bob", at: past + 1),
            ], into: group)
        #expect(
            try harness.engine.members(of: group, after: nil, limit: 10, by: EngineHarness.admin).map(\.id) == [
                "alice", "bob",
            ])
        #expect(try harness.page(of: group, by: "bob").seqs == [2, 1])
        #expect(try harness.send("hi", to: group, by: "bob") == 3)
    }

    @Test("A former member with an imported message rejoins, sees all messages, and gets a new view")
    func formerMemberRejoinsByImport() throws {
        let harness = try harness()
        try harness.join(group, "alice")
        try harness.send("before", to: group, by: "alice")
        try harness.join(group, "bob")
        try harness.send("together", to: group, by: "alice")
        try harness.leave(group, "bob")
        try harness.send("without", to: group, by: "alice")
        let before = try harness.page(of: group, by: "bob")
        #expect(before.seqs == [2])
        try harness.importHistory([harness.importedMessage("elsewhere", by: "bob", at: harness.clock.now)], into: group)
        let after = try harness.page(of: group, by: "bob")
        #expect(after.seqs == [4, 3, 2, 1])
        #expect(after.state.view > before.state.view)
        // After another removal, bob sees no later message.
        try harness.leave(group, "bob")
        try harness.send("after", to: group, by: "alice")
        #expect(try harness.page(of: group, by: "bob").seqs == [4, 3, 2, 1])
    }

    @Test("Imported messages are not unread, and neither are their mentions")
    func unread() throws {
        let harness = try harness()
        try harness.join(group, "bob")
        try harness.importHistory(
            [harness.importedMessage("hey", by: "alice", at: past, mentions: .everyone(also: ["bob"]))], into: group)
        #expect(try harness.unread(group, "bob") == Counts(0))
        #expect(try harness.unread(group, "alice") == Counts(0))
        #expect(
            try harness.page(HistoryQuery(filter: .mentionsMe), of: group, by: "bob").seqs == [1],
            "the message still mentions bob")
        try harness.send("live", to: group, by: "alice")
        #expect(try harness.unread(group, "bob") == Counts(1))
    }

    @Test("With `countsUnread`, imported messages are unread for old and new members, except their own")
    func counted() throws {
        let harness = try harness()
        try harness.join(group, "carol")
        try harness.importHistory(
            [
                harness.importedMessage("one", by: "alice", at: past),
                harness.importedMessage("two", by: "bob", at: past + 1),
                harness.importedMessage("three", by: "alice", at: past + 2),
            ], into: group, countsUnread: true)
        #expect(try harness.unread(group, "carol") == Counts(3))
        #expect(try harness.unread(group, "bob") == Counts(2))
        // Alice has nothing unread before her first message, so it advances her read marker. Bob has, so his stays.
        #expect(try harness.unread(group, "alice") == Counts(1))
        #expect(try harness.head(group, "alice").readSeq == 1)
        #expect(try harness.head(group, "bob").readSeq == 0)
        #expect(try harness.page(of: group, by: "carol").messages.map(\.countedIndex) == [3, 2, 1])
        // The same messages sent live give the same counts.
        try harness.make(.group("live"), members: ["alice", "bob", "carol"])
        for sender in ["alice", "bob", "alice"] as [UserID] { try harness.send(to: .group("live"), by: sender) }
        for user in ["alice", "bob", "carol"] as [UserID] {
            #expect(try harness.unread(.group("live"), user) == harness.unread(group, user))
            #expect(try harness.head(.group("live"), user).readSeq == harness.head(group, user).readSeq)
        }
        #expect(try harness.read(group, to: 3, by: "bob").unread == 0)
    }

    @Test("With `countsUnread`, mentions count, and messages whose type or flags do not count stay uncounted")
    func countedMentions() throws {
        let harness = try harness()
        try harness.importHistory(
            [
                harness.importedMessage("hey", by: "alice", at: past, mentions: .users(["bob"])),
                harness.importedMessage("all", by: "alice", at: past + 1, mentions: .everyone()),
                harness.importedMessage("quiet", by: "alice", at: past + 2, countsUnread: false),
                harness.importedMessage("renamed", by: "alice", at: past + 3, type: .notice),
                harness.importedMessage("hello", by: "bob", at: past + 4),
            ], into: group, countsUnread: true)
        #expect(try harness.unread(group, "bob") == Counts(2, 2))
        #expect(try harness.unread(group, "alice") == Counts(1))
        #expect(try harness.page(of: group, by: "bob").messages.map(\.countedIndex) == [3, 2, 2, 2, 1])
    }

    @Test("An import that runs again changes no counts, regardless of `countsUnread`")
    func repeatedImportKeepsCounts() throws {
        let harness = try harness()
        let messages = [
            harness.importedMessage("one", by: "alice", at: past),
            harness.importedMessage("two", by: "bob", at: past + 1),
        ]
        try harness.importHistory(messages, into: group, countsUnread: true)
        for countsUnread in [true, false] {
            #expect(
                try harness.importHistory(messages, into: group, countsUnread: countsUnread)
                    == ImportReport(imported: 0, skipped: 2, head: 2))
            #expect(try harness.unread(group, "alice") == Counts(1))
        }
        // Messages that were imported without `countsUnread` stay uncounted.
        try harness.importHistory([harness.importedMessage("three", by: "bob", at: past + 2)], into: group)
        try harness.importHistory(
            [harness.importedMessage("four", by: "bob", at: past + 3)], into: group, countsUnread: true)
        #expect(try harness.unread(group, "alice") == Counts(2))
    }

    @Test("Imported messages from before a member joined a public channel are not unread for them")
    func countedChannel() throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("c", channel: "open")
        try harness.make(.community("c"), members: ["boss"])
        try harness.put(channel)
        try harness.importHistory(
            [
                harness.importedMessage("one", by: "alice", at: past),
                harness.importedMessage("two", by: "bob", at: past + 1),
            ], into: channel,
            countsUnread: true)
        #expect(try harness.unread(channel, "boss") == Counts(0))
        #expect(try harness.page(of: channel, by: "boss").seqs == [])
        #expect(try harness.unread(channel, "alice") == Counts(1))
        #expect(try harness.unread(channel, "bob") == Counts(1))
        harness.clock.advance(by: 1)
        try harness.importHistory(
            [harness.importedMessage("three", by: "bob", at: harness.clock.now)], into: channel, countsUnread: true)
        #expect(try harness.unread(channel, "boss") == Counts(1))
        #expect(try harness.unread(channel, "alice") == Counts(2))
        #expect(try harness.unread(channel, "bob") == Counts(1))
    }

    @Test("A user who joins a community at the time of an import joins after all of its messages")
    func userJoinsAfterImportedMessages() throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("c", channel: "open")
        try harness.make(.community("c"), members: ["boss"])
        try harness.put(channel)
        harness.clock.advance(by: 1)
        let now = harness.clock.now
        try harness.importHistory(
            (1...20).map { harness.importedMessage("\($0)", by: "boss", at: now) }, into: channel, countsUnread: true)
        try harness.join(.community("c"), "late")
        #expect(try harness.page(of: channel, by: "late").seqs == [])
        #expect(try harness.unread(channel, "late") == Counts(0))
        try harness.send("live", to: channel, by: "boss")
        #expect(try harness.page(of: channel, by: "late").seqs == [21])
        #expect(try harness.unread(channel, "late") == Counts(1))
    }

    @Test("An import creates a direct conversation, and counted messages are unread for the other user")
    func countedDirect() throws {
        let harness = try EngineHarness()
        let pair = ConversationID.direct(between: "alice", and: "bob")
        let messages = [
            harness.importedMessage("hi", by: "alice", at: past),
            harness.importedMessage("yes?", by: "bob", at: past + 1),
            harness.importedMessage("nothing", by: "alice", at: past + 2),
        ]
        // A refused import and an empty import create no conversation.
        #expect(
            refusal { try harness.importHistory(messages, into: pair, by: Caller(user: "alice")) }?.code
                == .unknownConversation)
        #expect(refusal { try harness.importHistory(messages.reversed(), into: pair) }?.code == .outOfOrder)
        #expect(try harness.importHistory([], into: pair) == ImportReport(imported: 0, skipped: 0, head: 0))
        #expect(refusal { _ = try harness.head(.direct("bob"), "alice") }?.code == .unknownConversation)

        #expect(try harness.importHistory(messages, into: pair, countsUnread: true).imported == 3)
        #expect(try harness.importHistory(messages, into: pair, countsUnread: true).skipped == 3)
        #expect(try harness.unread(.direct("bob"), "alice") == Counts(1))
        #expect(try harness.unread(.direct("alice"), "bob") == Counts(2))
    }

    @Test("Senders of an import into a channel join its community, and also the channel if it is private")
    func channels() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["boss"])
        let secret = ConversationID.community("c", channel: "secret")
        try harness.put(secret, .init(isPrivate: true, members: ["boss"]))
        try harness.importHistory([harness.importedMessage("open", by: "alice", at: past)], into: .community("c"))
        try harness.importHistory([harness.importedMessage("closed", by: "bob", at: past)], into: secret)
        #expect(
            try harness.engine.members(of: .community("c"), after: nil, limit: 10, by: EngineHarness.admin).map(\.id)
                == [
                    "alice", "bob", "boss",
                ])
        #expect(
            try harness.engine.members(of: secret, after: nil, limit: 10, by: EngineHarness.admin).map(\.id) == [
                "bob", "boss",
            ])
        #expect(try harness.page(of: .community("c"), by: "alice").texts == ["open"])
        #expect(try harness.page(of: secret, by: "bob").texts == ["closed"])
        try harness.send("hi", to: secret, by: "bob")
        try harness.leave(.community("c"), "bob")
        try harness.send("not for bob", to: secret, by: "boss")
        #expect(try harness.page(of: secret, by: "bob").texts == ["hi", "closed"])
    }

    @Test("Connected members receive the new head after an import")
    func connectedMembersReceiveTheHead() throws {
        let harness = try harness()
        try harness.join(group, "bob")
        let device = SessionHarness(harness).device("bob")
        try harness.importHistory(batch(harness, ["one", "two"]), into: group)
        let heads: [Seq] = try device.events.compactMap { event in
            if case .head(group, let update) = event, update.countedIndex == 0 { return update.seq }
            return nil
        }
        #expect(heads == [2])
        #expect(try device.messages.isEmpty)
    }

    @Test("A counted import makes the senders' devices fetch their counts, because `n` includes their messages")
    func countedImportMakesDevicesFetchCounts() throws {
        let harness = try harness()
        for user in ["alice", "bob"] as [UserID] { try harness.join(group, user) }
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        try harness.importHistory(batch(harness, ["one", "two"]), into: group, countsUnread: true)
        func asks(_ device: Device) throws -> Int {
            try device.events.count { if case .conversation(group, isDeleted: false) = $0 { true } else { false } }
        }
        #expect(try asks(alice) == 1)
        #expect(try asks(bob) == 0)
        for device in [alice, bob] {
            let heads = try device.events.count {
                if case .head(group, let update) = $0 { update.seq == 2 && update.countedIndex == 2 } else { false }
            }
            #expect(heads == 1)
            #expect(try device.messages.isEmpty)
        }
    }

    @Test("A user banned from a community does not become a member of its channels by an import")
    func banned() throws {
        let harness = try EngineHarness()
        let (town, hall) = (ConversationID.community("town"), ConversationID.community("town", channel: "hall"))
        try harness.make(town, members: ["alice", "bob", "mallory"])
        try harness.put(hall, .init(isPrivate: true, members: ["alice"]))
        try harness.ban("mallory", from: town)
        let messages = [
            harness.importedMessage("one", by: "mallory", at: past),
            harness.importedMessage("two", by: "bob", at: past + 1),
        ]
        try harness.importHistory(messages, into: hall)
        let members = try harness.engine.members(of: hall, after: nil, limit: 9, by: EngineHarness.admin).map(\.id)
        #expect(members == ["alice", "bob"])
        let number = try #require(try harness.store.read { try $0.conversation(hall)?.number })
        #expect(try harness.store.read { try $0.member("mallory", of: number) } == nil)
        #expect(try harness.store.read { try $0.participations(of: "mallory", after: 0, limit: 9) } == [number])
    }

    @Test("An empty import succeeds")
    func emptyImportSucceeds() throws {
        let harness = try harness()
        #expect(try harness.importHistory([], into: group) == ImportReport(imported: 0, skipped: 0, head: 0))
    }
}
