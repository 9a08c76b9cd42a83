import ContractRows
import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("Removal of files")
struct MediaTidyTests {
    private let group = ConversationID.group("g")
    private let world: World
    private let day: TimeInterval = 86_400

    init() throws {
        world = try World()
        try world.make(group, members: ["alice", "bob"])
    }

    private var blobs: Int { get async throws { try await world.engine.media.blobs(after: nil, limit: 99).count } }
    private var uploads: Int { get async throws { try await world.engine.media.uploads().count } }

    @Test("A file that no message references is removed after a day, and a recall starts that day")
    func unused() async throws {
        let sent = try await world.upload(SampleFile.text, to: group, by: "alice")
        let message = try world.submission(of: sent)
        try world.send(message, to: group, by: "alice")
        _ = try await world.upload(SampleFile.mp3, to: group, by: "alice")
        world.clock.advance(by: day - 1)
        #expect(try await world.engine.tidyMedia() == 0)
        world.clock.advance(by: 2)
        #expect(try await world.engine.tidyMedia() == 1)
        #expect(try await blobs == 1)
        try world.delete(message.id, in: group, by: Caller(user: "alice"))
        world.clock.advance(by: day - 10)
        #expect(try await world.engine.tidyMedia() == 0)
        world.clock.advance(by: 20)
        #expect(try await world.engine.tidyMedia() == 1)
        #expect(try await blobs == 0)
        #expect(try !world.mayRead(sent, "alice"))
    }

    @Test("Files with the same bytes share one blob until the last of them is removed")
    func shared() async throws {
        let first = try await world.upload(SampleFile.text, to: group, by: "alice")
        let second = try await world.upload(SampleFile.text, to: group, by: "bob")
        #expect(first.id != second.id && first.blob == second.blob)
        #expect(try await blobs == 1)
        try world.send(world.submission(of: second), to: group, by: "bob")
        world.clock.advance(by: 2 * day)
        #expect(try await world.engine.tidyMedia() == 1)
        #expect(try await blobs == 1)
        #expect(try await world.engine.bytes(of: second.id, by: Caller(user: "alice")) == SampleFile.text)
    }

    @Test("Files are removed after 180 days or the configured retention, even if messages reference them", .rows(108))
    func retention() async throws {
        let file = try await world.upload(SampleFile.text, to: group, by: "alice")
        try world.send(world.submission(of: file), to: group, by: "alice")
        world.clock.advance(by: 179 * day)
        #expect(try await world.engine.tidyMedia() == 0)
        #expect(try world.mayRead(file, "bob"))
        try world.set { $0.mediaRetention = .forever }
        world.clock.advance(by: 2 * day)
        #expect(try await world.engine.tidyMedia() == 0)
        try world.set { $0.mediaRetention = .days(180) }
        #expect(try await world.engine.tidyMedia() == 1)
        #expect(try !world.mayRead(file, "alice"))
        #expect(try await blobs == 0)
    }

    @Test("The ID of a removed file can't be reused while a message references it")
    func idsOfTheGone() async throws {
        let file = try await world.upload(SampleFile.text, to: group, by: "alice")
        let message = try world.submission(of: file)
        try world.send(message, to: group, by: "alice")
        world.clock.advance(by: 181 * day)
        #expect(try await world.engine.tidyMedia() == 1)
        let request = try UploadRequest(conversation: group, media: file.id)
        for user: UserID in ["bob", "alice"] {
            let caller = Caller(user: user)
            #expect(
                await refused { _ = try await world.engine.upload(SampleFile.mp3, request, by: caller) }?.code
                    == .conflict)
            #expect(await refused { _ = try await world.engine.beginUpload(request, by: caller) }?.code == .conflict)
        }
        #expect(try await blobs == 0)
        try world.delete(message.id, in: group, by: Caller(user: "alice"))
        _ = try await world.engine.upload(SampleFile.mp3, request, by: Caller(user: "bob"))
    }

    @Test("An upload that can't be resumed has no row, and its bytes stay only while it is in progress")
    func plain() async throws {
        let alice = Caller(user: "alice")
        let request = try UploadRequest(conversation: group)
        func begin() async throws -> Transfer {
            let beginning = try await world.engine.beginTransfer(request, by: alice, isResumable: false, interrupt: {})
            guard case .upload(let transfer) = beginning else { throw ChatError(.conflict, "The file exists already.") }
            try await transfer.append(SampleFile.noise(9 << 20))
            return transfer
        }
        let transfer = try await begin()
        let id = await transfer.row.id
        #expect(refusal { _ = try world.engine.upload(id, by: "alice") }?.code == .unknownUpload)
        #expect(try await world.engine.removeRemains() == 1)
        let file = try await transfer.finish(by: alice)
        await transfer.end()
        #expect(try await world.engine.bytes(of: file.id, by: alice) == SampleFile.noise(9 << 20))
        #expect(refusal { _ = try world.engine.upload(id, by: "alice") }?.code == .unknownUpload)
        await (try await begin()).cancel()
        #expect(try await uploads == 0)

        try world.set { $0.openUploads = 1 }
        let open = try await begin()
        #expect(await refused { _ = try await begin() }?.limit == 1)
        await open.cancel()
        await (try await begin()).cancel()
    }

    @Test("An idle upload is removed after a day, and an active upload stays")
    func abandoned() async throws {
        let request = try UploadRequest(conversation: group)
        var rows: [UploadRow] = []
        for _ in 0..<3 {
            let row = try await world.begin(request, by: "alice")
            let transfer = try await world.engine.transfer(row.id, by: "alice", interrupt: {})
            try await transfer.append(SampleFile.text)
            await transfer.end()
            rows.append(row)
        }
        world.clock.advance(by: day - 1)
        let goesOn = try await world.engine.transfer(rows[0].id, by: "alice", interrupt: {})
        try await goesOn.append(SampleFile.text)
        await goesOn.end()
        let isHeld = try await world.engine.transfer(rows[1].id, by: "alice", interrupt: {})
        world.clock.advance(by: 2)
        try await world.engine.tidyMedia()
        #expect(try await uploads == 2)
        #expect(try world.engine.upload(rows[0].id, by: "alice").offset == Int64(2 * SampleFile.text.count))
        #expect(refusal { _ = try world.engine.upload(rows[2].id, by: "alice") }?.code == .unknownUpload)
        await isHeld.cancel()
        #expect(try await uploads == 1)
    }

    @Test("Cleanup after a crash removes blobs and uploads without a row, and nothing else")
    func remains() async throws {
        let file = try await world.upload(SampleFile.text, to: group, by: "alice")
        try await world.engine.media.put([1, 2, 3], as: BlobID(of: [1, 2, 3] as [UInt8]))
        _ = try await world.engine.media.open(UploadID(), at: 0)
        #expect(try await world.engine.removeRemains() == 1)
        #expect(try await world.engine.media.blobs(after: nil, limit: 9) == [file.blob])
        #expect(try await uploads == 0)
    }

    @Test("A second request for an upload interrupts the first and continues at its offset")
    func takeover() async throws {
        let row = try await world.begin(try UploadRequest(conversation: group), by: "alice")
        let (interrupts, interrupt) = AsyncStream.makeStream(of: Void.self)
        let first = try await world.engine.transfer(row.id, by: "alice") { interrupt.yield() }
        try await first.append(SampleFile.text)
        async let second = world.engine.transfer(row.id, by: "alice", interrupt: {})
        for await _ in interrupts.prefix(1) { await first.end() }
        let transfer = try await second
        #expect(await transfer.row.offset == Int64(SampleFile.text.count))
        try await transfer.append(SampleFile.mp3)
        let file = try await transfer.finish(by: Caller(user: "alice"))
        await transfer.end()
        #expect(file.blob == BlobID(of: SampleFile.text + SampleFile.mp3))
        #expect(
            await refused { _ = try await world.engine.transfer(row.id, by: "bob", interrupt: {}) }?.code
                == .unknownUpload)
    }
}
