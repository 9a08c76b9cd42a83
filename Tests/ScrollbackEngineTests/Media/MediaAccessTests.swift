import ContractRows
import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

@Suite("Access to files")
struct MediaAccessTests {
    private let group = ConversationID.group("g")
    private let other = ConversationID.group("h")
    private let harness: EngineHarness
    private let alice = Caller(user: "alice")

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        try harness.make(other, members: ["bob", "dora"])
    }

    @Test(
        "Before sending, only the owner and administrators can read a file, and then all readers of the message",
        .rows(109))
    func sendingGrantsFileAccess() async throws {
        let file = try await harness.upload(SampleFile.png(4, 3), as: .image, to: group, by: "alice")
        #expect(try harness.mayRead(file, "alice") && harness.mayRead(file, "root", isAdmin: true))
        #expect(try !harness.mayRead(file, "bob") && !harness.mayRead(file, "carol"))
        try harness.send(harness.submission(of: file), to: group, by: "alice")
        #expect(try harness.mayRead(file, "bob"))
        #expect(try !harness.mayRead(file, "carol") && !harness.mayRead(file, "dora"))
    }

    @Test("Former members keep access to the files they saw, and new members get access by their visible history")
    func spans() async throws {
        let before = try await harness.upload(SampleFile.text, to: group, by: "alice")
        try harness.send(harness.submission(of: before), to: group, by: "alice")
        try harness.leave(group, "bob")
        try harness.join(group, "carol")
        let after = try await harness.upload(SampleFile.mp3, to: group, by: "alice")
        try harness.send(harness.submission(of: after), to: group, by: "alice")
        #expect(try harness.mayRead(before, "bob") && !harness.mayRead(after, "bob"))
        #expect(try !harness.mayRead(before, "carol") && harness.mayRead(after, "carol"))
    }

    @Test("A recall removes access to the file for all users except its owner")
    func recall() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        let message = try harness.submission(of: file)
        try harness.send(message, to: group, by: "alice")
        #expect(try harness.mayRead(file, "bob"))
        try harness.delete(message.id, in: group, by: alice)
        #expect(try !harness.mayRead(file, "bob") && harness.mayRead(file, "alice"))
    }

    @Test("Retention, range deletions and hiding a message remove access to its file")
    func removedMessagesEndFileAccess() async throws {
        for (index, take) in [0, 1, 2].enumerated() {
            let id = ConversationID.group(Identifier(known: "gone\(index)"))
            try harness.make(id, members: ["alice", "bob"])
            let file = try await harness.upload(SampleFile.noise(99, seed: UInt64(take)), to: id, by: "alice")
            let message = try harness.submission(of: file)
            try harness.send(message, to: id, by: "alice")
            try harness.send("later", to: id, by: "alice")
            #expect(try harness.mayRead(file, "bob"))
            switch take {
            case 0: try harness.delete(.all, of: id)
            case 1: try harness.hide([message.id], in: id, by: "bob")
            default:
                try harness.set { $0.retention = .days(1) }
                harness.clock.advance(by: 3 * 86_400)
                try await harness.engine.expire()
            }
            #expect(try !harness.mayRead(file, "bob"), "\(take)")
        }
    }

    @Test("A user who can read a file can forward it by sending its ID")
    func forward() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        try harness.send(harness.submission(of: file), to: group, by: "alice")
        // Dora can't read the file, so it is unknown to her.
        let refusal = refusal { try harness.send(harness.submission(of: file), to: other, by: "dora") }
        #expect(refusal?.code == .unknownMedia && refusal?.status == 404 && refusal?.isTemporary == false)
        try harness.send(harness.submission(of: file), to: other, by: "bob")
        #expect(try harness.mayRead(file, "dora"))
    }

    @Test("A quote gives its readers access to the quoted file, and requires that the sender can see the message")
    func quote() async throws {
        let file = try await harness.upload(SampleFile.png(2, 2), as: .image, to: group, by: "alice")
        let message = try harness.submission(of: file)
        try harness.send(message, to: group, by: "alice")
        let quote = MessageContent.reference(
            Quote("look", id: message.id, sender: "alice", content: message.content))
        // Dora can't see the quoted message.
        let forged = Submission(id: harness.newID(), content: quote)
        #expect(refusal { try harness.send(forged, to: other, by: "dora") }?.code == .unknownMessage)
        #expect(try !harness.mayRead(file, "dora"))
        try harness.send(Submission(id: harness.newID(), content: quote), to: other, by: "bob")
        #expect(try harness.mayRead(file, "dora"))
    }

    @Test("Custom content references the IDs in its list `files`, and other elements of the list have no meaning")
    func custom() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        try harness.send(harness.submission("app:album", #"{"files":["\#(file.id)"]}"#), to: group, by: "alice")
        #expect(try harness.mayRead(file, "bob"))
        try harness.send(
            harness.submission("app:album", #"{"files":[{"path":"a-rather-long-name-of-a-file.txt"}]}"#), to: group,
            by: "alice")
        let unknown = #"{"files":["00000000-0000-4000-8000-000000000000"]}"#
        #expect(
            refusal { try harness.send(harness.submission("app:album", unknown), to: group, by: "alice") }?.code
                == .unknownMedia)
    }

    @Test("An edit removes access to the file that it drops and grants access to the file that it adds")
    func edit() async throws {
        let first = try await harness.upload(SampleFile.text, to: group, by: "alice")
        let second = try await harness.upload(SampleFile.mp3, to: group, by: "alice")
        let message = try harness.submission(of: first)
        try harness.send(message, to: group, by: "alice")
        let edit = MessageEdit(try MessageContent(type: .file, json: RawJSON(#"{"media":"\#(second.id)"}"#)))
        _ = try harness.done { harness.engine.edit(message.id, in: group, edit, by: alice, completion: $0) }
        #expect(try !harness.mayRead(first, "bob") && harness.mayRead(second, "bob"))
    }

    @Test("Deleting a conversation leaves its files without references")
    func conversationDeleted() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        try harness.send(harness.submission(of: file), to: group, by: "alice")
        try harness.delete(group)
        #expect(try !harness.mayRead(file, "bob"))
        #expect(try harness.store.read { try $0.media(file.id)?.unusedSince } != nil)
    }
}
