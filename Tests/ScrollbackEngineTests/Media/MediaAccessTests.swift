import ContractRows
import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("Access to files")
struct MediaAccessTests {
    private let group = ConversationID.group("g")
    private let other = ConversationID.group("h")
    private let world: World
    private let alice = Caller(user: "alice")

    init() throws {
        world = try World()
        try world.make(group, members: ["alice", "bob"])
        try world.make(other, members: ["bob", "dora"])
    }

    @Test(
        "Before sending, only the owner and administrators can read a file, and then all readers of the message",
        .rows(109))
    func sent() async throws {
        let file = try await world.upload(SampleFile.png(4, 3), as: .image, to: group, by: "alice")
        #expect(try world.mayRead(file, "alice") && world.mayRead(file, "root", isAdmin: true))
        #expect(try !world.mayRead(file, "bob") && !world.mayRead(file, "carol"))
        try world.send(world.submission(of: file), to: group, by: "alice")
        #expect(try world.mayRead(file, "bob"))
        #expect(try !world.mayRead(file, "carol") && !world.mayRead(file, "dora"))
    }

    @Test("Former members keep access to the files they saw, and new members get access by their visible history")
    func spans() async throws {
        let before = try await world.upload(SampleFile.text, to: group, by: "alice")
        try world.send(world.submission(of: before), to: group, by: "alice")
        try world.leave(group, "bob")
        try world.join(group, "carol")
        let after = try await world.upload(SampleFile.mp3, to: group, by: "alice")
        try world.send(world.submission(of: after), to: group, by: "alice")
        #expect(try world.mayRead(before, "bob") && !world.mayRead(after, "bob"))
        #expect(try !world.mayRead(before, "carol") && world.mayRead(after, "carol"))
    }

    @Test("A recall removes access to the file for all users except its owner")
    func recall() async throws {
        let file = try await world.upload(SampleFile.text, to: group, by: "alice")
        let message = try world.submission(of: file)
        try world.send(message, to: group, by: "alice")
        #expect(try world.mayRead(file, "bob"))
        try world.delete(message.id, in: group, by: alice)
        #expect(try !world.mayRead(file, "bob") && world.mayRead(file, "alice"))
    }

    @Test("Retention, range deletions and hiding a message remove access to its file")
    func gone() async throws {
        for (index, take) in [0, 1, 2].enumerated() {
            let id = ConversationID.group(Identifier(known: "gone\(index)"))
            try world.make(id, members: ["alice", "bob"])
            let file = try await world.upload(SampleFile.noise(99, seed: UInt64(take)), to: id, by: "alice")
            let message = try world.submission(of: file)
            try world.send(message, to: id, by: "alice")
            try world.send("later", to: id, by: "alice")
            #expect(try world.mayRead(file, "bob"))
            switch take {
            case 0: try world.delete(.all, of: id)
            case 1: try world.hide([message.id], in: id, by: "bob")
            default:
                try world.set { $0.retention = .days(1) }
                world.clock.advance(by: 3 * 86_400)
                try await world.engine.expire()
            }
            #expect(try !world.mayRead(file, "bob"), "\(take)")
        }
    }

    @Test("A user who can read a file can forward it by sending its ID")
    func forward() async throws {
        let file = try await world.upload(SampleFile.text, to: group, by: "alice")
        try world.send(world.submission(of: file), to: group, by: "alice")
        // Dora can't read the file, so it is unknown to her.
        let refusal = refusal { try world.send(world.submission(of: file), to: other, by: "dora") }
        #expect(refusal?.code == .unknownMedia && refusal?.status == 404 && refusal?.isTemporary == false)
        try world.send(world.submission(of: file), to: other, by: "bob")
        #expect(try world.mayRead(file, "dora"))
    }

    @Test("A quote gives its readers access to the quoted file only if the sender can read the file")
    func quote() async throws {
        let file = try await world.upload(SampleFile.png(2, 2), as: .image, to: group, by: "alice")
        let message = try world.submission(of: file)
        try world.send(message, to: group, by: "alice")
        let quote = MessageContent.reference(
            Quote("look", id: message.id, sender: "alice", content: message.content))
        try world.send(Submission(id: world.newID(), content: quote), to: other, by: "dora")
        #expect(try !world.mayRead(file, "dora"))
        try world.send(Submission(id: world.newID(), content: quote), to: other, by: "bob")
        #expect(try world.mayRead(file, "dora"))
    }

    @Test("Custom content references the IDs in its list `files`, and other values of `files` have no meaning")
    func custom() async throws {
        let file = try await world.upload(SampleFile.text, to: group, by: "alice")
        try world.send(world.submission("app:album", #"{"files":["\#(file.id)"]}"#), to: group, by: "alice")
        #expect(try world.mayRead(file, "bob"))
        try world.send(
            world.submission("app:album", #"{"files":[{"path":"a-rather-long-name-of-a-file.txt"}]}"#), to: group,
            by: "alice")
        let unknown = #"{"files":["00000000-0000-4000-8000-000000000000"]}"#
        #expect(
            refusal { try world.send(world.submission("app:album", unknown), to: group, by: "alice") }?.code
                == .unknownMedia)
    }

    @Test("An edit removes access to the file that it drops and grants access to the file that it adds")
    func edit() async throws {
        let first = try await world.upload(SampleFile.text, to: group, by: "alice")
        let second = try await world.upload(SampleFile.mp3, to: group, by: "alice")
        let message = try world.submission(of: first)
        try world.send(message, to: group, by: "alice")
        let edit = MessageEdit(try MessageContent(type: .file, json: RawJSON(#"{"media":"\#(second.id)"}"#)))
        _ = try world.done { world.engine.edit(message.id, in: group, edit, by: alice, completion: $0) }
        #expect(try !world.mayRead(first, "bob") && world.mayRead(second, "bob"))
    }

    @Test("Deleting a conversation leaves its files without references")
    func conversationDeleted() async throws {
        let file = try await world.upload(SampleFile.text, to: group, by: "alice")
        try world.send(world.submission(of: file), to: group, by: "alice")
        try world.delete(group)
        #expect(try !world.mayRead(file, "bob"))
        #expect(try world.store.read { try $0.media(file.id)?.unusedSince } != nil)
    }
}
