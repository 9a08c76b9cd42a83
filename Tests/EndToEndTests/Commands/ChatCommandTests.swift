import Foundation
import PictureFixtures
import Scrollback
import TestSupport
import Testing

@Suite("The chat command")
struct ChatCommandTests {
    @Test("The chat command shows typing, replies, reactions and files, and understands slash commands")
    func chat() async throws {
        let server = try await RunningServer.start()
        let made = try await server.admin().call("PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
        // A pipe with the lines that Alice types.
        let keyboard = server.folder.appending(component: "keyboard")
        try #require(mkfifo(keyboard.path, 0o600) == 0)
        let chat = try RunningServer.run(
            ["chat", "group:crew", "--as", "alice", "--server", server.url.absoluteString, "--data", server.data.path],
            shell: "exec <'\(keyboard.path)'", name: "chat", folder: server.folder)
        let keys = try FileHandle(forWritingTo: keyboard)
        func type(_ line: String) throws { try keys.write(contentsOf: Data((line + "\n").utf8)) }

        let bob = try await Device.open(server, "bob")
        let crew = bob.conversation(.group("crew"))
        _ = try await eventually("alice is online") { chat.errorText.contains("— online —") ? true : nil }
        _ = try await eventually("Alice sees that Bob is typing") {
            // Apps call this at every keystroke. It has no effect before Bob is online.
            crew.setTyping(true)
            return chat.errorText.contains("— bob is typing —") ? true : nil
        }
        let photo = PictureFixture.directory.appending(path: "photo-1600x1200.jpg")
        let sent = try await crew.send(.image(.file(photo))).waitUntilSent()
        let text = try await crew.send(.text("عند المرسى ⚓️"), replyingTo: sent.id).waitUntilSent()
        func shows(_ line: String) async throws {
            _ = try await eventually("alice sees \(line)") { chat.outputText.contains(line) ? true : nil }
        }
        try await shows("bob: [image, photo-1600x1200.jpg, 1080 × 810, ")
        try await shows("┌ [image, ")
        try await shows("bob: عند المرسى ⚓️")

        try type("/react 👍")
        try type("/reply on my way")
        try type("//slash")
        try type("/image \(photo.path)")
        try type("/image /nowhere.jpg")
        try type("/dance")
        try await shows("👍 1  عند المرسى ⚓️")
        try await shows("alice: on my way")
        try await shows("alice: /slash")
        try await shows("alice: [image, photo-1600x1200.jpg, 1080 × 810, ")
        let messages = try await Device.everything(in: .group("crew"), of: server)
        #expect(messages.first { $0.text == "on my way" }?.attributes.replyTo == text.id)
        _ = try await eventually("the errors are printed") {
            let errors = chat.errorText
            return errors.contains("nowhere.jpg can't be read") && errors.contains("/dance is not a valid command")
                ? true : nil
        }
        _ = try await crew.recall(text.id).waitUntilSent()
        try await shows("✗ عند المرسى ⚓️ was deleted")
        try keys.close()
        #expect(try await chat.waitForEnd() == 0)
        await bob.close()
    }

    @Test("Files are sent and downloaded by command, and failures name the file and the error code")
    func files() async throws {
        let server = try await RunningServer.start()
        let made = try await server.admin().call("PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
        let connection = ["--server", server.url.absoluteString, "--data", server.data.path]
        func run(_ arguments: [String]) async throws -> (code: Int32, output: String, errors: String) {
            try await RunningServer.command(arguments + connection)
        }
        let gif = PictureFixture.directory.appending(path: "animated.gif")
        let sent = try await run(["send", "group:crew", "--gif", gif.path, "--as", "alice", "--mention", "bob"])
        #expect(sent.code == 0 && sent.output.contains("alice: [gif, animated.gif, "), "\(sent)")
        #expect(sent.errors.contains("uploading 100 %"))
        let answer = try await run(["send", "group:crew", "nice", "--as", "bob", "--reply-to", "seq:1", "--json"])
        #expect(answer.code == 0 && answer.output.contains(#""seq":2"#), "\(answer)")

        let here = server.folder.appending(component: "here")
        try FileManager.default.createDirectory(at: here, withIntermediateDirectories: true)
        let fetch = ["download", "group:crew", "seq:1", "--as", "bob", "--output", here.path]
        let fetched = try await run(fetch)
        let copy = here.appending(component: "animated.gif").path
        #expect(fetched.code == 0 && fetched.output == copy + "\n", "\(fetched)")
        #expect(FileManager.default.contentsEqual(atPath: copy, andPath: gif.path))
        let again = try await run(fetch)
        #expect(again.code == 1 && again.errors.contains("Use --force or another --output"), "\(again)")
        let forced = try await run(fetch + ["--force", "--json"])
        #expect(forced.code == 0 && forced.output.contains(#""size":"#), "\(forced)")

        // A folder that has the name of the file is never replaced.
        try FileManager.default.removeItem(atPath: copy)
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        let folder = try await run(fetch + ["--force"])
        #expect(folder.code == 1 && folder.errors.contains("is a directory"), "\(folder)")
        try FileManager.default.removeItem(atPath: copy)
        try FileManager.default.copyItem(atPath: gif.path, toPath: copy)
        // Control characters in a message do not reach the terminal.
        _ = try await run(["send", "group:crew", "a\u{1B}[2Jb\u{9B}c\u{7}", "--as", "bob"])
        let read = try await run(["history", "group:crew", "--as", "alice"])
        #expect(read.code == 0 && read.output.contains("a\u{FFFD}[2Jb\u{FFFD}c\u{FFFD}"), "\(read)")
        #expect(!read.output.unicodeScalars.contains("\u{1B}"))

        for (arguments, code, word) in [
            (["send", "group:crew", "--gif", copy, "hello", "--as", "alice"], 64, "either a text or one file"),
            (["send", "group:crew", "--as", "alice"], 64, "either a text or one file"),
            (["send", "group:crew", "--voice", copy, "--as", "alice"], 64, "requires --duration"),
            (["send", "group:crew", "--image", copy, "--as", "alice"], 1, "Send it with .gif"),
            (["send", "group:crew", "--file", "/nowhere", "--as", "alice"], 1, "can't be read"),
            (["download", "group:crew", "seq:2", "--as", "bob"], 1, "has no file"),
            (["download", "group:crew", "seq:1", "--as", "mallory"], 1, "(unknown-"),
            (["send", "group:crew", "hi", "--as", "alice", "--mention", ""], 1, "mention"),
        ] as [([String], Int32, String)] {
            let refused = try await run(arguments)
            #expect(refused.code == code && refused.errors.contains(word), "\(arguments): \(refused)")
        }
    }

    @Test("Sending a file leaves no copy of it behind, also if the server refuses the message")
    func noCopies() async throws {
        let server = try await RunningServer.start()
        let made = try await server.admin().call("PUT", "/v1/conversations/group:crew", #"{"members":["alice"]}"#)
        try #require(made.status == 201)
        let temporary = server.folder.appending(component: "temporary")
        try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
        let gif = PictureFixture.directory.appending(path: "animated.gif")
        for (conversation, code) in [("group:crew", 0), ("group:nowhere", 1)] as [(String, Int32)] {
            let send = try RunningServer.run(
                [
                    "send", conversation, "--gif", gif.path, "--as", "alice", "--server", server.url.absoluteString,
                    "--data", server.data.path,
                ], shell: "export TMPDIR='\(temporary.path)'", name: "send", folder: server.folder)
            #expect(try await send.waitForEnd() == code, "\(send.errorText)")
            let copies = try FileManager.default.contentsOfDirectory(atPath: temporary.path)
            #expect(copies.filter { $0.hasPrefix("scrollback-") } == [])
        }
    }
}
