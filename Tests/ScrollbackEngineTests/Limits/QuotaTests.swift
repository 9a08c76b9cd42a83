import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Daily quotas")
struct QuotaTests {
    private let group = ConversationID.group("g")
    private let alice = Caller(user: "alice")
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        // A new day, so that no test runs across midnight.
        harness.clock.set(Date(timeIntervalSince1970: 20_800 * 86_400 + 3600))
    }

    /// Checks the error for an exceeded quota.
    private func check(
        _ error: ChatError?, _ quota: Quota, _ limit: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            error?.code == .rateLimited && error?.status == 429, "\(String(describing: error))",
            sourceLocation: sourceLocation)
        #expect(error?.limit == limit && error?.message.contains(quota.setting) == true, sourceLocation: sourceLocation)
        #expect(error?.retryAfter == 82_800, sourceLocation: sourceLocation)
    }

    @Test("Users create at most groupsPerDay groups, and administrators have no limit")
    func groups() throws {
        try harness.set { $0.quotas[.groups] = 2 }
        for index in 0..<2 { try harness.put(.group(Identifier("a\(index)")), by: alice) }
        check(refusal { try harness.put(.group("a2"), by: alice) }, .groups, 2)
        #expect(try harness.store.read { try $0.conversation(.group("a2")) } == nil)
        // Changes of existing groups, other users and administrators are not affected.
        try harness.put(.group("a1"), .init(name: "A"), by: alice)
        try harness.put(.group("b"), by: Caller(user: "bob"))
        for index in 0..<3 { try harness.put(.group(Identifier("c\(index)"))) }
        #expect(harness.engine.ledger.refusals.map(\.count) == [1, 0, 0, 0])
        harness.clock.advance(by: 23 * 3600)
        try harness.put(.group("a2"), by: alice)
    }

    @Test("Added, invited and first addressed users count against membersPerDay")
    func members() throws {
        try harness.put(.group("own"), .init(members: ["bob", "alice"]), by: alice)
        try harness.set { $0.quotas[.members] = 4 }
        try harness.join(.group("own"), "x1", by: alice)
        try harness.send("hi", to: .direct("x2"), by: "alice")
        try harness.perform(InviteUser(conversation: .group("own"), user: "x3"), by: alice)
        check(refusal { try harness.join(.group("own"), "x4", by: alice) }, .members, 4)
        check(refusal { try harness.send("hi", to: .direct("x4"), by: "alice") }, .members, 4)
        check(refusal { try harness.put(.group("new"), .init(members: ["x4"]), by: alice) }, .members, 4)
        check(
            refusal { try harness.perform(InviteUser(conversation: .group("own"), user: "x4"), by: alice) }, .members, 4
        )
        #expect(try harness.store.read { try $0.user("x4") } == nil)
        // Messages to users who are known already, and joining, stay possible.
        try harness.send("again", to: .direct("x2"), by: "alice")
        #expect(try harness.store.read { try $0.conversation(.direct(between: "alice", and: "x4")) } == nil)
    }

    @Test("A creation above membersPerDay is refused before its members are read")
    func membersAreReadLast() throws {
        try harness.set { $0.quotas[.members] = 1 }
        try harness.perform(BlockUser(user: "alice"), by: Caller(user: "bob"))
        let settings = ConversationSettings(members: ["bob", "x1"])
        check(refusal { try harness.put(.group("new"), settings, by: alice) }, .members, 1)
        try harness.set { $0.quotas[.members] = 2 }
        #expect(refusal { try harness.put(.group("new"), settings, by: alice) }?.code == .blocked)
    }

    @Test("The error of a creation above membersPerDay says how many users to name, or that no day allows so many")
    func adviceForMembers() throws {
        func message(_ count: Int) -> String? {
            let settings = ConversationSettings(members: (0..<count).map { UserID(known: "y\($0)") })
            let error = refusal { try harness.put(.group("new"), settings, by: alice) }
            check(error, .members, 4)
            return error?.message
        }
        try harness.set { $0.quotas[.members] = 4 }
        let advice = "This request adds 5 users: name fewer, or ask an administrator to raise the setting."
        #expect(message(5)?.hasSuffix(advice) == true)
        try harness.put(.group("own"), .init(members: ["x1", "x2", "alice"]), by: alice)
        #expect(
            message(3)?.hasSuffix(
                "This request adds 3 users, and 2 are left: name fewer, or try again after 00:00 UTC.") == true)
        try harness.put(.group("other"), .init(members: ["x1", "x2"]), by: alice)
        #expect(message(1)?.hasSuffix("(setting membersPerDay). Try again after 00:00 UTC.") == true)
        #expect(message(5)?.hasSuffix(advice) == true)
    }

    @Test("A direct conversation counts against membersPerDay when a user changes settings in it, and not again later")
    func directSettings() throws {
        func pin(_ user: UserID, by caller: Caller) throws {
            let change = StateChange.settings(isMuted: nil, isPinned: true)
            _ = try harness.done { harness.engine.change(.direct(user), change, by: caller, completion: $0) }
        }
        try harness.set { $0.quotas[.members] = 2 }
        try pin("alice", by: alice)
        for user: UserID in ["x1", "x2"] { try pin(user, by: alice) }
        check(refusal { try pin("x3", by: alice) }, .members, 2)
        #expect(try harness.store.read { try $0.conversation(.direct(between: "alice", and: "x3")) } == nil)
        // The first message and further settings begin no conversation.
        try harness.send("hi", to: .direct("x1"), by: "alice")
        try pin("x2", by: alice)
        check(refusal { try harness.send("hi", to: .direct("x3"), by: "alice") }, .members, 2)
        // The other user adds no name by their own settings.
        try harness.set { $0.quotas[.members] = 1 }
        try pin("bob", by: Caller(user: "x2"))
        try pin("alice", by: Caller(user: "x2"))
    }

    @Test("Banned users who never were members count against membersPerDay")
    func bans() throws {
        let own = ConversationID.group("own")
        try harness.put(own, .init(members: ["bob"]), by: alice)
        try harness.set { $0.quotas[.members] = 3 }
        for user: UserID in ["x1", "x2"] { try harness.ban(user, from: own, by: alice) }
        check(refusal { try harness.ban("x3", from: own, by: alice) }, .members, 3)
        #expect(try harness.store.read { try $0.user("x3") } == nil)
        // Members and users with a ban are known already. An ended ban leaves no row.
        try harness.ban("bob", from: own, by: alice)
        try harness.ban("x1", from: own, by: alice)
        try harness.perform(UnbanUser(conversation: own, user: "x1"), by: alice)
        check(refusal { try harness.ban("x1", from: own, by: alice) }, .members, 3)
        for user: UserID in ["x3", "x4"] { try harness.ban(user, from: own) }
    }

    @Test("Mutes, their ends, bans and empty deletions of history count against messageBytesPerDay")
    func moderationBytes() throws {
        var permissions = Permissions.standard
        permissions[.deleteHistory, .group] = .owner
        let harness = try EngineHarness(permissions: permissions)
        harness.clock.set(self.harness.clock.now)
        let own = ConversationID.group("own")
        try harness.put(own, .init(members: ["bob"]), by: alice)
        try harness.set {
            $0.people.notices = true
            $0.quotas[.messageBytes] = 5000
        }
        func count(_ body: (Int) throws -> Void) -> Int {
            harness.clock.advance(by: 86_400)
            var count = 0
            while count < 100, refusal({ try body(count) }) == nil { count += 1 }
            return count
        }
        let head = try harness.head(own, "alice").state.head
        let mutes = count { try harness.mute("bob", $0.isMultiple(of: 2) ? .forever : nil, in: own, by: alice) }
        #expect(mutes == 19)
        #expect(try harness.head(own, "alice").state.head == head + Int64(mutes))
        // A refused mute does not change the role of the same request either.
        check(
            refusal {
                _ = try harness.done {
                    harness.engine.putMember(
                        "bob", role: .moderator, mute: .some(.forever), of: own, by: alice, completion: $0)
                }
            }, .messageBytes, 5000)
        let bob = try harness.engine.members(of: own, after: nil, limit: 9, by: alice).first { $0.id == "bob" }
        #expect(bob?.role == .member)
        // An operation that repeats a mute is remembered, so it counts too.
        let repeated = count { _ in
            _ = try harness.done {
                harness.engine.putMember(
                    "bob", role: nil, mute: .some(nil), of: own, operation: harness.newID(), by: alice, completion: $0)
            }
        }
        #expect(repeated == 19)
        #expect(count { _ in try harness.ban("bob", from: own, by: alice) } == 19)
        try harness.delete(.all, of: own, by: alice)
        let deletions = count { _ in try harness.delete(.all, of: own, operation: harness.newID(), by: alice) }
        #expect(deletions == 19)
        // Without an operation ID, nothing is stored.
        #expect(try harness.delete(.all, of: own, by: alice) == 0)
    }

    @Test("Trying to create a group whose name is taken counts against groupsPerDay")
    func takenNames() throws {
        let carol = Caller(user: "carol")
        try harness.put(.group("hidden"), by: alice)
        try harness.set { $0.quotas[.groups] = 3 }
        for _ in 0..<2 {
            #expect(refusal { try harness.put(.group("hidden"), by: carol) }?.code == .unknownConversation)
        }
        try harness.put(.group("free"), by: carol)
        check(refusal { try harness.put(.group("hidden"), by: carol) }, .groups, 3)
        check(refusal { try harness.put(.group("free2"), by: carol) }, .groups, 3)
        // A request that can't create the group does not show whether the name is taken, and costs nothing.
        let dora = Caller(user: "dora")
        for name: Identifier in ["hidden", "missing"] {
            let invalid = ConversationSettings(isPrivate: true)
            #expect(refusal { try harness.put(.group(name), invalid, by: dora) }?.parameter == "private")
            let error = refusal {
                _ = try harness.done {
                    harness.engine.putConversation(.group(name), .init(), exists: true, by: dora, completion: $0)
                }
            }
            #expect(error?.code == .unknownConversation)
        }
        for index in 0..<3 { try harness.put(.group(Identifier("d\(index)")), by: dora) }
    }

    @Test("Messages, edits, reactions and settings count against messageBytesPerDay, and retries are still answered")
    func messageBytes() throws {
        let first = harness.submission(String(repeating: "x", count: 2000))
        try harness.set { $0.quotas[.messageBytes] = 3000 }
        let sent = try harness.send(first, to: group, by: "alice")
        check(
            refusal { try harness.send(String(repeating: "y", count: 1000), to: group, by: "alice") }, .messageBytes,
            3000)
        check(
            refusal {
                _ = try harness.edit(first.id, in: group, String(repeating: "z", count: 1000), by: alice)
            }, .messageBytes, 3000)
        check(
            refusal {
                try harness.put(
                    .group("h"), .init(metadata: RawJSON(known: #"{"a":"\#(String(repeating: "m", count: 900))"}"#)),
                    by: alice)
            }, .messageBytes, 3000)
        #expect(try harness.send(first, to: group, by: "alice").position == sent.position)
        // Short messages fit until the limit is reached. Then reactions are refused too.
        var short = 0
        while refusal({ try harness.send("s", to: group, by: "alice") }) == nil { short += 1 }
        #expect((1...4).contains(short))
        check(
            refusal {
                _ = try harness.done {
                    harness.engine.addAction(
                        to: first.id, in: group, type: "reaction", value: "+", by: alice, completion: $0)
                }
            }, .messageBytes, 3000)
        try harness.send("hi", to: group, by: "bob")
        #expect(try harness.page(of: group, by: "alice").messages.count == short + 2)
    }

    @Test("A reaction, its removal and a reply count the bytes of the message that they change")
    func changedMessages() throws {
        let long = harness.submission(String(repeating: "x", count: 10_000))
        try harness.send(long, to: group, by: "bob")
        try harness.set { $0.quotas[.messageBytes] = 50_000 }
        func count(_ body: (Int) throws -> Void) -> Int {
            harness.clock.advance(by: 86_400)
            var count = 0
            while count < 100, refusal({ try body(count) }) == nil { count += 1 }
            return count
        }
        let added = count { try harness.react("\($0)", to: long.id, in: group, by: alice) }
        #expect(added == 4)
        let removed = count { try harness.removeAction("reaction", "\($0)", from: long.id, in: group, by: alice) }
        #expect(removed == 4)
        // A reply is counted after it is stored, so the last one exceeds the limit.
        let replies = count { _ in
            var reply = harness.submission("hi")
            reply.attributes.replyTo = long.id
            try harness.send(reply, to: group, by: "alice")
        }
        #expect(replies == 5)
    }

    @Test("A message counts a row for each mention, and two if it is a reply")
    func mentionRows() throws {
        let first = harness.submission("hi")
        try harness.send(first, to: group, by: "bob")
        try harness.set { $0.quotas[.messageBytes] = 10_000 }
        func send(mentions count: Int, replyTo: MessageID? = nil) throws {
            harness.clock.advance(by: 86_400)
            var message = harness.submission("hi")
            message.attributes.mentions = Mentions(
                everyone: false, users: (0..<count).map { UserID(known: "u\($0)") }, pushText: nil)
            message.attributes.replyTo = replyTo
            try harness.send(message, to: group, by: "alice")
        }
        try send(mentions: 35)
        check(refusal { try send(mentions: 40) }, .messageBytes, 10_000)
        try send(mentions: 15, replyTo: first.id)
        check(refusal { try send(mentions: 20, replyTo: first.id) }, .messageBytes, 10_000)
    }

    @Test("A repeated report counts like the first one")
    func repeatedReports() throws {
        let long = harness.submission(String(repeating: "x", count: 10_000))
        try harness.send(long, to: group, by: "bob")
        try harness.set { $0.quotas[.messageBytes] = 35_000 }
        var count = 0
        while count < 100,
            refusal({
                try harness.perform(ReportMessage(conversation: group, id: long.id, reason: .spam), by: alice)
            }) == nil
        { count += 1 }
        #expect(count == 3)
    }

    @Test("Uploads count against fileBytesPerDay, and open uploads occupy their length")
    func fileBytes() async throws {
        try harness.set { $0.quotas[.fileBytes] = 1000 }
        let file = [UInt8](repeating: 7, count: 600)
        _ = try await harness.upload(file, to: group, by: "alice")
        check(await refused { _ = try await harness.upload(file, to: group, by: "alice") }, .fileBytes, 1000)
        let open = try await harness.begin(try UploadRequest(conversation: group, length: 300), by: "alice")
        check(
            await refused {
                _ = try await harness.begin(try UploadRequest(conversation: group, length: 101), by: "alice")
            },
            .fileBytes, 1000)
        await (try await harness.engine.transfer(open.id, by: Caller(user: "alice"), interrupt: {})).cancel()
        _ = try await harness.begin(try UploadRequest(conversation: group, length: 400), by: "alice")
        _ = try await harness.upload(file, to: group, by: "bob")
    }

    @Test("An upload of unknown length stops at fileBytesPerDay, and none of its bytes are kept")
    func unknownLength() async throws {
        try harness.set { $0.quotas[.fileBytes] = 1000 }
        let request = try UploadRequest(conversation: group)
        let bytes = [UInt8](repeating: 7, count: 600)
        for isResumable in [true, false] {
            let transfer = try await harness.beginTransfer(request, by: alice, isResumable: isResumable)
            try await transfer.append(bytes)
            try await transfer.append(bytes)
            check(await refused { _ = try await transfer.finish() }, .fileBytes, 1000)
            await transfer.cancel()
        }
        #expect(try await harness.engine.media.blobs(after: nil, limit: 1).isEmpty)
        // A large part is checked before the end.
        let transfer = try await harness.beginTransfer(request, by: alice, isResumable: true)
        check(await refused { try await transfer.append([UInt8](repeating: 7, count: 9 << 20)) }, .fileBytes, 1000)
        check(await refused { try await transfer.setLength(10 << 20) }, .fileBytes, 1000)
        await transfer.cancel()
        // Other open uploads count, and the upload itself does not count twice.
        let open = try await harness.begin(try UploadRequest(conversation: group, length: 300), by: "alice")
        let fits = try await harness.begin(request, by: "alice")
        let last = try await harness.engine.transfer(fits.id, by: alice, interrupt: {})
        try await last.append(bytes)
        try await last.save()
        check(await refused { try await last.setLength(701) }, .fileBytes, 1000)
        try await last.setLength(700)
        await last.end()
        await (try await harness.engine.transfer(open.id, by: alice, interrupt: {})).cancel()
    }

    @Test("A restart of the server returns at most a thirty-second of a quota")
    func restart() async throws {
        try harness.set { $0.quotas[.fileBytes] = 3200 }
        _ = try await harness.upload([UInt8](repeating: 1, count: 3199), to: group, by: "alice")
        let after = try EngineHarness(store: harness.store)
        after.clock.set(harness.clock.now)
        check(await refused { _ = try await after.upload([1, 2], to: group, by: "alice") }, .fileBytes, 3200)
    }

    @Test("A message of an ordinary size writes no row for its quota")
    func rows() throws {
        for index in 0..<20 { try harness.send("message \(index)", to: group, by: "alice") }
        #expect(try harness.store.read { try $0.usage(of: "alice") } == nil)
        try harness.set { $0.quotas[.messageBytes] = 20_000 }
        try harness.send(String(repeating: "x", count: 1000), to: group, by: "alice")
        let row = try #require(try harness.store.read { try $0.usage(of: "alice") })
        #expect(row.day == 20_800 && row.growth[.messageBytes] > 20 * 256 + 1000)
    }

    @Test("Amounts of earlier days are deleted, and erasure deletes a user's amounts")
    func cleanup() async throws {
        try harness.set { $0.quotas[.messageBytes] = 1000 }
        try harness.send("hi", to: group, by: "alice")
        #expect(try harness.store.read { try $0.usage(of: "alice") } != nil)
        harness.clock.advance(by: 24 * 3600)
        try await harness.engine.prune()
        #expect(try harness.store.read { try $0.usage(of: "alice") } == nil)
    }

    @Test("A quota can be removed, and must be a positive number otherwise")
    func settings() throws {
        try harness.set { $0.quotas[.groups] = 1 }
        try harness.put(.group("a"), by: alice)
        try harness.set { $0.quotas[.groups] = nil }
        try harness.put(.group("b"), by: alice)
        let error = refusal { try harness.set { $0.quotas[.members] = 0 } }
        #expect(error?.parameter == "membersPerDay" && error?.limit == 1 << 50)
        var reader = JSONReader("null")
        var settings = ServerSettings()
        #expect(try settings.read("fileBytesPerDay", &reader, unknown: .skip))
        #expect(settings.quotas[.fileBytes] == nil && settings.quotas[.messageBytes] == 256 << 20)
    }
}
