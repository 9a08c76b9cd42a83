import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Erasing a user")
struct ErasureTests {
    let group = ConversationID.group("g")
    let direct = ConversationID.direct(between: "alice", and: "bob")
    let room = ConversationID.room("lobby")
    let town = ConversationID.community("town")

    /// Returns a harness in which alice has data of every kind.
    func harness(
        store: (any MessageStore)? = nil, erasures: any ErasureRegister = MemoryErasureRegister()
    ) throws -> EngineHarness {
        let harness = try EngineHarness(store: store, erasures: erasures)
        try harness.make(group, members: ["alice", "bob", "carol"])
        try harness.make(town, members: ["alice", "bob"])
        try harness.put(room)
        let own = harness.submission("mine", mentions: .users(["bob"]))
        try harness.send(own, to: group, by: "alice")
        try harness.send(harness.submission("hey", mentions: .users(["alice", "carol"])), to: group, by: "bob")
        try harness.react("👍", to: own.id, in: group, by: Caller(user: "bob"))
        let others = harness.submission("from bob")
        try harness.send(others, to: group, by: "bob")
        try harness.react("🎉", to: others.id, in: group, by: Caller(user: "alice"))
        try harness.react("🎉", to: others.id, in: group, by: Caller(user: "carol"))
        // Bob wrote first, and alice has not read his message.
        try harness.send("hello", to: town.logID, by: "bob")
        for (text, id) in [("direct", direct), ("in the room", room), ("in town", town.logID)] {
            try harness.send(text, to: id, by: "alice")
        }
        try harness.send("yes", to: direct, by: "bob")
        try harness.send(
            harness.submission("a bill"), to: .system(to: "alice", from: "billing"), by: EngineHarness.admin)
        try harness.send("note", to: .direct(between: "alice", and: "alice"), by: "alice")
        // In each of these rooms, alice has only one kind of data.
        for name in ["yard", "attic", "cellar"] as [Identifier] { try harness.put(.room(name)) }
        let lone = harness.submission("anybody here?")
        try harness.send(lone, to: .room("yard"), by: "bob")
        try harness.react("👋", to: lone.id, in: .room("yard"), by: Caller(user: "alice"))
        try harness.ban("alice", from: .room("attic"))
        try harness.mute("alice", .forever, in: .room("cellar"))
        try harness.put(.group("own"), by: Caller(user: "alice"))
        try harness.invite("erin", to: .group("own"), by: Caller(user: "alice"))
        try harness.block("mallory", by: "alice")
        try harness.block("alice", by: "dora")
        try harness.report(others.id, in: group, text: "my words", by: "alice")
        try harness.report(own.id, in: group, by: "bob")
        try harness.put(.group("club"), by: Caller(user: "bob"))
        try harness.invite("alice", to: .group("club"), by: Caller(user: "bob"))
        try harness.importHistory(
            [harness.importedMessage("old", by: "alice", at: harness.clock.now, mentions: .users(["bob"]))],
            into: .group("archive").logID, by: EngineHarness.admin, making: true)
        _ = try harness.done {
            harness.engine.putUser(
                "alice", .init(name: "Alice", avatar: "a"), by: Caller(user: "alice"), completion: $0)
        }
        return harness
    }

    /// Returns a description of each value in a memory store that contains the name.
    func traces(of name: String, in harness: EngineHarness) throws -> [String] {
        var found: [String] = []
        try harness.store.read { store in
            for row in try store.conversations(after: 0, limit: 1000) where !row.isDeleted {
                for message in try store.messages(
                    in: row.number, 1...Seq.max, newestFirst: false, limit: .max, filter: .all, reader: "nobody")
                {
                    if "\(message)".contains("\"\(name)\"") || message.sender.text == name
                        || message.attributes.mentions?.users.contains(UserID(known: name)) ?? false
                        || message.actions.contains(where: { $0.senders.contains(UserID(known: name)) })
                    {
                        found.append("message \(message.seq) of \(row.id)")
                    }
                }
                for action in try store.actions(at: nil, in: row.number, after: nil, limit: .max)
                where action.sender.text == name { found.append("action of \(row.id)") }
                let user = UserID(known: name)
                if try store.member(user, of: row.number) != nil { found.append("member of \(row.id)") }
                if try store.ban(of: user, in: row.number) != nil { found.append("ban from \(row.id)") }
                if try store.mute(of: user, in: row.number) != nil { found.append("mute in \(row.id)") }
                for key in try store.keys(in: row.number, after: MessageID(high: 0, low: 0), limit: 999)
                where key.sender == user { found.append("key in \(row.id)") }
                if try !store.spans(of: user, in: row.number).isEmpty { found.append("span of \(row.id)") }
                if try !store.places(mentioning: user, in: row.number, above: 0, limit: 9).isEmpty {
                    found.append("mention in \(row.id)")
                }
            }
            let user = UserID(known: name)
            if try !store.blocked(by: user, after: nil, limit: 9).isEmpty { found.append("blocks") }
            if try !store.blockers(of: user, limit: 9).isEmpty { found.append("blockers") }
            if try !store.reports(by: user, after: 0, limit: 9).isEmpty { found.append("reports by") }
            if try !store.reports(about: user, after: 0, limit: 9).isEmpty { found.append("reports about") }
            if try !store.invitations(of: user, after: 0, limit: 9).isEmpty { found.append("invitations") }
            if try !store.invitations(by: user, after: nil, limit: 9).isEmpty { found.append("invitations by") }
            if try store.lastSeen(of: user) != nil { found.append("last seen") }
            if try !store.participations(of: user, after: 0, limit: 9).isEmpty { found.append("participants") }
            if try !store.media(of: user, after: nil, limit: 9).isEmpty { found.append("files") }
        }
        return found
    }

    @Test("Anonymizing replaces the name in messages, mentions and actions, and leaves nothing else of the user")
    func anonymize() async throws {
        let harness = try harness()
        let number = try harness.store.read { try $0.conversation(group)?.rev } ?? 0
        let row = try await harness.erase("alice", .anonymize)
        #expect(row.hasEnded && row.messageCount == 6 && row.conversationCount == 12, "\(row)")
        #expect(row.replacement.text.hasPrefix("deleted-"))
        #expect(try traces(of: "alice", in: harness) == [])
        let page = try harness.log(of: group, by: "bob")
        #expect(page.texts == ["mine", "hey", "from bob"])
        #expect(page.messages[0].sender == row.replacement)
        #expect(page.messages[0].attributes.mentions?.users == ["bob"])
        #expect(page.messages[1].attributes.mentions?.users == [row.replacement, "carol"])
        #expect(page.messages[2].actions.first?.senders == [row.replacement, "carol"])
        // Devices receive these changes like any other.
        #expect(page.messages.allSatisfy { $0.rev > number })
        #expect(try harness.log(of: direct, by: "bob").texts == ["direct", "yes"])
        #expect(try harness.log(of: room, by: "bob").messages.first?.sender == row.replacement)
        #expect(try harness.unread(group, "bob").mentions == 1)
        #expect(try harness.log(of: town.logID, by: "bob").messages.map(\.sender) == ["bob", row.replacement])
        // A message that was imported without counting still adds no unread mention.
        let archive = try #require(try harness.store.read { try $0.conversation(.group("archive")) })
        #expect(
            try harness.store.read { try $0.places(mentioning: "bob", in: archive.number, above: 0, limit: 9) } == [])
        #expect(
            try harness.store.read { try $0.conversation(.system(to: "alice", from: "billing"))?.isDeleted } == true)
        #expect(
            try harness.store.read { try $0.conversation(.direct(between: "alice", and: "alice"))?.isDeleted } == true)
        #expect(refusal { _ = try harness.engine.user("alice") }?.code == .unknownUser)
    }

    @Test("Erased messages become tombstones with a random sender, and no longer count")
    func erase() async throws {
        let harness = try harness()
        #expect(try harness.unread(group, "carol").unread == 3)
        let row = try await harness.erase("alice", .erase)
        #expect(try traces(of: "alice", in: harness) == [])
        let page = try harness.log(of: group, by: "bob")
        #expect(page.messages.map(\.isDeleted) == [true, false, false])
        #expect(page.messages[0].sender == row.replacement && page.messages[0].attributes.mentions == nil)
        #expect(page.messages[2].actions.first?.count == 1)
        #expect(try harness.unread(group, "carol").unread == 2)
        #expect(try harness.unread(group, "bob").mentions == 0)
        let report = try harness.perform(ListReports(page: Paging()), by: EngineHarness.admin).reports
        #expect(report.contains { $0.sender == row.replacement && $0.content == nil })
        #expect(report.contains { $0.reporter == row.replacement && $0.text == nil && $0.content != nil })
    }

    @Test("Kept messages stay unchanged, and their sender is no longer a member")
    func keptMessagesStayUnchanged() async throws {
        let harness = try harness()
        let before = try harness.log(of: group, by: "bob")
        let row = try await harness.erase("alice", .keep)
        #expect(row.hasEnded && row.messageCount == 0)
        #expect(try harness.log(of: group, by: "bob").messages == before.messages)
        #expect(
            try harness.engine.members(of: group, after: nil, limit: 9, by: EngineHarness.admin).map(\.id) == [
                "bob", "carol",
            ])
    }

    @Test("A name is refused until its erasure ends, and a new user with the name sees nothing from before")
    func erasedNameCanBeReused() async throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let device = sessions.device("alice")
        let issued = harness.clock.now
        try harness.put(.group("other"))
        let row = try await harness.engine.erase("alice", messages: .anonymize, by: EngineHarness.admin)
        #expect(device.transport.closes == [.signedOut])
        #expect(harness.connectionRefusal("alice")?.code == .userDeactivated)
        #expect(refusal { try harness.send(to: group, by: "alice") }?.code == .userDeactivated)
        #expect(refusal { try harness.join(.group("other"), "alice") }?.code == .conflict)
        #expect(refusal { try harness.put(.group("new"), .init(members: ["alice"])) }?.code == .conflict)
        // A repeated request returns the same job.
        let again = try await harness.engine.erase("alice", messages: .anonymize, by: EngineHarness.admin)
        #expect(again.number == row.number)
        await #expect(throws: ChatError.self) {
            try await harness.engine.erase("alice", messages: .erase, by: EngineHarness.admin)
        }
        try await harness.runErasures()
        harness.clock.advance(by: 1)
        // Old tokens stay revoked.
        #expect(refusal { try harness.engine.checkToken(of: "alice", issuedAt: issued) }?.code == .tokenRevoked)
        #expect(harness.connectionRefusal("alice") == nil)
        await #expect(throws: ChatError.self) {
            try await harness.engine.erase("alice", messages: .anonymize, by: EngineHarness.admin)
        }
        // A new user with the same name.
        #expect(refusal { _ = try harness.head(direct, "alice") }?.code == .unknownConversation)
        try harness.send("who are you?", to: direct, by: "alice")
        #expect(try harness.log(of: direct, by: "alice").texts == ["who are you?"])
        #expect(try harness.log(of: direct, by: "bob").texts == ["direct", "yes", "who are you?"])
        try harness.send("bob", to: direct, by: "bob")
        #expect(try harness.log(of: direct, by: "alice").texts == ["who are you?", "bob"])
    }

    @Test("An erasure that is interrupted after any step continues with the same result")
    func interruptedErasureContinues() async throws {
        var steps = 0
        var isBroken = true
        while isBroken {
            let store = FailingStore()
            let harness = try harness(store: store)
            let row = try await harness.engine.erase("alice", messages: .anonymize, by: EngineHarness.admin)
            store.failures.withLock { [steps] in $0 = Array(repeating: nil, count: steps) + [.commit] }
            do {
                try await harness.engine.runErasure(row)
                isBroken = false
            } catch {
                #expect((error as? ChatError)?.code == .internalError)
            }
            store.failures.withLock { $0 = [] }
            // Another process opens the store.
            let engine = try Engine(store: harness.store, execution: .inline, clock: { harness.clock.now })
            while let open = try harness.store.read({ try $0.openErasures(limit: 1).first }) {
                try await engine.runErasure(open)
            }
            #expect(try traces(of: "alice", in: harness) == [], "after \(steps)")
            #expect(try engine.history(of: group, HistoryQuery(), by: Caller(user: "bob")).messages.count == 3)
            steps += 1
        }
        #expect(steps > 8, "each conversation takes at least one step")
    }

    @Test("A restored store erases the users in the register again")
    func restoredStoreErasesAgain() async throws {
        let register = MemoryErasureRegister()
        let harness = try harness(erasures: register)
        let row = try await harness.erase("alice", .anonymize)
        // The same history without the erasure equals a backup from before it.
        let restored = try self.harness(erasures: register)
        #expect(try traces(of: "alice", in: restored) != [])
        #expect(try await restored.engine.restartMissingErasures() == 1)
        #expect(restored.connectionRefusal("alice")?.code == .userDeactivated)
        try await restored.runErasures()
        #expect(try traces(of: "alice", in: restored) == [])
        // The replacement name is the same.
        #expect(try restored.log(of: group, by: "bob").messages[0].sender == row.replacement)
        #expect(try await restored.engine.restartMissingErasures() == 0)
    }

    @Test("A user can't send and can't be imported while being erased")
    func userBeingErasedCannotSend() async throws {
        let harness = try harness()
        _ = try await harness.engine.erase("alice", messages: .erase, by: EngineHarness.admin)
        #expect(refusal { try harness.send("late", to: room, by: "alice") }?.code == .userDeactivated)
        #expect(
            refusal {
                try harness.importHistory(
                    [harness.importedMessage("x", by: "alice", at: harness.clock.now)], into: group)
            }?.code == .conflict)
        try await harness.runErasures()
    }

    @Test("Files of an erased user are removed, and forwarded files stay under the replacement name")
    func files() async throws {
        let harness = try harness()
        func file(_ text: String) async throws -> MediaRow {
            try await harness.upload(Array(text.utf8), to: group, by: "alice", name: "\(text).txt")
        }
        let (lone, sent, passedOn) = (try await file("lone"), try await file("sent"), try await file("passed on"))
        for row in [sent, passedOn] { try harness.send(harness.submission(of: row), to: group, by: "alice") }
        try harness.send(harness.submission(of: passedOn), to: group, by: "bob")
        let row = try await harness.erase("alice", .erase)
        #expect(row.fileCount == 2)
        for (file, isThere) in [(lone, false), (sent, false), (passedOn, true)] {
            let found = try harness.store.read { try $0.media(file.id) }
            #expect((found != nil) == isThere)
            if isThere { #expect(found?.owner == row.replacement) }
        }
        #expect(try await harness.engine.removeOrphans() == 1)
    }

    @Test("Only administrators can erase users, and only other users who exist")
    func refusals() async throws {
        let harness = try harness()
        for (user, caller, code) in [
            ("alice", Caller(user: "bob"), ChatError.Code.forbidden), ("root", EngineHarness.admin, .invalidParameter),
            ("nobody", EngineHarness.admin, .unknownUser),
        ] as [(UserID, Caller, ChatError.Code)] {
            let error = await refused { _ = try await harness.engine.erase(user, messages: .keep, by: caller) }
            #expect(error?.code == code)
        }
        #expect(refusal { _ = try harness.engine.erasure(1, by: EngineHarness.admin) }?.code == .unknownJob)
    }

    @Test("The export of personal data is complete and contains nothing of other users")
    func export() throws {
        let harness = try harness()
        var data = PersonalData(of: "alice")
        var records: [PersonalData.Record] = []
        while case let next = try data.next(harness.engine), let some = next.records {
            records += some
            data = next.data
        }
        var counts: [String: Int] = [:]
        for record in records {
            let name: String
            switch record {
            case .profile(let profile, let state, _, _):
                name = "profile"
                #expect(profile.name == "Alice" && state == "active")
            case .membership: name = "membership"
            case .message(let message):
                name = "message"
                #expect(message.sender == "alice")
            case .action(_, let action):
                name = "action"
                #expect(action.sender == "alice")
            case .file: name = "file"
            case .blocked(let user):
                name = "block"
                #expect(user == "mallory")
            case .invitation(let invitation):
                name = "invitation"
                #expect(invitation.user == "alice" || invitation.by == "alice")
            case .ban(let conversation, let ban):
                name = "ban"
                #expect(ban.id == "alice" && conversation == .room("attic"))
            case .mute(let conversation, let mute):
                name = "mute"
                #expect(mute == .forever && conversation == .room("cellar"))
            case .receipt: name = "receipt"
            case .thread: name = "thread"
            case .draft: name = "draft"
            case .scheduled: name = "scheduled"
            case .hook: name = "hook"
            case .report(let report):
                name = "report"
                #expect(report.reporter == "alice")
            case .act(let act):
                name = "act"
                #expect(act.row.actor == "alice" || act.row.user == "alice")
            case .pushPreferences: name = "pushPreferences"
            case .pushDevice: name = "pushDevice"
            }
            counts[name, default: 0] += 1
        }
        #expect(
            counts
                == [
                    "profile": 1, "membership": 7, "message": 6, "action": 2, "block": 1, "invitation": 2, "report": 1,
                    "ban": 1, "mute": 1, "act": 2,
                ],
            "\(counts)")
    }
}

extension EngineHarness {
    /// Imports history, and first creates the conversation if `making` is `true`.
    func importHistory(
        _ messages: [ImportedMessage], into id: ConversationID, by caller: Caller, making: Bool
    ) throws {
        if making { try put(id) }
        try importHistory(messages, into: id, by: caller)
    }
}
