import ContractRows
import Dispatch
import Foundation
import PictureFixtures
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import Synchronization
import TestSupport
import Testing

@Suite("Files between clients")
struct FilesTests {
    private let group = ConversationID.group("swift")

    private func withGroup(
        uploader: (any MediaUploader)? = nil, _ body: (TestServer, ChatClient, ChatClient) async throws -> Void
    ) async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice") { configuration in
            configuration.media.uploader = uploader
            configuration.uploadChunkSize = 10_000
        }
        let bob = try await server.client("bob")
        try await body(server, alice, bob)
        await server.close()
    }

    private static func bytes(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    }

    // MARK: Sending and receiving

    @Test(
        "A file of any type is sent with the media type that the server detects",
        arguments: [
            ("data.json", #"{"a": 1}"#, "text/plain"), ("style.css", "body { color: red }", "text/plain"),
            ("table.csv", "a,b\n1,2\n", "text/plain"), ("notes.txt", "hello", "text/plain"),
            ("notes.md", "# Tides", "text/plain"), ("page.html", "<p>Tides</p>", "text/html"),
            ("text.docx", "PK\u{3}\u{4}word/document.xml", "application/zip"),
        ])
    func anyType(name: String, content: String, mediaType: String) async throws {
        try await withGroup { _, alice, bob in
            let sent = try await alice.conversation(group).send(.file(.data(Data(content.utf8), name: name)))
                .waitUntilSent()
            let media = try #require(sent.content?.media)
            #expect(media.name == name && media.mediaType == mediaType)
            #expect(try Data(contentsOf: await bob.media.file(for: media)) == Data(content.utf8))
        }
    }

    @Test("An image arrives with its thumbnail, for every user who may see the message", .rows(97, 99, 103, 109))
    func picture() async throws {
        try await withGroup { server, alice, bob in
            let photo = try PictureFixture.named("photo-1600x1200.jpg")
            let sent = try await alice.conversation(group).send(.image(.data(photo, name: "صورة 🌅.jpg")))
                .waitUntilSent()
            #expect(try await eventually { try await bob.conversation(group).recent()?.unread == 1 })
            let media = try #require(try await bob.conversation(group).history(.latest).messages.first?.content?.media)
            #expect(media == sent.content?.media)
            let file = try Data(contentsOf: await bob.media.file(for: media))
            #expect(Int64(file.count) == media.size)
            #expect(try Data(contentsOf: await alice.media.file(for: media)) == file)
            let thumbnail = try Data(contentsOf: try #require(try await bob.media.thumbnail(for: media)))
            #expect(!thumbnail.isEmpty && thumbnail.count <= 64 << 10)

            let carol = try await server.client("carol")
            await #expect(
                performing: { try await carol.media.file(for: media) },
                throws: { ($0 as? ChatError)?.code == .unknownMedia })
            // After Bob forwards the image, Carol may see it.
            _ = try await bob.conversation(.direct("carol")).send(try #require(sent.content)).waitUntilSent()
            #expect(try Data(contentsOf: await carol.media.file(for: media)) == file)
            try await alice.conversation(group).recall(sent.id).waitForCompletion()
            #expect(
                try await eventually {
                    try await bob.conversation(group).history(.latest).messages.first?.isDeleted == true
                })
            #expect(try Data(contentsOf: await carol.media.file(for: media)) == file)
        }
    }

    @Test("An empty file is sent and downloaded, and an empty image or voice message is refused")
    func emptyFile() async throws {
        try await withGroup { server, alice, bob in
            let folder = try TemporaryFolder()
            let file = folder.url.appending(path: "empty.txt")
            try Data().write(to: file)
            for source in [MediaAttachment.Source.file(file), .data(Data(), name: "empty.txt")] {
                let sent = try await alice.conversation(group).send(.file(source)).waitUntilSent()
                let media = try #require(sent.content?.media)
                #expect(media.size == 0 && media.name == "empty.txt")
                #expect(try Data(contentsOf: await bob.media.file(for: media)).isEmpty)
                for attachment in [
                    MediaAttachment.image(source), .image(source, original: true), .gif(source),
                    .voice(source, duration: 1),
                ] {
                    await #expect(
                        performing: { try await alice.conversation(group).send(attachment) },
                        throws: { ($0 as? ChatError)?.code == .invalidMedia })
                }
            }
        }
    }

    @Test("A message with a file that its sender may not read, or with a wrong size or type, is refused")
    func forged() async throws {
        try await withGroup { server, alice, _ in
            let sent = try await alice.conversation(group).send(.file(.data(Self.bytes(100)))).waitUntilSent()
            var media = try #require(sent.content?.media)
            try await server.makeGroup("other", members: ["mallory", "alice"])
            let mallory = try await server.client("mallory")
            let other = ConversationID.group("other")
            let theft = try await mallory.conversation(other).send(try #require(sent.content))
            await #expect(
                performing: { try await theft.waitUntilSent() }, throws: { ($0 as? ChatError)?.code == .unknownMedia })
            media.size = 99
            let lie = try await alice.conversation(other).send(.media(.file, media))
            await #expect(
                performing: { try await lie.waitUntilSent() }, throws: { ($0 as? ChatError)?.code == .invalidParameter }
            )
            media.size = 100
            let picture = try await alice.conversation(other).send(.media(.image, media))
            await #expect(performing: { try await picture.waitUntilSent() }, throws: { $0 is ChatError })
        }
    }

    // MARK: Interruptions

    @Test("An upload reports its progress and resumes after a lost connection", .rows(104))
    func resumes() async throws {
        try await withGroup { server, alice, bob in
            let data = Self.bytes(1_000_000)
            server.goOffline("alice")
            let sending = try await alice.conversation(group).send(.file(.data(data, name: "a.bin")))
            let text = try await alice.conversation(group).send(.text("after it"))
            let elsewhere = try await alice.conversation(.direct("bob")).send(.text("beside it"))
            server.goOnline("alice")
            _ = try await elsewhere.waitUntilSent()
            var fractions: [Double] = []
            for await state in sending.states {
                guard case .uploading(let fraction) = state else { continue }
                fractions.append(fraction)
                if fractions.count == 3 || fractions.count == 6 {
                    server.goOffline("alice")
                    server.goOnline("alice")
                }
            }
            let message = try await sending.waitUntilSent()
            #expect(fractions == fractions.sorted())
            #expect(try await text.waitUntilSent().seq == message.seq + 1)
            let media = try #require(message.content?.media)
            #expect(try Data(contentsOf: await bob.media.file(for: media)) == data)
        }
    }

    @Test("An upload whose bytes the server has but whose file it lacks is completed")
    func uploadWithoutItsFileIsCompleted() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        server.goOffline("alice")
        let data = Self.bytes(1000)
        let phone = try await server.client("alice", store: .directory(folder.url))
        let sending = try await phone.conversation(group).send(.file(.data(data)))

        // The server received all bytes and was killed before it created the file.
        var upload = try #require(try await phone.core.store.read { try $0.uploads(of: sending.id) }.first)
        let alice = Caller(user: "alice")
        let request = try UploadRequest(
            conversation: group, media: upload.media, type: .file, length: Int64(data.count))
        guard case .upload(let row) = try await server.engine.beginUpload(request, by: alice) else {
            Issue.record("The server already has the file.")
            return
        }
        let transfer = try await server.engine.transfer(row.id, by: Caller(user: "alice"), interrupt: {})
        try await transfer.append(Array(data))
        try await transfer.save()
        await transfer.end()
        upload.resource = row.id.description
        let begun = upload
        try await phone.core.store.write { try $0.save(begun) }

        server.goOnline("alice")
        let media = try #require(try await sending.waitUntilSent().content?.media)
        #expect(try await server.engine.bytes(of: try #require(media.id), by: alice) == Array(data))
        // Without this, the file could come from another upload, which begins when the server does not know the file.
        #expect(try server.engine.upload(row.id, by: "alice").state == .done)
        await server.close()
    }

    @Test("Cancelling a message during its upload removes it, and the next message is sent", .rows(105))
    func cancelled() async throws {
        try await withGroup { server, alice, bob in
            let sending = try await alice.conversation(group).send(.file(.data(Self.bytes(2_000_000))))
            let next = try await alice.conversation(group).send(.text("next"))
            for await state in sending.states {
                if case .uploading(let fraction) = state, fraction > 0 { break }
            }
            try await sending.cancel()
            #expect(try await next.waitUntilSent().seq == 1)
            #expect(try await eventually { try await bob.texts(in: group) == ["next"] })
            #expect(try await alice.pendingCount() == 0)
        }
    }

    @Test("A file that is too large fails only its own message, which can be retried", .rows(106, 113))
    func refused() async throws {
        try await withGroup { server, alice, _ in
            try await server.limitFiles(to: 1000)
            let sending = try await alice.conversation(group).send(.file(.data(Self.bytes(1001))))
            let next = try await alice.conversation(group).send(.text("next"))
            await #expect(
                performing: { try await sending.waitUntilSent() },
                throws: { ($0 as? ChatError)?.code == .mediaTooLarge && ($0 as? ChatError)?.limit == 1000 })
            #expect(try await next.waitUntilSent().seq == 1)
            try await server.limitFiles(to: 2000)
            try await sending.retry()
            #expect(try await sending.waitUntilSent().seq == 2)
        }
    }

    @Test("A file that the server removed before its message was sent is uploaded again with the same ID")
    func removedFileIsUploadedAgain() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let data = Self.bytes(1000)
        let before = try await server.disconnectedClient("alice", store: .directory(folder.url))
        let sent = try await before.conversation(group).send(.file(.data(data)))
        let upload = try await Self.markUploaded(sent.id, before)
        await before.close()

        let phone = try await server.client("alice", store: .directory(folder.url))
        let text = try await phone.conversation(group).send(.text("after it"))
        let message = try await phone.conversation(group).sendHandle(for: sent.id).waitUntilSent()
        #expect(message.content?.media?.id == upload.media)
        #expect(try await text.waitUntilSent().seq == message.seq + 1)
        #expect(try await server.engine.bytes(of: upload.media, by: Caller(user: "alice")) == Array(data))
        await server.close()
    }

    /// Marks the only file of a message as uploaded: to the server, or to the URL from the app's own uploader.
    @discardableResult
    private static func markUploaded(
        _ id: MessageID, _ client: ChatClient, to url: URL? = nil
    ) async throws -> LocalUpload {
        let upload = try #require(try await client.core.store.read { try $0.uploads(of: id) }.first)
        let item = try #require(try await client.core.store.read { try $0.outbox() }.first { $0.id == id })
        try await client.core.store.write { writer in
            var (upload, item) = (upload, item)
            upload.isDone = true
            upload.url = url
            if url == nil { upload.resource = "an upload that ended" }
            try writer.save(upload)
            // The message does not have the URL from the uploader yet.
            item.needsUpload = url != nil
            try writer.save(item)
        }
        return upload
    }

    /// A media transport that records calls and can fail on request.
    private struct FaultyMediaTransport: MediaTransport {
        let real: any MediaTransport
        let faults: Faults

        final class Faults: Sendable {
            let errors: Mutex<[ChatError]>
            let begun = Mutex<[String]>([])
            let givenUp = Mutex<[String]>([])

            init(failing errors: [ChatError] = []) {
                self.errors = Mutex(errors)
            }

            func fail() throws(ChatError) {
                if let error = errors.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw error }
            }
        }

        func begin(
            _ upload: LocalUpload, in id: ConversationID, token: String
        ) async throws(ChatError) -> String? {
            let resource = try await real.begin(upload, in: id, token: token)
            if let resource { faults.begun.withLock { $0.append(resource) } }
            return resource
        }

        func append(
            _ piece: Data, to resource: String, at offset: Int64, isLast: Bool, token: String
        ) async throws(ChatError) {
            try faults.fail()
            try await real.append(piece, to: resource, at: offset, isLast: isLast, token: token)
        }

        func cancelUpload(_ resource: String, token: String) async throws(ChatError) {
            try await real.cancelUpload(resource, token: token)
            faults.givenUp.withLock { $0.append(resource) }
        }

        func progress(of resource: String, token: String) async throws(ChatError) -> UploadProgress {
            try faults.fail()
            return try await real.progress(of: resource, token: token)
        }

        func setThumbnail(_ picture: Data, of media: MediaID, token: String) async throws(ChatError) {
            try await real.setThumbnail(picture, of: media, token: token)
        }

        func read(
            _ source: MediaChunk.Source, from offset: Int64, upTo count: Int, ifStill hash: String?, token: String?
        ) async throws(ChatError) -> MediaChunk {
            try await real.read(source, from: offset, upTo: count, ifStill: hash, token: token)
        }

        func link(
            to media: MediaID, thumbnail: Bool, expiresIn seconds: Int?, token: String
        ) async throws(ChatError) -> URL {
            try await real.link(to: media, thumbnail: thumbnail, expiresIn: seconds, token: token)
        }
    }

    private func withFaults(
        _ faults: FaultyMediaTransport.Faults, _ body: (TestServer, ChatClient) async throws -> Void
    ) async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let alice = try await server.client("alice") { configuration in
            configuration.uploadChunkSize = 10_000
            configuration.mediaTransport = configuration.mediaTransport.map {
                FaultyMediaTransport(real: $0, faults: faults)
            }
        }
        try await body(server, alice)
        await server.close()
    }

    @Test(
        "An upload that the server discarded restarts, and one with a refused token is retried",
        arguments: [
            [ChatError(.unknownUpload, "The server discarded the upload.")],
            [
                ChatError(.conflict, "An answer was lost."),
                ChatError(.unknownUpload, "The server discarded the upload."),
            ],
            // First the last valid token fails, then the fresh one.
            [
                ChatError(.tokenExpired, "The token is expired."),
                ChatError(.invalidToken, "Another key signed the token."),
            ],
        ])
    func discardedUploadRestarts(errors: [ChatError]) async throws {
        let faults = FaultyMediaTransport.Faults(failing: errors)
        try await withFaults(faults) { server, alice in
            let data = Self.bytes(30_000)
            let sent = try await alice.conversation(group).send(.file(.data(data))).waitUntilSent()
            let media = try #require(sent.content?.media?.id)
            #expect(try await server.engine.bytes(of: media, by: Caller(user: "alice")) == Array(data))
            #expect(faults.errors.withLock { $0.isEmpty })
        }
    }

    @Test("An upload that the server discards three times fails its message")
    func repeatedlyDiscardedUploadFails() async throws {
        let faults = FaultyMediaTransport.Faults(
            failing: Array(repeating: ChatError(.unknownUpload, "The server discarded the upload."), count: 9))
        try await withFaults(faults) { _, alice in
            let sending = try await alice.conversation(group).send(.file(.data(Self.bytes(10))))
            await #expect(
                performing: { try await sending.waitUntilSent() },
                throws: { ($0 as? ChatError)?.code == .unknownUpload })
            #expect(faults.begun.withLock { $0.count } == 3)
        }
    }

    @Test("Cancelled uploads are deleted from the server, whether running or waiting")
    func cancelledUploadsAreDeleted() async throws {
        let faults = FaultyMediaTransport.Faults()
        try await withFaults(faults) { server, alice in
            let running = try await alice.conversation(group).send(.file(.data(Self.bytes(2_000_000))))
            for await state in running.states {
                if case .uploading(let fraction) = state, fraction > 0 { break }
            }
            try await running.cancel()
            #expect(alice.core.uploads.fraction(of: running.id) == 0)
            // One error is for this upload. The other is for the last piece of the first one, in case that is in
            // flight.
            faults.errors.withLock {
                $0 = Array(repeating: ChatError(.overloaded, "later", retryAfter: 1000), count: 2)
            }
            let waiting = try await alice.conversation(group).send(.file(.data(Self.bytes(10))))
            for await state in waiting.states { if case .waiting = state { break } }
            try await waiting.cancel()
            #expect(try await eventually { faults.begun.withLock { Set($0) } == faults.givenUp.withLock { Set($0) } })
            #expect(faults.begun.withLock { $0.count } == 2)
            for resource in faults.begun.withLock({ $0 }) {
                let id = try #require(UploadID(resource))
                #expect(throws: ChatError.self) { try server.engine.upload(id, by: "alice") }
            }
        }
    }

    // MARK: The app's own uploader

    private final class Uploader: MediaUploader {
        let errors: Mutex<[any Error]>
        let uploaded = Mutex<[URL: Data]>([:])

        init(failing errors: [any Error] = []) {
            self.errors = Mutex(errors)
        }

        func upload(_ file: OutgoingFile, progress: @escaping @Sendable (Double) -> Void) async throws -> URL {
            progress(0.5)
            if let error = errors.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw error }
            guard let url = URL(string: "https://files.example.com/\(UUID())") else { throw CancellationError() }
            let data = try Data(contentsOf: file.file)
            uploaded.withLock { $0[url] = data }
            return url
        }
    }

    private struct Refusal: Error {}

    @Test("A custom uploader can be called directly in an app's tests", .rows(110))
    func customUploaderCanBeCalledDirectly() async throws {
        let folder = try TemporaryFolder()
        let place = folder.url.appending(path: "a.txt")
        try Self.bytes(10).write(to: place)
        let file = OutgoingFile(file: place, type: .file, name: nil, mediaType: "text/plain", size: 10)
        let uploader = Uploader()
        let url = try await uploader.upload(file) { _ in }
        #expect(uploader.uploaded.withLock { $0[url] } == Self.bytes(10))
    }

    @Test("A custom uploader stores the file, and the message carries the uploader's URL", .rows(110, 111))
    func ownUploader() async throws {
        let uploader = Uploader(failing: [ChatError(.unreachable, "The app's server is unreachable.", retryAfter: 0.05)]
        )
        try await withGroup(uploader: uploader) { _, alice, bob in
            let photo = try PictureFixture.named("photo-1600x1200.jpg")
            let sent = try await alice.conversation(group).send(.image(.data(photo))).waitUntilSent()
            let media = try #require(sent.content?.media)
            guard case .remote(let url) = media.source else {
                Issue.record("\(media.source)")
                return
            }
            #expect(uploader.uploaded.withLock { $0[url] }?.count == media.size.map { Int($0) })
            #expect(media.thumbnail == nil && media.pixels != nil)
            // The sender reads the file from its local copy.
            #expect(try Data(contentsOf: await alice.media.file(for: media)) == uploader.uploaded.withLock { $0[url] })
            #expect(try await eventually { try await bob.conversation(group).history(.latest).messages.count == 1 })

            let album = try MediaAttachment.custom(Album(title: "two"), files: [.data(Data([1])), .data(Data([2]))])
            let files = try await alice.conversation(group).send(album).waitUntilSent().content?.files ?? []
            #expect(files.count == 2 && files.allSatisfy { if case .remote = $0 { true } else { false } })
        }
    }

    private struct Album: CustomContent {
        static let type: MessageType = "app:album"
        var title: String
    }

    /// An uploader that reports the values a test sets.
    private final class SteppedUploader: MediaUploader {
        let steps = AsyncStream<Double>.makeStream()

        func upload(_ file: OutgoingFile, progress: @escaping @Sendable (Double) -> Void) async throws -> URL {
            for await step in steps.stream { progress(step) }
            guard let url = URL(string: "https://files.example.com/\(file.size)") else { throw CancellationError() }
            return url
        }
    }

    @Test("The progress that a custom uploader reports is the progress of the message, within 0 and 1", .rows(110))
    func ownUploaderReportsProgress() async throws {
        let uploader = SteppedUploader()
        try await withGroup(uploader: uploader) { _, alice, _ in
            let sending = try await alice.conversation(group).send(.file(.data(Self.bytes(1000))))
            let states = Mutex<[SendHandle.State]>([])
            let listener = Task {
                for await state in sending.states { states.withLock { $0.append(state) } }
            }
            for (reported, shown) in [(0.0, 0.0), (0.25, 0.25), (0.5, 0.5), (7, 1), (-1, 0), (0.75, 0.75)] {
                uploader.steps.continuation.yield(reported)
                let isShown = try await eventually { states.withLock { $0.last } == .uploading(shown) }
                try #require(isShown, "\(reported)")
            }
            uploader.steps.continuation.finish()
            let media = try #require(try await sending.waitUntilSent().content?.media)
            #expect(media.source == .remote(try #require(URL(string: "https://files.example.com/1000"))))
            await listener.value
        }
    }

    @Test("An error of a custom uploader fails the message until it is retried", .rows(112))
    func ownUploaderRefuses() async throws {
        try await withGroup(uploader: Uploader(failing: [Refusal()])) { _, alice, _ in
            let sending = try await alice.conversation(group).send(.file(.data(Self.bytes(10))))
            await #expect(
                performing: { try await sending.waitUntilSent() }, throws: { ($0 as? ChatError)?.code == .uploadFailed }
            )
            try await sending.retry()
            #expect(try await sending.waitUntilSent().seq == 1)
        }
    }

    @Test(
        "A message carries the URL from a custom uploader after a restart without that uploader, edited or not",
        arguments: [false, true])
    func messageKeepsTheUploadersURL(isEdited: Bool) async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let place = try #require(URL(string: "https://files.example.com/a"))
        let before = try await server.disconnectedClient("alice", store: .directory(folder.url)) {
            $0.media.uploader = Uploader()
        }
        let sent = try await before.conversation(group).send(.file(.data(Self.bytes(10), name: "a.bin")))
        try await Self.markUploaded(sent.id, before, to: place)
        await before.close()

        let after = try await server.disconnectedClient("alice", store: .directory(folder.url))
        let sending = after.conversation(group).sendHandle(for: sent.id)
        if isEdited {
            var media = try #require(try await sending.content()?.media)
            #expect(media.id != nil)
            media.name = "b.bin"
            try await after.conversation(group).edit(sent.id, to: .media(.file, media))
            #expect(try await sending.content()?.media?.source == .remote(place))
        }
        after.connect()
        let media = try #require(try await sending.waitUntilSent().content?.media)
        #expect(media.source == .remote(place) && media.name == (isEdited ? "b.bin" : "a.bin"))
        await server.close()
    }

    /// An uploader that ignores cancellation.
    private struct UncancellableUploader: MediaUploader {
        let begun: AsyncStream<Void>.Continuation

        func upload(_ file: OutgoingFile, progress: @escaping @Sendable (Double) -> Void) async throws -> URL {
            begun.yield()
            await withCheckedContinuation { continuation in
                DispatchQueue.global().asyncAfter(deadline: .now() + 120) { continuation.resume() }
            }
            throw Refusal()
        }
    }

    @Test("An uploader that ignores cancellation does not delay closing the client", .timeLimit(.minutes(10)))
    func uncancellableUploaderDoesNotDelayClosing() async throws {
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withGroup(uploader: UncancellableUploader(begun: continuation)) { _, alice, _ in
            let start = ContinuousClock.now
            let cancelled = try await alice.conversation(group).send(.file(.data(Self.bytes(10))))
            _ = try await alice.conversation(group).send(.file(.data(Self.bytes(11))))
            var count = 0
            for await _ in begun {
                count += 1
                if count == 2 { break }
            }
            try await cancelled.cancel()
            await alice.close()
            #expect(ContinuousClock.now - start < .seconds(60))
        }
    }

    // MARK: The cache

    @Test("Equal content is cached once, and sent files count toward the cache size", .rows(109))
    func equalContentIsCachedOnce() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice"])
        let alice = try await server.client("alice") { $0.media.cacheSize = 250_000 }
        let folder = alice.core.store.files
        for _ in 0..<3 {
            _ = try await alice.conversation(group).send(.file(.data(Self.bytes(100_000)))).waitUntilSent()
            server.advance(by: 1)
        }
        _ = try await alice.conversation(group).send(.file(.data(Self.bytes(100_001)))).waitUntilSent()
        #expect(folder.hashes(olderThan: .distantFuture).count == 2)
        server.advance(by: 1)
        _ = try await alice.conversation(group).send(.file(.data(Self.bytes(100_002)))).waitUntilSent()
        let oldest = LocalFiles.hash(of: Self.bytes(100_000))
        let kept = folder.hashes(olderThan: .distantFuture)
        #expect(kept.count == 2 && !kept.contains(oldest))
        let known = try await alice.core.store.read { try $0.unknownFiles(kept) }
        #expect(known.isEmpty)
        await server.close()
    }

    @Test("Concurrent requests download a file once, and the cache evicts the least recently used file", .rows(109))
    func cache() async throws {
        let server = try TestServer()
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let bob = try await server.client("bob") { $0.media.cacheSize = 250_000 }
        var files: [Media] = []
        for number in 0..<4 {
            let data = Self.bytes(100_000 + number)
            let sent = try await alice.conversation(group).send(.file(.data(data))).waitUntilSent()
            files.append(try #require(sent.content?.media))
        }
        let places = try await withThrowingTaskGroup(of: URL.self) { [first = files[0]] tasks in
            for _ in 0..<10 { tasks.addTask { try await bob.media.file(for: first) } }
            return try await tasks.reduce(into: Set<URL>()) { $0.insert($1) }
        }
        #expect(places.count == 1)
        let folder = bob.core.store.files
        for file in files {
            server.advance(by: 1)
            _ = try await bob.media.file(for: file)
        }
        let kept = folder.hashes(olderThan: .distantFuture)
        #expect(kept.count == 2)
        server.goOffline("bob")
        #expect(FileManager.default.fileExists(atPath: try await bob.media.file(for: files[3]).path))
        await #expect(performing: { try await bob.media.file(for: files[0]) }, throws: { $0 is ChatError })
        try await bob.media.removeAll()
        #expect(folder.hashes(olderThan: .distantFuture).isEmpty)
        await server.close()
        #expect(!FileManager.default.fileExists(atPath: folder.directory.path))
    }
}

extension TestServer {
    fileprivate func limitFiles(to bytes: Int) async throws {
        try await set { $0.mediaLimits = MediaLimits(gifBytes: 2 << 20, fileBytes: bytes) }
    }
}
