import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

extension ErasureTests {
    @Test("Where the past is everybody's to see, the next one with the name sees nothing of it either")
    func nameAgainWherePastIsSeen() async throws {
        let world = try World()
        try world.put(direct, .init(visibility: .everything))
        try world.send("private", to: direct, by: "alice")
        try world.send("words", to: direct, by: "bob")
        try await world.erase("alice", .anonymize)
        world.clock.advance(by: 1)
        try world.send("hello", to: direct, by: "alice")
        #expect(try world.log(of: direct, by: "alice").texts == ["hello"])
        #expect(try world.log(of: direct, by: "bob").texts == ["private", "words", "hello"])
    }

    @Test("Who has a block, an invitation or a report alone is known too; whose name nobody has heard is not")
    func littleKnown() async throws {
        let world = try world()
        for user in ["dora", "mallory", "erin"] as [UserID] {
            #expect(try traces(of: user.text, in: world) != [])
            try await world.erase(user, .anonymize)
            #expect(try traces(of: user.text, in: world) == [])
            let error = await refused { try await world.erase(user, .anonymize) }
            #expect(error?.code == .unknownUser)
        }
        // The name again, in a room alone: no profile is made by that.
        try await world.erase("alice", .anonymize)
        world.clock.advance(by: 1)
        try world.send("I am new", to: room, by: "alice")
        try await world.erase("alice", .anonymize)
        #expect(try traces(of: "alice", in: world) == [])
    }

    @Test("Who was there when they were erased leaves no time at which they went")
    func lastSeen() async throws {
        let world = try world()
        try world.set { $0.people.presence = true }
        let device = Doors(world).sharing("alice")
        try await world.erase("alice", .keep)
        device.session.disconnected()
        world.clock.advance(by: 6)
        world.engine.tellWhoLeft()
        #expect(try world.store.read { try $0.lastSeen(of: "alice") } == nil)
    }

    @Test("Nobody hears of messages that are gone")
    func gone() async throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        try world.send("first", to: group, by: "bob")
        let other = world.submission("hey", mentions: .users(["alice"]))
        try world.send(other, to: group, by: "bob")
        try world.react("🎉", to: other.id, in: group, by: Caller(user: "alice"))
        try world.send("mine", to: group, by: "alice")
        try world.send("last", to: group, by: "bob")
        try world.delete(DeleteRange(from: .seq(2), to: .seq(4)), of: group)
        let rev = try #require(try world.store.read { try $0.conversation(group)?.rev })
        try await world.erase("alice", .anonymize)
        #expect(try traces(of: "alice", in: world) == [])
        #expect(try world.store.read { try $0.conversation(group)?.rev } == rev)
    }

    @Test("What is remembered of many messages that are gone, and many reactions, goes a hundred at a time")
    func many() async throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        for number in 0..<450 { try world.send("\(number)", to: group, by: number % 3 == 0 ? "bob" : "alice") }
        try world.delete(DeleteRange(from: nil, to: .seq(441)), of: group)
        try await world.engine.sweep()
        let last = world.submission("last")
        try world.send(last, to: group, by: "bob")
        for number in 0..<250 { try world.react("r\(number)", to: last.id, in: group, by: Caller(user: "alice")) }
        #expect(try traces(of: "alice", in: world).count(where: { $0.hasPrefix("key") }) == 293)
        let moved = try world.store.moved
        try await world.erase("alice", .erase)
        #expect(try traces(of: "alice", in: world) == [])
        // Three for the reactions, three for the keys, one for her messages, one for the conversation, and what begins and ends.
        #expect(try world.store.moved - moved >= 8)
        let number = try #require(try world.store.read { try $0.conversation(group)?.number })
        let keys = try world.store.read { try $0.keys(in: number, after: MessageID(high: 0, low: 0), limit: 999) }
        #expect(keys.count == 440 && keys.count(where: { $0.sender == "bob" }) == 147)
    }

    @Test("A message that was on its way before they were shut out comes too late, though the name can be used again")
    func onItsWay() async throws {
        let program = FakeProgram()
        let world = try World(webhooks: program)
        try world.put(room)
        try world.send("first", to: room, by: "alice")
        try world.set {
            $0.manners.webhooks = .init(before: .init(url: "http://hook.invalid/a", secret: "a secret of many bytes"))
        }
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let (answers, answer) = AsyncStream<Void>.makeStream()
        program.answer { _ in
            ask.yield()
            for await _ in answers { break }
            return WebhookResponse(status: 200, body: Array(#"{"action":"allow"}"#.utf8))
        }
        let slowBody = world.engine.shutOuts
        let late = Task { try await world.sent("late", to: room, by: "alice") }
        for await _ in asked { break }
        try await world.erase("alice", .erase)
        world.clock.advance(by: 1)
        answer.yield()
        let error = await refused { _ = try await late.value }
        #expect(error?.code == .userDeactivated)
        try world.set { $0.manners.webhooks = .init() }
        let slow = refusal {
            let _: SendResult = try world.done { completion in
                world.engine.send(
                    world.submission("slow"), to: room, by: Caller(user: "alice"), since: slowBody,
                    completion: completion)
            }
        }
        #expect(slow?.code == .userDeactivated)
        try world.send("of somebody else", to: room, by: "alice")
        #expect(try world.log(of: room, by: "bob").texts == ["", "of somebody else"])
    }

    @Test("What was asked for before they were shut out, and comes after their erasure, makes nobody of them again")
    func lateRequests() async throws {
        let world = try world()
        let other = world.submission("anybody here?")
        try world.send(other, to: room, by: "bob")
        let alice = Caller(user: "alice")
        let slowBody = world.engine.shutOuts
        try await world.erase("alice", .erase)
        let late = [
            refusal {
                _ = try world.done {
                    world.engine.putUser(
                        "alice", .init(name: "Alice"), by: alice, since: slowBody, completion: $0)
                }
            },
            refusal {
                _ = try world.done {
                    world.engine.addAction(
                        to: other.id, in: room, type: "reaction", value: "👍", by: alice, since: slowBody,
                        completion: $0)
                }
            },
            refusal {
                _ = try world.done {
                    world.engine.report(
                        other.id, in: room, reason: .spam, text: nil, by: alice, since: slowBody, completion: $0)
                }
            },
        ]
        #expect(late.allSatisfy { $0?.code == .userDeactivated }, "\(late)")
        #expect(try traces(of: "alice", in: world) == [])
        #expect(try world.store.read { try $0.user("alice")?.state } == .erased)
        // Somebody else, with the same name.
        _ = try world.done {
            world.engine.putUser("alice", .init(name: "Alice"), by: alice, completion: $0)
        }
        #expect(try world.store.read { try $0.user("alice")?.state } == .active)
    }

    @Test("Who writes to somebody who was erased makes nobody of them; who uses the name does")
    func writtenTo() async throws {
        let world = try world()
        try await world.erase("alice", .anonymize)
        try world.send("are you there?", to: .direct("alice"), by: "dave")
        #expect(try world.store.read { try $0.user("alice")?.state } == .erased)
        #expect(refusal { _ = try world.engine.user("alice") }?.code == .unknownUser)
        world.clock.advance(by: 1)
        try world.read(.direct("dave"), to: 1, by: "alice")
        #expect(try world.store.read { try $0.user("alice")?.state } == .active)
    }

    @Test("Of their reports they are told what they said, and nothing of what the operator wrote about them")
    func exportedReport() throws {
        let world = try world()
        let number = try #require(
            try world.store.read { try $0.reports(by: "alice", after: 0, limit: 1).first?.number })
        _ = try world.done {
            world.engine.putReport(number, isOpen: false, note: "again", by: World.admin, completion: $0)
        }
        var data = PersonalData(of: "alice")
        var reports: [Report] = []
        while case let next = try data.next(world.engine), let some = next.records {
            for case .report(let report) in some { reports.append(report) }
            data = next.data
        }
        let report = try #require(reports.first)
        #expect(report.text == "my words" && !report.isOpen && report.closedAt != nil)
        #expect(report.note == nil && report.closedBy == nil)
    }

    @Test("How they want to be told by push, and where, is told without what would let others push there")
    func exportedPush() throws {
        let world = try world()
        let token = "0123456789abcdef0123456789abcdef"
        try world.register("alice", "phone", token: token, language: "de")
        try world.register("alice", "watch", token: "00aaff")
        try world.register("bob", "phone", token: "bb00")
        try world.prefer(#"{"language":"fr","showsDetail":false}"#, by: "alice")
        var data = PersonalData(of: "alice")
        var lines: [String] = []
        while case let next = try data.next(world.engine), let some = next.records {
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

    @Test("Where the register can't be written it is said, and the job begins all the same")
    func registerFails() async throws {
        let register = FailingRegister()
        let world = try world(erasures: register)
        let work = Task { await world.engine.carryOutErasures { _ in } }
        let error = await FailingRegister.$fails.withValue(true) {
            await refused { _ = try await world.engine.erase("alice", messages: .erase, by: World.admin) }
        }
        #expect(error?.code == .storageFull)
        for _ in 0..<500 where try !traces(of: "alice", in: world).isEmpty {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try traces(of: "alice", in: world) == [])
        work.cancel()
        #expect(register.all().map(\.user) == ["alice"])
    }
}

/// A register that fails for who is told so: the job, begun before, writes it all the same.
private final class FailingRegister: ErasureRegister {
    @TaskLocal static var fails = false
    private let register = MemoryErasureRegister()

    func add(_ erasure: RegisteredErasure) throws(ChatError) {
        if Self.fails { throw ChatError(.storageFull, "the disk is full") }
        register.add(erasure)
    }

    func all() -> [RegisteredErasure] { register.all() }
}
