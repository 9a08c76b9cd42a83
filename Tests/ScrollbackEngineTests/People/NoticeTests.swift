import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

@Suite("Notices")
struct NoticeTests {
    private let group = ConversationID.group("g")
    private let owner = Caller(user: "alice")

    private func harness(isOn: Bool = true) throws -> EngineHarness {
        let harness = try EngineHarness()
        if isOn { try harness.set { $0.people.notices = true } }
        try harness.put(group, .init(name: "Sailing", members: ["bob"]), by: owner)
        return harness
    }

    private func texts(_ harness: EngineHarness, _ user: UserID, of id: ConversationID? = nil) throws -> [String] {
        try harness.page(of: id ?? group, by: user).texts.reversed()
    }

    @Test("With notices switched off, a log contains only the messages of users")
    func off() throws {
        let harness = try harness(isOn: false)
        try harness.join(group, "carol", by: owner)
        try harness.put(group, .init(name: "Rowing"), by: owner)
        try harness.leave(group, "carol", by: owner)
        #expect(try harness.head(group, "alice").head == 0)
    }

    @Test("Users can't create notices by messages or edits, and a refused notice creates no conversation")
    func forged() throws {
        let harness = try harness()
        let json = RawJSON(known: #"{"event":"role-changed","user":"bob","role":"owner","text":"x"}"#)
        let forged = MessageContent(known: .notice, json: json)
        let bob = Caller(user: "bob")
        var submission = Submission(id: harness.newID(), content: forged, attributes: .init())
        let direct = ConversationID.direct(between: "bob", and: "stranger")
        for place in [group, direct] {
            #expect(refusal { try harness.send(submission, to: place, by: bob) }?.parameter == "content")
        }
        #expect(refusal { _ = try harness.head(direct, "stranger") }?.code == .unknownConversation)
        submission.content = MessageContent(known: .notice, json: RawJSON(known: #"{"text":"x"}"#))
        try harness.send(submission, to: group, by: bob)
        let edit = refusal {
            let _: Message = try harness.done {
                harness.engine.edit(
                    submission.id, in: group, MessageEdit(forged), operation: nil, by: bob, completion: $0)
            }
        }
        #expect(edit?.parameter == "content")
        #expect(
            try harness.page(of: group, by: "alice").messages.first { $0.id == submission.id }?.content?.notice == nil)
    }

    @Test("Each change of members and settings creates one notice, sent by the user who made the change")
    func events() throws {
        let harness = try harness()
        try harness.join(group, "carol", by: owner)
        try harness.join(group, "carol", by: owner)
        try harness.join(group, "carol", as: .moderator, by: owner)
        let end = harness.clock.now + 60
        try harness.mute("bob", .until(end), in: group, by: owner)
        try harness.mute("bob", nil, in: group, by: owner)
        try harness.mute("bob", nil, in: group, by: owner)
        try harness.invite("dave", to: group, by: owner)
        try harness.join(asInvited: "dave", group)
        try harness.put(group, .init(name: "Rowing", avatar: "r.png", isFrozen: true), by: owner)
        try harness.put(group, .init(name: "Rowing", avatar: "r.png", isFrozen: true), by: owner)
        try harness.put(group, .init(isFrozen: false), by: owner)
        try harness.leave(group, "carol", by: owner)
        try harness.leave(group, "dave", by: Caller(user: "dave"))
        let messages = try harness.page(of: group, by: "alice").messages.reversed()
        let notices: [Notice] = [
            .init(.memberAdded, user: "carol"), .init(.roleChanged, user: "carol", role: .moderator),
            .init(.memberMuted, user: "bob", mute: .until(end)), .init(.memberUnmuted, user: "bob"),
            .init(.memberJoined, user: "dave"), .init(.nameChanged, name: "Rowing"), .init(.avatarChanged),
            .init(.frozen), .init(.unfrozen), .init(.memberRemoved, user: "carol"), .init(.memberLeft, user: "dave"),
        ]
        #expect(messages.map { $0.content?.notice } == notices)
        let senders = messages.map { $0.content?.notice?.user == "dave" ? "dave" : "alice" as UserID }
        #expect(messages.map(\.sender) == senders)
        #expect(messages.first?.text == "alice added carol" && messages.last?.text == "dave left")
        #expect(messages.allSatisfy { $0.type == .notice && $0.id.description.dropFirst(14).first == "7" })
    }

    @Test("Notices do not contain the names of erased users")
    func erased() async throws {
        let harness = try harness()
        try harness.join(group, "carol", by: Caller(user: "alice"))
        try harness.join(group, "alice", as: .owner, by: EngineHarness.admin)
        try harness.leave(group, "carol", by: owner)
        let row = try await harness.erase("alice", .anonymize)
        let page = try harness.page(of: group, by: "bob").messages.reversed()
        #expect(page.map(\.text) == ["\(row.replacement) added carol", "\(row.replacement) removed carol"])
        let next = try await harness.erase("carol", .anonymize)
        let again = try harness.page(of: group, by: "bob").messages.reversed()
        #expect(again.map { $0.content?.notice?.user } == [next.replacement, next.replacement])
        #expect(again.allSatisfy { !($0.text ?? "").contains("carol") })
    }

    @Test("Notices do not count as unread, and added and removed members see the notice about themselves")
    func addedAndRemovedMembersSeeTheirNotice() throws {
        let harness = try harness()
        try harness.send("before", to: group, by: "bob")
        let sessions = SessionHarness(harness)
        let carol = sessions.device("carol")
        try harness.join(group, "carol", by: owner)
        #expect(try texts(harness, "carol") == ["alice added carol"])
        #expect(try harness.unread(group, "carol") == Counts(0))
        #expect(try harness.unread(group, "alice") == Counts(1))
        #expect(try carol.texts == ["alice added carol"])
        try harness.leave(group, "carol", by: owner)
        try harness.send("after", to: group, by: "bob")
        #expect(try texts(harness, "carol") == ["alice added carol", "alice removed carol"])
        #expect(try carol.texts == ["alice added carol", "alice removed carol"])
        #expect(try texts(harness, "alice") == ["before", "alice added carol", "alice removed carol", "after"])
    }

    @Test("Groups and private channels have notices, and communities, public channels and rooms do not")
    func kinds() throws {
        let harness = try harness()
        let city = ConversationID.community("city")
        let open = ConversationID.community("city", channel: "open")
        let closed = ConversationID.community("city", channel: "closed")
        try harness.make(city, members: ["alice", "bob"])
        try harness.put(open)
        try harness.put(closed, .init(isPrivate: true, members: ["alice"]))
        try harness.put(.room("lobby"))
        try harness.join(city, "carol")
        try harness.put(open, .init(name: "Open"))
        try harness.put(.room("lobby"), .init(name: "Lobby"))
        try harness.mute("bob", .forever, in: .room("lobby"))
        for id in [open, city.logID, .room("lobby")] {
            #expect(try harness.engine.head(of: id, by: EngineHarness.admin).head == 0)
        }
        try harness.join(closed, "bob")
        // A member who leaves the community is removed from its private channels.
        try harness.leave(city, "bob")
        #expect(try texts(harness, "alice", of: closed) == ["root added bob", "root removed bob"])
        let left = try harness.engine.members(of: closed, after: nil, limit: 10, by: EngineHarness.admin)
        #expect(left.map(\.id) == ["alice"])
    }

    @Test("Users can't forge, edit or recall notices, and moderators can delete them")
    func safety() throws {
        let harness = try harness()
        try harness.join(group, "carol", as: .member, by: owner)
        try harness.join(group, "dave", as: .moderator, by: owner)
        try harness.join(group, "erin", by: Caller(user: "dave"))
        let notice = try #require(try harness.page(of: group, by: "alice").messages.first)
        let forged = Submission(id: harness.newID(), content: notice.content ?? .text(""), attributes: .init())
        let error = refusal { try harness.send(forged, to: group, by: "alice") }
        #expect(error?.code == .invalidParameter && error?.parameter == "content")
        try harness.send(harness.submission("own", type: .notice), to: group, by: "carol")
        let dave = Caller(user: "dave")
        #expect(
            refusal {
                let _: Message = try harness.done {
                    harness.engine.edit(
                        notice.id, in: group, MessageEdit(notice.content ?? .text("")), by: dave, completion: $0)
                }
            }?.code == .forbidden)
        try harness.leave(group, "carol", by: Caller(user: "carol"))
        try harness.join(group, "carol")
        let own = try #require(try harness.page(of: group, by: "alice").messages.first { $0.text == "carol left" })
        #expect(refusal { try harness.delete(own.id, in: group, by: Caller(user: "carol")) }?.code == .forbidden)
        #expect(try harness.delete(notice.id, in: group, by: dave).isDeleted)
    }
}
