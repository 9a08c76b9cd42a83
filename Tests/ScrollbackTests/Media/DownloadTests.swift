import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import Testing

/// Tests downloads from servers that fail, return wrong data, or delay their answers.
@Suite("Downloads", .timeLimit(.minutes(10)))
struct DownloadTests {
    /// A media transport that answers reads with a closure and supports nothing else.
    private struct Server: MediaTransport {
        typealias Answer = @Sendable (_ offset: Int64, _ hash: String?) async throws(ChatError) -> MediaChunk
        let answer: Answer

        func read(
            _ source: MediaChunk.Source, from offset: Int64, upTo count: Int, ifStill hash: String?, token: String?
        ) async throws(ChatError) -> MediaChunk {
            try await answer(offset, hash)
        }

        private static let nothing = ChatError(.unreachable, "This transport supports only reads.")

        func begin(_ upload: LocalUpload, in id: ConversationID, token: String) async throws(ChatError) -> String? {
            throw Self.nothing
        }
        func progress(of resource: String, token: String) async throws(ChatError) -> UploadProgress {
            throw Self.nothing
        }
        func append(
            _ piece: Data, to resource: String, at offset: Int64, isLast: Bool, token: String
        ) async throws(ChatError) { throw Self.nothing }
        func cancelUpload(_ resource: String, token: String) async throws(ChatError) { throw Self.nothing }
        func setThumbnail(_ picture: Data, of media: MediaID, token: String) async throws(ChatError) {
            throw Self.nothing
        }
        func link(
            to media: MediaID, thumbnail: Bool, expiresIn seconds: Int?, token: String
        ) async throws(ChatError) -> URL { throw Self.nothing }
    }

    private let file = Media(.remote(URL(filePath: "/film.mp4")), size: 4)

    private func withClient(
        largest: Int64 = 100, _ answer: @escaping Server.Answer, _ body: (ChatClient) async throws -> Void
    ) async throws {
        let nowhere = try #require(URL(string: "http://127.0.0.1:9"))
        var configuration = ChatClient.Configuration(
            server: nowhere, user: "alice", store: .inMemory, token: { "none" })
        configuration.mediaTransport = Server(answer: answer)
        configuration.media.largestDownload = largest
        let client = try await ChatClient.open(configuration)
        try await body(client)
        await client.close()
    }

    private func expect(_ code: ChatError.Code, _ file: Media, _ client: ChatClient) async {
        await #expect(
            performing: { try await client.media.file(for: file) }, throws: { ($0 as? ChatError)?.code == code })
    }

    private static func piece(
        _ bytes: [UInt8], at offset: Int64, of size: Int64? = 4, _ hash: String? = "v1"
    ) -> MediaChunk {
        let end = offset + Int64(bytes.count)
        return MediaChunk(bytes: Data(bytes), offset: offset, size: size, hash: hash, isLast: end == size)
    }

    /// Stores a partial download.
    private func leave(_ bytes: [UInt8], of key: String, _ hash: String, _ client: ChatClient) async throws {
        if !bytes.isEmpty { try client.core.store.files.append(Data(bytes), toPartial: key, at: 0) }
        try await client.core.store.write { try $0.savePartialHash(hash, key) }
    }

    @Test("A download of a file that changes at every piece fails, and the next call starts again")
    func constantlyChangingFileFails() async throws {
        let isSteady = Mutex(false)
        try await withClient { (offset, _) throws(ChatError) in
            if isSteady.withLock({ $0 }) { return Self.piece([1, 2, 3, 4], at: 0) }
            if offset > 0 { throw ChatError(.conflict, "The file has no bytes at this offset.") }
            return Self.piece([1, 2], at: 0)
        } _: { client async throws in
            await expect(.malformed, file, client)
            #expect(client.core.store.files.sizeOfPartial(file.key) == 0)
            #expect(try await client.core.store.read { try $0.partialHash(file.key) } == nil)
            isSteady.withLock { $0 = true }
            #expect(try Data(contentsOf: await client.media.file(for: file)) == Data([1, 2, 3, 4]))
        }
    }

    @Test("A download whose file changes in the middle restarts without bytes of the earlier file")
    func changedFileRestartsDownload() async throws {
        try await withClient { (offset, _) throws(ChatError) in
            Self.piece(offset == 0 ? [1, 2] : [3, 4], at: offset, "v2")
        } _: { client async throws in
            try await leave([9, 9], of: file.key, "v1", client)
            #expect(try Data(contentsOf: await client.media.file(for: file)) == Data([1, 2, 3, 4]))
        }
    }

    @Test("A download without its partial file does not send the stored hash")
    func staleValidator() async throws {
        try await withClient { (offset, hash) throws(ChatError) in
            guard hash == nil else { throw ChatError(.malformed, "The request must not have a hash.") }
            return Self.piece([1, 2, 3, 4], at: 0, "v2")
        } _: { client async throws in
            try await leave([], of: file.key, "v1", client)
            #expect(try Data(contentsOf: await client.media.file(for: file)) == Data([1, 2, 3, 4]))
        }
    }

    @Test("A file whose bytes were all downloaded before a restart is available offline")
    func completeDownloadIsAvailableOffline() async throws {
        let bytes: [UInt8] = [1, 2, 3, 4]
        let hosted = Media(.hosted(MediaID()), size: 4)
        let isOnline = Mutex(false)
        try await withClient { (_, _) throws(ChatError) in
            guard isOnline.withLock({ $0 }) else { throw ChatError(.unreachable, "The network is offline.") }
            return Self.piece(bytes, at: 0, LocalFiles.hash(of: Data(bytes)))
        } _: { client async throws in
            try await leave([9, 9, 9, 9], of: hosted.key, LocalFiles.hash(of: Data(bytes)), client)
            // The bytes do not match the expected hash.
            await expect(.malformed, hosted, client)
            try await leave(bytes, of: hosted.key, LocalFiles.hash(of: Data(bytes)), client)
            #expect(try Data(contentsOf: await client.media.file(for: hosted)) == Data(bytes))
        }
    }

    @Test("A remote file that is too large or of unknown length is abandoned at the limit")
    func tooLarge() async throws {
        try await withClient(largest: 5) { (offset, _) throws(ChatError) in
            Self.piece([1, 2], at: offset, of: nil)
        } _: { client async throws in
            await expect(.mediaTooLarge, file, client)
            #expect(client.core.store.files.sizeOfPartial(file.key) == 0)
        }
        try await withClient(largest: 5) { (_, _) throws(ChatError) in
            Self.piece([1, 2], at: 0, of: 6)
        } _: { client async throws in
            await expect(.mediaTooLarge, file, client)
        }
    }

    // MARK: Waiting

    /// Delays the answers of a server until it is opened.
    private final class Gate: Sendable {
        let (opened, open) = AsyncStream.makeStream(of: Void.self)
        let asked = Mutex(0)
        let cancelled = Mutex(0)

        func wait() async throws(ChatError) {
            asked.withLock { $0 += 1 }
            for await _ in opened { return }
            if Task.isCancelled {
                cancelled.withLock { $0 += 1 }
                throw ChatError(.unreachable, "The task was cancelled.")
            }
        }
    }

    @Test("A cancelled caller returns immediately, and the download ends with its last caller")
    func cancelled() async throws {
        let gate = Gate()
        try await withClient { (offset, _) throws(ChatError) in
            try await gate.wait()
            return Self.piece([1, 2, 3, 4], at: offset)
        } _: { client async throws in
            let callers = (0..<2).map { _ in Task { try await client.media.file(for: file) } }
            while gate.asked.withLock({ $0 }) == 0 { await Task.yield() }
            // The other call started before, so it is waiting too by now.
            try? await Task.sleep(for: .milliseconds(500))
            for caller in callers {
                #expect(gate.cancelled.withLock { $0 } == 0)
                caller.cancel()
                await #expect(
                    performing: { try await caller.value }, throws: { ($0 as? ChatError)?.code == .cancelled })
            }
            while gate.cancelled.withLock({ $0 }) == 0 { await Task.yield() }
            // A later call starts its own download.
            gate.open.finish()
            #expect(try Data(contentsOf: await client.media.file(for: file)) == Data([1, 2, 3, 4]))
        }
    }

    @Test("Download progress starts with the bytes already stored and ends with the file")
    func progress() async throws {
        let gate = Gate()
        try await withClient { (offset, _) throws(ChatError) in
            try await gate.wait()
            return Self.piece([2, 3, 4], at: offset)
        } _: { client async throws in
            try await leave([1], of: file.key, "v1", client)
            let progress = client.media.progress(of: file)
            let fetch = Task { try await client.media.file(for: file) }
            var fractions: [Double] = []
            for await fraction in progress {
                fractions.append(fraction)
                gate.open.finish()
            }
            #expect(fractions.first == 0.25)
            #expect(try Data(contentsOf: await fetch.value) == Data([1, 2, 3, 4]))
            var later: [Double] = []
            for await fraction in client.media.progress(of: file) { later.append(fraction) }
            #expect(later == [1])
        }
    }

    @Test("Removing all copies deletes partial downloads except those that are running")
    func removeAll() async throws {
        let gate = Gate()
        let other = Media(.remote(URL(filePath: "/other.mp4")), size: 4)
        try await withClient { (offset, _) throws(ChatError) in
            try await gate.wait()
            return Self.piece([2, 3, 4], at: offset)
        } _: { client async throws in
            for key in [file.key, other.key] { try await leave([1], of: key, "v1", client) }
            let fetch = Task { try await client.media.file(for: file) }
            while gate.asked.withLock({ $0 }) == 0 { await Task.yield() }
            try await client.media.removeAll()
            #expect(client.core.store.files.sizeOfPartial(other.key) == 0)
            #expect(try await client.core.store.read { try $0.partialHash(other.key) } == nil)
            gate.open.finish()
            #expect(try Data(contentsOf: await fetch.value) == Data([1, 2, 3, 4]))
        }
    }
}
