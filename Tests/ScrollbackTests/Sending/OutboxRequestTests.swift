import Foundation
import GRDB
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@testable import Scrollback

@Suite("Stored requests of the outbox")
struct OutboxRequestTests {
    private static let id = MessageID(high: 0x0198_f3c2_7c1e_7000, low: 0x8000_0123_4567_89ab)
    private static let operation = MessageID(high: 0x0198_f3c2_7c1e_7000, low: 0x8000_0123_4567_89ac)
    private static let group = ConversationID.group("g")

    private static let about = #""conversation":"group:g","id":"\#(id)""#
    private static let key = #""operation":"\#(operation)""#
    private static let reaction = #""action":{"type":"reaction","value":"👍"}"#
    private static let edit = #"{"type":"text","content":{"text":"a"},"metadata":null,"customType":"b"}"#

    /// Texts of changes that SDKs stored before the format had a version: WebSocket frames.
    private static let frames = [
        #"{"type":"edit","ref":0,\#(about),\#(key),"edit":\#(edit)}"#,
        #"{"type":"delete","ref":0,"conversation":"group:g","ids":["\#(id)","\#(operation)"]}"#,
        #"{"type":"delete","ref":0,"conversation":"group:g","ids":["\#(id)"],"for":"me"}"#,
        #"{"type":"action","ref":0,\#(about),\#(key),\#(reaction)}"#,
        #"{"type":"removeAction","ref":0,\#(about),\#(reaction),\#(key)}"#,
        #"{"type":"removeAction","ref":0,\#(about),"timetoken":"17000000000000000",\#(key)}"#,
        #"{"type":"clear","ref":0,"conversation":"group:g","seq":9,"epoch":"18446744073709551615"}"#,
    ]

    /// Texts of the current format.
    private static let texts = [
        #"{"version":1,"request":"edit","message":"\#(id)",\#(key),\#(edit.dropFirst())"#,
        #"{"version":1,"request":"delete","messages":["\#(id)","\#(operation)"],"audience":"everyone"}"#,
        #"{"version":1,"request":"delete","messages":["\#(id)"],"audience":"me"}"#,
        #"{"version":1,"request":"addAction","message":"\#(id)",\#(key),"action":"reaction","value":"👍"}"#,
        #"{"version":1,"request":"removeAction","message":"\#(id)",\#(key),"action":"reaction","value":"👍"}"#,
        #"{"version":1,"request":"removeAction","message":"\#(id)",\#(key),"timetoken":"17000000000000000"}"#,
        #"{"version":1,"request":"clear","seq":9,"epoch":"18446744073709551615"}"#,
    ]

    /// Frames and stored texts of changes that are not about messages.
    private static let settings = #""name":"Swift","frozen":true,"retentionDays":30,"members":["bob"]"#
    private static let newFrames = [
        #"{"type":"putConversation","ref":0,"conversation":"group:g",\#(settings),"exists":false,\#(key)}"#,
        #"{"type":"putConversation","ref":0,"conversation":"group:g","retentionDays":"default",\#(key)}"#,
        #"{"type":"deleteConversation","ref":0,"conversation":"group:g"}"#,
        #"{"type":"putUser","ref":0,"user":"alice","name":"Alice","invitationOnly":true}"#,
        #"{"type":"thread","ref":0,"conversation":"group:g","thread":"\#(id)","followed":false}"#,
        #"{"type":"thread","ref":0,"conversation":"group:g","thread":"\#(id)","seq":9,"epoch":"18446744073709551615"}"#,
    ]
    private static let memberFrames = [
        #"{"type":"putMember","ref":0,"conversation":"group:g","user":"bob","role":"owner",\#(key)}"#,
        #"{"type":"putMember","ref":0,"conversation":"group:g","user":"bob","mutedUntil":null,\#(key)}"#,
        #"{"type":"removeMember","ref":0,"conversation":"group:g","user":"bob",\#(key)}"#,
        #"{"type":"removeMember","ref":0,"conversation":"group:g","user":"alice",\#(key)}"#,
        #"{"type":"schedule","ref":0,"conversation":"group:g",\#(scheduled)}"#,
    ]
    private static let scheduled = #""message":{"id":"\#(id)","type":"text","content":{"text":"a"},\#(time),\#(key)}"#
    private static let time = #""sendAt":"2026-12-24T18:00:00.000Z""#
    private static let memberTexts = [
        #"{"version":1,"request":"putMember","conversation":"group:g","user":"bob","role":"owner",\#(key)}"#,
        #"{"version":1,"request":"putMember","conversation":"group:g","user":"bob","mutedUntil":null,\#(key)}"#,
        #"{"version":1,"request":"removeMember","conversation":"group:g","user":"bob",\#(key)}"#,
        #"{"version":1,"request":"leave","conversation":"group:g","user":"alice",\#(key)}"#,
        #"{"version":1,"request":"schedule","conversation":"group:g",\#(scheduled)}"#,
    ]
    private static let newTexts = [
        #"{"version":1,"request":"putConversation",\#(key),"exists":false,\#(settings)}"#,
        #"{"version":1,"request":"putConversation",\#(key),"retentionDays":"default"}"#,
        #"{"version":1,"request":"deleteConversation"}"#,
        #"{"version":1,"request":"putUser","user":"alice","name":"Alice","invitationOnly":true}"#,
        #"{"version":1,"request":"changeThread","message":"\#(id)","followed":false}"#,
        #"{"version":1,"request":"changeThread","message":"\#(id)","seq":9,"epoch":"18446744073709551615"}"#,
    ]

    private static let allFrames: [String] = frames + newFrames + memberFrames
    private static let allTexts: [String] = texts + newTexts + memberTexts

    private static let message =
        #""id":"\#(id)","type":"text","content":{"text":"a"},"metadata":{"k":1},"priority":"low"}"#

    private func open(_ text: String, isMessage: Bool = false) throws -> OutboxRequest {
        try OutboxRequest(storedText: text, in: Self.group, isMessage: isMessage)
    }

    private func frame(_ request: OutboxRequest) -> String { String(decoding: request.frame(ref: 0), as: UTF8.self) }

    @Test(
        "A change keeps its meaning and its stored text",
        arguments: zip(allFrames, allTexts))
    func changes(frame text: String, stored: String) throws {
        let request = try open(stored)
        #expect(request.storedText == stored)
        #expect(frame(request) == text)
    }

    @Test("A change that was stored before the format had a version opens", arguments: zip(frames, texts))
    func unversionedChanges(frame text: String, stored: String) throws {
        #expect(try open(text).storedText == stored)
    }

    @Test("A message keeps its stored text, and opens as it was stored before the format had a version")
    func messages() throws {
        let stored = #"{"version":1,"request":"send",\#(Self.message)"#
        #expect(try open(stored, isMessage: true).storedText == stored)
        #expect(try open("{" + Self.message, isMessage: true).storedText == stored)
    }

    @Test("A text of a later version or of another request is refused")
    func others() throws {
        for text in [
            #"{"version":2,"request":"clear"}"#, #"{"version":1,"request":"ping"}"#, #"{"type":"ping","ref":0}"#,
        ] {
            let error = #expect(throws: ChatError.self) { try open(text) }
            #expect(error?.code == .localStorage)
        }
        let broken = #expect(throws: ChatError.self) { try open("{") }
        #expect(broken?.code == .malformed)
    }

    @Test("Rows that were queued before the format had a version are sent in order")
    func unversionedRowsAreSent() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("g", members: ["alice", "bob"])
        let alice = try await server.client("alice", store: .directory(folder.url))
        let first = try await alice.conversation(Self.group).send(.text("first")).waitUntilSent()
        server.goOffline("alice")
        let chat = alice.conversation(Self.group)
        let second = try await chat.send(.text("second"))
        _ = try await chat.edit(first.id, to: .text("changed"))
        _ = try await chat.react("👍", to: first.id)
        await alice.close()

        let database = try DatabaseQueue(path: folder.url.appending(path: "client.sqlite").path)
        try await database.write { db in
            let rows = try Row.fetchAll(db, sql: "SELECT id, kind, body FROM outbox ORDER BY ordinal")
            #expect(rows.map { $0["kind"] as String } == ["send", "change", "change"])
            for row in rows {
                let request = try OutboxRequest(
                    storedText: row["body"], in: Self.group, isMessage: row["kind"] == "send")
                var old = frame(request)
                if case .send(let send) = request {
                    var writer = JSONWriter()
                    writer.object { send.submission.writeMembers(to: &$0) }
                    old = writer.text
                }
                #expect(!old.contains("version"))
                try db.execute(
                    sql: "UPDATE outbox SET body = ? WHERE id = ?", arguments: [old, row["id"] as DatabaseValue])
            }
        }
        try database.close()

        let again = try await server.client("alice", store: .directory(folder.url))
        #expect(try await again.pendingCount() == 3)
        server.goOnline("alice")
        #expect(try await eventually { try await again.pendingCount() == 0 })
        let stored = try server.messages(in: Self.group)
        #expect(stored.map(\.text) == ["changed", "second"])
        #expect(stored[1].id == second.id)
        #expect(stored[0].actions.map(\.value) == ["👍"])
        await server.close()
    }
}
