import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("End-to-end encryption with a server on disk")
struct EncryptionOnDiskTests {
    private static let key = Data(0..<32)
    private let crew = ConversationID.group("crew")

    private func server() async throws -> RunningServer {
        let server = try await RunningServer.start()
        let made = try await server.admin().call(
            "PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
        return server
    }

    private func client(
        _ server: RunningServer, _ user: UserID, encrypts: Bool, store: ChatClient.Configuration.Store = .inMemory
    ) async throws -> ChatClient {
        var configuration = ChatClient.Configuration(
            server: server.url, user: user, store: store, token: { try await server.token(user) })
        configuration.pace = nil
        if encrypts { configuration.cipher = try MessageCipher(keys: [.init(id: "2026-11", key: Self.key)]) }
        let client = try await ChatClient.open(configuration)
        client.connect()
        return client
    }

    /// Returns the names of the files in a folder that contain a text.
    private func files(_ folder: URL, with text: String) throws -> [String] {
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { file in
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: file.path, isDirectory: &isDirectory), !isDirectory.boolValue
            else { return false }
            return try Data(contentsOf: file).firstRange(of: Data(text.utf8)) != nil
        }.map(\.lastPathComponent).sorted()
    }

    @Test(
        "The server's files contain no message text with encryption, and all of it without",
        .rows(230), arguments: [true, false])
    func serverFilesContainNoMessageText(encrypts: Bool) async throws {
        let server = try await server()
        let store = server.folder.appending(component: "device")
        let alice = try await client(server, "alice", encrypts: encrypts, store: .directory(store))
        let bob = try await client(server, "bob", encrypts: encrypts)
        let chat = alice.conversation(crew)
        let sent = try await chat.send(
            .text("zanzibar one"), metadata: RawJSON(#"{"m":"zanzibar two"}"#), extra: RawJSON(#""zanzibar three""#),
            push: PushOptions(text: "There is news")
        ).waitUntilSent()
        _ = try await chat.edit(sent.id, to: .text("zanzibar four")).waitUntilSent()
        try await chat.send(.file(.data(Data("the file".utf8), name: "zanzibar five.txt")))
        await alice.waitForOutbox()
        _ = try await eventually("bob has read both", within: 60) {
            let messages = try await bob.conversation(crew).history(.latest).messages
            return messages.count == 2 && messages[1].text == "zanzibar four"
                && messages[0].content?.media?.name == "zanzibar five.txt" ? messages : nil
        }
        let hits = try await bob.conversation(crew).search("zanzibar", from: .remote).hits
        #expect(hits.count == (encrypts ? 0 : 2))
        #expect(try await bob.conversation(crew).search("zanzibar", from: .local).hits.count == 2)
        for client in [alice, bob] { await client.close() }
        server.kill()

        let found = try files(server.data, with: "zanzibar")
        #expect(found.isEmpty == encrypts, "\(found)")
        let news = try files(server.data, with: "There is news")
        #expect(!news.isEmpty, "The server reads the text of a push.")
        // The bytes of files are not encrypted.
        #expect(try !files(server.data, with: "the file").isEmpty)
        // The device stores messages as it received them.
        #expect(try files(store, with: "zanzibar four").filter { $0.hasPrefix("client.") }.isEmpty == encrypts)
        try await server.start()
        #expect(try await server.terminate() == 0)
        #expect(try await RunningServer.command(["verify", server.data.path]).code == 0)
    }

    @Test("Another implementation decrypts messages by the documented format", .needs(.standIns))
    func anotherImplementationDecryptsMessages() async throws {
        let python = try Requirement.standIns.path()
        let server = try await server()
        let alice = try await client(server, "alice", encrypts: true)
        let sent = try await alice.conversation(.direct("bob")).send(
            .text("التيار 07:10 🌊"), metadata: RawJSON(#"{"station": 7}"#)
        ).waitUntilSent()
        await alice.close()
        let wire = try #require(
            try await server.api("bob").call("GET", "/v1/conversations/direct%3Aalice/messages").json
                .objects("messages").first)
        var read: [String] = []
        for part in ["content", "metadata"] {
            let value = try #require((wire[part] as? [String: Any])?["encrypted"] as? [String: Any])
            let data = try #require(value["data"] as? String)
            let program = """
                import base64, sys
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM
                data = base64.b64decode(sys.argv[1])
                fields = ["scrollback-message-1", "2026-11", sys.argv[2], "text", "direct:alice/bob", sys.argv[3]]
                text = AESGCM(bytes(range(32))).decrypt(data[:12], data[12:], "\\n".join(fields).encode())
                sys.stdout.buffer.write(text)
                """
            let process = try ChildProcess(
                python, ["-c", program, data, part, sent.id.description], name: part, folder: server.folder)
            #expect(try await process.waitForEnd() == 0, "\(process.errorText)")
            read.append(process.outputText)
        }
        #expect(read == ["alice\n{\"text\":\"التيار 07:10 🌊\"}", "alice\n{\"station\": 7}"])
        #expect(try await server.terminate() == 0)
    }

    @Test("The command line encrypts and decrypts with keys, and reports unreadable messages without them")
    func commandLine() async throws {
        let server = try await server()
        let connection = ["--server", server.url.absoluteString, "--data", server.data.path]
        var count = 0
        func run(_ arguments: [String], keys: String? = nil) async throws -> (code: Int32, output: String) {
            count += 1
            let process = try RunningServer.run(
                arguments + connection, shell: "export SCROLLBACK_CIPHER_KEYS='\(keys ?? "")'",
                name: "command-\(count)", folder: server.folder)
            return (try await process.waitForEnd(), process.outputText + process.errorText)
        }
        let keys = "2026-11=\(Self.key.base64EncodedString())"
        #expect(try await run(["send", "group:crew", "low water", "--as", "alice"], keys: keys).code == 0)
        let edited = try await run(["edit", "group:crew", "seq:1", "high water", "--as", "alice"], keys: keys)
        #expect(edited.code == 0 && edited.output.contains("alice: high water"), "\(edited)")
        let history = ["history", "group:crew", "--as", "bob"]
        let read = try await run(history, keys: keys)
        #expect(read.code == 0 && read.output.contains("alice: high water"), "\(read)")
        let listed = try await run(["recents", "--as", "bob"], keys: keys)
        #expect(listed.code == 0 && listed.output.contains("alice: high water"), "\(listed)")
        let unread = try await run(history)
        #expect(unread.code == 0 && unread.output.contains("[can't be read: "), "\(unread)")
        #expect(unread.output.contains("“2026-11”") && !unread.output.contains("water"), "\(unread)")
        for wrong in ["2026-11", "2026-11=AAAA", "2026-11=%%"] {
            let refused = try await run(history, keys: wrong)
            #expect(refused.code == 1 && !refused.output.contains("AAAA"), "\(refused)")
        }
        let bob = try await client(server, "bob", encrypts: true)
        #expect(try await bob.conversation(crew).history(.latest).messages.map(\.text) == ["high water"])
        await bob.close()
        #expect(try await server.terminate() == 0)
    }
}
