import Foundation
import Scrollback
import ScrollbackModel
import Testing

@Suite("The import command")
struct ImportCommandTests {
    private static let sessions = [
        line("a", "alice", "2024-05-01T12:00:00Z", "1 a"),
        line("b", "bob", "2024-05-01T12:00:00Z", "2 b, the same second, later in the file"),
        line("solo", "alice", "2024-05-01T12:00:01Z", "nobody answered"),
        line("b", "alice", "2024-05-01T12:00:09Z", "5 b"),
        line("three", "alice", "2024-05-01T12:00:01Z", "there were three of us"),
        line("three", "bob", "2024-05-01T12:00:02Z", "one"),
        line("three", "carol", "2024-05-01T12:00:03Z", "two"),
        line("a", "bob", "2024-05-01T12:00:05Z", "4 a"),
        line("a", "alice", "2024-05-01T12:00:04Z", "3 a, out of order in the file"),
        line("c", "carol", "2024-05-01T12:00:00Z", "1 c"),
        line("c", "alice", "2024-05-01T12:00:01Z", "2 c"),
    ]

    @Test("Sessions of the same two users are merged by time, and sessions of other sizes are left out and counted")
    func direct() async throws {
        let server = try await RunningServer.start()
        let file = try Self.file(Self.sessions, in: server)
        let report = try await server.importReport(file, ["--kind", "direct"])
        #expect(report.int("imported") == 7)
        #expect(report.int("skipped") == 0)
        #expect(report.int("conversations") == 2)
        #expect(report.int("channelsLeftOut") == 2)
        #expect(report.int("messagesLeftOut") == 4)

        let pair = ConversationID.direct(between: "alice", and: "bob")
        let texts = try await Device.everything(in: pair, of: server).map { $0.text?.prefix(3) ?? "" }
        #expect(texts == ["1 a", "2 b", "3 a", "4 a", "5 b"])
        #expect(try await Self.unread(server, "bob") == ["direct:alice": 0])

        let again = try await RunningServer.command([
            "import", file.file.path, "--data", server.data.path, "--server", server.url.absoluteString, "--kind",
            "direct",
        ])
        #expect(again.code == 0)
        #expect(
            again.output == """
                imported 0 messages into 2 conversations, 7 already existed
                skipped 2 channels with 4 messages, because they don't have exactly two senders

                """)
        #expect(try await Device.everything(in: pair, of: server).count == 5)
        try await server.terminate()
    }

    @Test("Counted messages are unread for the other user of a pair and for the other members of a group")
    func countsUnread() async throws {
        let server = try await RunningServer.start()
        let file = try Self.file(Self.sessions, in: server)
        try await server.importLog(file, ["--kind", "direct", "--counts-unread"])
        #expect(try await Self.unread(server, "alice") == ["direct:bob": 2, "direct:carol": 1])
        #expect(try await Self.unread(server, "bob") == ["direct:alice": 3])
        try await server.importLog(file, ["--kind", "group", "--channel", "three", "--counts-unread"])
        #expect(try await Self.unread(server, "carol") == ["direct:alice": 1, "group:three": 2])
        // A single channel of the file is enough to form a pair.
        let other = try await RunningServer.start()
        let report = try await other.importReport(file, ["--kind", "direct", "--channel", "b"])
        #expect(report.int("imported") == 2)
        #expect(report.int("channelsLeftOut") == 0)
        try await server.terminate()
        try await other.terminate()
    }

    @Test("Long messages are imported in requests that the server accepts")
    func longMessages() async throws {
        let server = try await RunningServer.start()
        // A request has 500 of the short ones, or six of the long ones.
        let lines = (0..<1200).map { number in
            let time = "2024-05-01T12:\(10 + number / 60):\(10 + number % 60 / 2)Z"
            return Self.line(
                "a", "alice", time, "\(number) " + String(repeating: "é", count: number < 1150 ? 60 : 40_000))
        }
        let report = try await server.importReport(Self.file(lines, in: server), [])
        #expect(report.int("imported") == 1200)
        let messages = try await Device.everything(in: .group("a"), of: server)
        #expect(messages.map { $0.text?.prefix { $0 != " " } ?? "" } == (0..<1200).map { "\($0)" })
        // IDs begin with the time, so that those of a batch are next to each other in the index.
        let ids = messages.map { $0.id.description.replacing("-", with: "").prefix(12) }
        #expect(ids == messages.map { String(format: "%012lx", Int($0.sentAt.timeIntervalSince1970 * 1000))[...] })
        try await server.terminate()
    }

    @Test("A message that the server refuses is named with its line")
    func refusedLineIsNamed() async throws {
        let server = try await RunningServer.start()
        let first = Self.line("a", "alice", "2024-05-01T12:00:00Z", "first")
        func errors(_ line: String, _ kind: String) async throws -> String {
            let log = try Self.file([first, "", line], in: server)
            let ended = try await RunningServer.command([
                "import", log.file.path, "--data", server.data.path, "--server", server.url.absoluteString, "--kind",
                kind,
            ])
            #expect(ended.code == 1, "\(ended)")
            return ended.errors
        }
        let (id, media) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
        let file = #"""
            {"id":"\#(id)","channel":"a","sender":"bob","time":"2024-05-01T12:00:05Z","type":"file",\#
            "content":{"media":"\#(media)"}}
            """#
        for kind in ["group", "direct"] {
            let text = try await errors(file, kind)
            #expect(text.contains("Line 3 of the file: Message \(id) refers to the file \(media), which"), "\(text)")
            #expect(text.contains("POST /v1/media?id=\(media)") && text.contains("(unknown-media)"), "\(text)")
        }
        let early = try await errors(Self.line("a", "bob", "2024-04-01T12:00:00Z", "early"), "group")
        #expect(early.contains("Line 3 of the file: Message ") && early.contains("is older than"), "\(early)")
        try await server.terminate()
    }

    @Test("An unreadable line is named, and nothing of a file of sessions is imported")
    func unreadableLineIsNamed() async throws {
        let server = try await RunningServer.start()
        for (bad, word) in [
            ("{", "Line 12"), (Self.line("a", "", "2024-05-01T12:00:00Z", "x"), "Line 12"),
            (Self.line("a", "alice", "yesterday", "x"), "Line 12"),
            (#"{"id":"1","sender":"alice","time":"2024-05-01T12:00:00Z","text":"x"}"#, "channel"),
        ] {
            let file = try Self.file(Self.sessions + [bad], in: server)
            let ended = try await RunningServer.command([
                "import", file.file.path, "--data", server.data.path, "--server", server.url.absoluteString, "--kind",
                "direct",
            ])
            #expect(ended.code == 1)
            #expect(ended.errors.contains(word), "\(ended.errors)")
            #expect(try await Self.unread(server, "alice") == [:])
        }
        try await server.terminate()
    }

    private static func line(_ channel: String, _ sender: String, _ time: String, _ text: String) -> String {
        #"""
        {"id":"\#(channel) \#(text)","channel":"\#(channel)","sender":"\#(sender)",\#
        "time":"\#(time)","text":"\#(text)"}
        """#
    }

    private static func file(_ lines: [String], in server: RunningServer) throws -> ChatLog {
        let file = server.folder.appending(component: "sessions.jsonl")
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
        return ChatLog(file: file)
    }

    /// Returns the unread count of each conversation in a user's list.
    private static func unread(_ server: RunningServer, _ user: UserID) async throws -> [String: Int] {
        let list = try await server.api(user).call("GET", "/v1/conversations").json.objects("conversations")
        var unread: [String: Int] = [:]
        for entry in list {
            unread[try #require(entry["conversation"] as? String)] = entry["unread"] as? Int
        }
        return unread
    }
}
