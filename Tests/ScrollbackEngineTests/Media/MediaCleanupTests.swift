import ContractRows
import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Removal of files")
struct MediaCleanupTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness
    private let day: TimeInterval = 86_400

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    private var blobs: Int { get async throws { try await harness.engine.media.blobs(after: nil, limit: 99).count } }
    private var uploads: Int { get async throws { try await harness.engine.media.uploads().count } }

    @Test("A file that no message references is removed after a day, and a recall starts that day")
    func unreferencedFileIsRemovedAfterADay() async throws {
        let sent = try await harness.upload(SampleFile.text, to: group, by: "alice")
        let message = try harness.submission(of: sent)
        try harness.send(message, to: group, by: "alice")
        _ = try await harness.upload(SampleFile.mp3, to: group, by: "alice")
        harness.clock.advance(by: day - 1)
        #expect(try await harness.engine.cleanUpMedia() == 0)
        harness.clock.advance(by: 2)
        #expect(try await harness.engine.cleanUpMedia() == 1)
        #expect(try await blobs == 1)
        try harness.delete(message.id, in: group, by: Caller(user: "alice"))
        harness.clock.advance(by: day - 10)
        #expect(try await harness.engine.cleanUpMedia() == 0)
        harness.clock.advance(by: 20)
        #expect(try await harness.engine.cleanUpMedia() == 1)
        #expect(try await blobs == 0)
        #expect(try !harness.mayRead(sent, "alice"))
    }

    @Test("A file that a scheduled message needs stays until the message is sent, also if a message with it is deleted")
    func scheduledMessagesKeepTheirFiles() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        let sent = try harness.submission(of: file)
        try harness.send(sent, to: group, by: "alice")
        let time = harness.clock.now + 10 * day
        try harness.perform(
            ScheduleMessage(conversation: group, submission: harness.submission(of: file), sendAt: time),
            by: Caller(user: "alice"))
        try harness.delete(sent.id, in: group, by: Caller(user: "alice"))
        harness.clock.advance(by: 9 * day)
        #expect(try await harness.engine.cleanUpMedia() == 0)
        // The message waits for the quota of the next day, and its file too.
        try harness.set { $0.quotas[.messageBytes] = 1 }
        for _ in 0..<3 {
            harness.clock.advance(by: day)
            try await harness.engine.sendScheduledMessages()
            #expect(try await harness.engine.cleanUpMedia() == 0)
        }
        try harness.set { $0.quotas[.messageBytes] = nil }
        harness.clock.advance(by: day)
        try await harness.engine.sendScheduledMessages()
        let last = try #require(try harness.page(of: group, by: "bob").messages.first)
        #expect(try last.content?.fileReferences.map(\.id) == [file.id] && harness.mayRead(file, "bob"))
        try harness.delete(last.id, in: group, by: Caller(user: "alice"))
        harness.clock.advance(by: day + 1)
        #expect(try await harness.engine.cleanUpMedia() == 1)
    }

    @Test("Files with the same bytes share one blob until the last of them is removed")
    func equalFilesShareOneBlob() async throws {
        let first = try await harness.upload(SampleFile.text, to: group, by: "alice")
        let second = try await harness.upload(SampleFile.text, to: group, by: "bob")
        #expect(first.id != second.id && first.blob == second.blob)
        #expect(try await blobs == 1)
        try harness.send(harness.submission(of: second), to: group, by: "bob")
        harness.clock.advance(by: 2 * day)
        #expect(try await harness.engine.cleanUpMedia() == 1)
        #expect(try await blobs == 1)
        #expect(try await harness.engine.bytes(of: second.id, by: Caller(user: "alice")) == SampleFile.text)
    }

    @Test("Files are removed after 180 days or the configured retention, even if messages reference them", .rows(108))
    func retention() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        try harness.send(harness.submission(of: file), to: group, by: "alice")
        harness.clock.advance(by: 179 * day)
        #expect(try await harness.engine.cleanUpMedia() == 0)
        #expect(try harness.mayRead(file, "bob"))
        try harness.set { $0.mediaRetention = .forever }
        harness.clock.advance(by: 2 * day)
        #expect(try await harness.engine.cleanUpMedia() == 0)
        try harness.set { $0.mediaRetention = .days(180) }
        #expect(try await harness.engine.cleanUpMedia() == 1)
        #expect(try !harness.mayRead(file, "alice"))
        #expect(try await blobs == 0)
    }

    @Test("The ID of a removed file can't be reused while a message references it")
    func referencedIDsAreNotReused() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        let message = try harness.submission(of: file)
        try harness.send(message, to: group, by: "alice")
        harness.clock.advance(by: 181 * day)
        #expect(try await harness.engine.cleanUpMedia() == 1)
        let request = try UploadRequest(conversation: group, media: file.id)
        for user: UserID in ["bob", "alice"] {
            let caller = Caller(user: user)
            #expect(
                await refused { _ = try await harness.engine.upload(SampleFile.mp3, request, by: caller) }?.code
                    == .conflict)
            #expect(await refused { _ = try await harness.engine.beginUpload(request, by: caller) }?.code == .conflict)
        }
        #expect(try await blobs == 0)
        try harness.delete(message.id, in: group, by: Caller(user: "alice"))
        _ = try await harness.engine.upload(SampleFile.mp3, request, by: Caller(user: "bob"))
    }

    @Test("An upload that can't be resumed has no row, and its bytes stay only while it is in progress")
    func unresumableUploadHasNoRow() async throws {
        let alice = Caller(user: "alice")
        let request = try UploadRequest(conversation: group)
        func begin() async throws -> Transfer {
            let beginning = try await harness.engine.beginTransfer(
                request, by: alice, isResumable: false, interrupt: {})
            guard case .upload(let transfer) = beginning else { throw ChatError(.conflict, "The file exists already.") }
            try await transfer.append(SampleFile.noise(9 << 20))
            return transfer
        }
        let transfer = try await begin()
        let id = await transfer.row.id
        #expect(refusal { _ = try harness.engine.upload(id, by: "alice") }?.code == .unknownUpload)
        #expect(try await harness.engine.removeOrphans() == 1)
        let file = try await transfer.finish()
        await transfer.end()
        #expect(try await harness.engine.bytes(of: file.id, by: alice) == SampleFile.noise(9 << 20))
        #expect(refusal { _ = try harness.engine.upload(id, by: "alice") }?.code == .unknownUpload)
        await (try await begin()).cancel()
        #expect(try await uploads == 0)

        try harness.set { $0.openUploads = 1 }
        let open = try await begin()
        #expect(await refused { _ = try await begin() }?.limit == 1)
        await open.cancel()
        await (try await begin()).cancel()
    }

    @Test("An idle upload is removed after a day, and an active upload stays")
    func idleUploadIsRemovedAfterADay() async throws {
        let request = try UploadRequest(conversation: group)
        var rows: [UploadRow] = []
        for _ in 0..<3 {
            let row = try await harness.begin(request, by: "alice")
            let transfer = try await harness.engine.transfer(row.id, by: Caller(user: "alice"), interrupt: {})
            try await transfer.append(SampleFile.text)
            await transfer.end()
            rows.append(row)
        }
        harness.clock.advance(by: day - 1)
        let goesOn = try await harness.engine.transfer(rows[0].id, by: Caller(user: "alice"), interrupt: {})
        try await goesOn.append(SampleFile.text)
        await goesOn.end()
        let isHeld = try await harness.engine.transfer(rows[1].id, by: Caller(user: "alice"), interrupt: {})
        harness.clock.advance(by: 2)
        try await harness.engine.cleanUpMedia()
        #expect(try await uploads == 2)
        #expect(try harness.engine.upload(rows[0].id, by: "alice").offset == Int64(2 * SampleFile.text.count))
        #expect(refusal { _ = try harness.engine.upload(rows[2].id, by: "alice") }?.code == .unknownUpload)
        await isHeld.cancel()
        #expect(try await uploads == 1)
    }

    @Test("Cleanup after a crash removes blobs and uploads without a row, and nothing else")
    func cleanupAfterCrashRemovesOrphans() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        try await harness.engine.media.put([1, 2, 3], as: BlobID(of: [1, 2, 3] as [UInt8]))
        _ = try await harness.engine.media.open(UploadID(), at: 0)
        #expect(try await harness.engine.removeOrphans() == 1)
        #expect(try await harness.engine.media.blobs(after: nil, limit: 9) == [file.blob])
        #expect(try await uploads == 0)
    }

    @Test("A second request for an upload interrupts the first and continues at its offset")
    func takeover() async throws {
        let row = try await harness.begin(try UploadRequest(conversation: group), by: "alice")
        let (interrupts, interrupt) = AsyncStream.makeStream(of: Void.self)
        let first = try await harness.engine.transfer(row.id, by: Caller(user: "alice")) { interrupt.yield() }
        try await first.append(SampleFile.text)
        async let second = harness.engine.transfer(row.id, by: Caller(user: "alice"), interrupt: {})
        for await _ in interrupts.prefix(1) { await first.end() }
        let transfer = try await second
        #expect(await transfer.row.offset == Int64(SampleFile.text.count))
        try await transfer.append(SampleFile.mp3)
        let file = try await transfer.finish()
        await transfer.end()
        #expect(file.blob == BlobID(of: SampleFile.text + SampleFile.mp3))
        #expect(
            await refused { _ = try await harness.engine.transfer(row.id, by: Caller(user: "bob"), interrupt: {}) }?
                .code
                == .unknownUpload)
    }
}
