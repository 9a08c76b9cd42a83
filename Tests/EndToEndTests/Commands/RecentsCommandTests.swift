import ContractRows
import Foundation
import Scrollback
import TestSupport
import Testing

@Suite("The recents command")
struct RecentsCommandTests {
    private let server: RunningServer

    init() async throws {
        server = try await RunningServer.start()
        let admin = try await server.admin()
        for (name, count) in [("crew", 2), ("deck", 1), ("quiet", 1)] {
            let made = try await admin.call("PUT", "/v1/conversations/group:\(name)", #"{"members":["alice","bob"]}"#)
            try #require(made.status == 201)
            for number in 1...count {
                let sent = try await run("send", "group:\(name)", "\(name) \(number)", "--as", "bob")
                try #require(sent.code == 0, "\(sent)")
            }
        }
    }

    private func run(_ arguments: String...) async throws -> (code: Int32, output: String, errors: String) {
        try await RunningServer.command(
            arguments + ["--server", server.url.absoluteString, "--data", server.data.path])
    }

    private func lines(_ arguments: String...) async throws -> [String] {
        let ran = try await RunningServer.command(
            ["recents", "--as", "alice"] + arguments
                + ["--server", server.url.absoluteString, "--data", server.data.path])
        #expect(ran.code == 0, "\(ran)")
        return ran.output.split(separator: "\n").map(String.init)
    }

    @Test("Pinned, muted and marked conversations are listed as such and can be filtered, and the totals count all")
    func list() async throws {
        let pinned = try await run("pin", "group:crew", "--as", "alice")
        #expect(pinned.code == 0 && pinned.output == "group:crew  pinned, 2 unread, 0 mentions\n", "\(pinned)")
        let pinnedAgain = try await run("pin", "group:crew", "--as", "alice", "--json")
        #expect(pinnedAgain.code == 0 && pinnedAgain.output.contains(#""pinned":true"#), "\(pinnedAgain)")
        let muted = try await run("mute", "group:quiet", "--as", "alice", "--json")
        #expect(muted.code == 0 && muted.output.contains(#""muted":true"#), "\(muted)")
        let read = try await run("read", "group:deck", "--as", "alice")
        #expect(read.code == 0 && read.output == "read to 1, 0 unread, 0 mentions\n", "\(read)")
        let marked = try await run("unread", "group:deck", "--as", "alice")
        #expect(marked.output == "group:deck  marked unread, 0 unread, 0 mentions\n", "\(marked)")
        let markedAgain = try await run("unread", "group:deck", "--as", "alice", "--json")
        #expect(markedAgain.code == 0 && markedAgain.output.contains(#""markedUnread":true"#), "\(markedAgain)")

        let total = "in all: 3 unread, 1 of them muted, 0 mentions"
        #expect(
            try await lines() == [
                "group:crew  pinned 2 unread  bob: crew 2", "group:quiet  muted 1 unread  bob: quiet 1",
                "group:deck  marked unread  bob: deck 1", total,
            ])
        #expect(try await lines("--muted") == ["group:quiet  muted 1 unread  bob: quiet 1", total])
        #expect(try await lines("--not-muted", "--limit", "1") == ["group:crew  pinned 2 unread  bob: crew 2", total])
        #expect(try await lines("--kind", "direct") == [total])
        let objects = try await lines("--json", "--unread")
        #expect(objects.count == 4)
        #expect(objects[0].contains(#""conversation":"group:crew""#) && objects[0].contains(#""pinned":true"#))
        #expect(
            objects[3].hasPrefix(#"{"totals":{"unread":3,"mentions":0,"kinds":{"group":{"notifying":2,"muted":1}}"#))

        _ = try await run("pin", "group:crew", "--off", "--as", "alice")
        _ = try await run("mute", "group:quiet", "--off", "--as", "alice")
        #expect(try await lines("--muted") == ["in all: 3 unread, 0 mentions"])
        #expect(try await lines().first == "group:quiet  1 unread  bob: quiet 1")
    }

    @Test("The read command reads one, several, a kind or all conversations, and names those that fail")
    func read() async throws {
        _ = try await run("send", "direct:alice", "psst", "--as", "bob")
        let several = try await run("read", "group:crew", "group:nowhere", "direct:bob", "--as", "alice")
        #expect(several.code == 1)
        #expect(
            several.output
                == "group:crew  read to 2, 0 unread, 0 mentions\ndirect:bob  read to 1, 0 unread, 0 mentions\n")
        #expect(several.errors.contains("group:nowhere") && several.errors.contains("(unknown-conversation)"))
        let json = try await run("read", "group:crew", "direct:bob", "--as", "alice", "--json")
        #expect(json.code == 0 && json.output.split(separator: "\n").count == 2, "\(json)")
        _ = try await run("send", "direct:alice", "psst", "--as", "bob")
        let kind = try await run("read", "--kind", "direct", "--as", "alice")
        #expect(kind.code == 0 && kind.output == "read 1 conversation\n", "\(kind)")
        let all = try await run("read", "--all", "--as", "alice", "--json")
        #expect(all.code == 0 && all.output == "{\"read\":2}\n", "\(all)")
        #expect(try await lines().last == "in all: 0 unread, 0 mentions")
    }

    @Test("With --watch the list is printed again after changes, and a store provides it without a server")
    func watch() async throws {
        let store = server.folder.appending(component: "store").path
        let arguments = [
            "recents", "--as", "alice", "--watch", "--store", store, "--server", server.url.absoluteString, "--data",
            server.data.path,
        ]
        let watching = try RunningServer.run(
            arguments + ["--kind", "group"], name: "watch", folder: server.folder)
        _ = try await eventually("the list is printed") {
            watching.outputText.contains("in all: 4 unread, 0 mentions\n\n") ? true : nil
        }
        _ = try await run("send", "group:deck", "ahoy", "--as", "bob")
        _ = try await eventually("the new message is printed") {
            watching.outputText.contains("group:deck  2 unread  bob: ahoy\n") ? true : nil
        }
        _ = try await run("read", "--all", "--as", "alice")
        _ = try await eventually("the reads of another client are printed") {
            watching.outputText.hasSuffix(
                "group:deck    bob: ahoy\ngroup:quiet    bob: quiet 1\ngroup:crew    bob: crew 2\n"
                    + "in all: 0 unread, 0 mentions\n\n") ? true : nil
        }
        watching.signal(SIGTERM)
        _ = try await watching.waitForEnd()
        server.kill()
        let later = try await RunningServer.command(arguments + ["--count", "1", "--json"])
        #expect(later.code == 0, "\(later)")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(later.output.utf8)) as? [String: Any])
        let names = (object["conversations"] as? [[String: Any]])?.compactMap { $0["conversation"] as? String }
        #expect(names == ["group:deck", "group:quiet", "group:crew"])
    }

    @Test("Invalid usage prints an error, and the help has examples")
    func usage() async throws {
        for (arguments, code, word) in [
            (["recents", "--as", "alice", "--limit", "0"], 64, "1...100"),
            (["recents", "--as", "alice", "--kind", "room"], 64, "direct, group, community or system"),
            (["recents", "--as", "alice", "--store", "/tmp"], 64, "require --watch"),
            (["recents", "--as", "alice", "--muted", "--not-muted"], 64, "muted"),
            (["read", "--as", "alice"], 64, "--kind or --all"),
            (["read", "group:crew", "--all", "--as", "alice"], 64, "--kind or --all"),
            (["read", "--all", "--seq", "3", "--as", "alice"], 64, "--seq requires exactly one"),
            (["pin", "room:lobby", "--as", "alice"], 1, "(unknown-conversation)"),
            (["unread", "group:nowhere", "--as", "alice"], 1, "(unknown-conversation)"),
            (["mute", "group:crew", "--as", "alice", "--server", "http://127.0.0.1:1"], 69, "Can't reach the server"),
        ] as [([String], Int32, String)] {
            let connection = arguments.contains("--server") ? [] : ["--server", server.url.absoluteString]
            let refused = try await RunningServer.command(arguments + connection + ["--data", server.data.path])
            #expect(refused.code == code && refused.errors.contains(word), "\(arguments): \(refused)")
        }
        for command in ["recents", "read", "unread", "pin", "mute"] {
            let help = try await RunningServer.command([command, "--help"])
            #expect(help.code == 0 && help.output.contains("  scrollback \(command) "), "\(help)")
        }
    }
}
