import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport
import TestSupport
import Testing

/// Searches the files of a server with storage encryption, as an attacker with access to its disk could.
@Suite("Storage encryption on the real server") struct ServerEncryptionTests {
    /// The start of all content, in every text, name and file, in the queued push, and in the unfinished upload.
    private static let stem = "unter-uns-🍋"
    private static let (word, pushed, uploading) = (stem + "-gesagt", stem + "-hinweis", stem + "-halb")
    /// The 16-byte secret of a browser's push subscription, as it is written.
    private static let auth = "unter-uns-auth-gesagtA"

    private static func key(_ number: UInt8) -> String { Data(repeating: number, count: 32).base64EncodedString() }

    private static func id(_ number: UInt8) throws -> String {
        "\(try StoreKey(Data(repeating: number, count: 32)).id)"
    }

    private static func keyFile(_ lines: String..., in folder: URL) throws -> String {
        let file = folder.appending(component: "store-keys")
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        return file.path
    }

    /// Returns the names of the files below a directory that contain a text.
    private static func files(below folder: URL, named name: String = "", holding text: String) -> [String] {
        let needle = Data(text.utf8)
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (found?.allObjects as? [URL] ?? []).filter { file in
            (name.isEmpty || file.lastPathComponent.hasPrefix(name))
                && (try? Data(contentsOf: file, options: .alwaysMapped))?.range(of: needle) != nil
        }.map(\.lastPathComponent)
    }

    /// Stores the word in messages, files, names, reactions, bans, reports, settings, webhooks and pushes.
    private static func fill(_ media: MediaServer, messages: Int, files: Int) async throws {
        func check(_ answer: Answer, _ codes: Int...) throws {
            try #require(codes.contains(answer.status), "\(answer)")
        }
        let crew = "/v1/conversations/group:crew"
        // No server listens at the URL, so events stay queued.
        try check(
            await media.admin.call(
                "PUT", "/v1/settings",
                #"{"webhooks":{"after":{"url":"http://127.0.0.1:9/","secret":"\#(word)-aaaaaaaaaaaaaaaa"}}}"#), 200)
        try check(
            await media.admin.call("PUT", crew, #"{"name":"\#(word)","metadata":{"about":"\#(word)"}}"#), 200)
        try check(await media.alice.call("PUT", "/v1/users/alice", #"{"name":"\#(word)"}"#), 200, 201)
        for start in stride(from: 0, to: messages, by: 500) {
            let batch = (start..<min(messages, start + 500)).map { number in
                let id = MessageID(high: 0x0198_F3C2_7C1E_7000, low: 0x8000_0000_0000_0000 | UInt64(number))
                return """
                    {"id":"\(id)","sender":"bob","sentAt":"2026-01-01T00:00:00Z","type":"text",\
                    "content":{"text":"\(number) \(word)"}}
                    """
            }
            try check(
                await media.admin.call("POST", crew + "/import", #"{"messages":[\#(batch.joined(separator: ","))]}"#),
                200)
        }
        var generator = SplitMix64(seed: 7)
        for number in 0..<files {
            // The files have different sizes: a part of a chunk, several chunks and exactly one chunk.
            let size = number % 10 == 0 ? 65_536 : Int.random(in: 100...400_000, using: &generator)
            let bytes = Array((0...(size / 20)).map { _ in word }.joined().utf8.prefix(size)) + Array("\(number)".utf8)
            _ = try await media.send(bytes, name: "\(word)-\(number).txt")
        }
        for number in 0..<50 {
            let message = UUID().uuidString.lowercased()
            try check(
                await media.alice.call(
                    "POST", crew + "/messages",
                    #"""
                    {"id":"\#(message)","type":"text","content":{"text":"\#(word)"},"metadata":{"m":"\#(word)"},\#
                    "push":{"title":"\#(word)"}}
                    """#
                ),
                201)
            try check(
                await media.bob.call(
                    "POST", crew + "/messages/\(message)/actions", #"{"type":"reaction","value":"\#(word)"}"#), 200, 201
            )
            if number % 10 == 0 {
                try check(
                    await media.bob.call(
                        "POST", crew + "/messages/\(message)/reports", #"{"reason":"spam","text":"\#(word)"}"#), 200,
                    201
                )
            }
        }
        try check(
            await media.admin.call("PUT", crew + "/bans/mallory", #"{"reason":"\#(word)"}"#), 200, 201, 204)
    }

    /// Leaves data in every queue: a push to an unreachable service, undelivered events and an unfinished upload.
    private static func leaveWaiting(_ media: MediaServer) async throws {
        let key = PushServer.webKey
        let settings = """
            {"push":{"services":{"web":{"privateKey":"\(key.privateKey)","subject":"mailto:push@example.com",\
            "hosts":["127.0.0.1:9"]}}}}
            """
        let set = try await media.admin.call("PUT", "/v1/settings", settings)
        try #require(set.status == 200, "\(set)")
        // No service listens there. The address is stored in plain text and contains no content.
        let device = """
            {"service":"web","token":"https://127.0.0.1:9/bob","keys":{"p256dh":"\(key.publicKey)","auth":"\(auth)"}}
            """
        let registered = try await media.bob.call("PUT", "/v1/push/devices/browser", device)
        try #require(registered.status == 200, "\(registered)")
        // A message that is not stored in the history exists only in the queue.
        let message = """
            {"id":"\(UUID().uuidString.lowercased())","type":"text","content":{"text":"\(pushed)"},\
            "flags":{"storeInHistory":false}}
            """
        let sent = try await media.alice.call("POST", "/v1/conversations/group:crew/messages", message)
        try #require((200..<300).contains(sent.status), "\(sent)")
        // More than a chunk, and the start of another one.
        let bytes = Array((0..<5_000).map { _ in uploading }.joined().utf8)
        let begun = try await media.alice.call(
            "POST", MediaServer.path(name: "half.txt"), bytes: bytes, type: nil,
            headers: MediaServer.fields(6, isEnd: false))
        try #require(begun.status == 201 && begun.headers["upload-offset"] == String(bytes.count), "\(begun)")
        try await eventually("the push was tried and is queued") {
            try await media.server.metric("scrollback_push_retries") == 1 ? true : nil
        }
        #expect(try await media.server.metric("scrollback_webhook_waiting") > 0)
    }

    /// Returns what Alice sees, with an element for each request.
    private static func shown(_ media: MediaServer) async throws -> [String] {
        let page = try await media.alice.call("GET", "/v1/conversations/group:crew/messages?limit=100")
        let profile = try await media.alice.call("GET", "/v1/users/alice")
        let found = try await media.alice.call("GET", "/v1/search?q=gesagt&conversation=group:crew&limit=3")
        return [page.text, profile.text, "\(found.status)"]
    }

    private static let (messageCount, fileCount) = (10_000, 100)

    @Test(.timeLimit(.minutes(5)))
    func `With storage encryption no content is in the directory, a backup or the log, and without it all content is`()
        async throws
    {
        for isEncrypted in [false, true] {
            let folder = try TemporaryFolder()
            let keys = try Self.keyFile(Self.key(1), in: folder.url)
            let arguments = RunningServer.withoutLimits + (isEncrypted ? ["--store-keys", keys] : [])
            // The server's temporary files are searched as well.
            let temporary = folder.url.appending(component: "tmp")
            try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
            let server = try await RunningServer.start(
                arguments, shell: "export TMPDIR='\(temporary.path)'", folder: folder)
            let media = try await MediaServer(on: server)
            try await Self.fill(media, messages: Self.messageCount, files: Self.fileCount)
            try await Self.leaveWaiting(media)
            // Search while the server runs, including its write-ahead log and uploads. Then search a backup.
            let running = Self.files(below: folder.url, holding: Self.stem)
            let (backup, _) = try await server.backUp("backup")
            let backedUp = Self.files(below: backup, holding: Self.stem)
            let waiting = [Self.pushed, Self.auth, PushServer.webKey.privateKey].map { text in
                Self.files(below: server.data, named: "scrollback.sqlite", holding: text)
            }
            let uploads = Self.files(below: server.data.appending(path: "media/uploads"), holding: Self.uploading)
            let hints = Self.files(below: server.data, holding: "gesagt")
            let shown = try await Self.shown(media)
            #expect(shown[0].contains(Self.word) && shown[1].contains(Self.word))
            try await server.terminate()
            let stopped = Self.files(below: folder.url, holding: Self.stem)
            guard isEncrypted else {
                #expect(waiting.allSatisfy { !$0.isEmpty } && uploads.count == 1, "\(waiting), \(uploads)")
                #expect(running.count > Self.fileCount && stopped.contains("scrollback.sqlite"))
                #expect(
                    backedUp.count > Self.fileCount && hints.contains("search.sqlite-wal")
                        || hints.contains("search.sqlite"))
                continue
            }
            #expect(running == [] && backedUp == [] && stopped == [] && hints == [])
            #expect(waiting == [[], [], []] && uploads == [])
            #expect(FileManager.default.contents(atPath: server.data.path + "/scrollback.sqlite")?.count ?? 0 > 1 << 20)

            // Without its key the server does not start, and the error names the required key.
            let plain = try await RunningServer.command(["serve", "--port", "0", "--data", server.data.path])
            let (first, ninth) = (try Self.id(1), try Self.id(9))
            #expect(plain.code == 1 && plain.errors.contains(first), "\(plain)")
            let other = try Self.keyFile(Self.key(9), in: folder.url)
            let wrong = try await RunningServer.command(
                ["serve", "--port", "0", "--data", server.data.path, "--store-keys", other])
            #expect(wrong.code == 1 && wrong.errors.contains(first) && wrong.errors.contains(ninth))
            #expect(!wrong.errors.contains(Self.key(9)))

            // The backup is restored and verified with its key, and not without it.
            let target = folder.url.appending(component: "restored")
            let refused = try await RunningServer.command(["restore", backup.path, "--data", target.path])
            #expect(refused.code != 0 && refused.errors.contains(first), "\(refused)")
            _ = try Self.keyFile(Self.key(1), in: folder.url)
            for arguments in [
                ["verify", backup.path], ["restore", backup.path, "--data", target.path], ["verify", target.path],
            ] {
                let ended = try await RunningServer.command(arguments + ["--store-keys", keys])
                #expect(ended.code == 0, "\(ended)")
            }
            #expect(Self.files(below: folder.url, holding: Self.word) == [])
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A running server encrypts existing data, changes the key, and decrypts the data again`() async throws {
        let folder = try TemporaryFolder()
        let keys = folder.url.appending(component: "store-keys").path
        func start(_ arguments: [String] = []) async throws -> RunningServer {
            try await RunningServer.start(RunningServer.withoutLimits + arguments, folder: folder)
        }
        var server = try await start()
        var media = try await MediaServer(on: server)
        try await Self.fill(media, messages: 2_000, files: 20)
        let shown = try await Self.shown(media)
        try await server.terminate()
        let command = "cat '\(keys)'"
        for (lines, isEncrypted) in [
            ([Self.key(1)], true), ([Self.key(2), Self.key(1)], true), (["plain", Self.key(2)], false),
        ] {
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: keys))
            server = try await start(["--store-keys-command", command])
            media = try await MediaServer(on: server)
            // The server is killed shortly after its start. It continues where it stopped.
            server.kill()
            try await server.start()
            // The first server can have finished before it was killed.
            let key = isEncrypted ? try Self.id(lines.count == 1 ? 1 : 2) : "none"
            let progressLines = try await eventually("the store is encrypted or decrypted", within: 120) {
                () -> [Substring]? in
                let progressLines = server.logs.flatMap { $0.split(separator: "\n") }.filter {
                    $0.contains("key=\(key) ")
                }
                return progressLines.contains { $0.contains("Changed the storage encryption") } ? progressLines : nil
            }
            // The log has the position from which the server continued and, at the end, the keys that are no longer
            // needed.
            let (first, last) = (try #require(progressLines.first), try #require(progressLines.last))
            #expect(first.contains("Changing the storage encryption") && first.contains("done="), "\(first)")
            let retired = lines.count == 1 ? "" : try Self.id(isEncrypted ? 1 : 2)
            #expect(last.contains("Changed the storage encryption"), "\(last)")
            #expect(last.contains("retired=\(retired)"), "\(last)")
            let metrics = try await media.admin.call("GET", "/metrics").text
            #expect(metrics.contains("\nscrollback_sealed_ratio 1.0\n") == isEncrypted, "\(metrics)")
            #expect(isEncrypted || !metrics.contains("scrollback_sealed_ratio"))
            #expect(try await Self.shown(media) == shown)
            try await server.terminate()
            #expect(Self.files(below: server.data, holding: Self.word).isEmpty == isEncrypted)
            let doctor = try await RunningServer.command(["doctor", "--data", server.data.path])
            let expected = isEncrypted ? key : "not encrypted"
            #expect(doctor.output.contains(expected), "\(doctor.output)")
        }
        // The server needs no key any more.
        server = try await start()
        #expect(try await Self.shown(try await MediaServer(on: server)) == shown)
    }

    /// Flips a byte of every value that is encrypted with a key.
    private static func flip(_ bytes: Data, encryptedWith key: UInt8) throws -> Data {
        let id = try StoreKey(Data(repeating: key, count: 32)).id.bits
        let head = Data([0xFF]) + withUnsafeBytes(of: id.bigEndian) { Data($0) }
        var flipped = bytes
        var rest = bytes.startIndex..<bytes.endIndex
        while let found = bytes.range(of: head, in: rest) {
            flipped[min(found.upperBound + 20, bytes.count - 1)] ^= 1
            rest = found.upperBound..<bytes.endIndex
        }
        try #require(flipped != bytes, "No value is encrypted with the key.")
        return flipped
    }

    @Test(.timeLimit(.minutes(2)))
    func `An encrypted backup or data directory with a flipped byte or a truncated file is refused`()
        async throws
    {
        let folder = try TemporaryFolder()
        let keys = try Self.keyFile(Self.key(1), in: folder.url)
        let server = try await RunningServer.start(["--store-keys", keys], folder: folder)
        let media = try await MediaServer(on: server)
        _ = try await media.send(Array((0..<5_000).map { _ in Self.word }.joined().utf8), name: "a.txt")
        let (backup, _) = try await server.backUp("backup")
        try await server.terminate()
        func refusal(_ arguments: [String]) async throws -> String {
            let ended = try await RunningServer.command(arguments + ["--store-keys", keys])
            #expect(ended.code == 1, "\(ended)")
            return ended.output + ended.errors
        }

        let target = folder.url.appending(component: "restored").path
        let found = FileManager.default.enumerator(at: backup, includingPropertiesForKeys: nil)
        let blob = try #require((found?.allObjects as? [URL])?.first { $0.pathExtension == "sealed" })
        for file in [backup.appending(component: "scrollback.sqlite"), blob] {
            let whole = try Data(contentsOf: file)
            var flipped = whole
            flipped[whole.count / 2] ^= 1
            for bytes in [flipped, whole.dropLast(1), whole.prefix(whole.count / 2)] {
                // The file is replaced and not modified, because the backup and the data directory share its bytes by a
                // hard link.
                try bytes.write(to: file, options: .atomic)
                for arguments in [["verify", backup.path], ["restore", backup.path, "--data", target]] {
                    let reason = try await refusal(arguments)
                    #expect(reason.contains(file.path), "\(bytes.count) of \(whole.count) bytes: \(reason)")
                }
                #expect(!FileManager.default.fileExists(atPath: target), "The restore left files behind.")
            }
            try whole.write(to: file, options: .atomic)
        }
        let ended = try await RunningServer.command(["verify", backup.path, "--store-keys", keys])
        #expect(ended.code == 0, "\(ended)")

        let store = server.data.appending(component: "scrollback.sqlite")
        let whole = try Data(contentsOf: store)
        for count in [whole.count - 1, whole.count - 4_096] {
            try whole.prefix(count).write(to: store)
            for arguments in [["serve", "--port", "0", "--data", server.data.path], ["verify", server.data.path]] {
                let reason = try await refusal(arguments)
                #expect(reason.contains(store.path), "truncated to \(count): \(reason)")
            }
        }
        try Self.flip(whole, encryptedWith: 1).write(to: store)
        for arguments in [["serve", "--port", "0", "--data", server.data.path], ["verify", server.data.path]] {
            #expect(try await refusal(arguments).contains("can't be decrypted"))
        }
    }

    @Test(arguments: [
        ("", "contains no key"), ("c2hvcnQ=", "line 1 must be 32 bytes in base64"),
        ("plain\nnonsense", "line 2 must be 32 bytes in base64"),
    ])
    func `An invalid key file is refused with an error that names the line`(text: String, reason: String) async throws {
        let folder = try TemporaryFolder()
        let file = try Self.keyFile(text, in: folder.url)
        let data = folder.url.appending(component: "data").path
        let ended = try await RunningServer.command(["serve", "--port", "0", "--data", data, "--store-keys", file])
        #expect(ended.code == 1 && ended.errors.contains(reason) && ended.errors.contains(file), "\(ended)")
        #expect(!ended.errors.contains("nonsense"))
    }

    @Test func `A key command that fails is reported with its exit code and without its output`()
        async throws
    {
        let folder = try TemporaryFolder()
        let data = folder.url.appending(component: "data").path
        let ended = try await RunningServer.command(
            ["serve", "--port", "0", "--data", data, "--store-keys-command", "echo secret; exit 3"])
        #expect(
            ended.code == 1 && ended.errors.contains("exited with status 3") && !ended.errors.contains("secret"),
            "\(ended)")
    }
}
