import ContractRows
import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import Synchronization
import Testing

@Suite("Rules for files")
struct MediaRulesTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    @Test("The bytes of a file determine its media type, and the header of an image its dimensions")
    func bytesDetermineTheMediaType() async throws {
        let file = try await harness.upload(SampleFile.png(40, 30), as: .image, to: group, by: "alice", name: "x.mp3")
        #expect(file.mediaType == "image/png" && file.pixels == Media.Size(width: 40, height: 30))
        #expect(file.size == Int64(SampleFile.png(40, 30).count) && file.name == "x.mp3")
        #expect(file.blob == BlobID(of: SampleFile.png(40, 30)))
        let gif = try await harness.upload(SampleFile.gif(), as: .gif, to: group, by: "alice")
        #expect(gif.mediaType == "image/gif" && gif.pixels == Media.Size(width: 1, height: 1))
        let jpeg = try await harness.upload(SampleFile.jpeg, as: .file, to: group, by: "alice")
        #expect(jpeg.mediaType == "image/jpeg" && jpeg.pixels == Media.Size(width: 1, height: 1))
    }

    @Test(
        "A file that does not match its message type is refused",
        .rows(113),
        arguments: [
            (MessageType.voice, SampleFile.png(1, 1), "image/png"), (.image, SampleFile.html, "text/html"),
            (.image, SampleFile.svg, "image/svg+xml"), (.gif, SampleFile.png(1, 1), "image/png"),
            (.video, SampleFile.mp3, "audio/mpeg"), (.image, [], "text/plain"),
            (.image, SampleFile.png(30_000, 30_000), "30000 x 30000"),
            (.image, Array(SampleFile.png(100, 100).dropLast(8)), "truncated"),
            (.image, Array(SampleFile.jpeg.dropLast(2)), "truncated"),
        ])
    func mismatchedMessageTypeIsRefused(type: MessageType, bytes: [UInt8], reason: String) async throws {
        let refusal = await refused {
            try await harness.upload(bytes, as: type, to: group, by: "alice")
        }
        #expect(refusal?.code == .invalidMedia && refusal?.status == 422 && refusal?.isTemporary == false)
        #expect(refusal?.message.contains(reason) == true, "\(String(describing: refusal))")
        #expect(try await harness.engine.removeOrphans() == 0)
        // The message type `file` accepts any content.
        let file = try await harness.upload(bytes, as: .file, to: group, by: "alice")
        #expect(file.size == Int64(bytes.count))
        if bytes.isEmpty || type == .image {
            // A file that devices can't show can't be sent as an image either.
            let refusal = ScrollbackEngineTests.refusal {
                try harness.send(harness.submission(of: file, type: .image), to: group, by: "alice")
            }
            #expect(refusal?.parameter == "type", "\(String(describing: refusal))")
        }
    }

    @Test("A GIF has at most 2 MiB and any other file at most 100 MiB, both inclusive", .rows(106))
    func limits() async throws {
        let gif = 2 * 1 << 20
        let file = try await harness.upload(SampleFile.gif(bytes: gif), as: .gif, to: group, by: "alice")
        #expect(file.size == Int64(gif))
        let refusal = await refused {
            try await harness.upload(SampleFile.gif(bytes: gif + 1), as: .gif, to: group, by: "alice")
        }
        #expect(refusal?.code == .mediaTooLarge && refusal?.status == 413 && refusal?.limit == gif)
        let large = 100 * 1 << 20
        for (length, code) in [(large, nil), (large + 1, ChatError.Code.mediaTooLarge)] {
            let request = try UploadRequest(conversation: group, length: Int64(length))
            let refusal = await refused {
                _ = try await harness.engine.beginUpload(request, by: Caller(user: "alice"))
            }
            #expect(refusal?.code == code)
        }
        // A larger GIF can be uploaded as a file but not sent as a GIF.
        let asFile = try await harness.upload(SampleFile.gif(bytes: gif + 1), to: group, by: "alice")
        #expect(
            ScrollbackEngineTests.refusal {
                try harness.send(harness.submission(of: asFile, type: .gif), to: group, by: "alice")
            }?.code == .mediaTooLarge)
        try harness.set { $0.mediaLimits.gifBytes = gif + 1 }
        let larger = try await harness.upload(SampleFile.gif(bytes: gif + 1), as: .gif, to: group, by: "alice")
        try harness.send(harness.submission(of: larger), to: group, by: "alice")
    }

    @Test("A remote file has no size limit and needs no upload", .rows(107))
    func remote() throws {
        try harness.send(
            harness.submission(.gif, #"{"url":"https://example.com/a.gif","size":999999999}"#), to: group, by: "alice")
    }

    @Test("The properties of a file in the content must match the stored file")
    func contentMustMatchTheStoredFile() async throws {
        let file = try await harness.upload(SampleFile.png(4, 3), as: .image, to: group, by: "alice")
        func send(_ members: String) -> ChatError? {
            refusal {
                try harness.send(
                    harness.submission(.image, #"{"media":"\#(file.id)",\#(members)}"#), to: group, by: "alice")
            }
        }
        #expect(send(#""size":\#(file.size + 1)"#)?.parameter == "size")
        #expect(send(#""mediaType":"image/jpeg""#)?.parameter == "mediaType")
        #expect(send(#""size":\#(file.size),"mediaType":"image/png""#) == nil)
    }

    @Test("A message that is not stored can't have files, and a stored message has at most 50")
    func unstoredMessagesHaveNoFiles() async throws {
        let file = try await harness.upload(SampleFile.text, to: group, by: "alice")
        var unkept = try harness.submission(of: file)
        unkept.attributes.traits.isStored = false
        #expect(refusal { try harness.send(unkept, to: group, by: "alice") }?.parameter == "flags.storeInHistory")
        func listed(_ count: Int) throws -> Submission {
            let ids = (0..<count).map { _ in MediaID(UUID()).description } + [file.id.description]
            return try harness.submission(
                MessageType("acme.album"), #"{"files":["\#(ids.joined(separator: #"",""#))"]}"#)
        }
        #expect(refusal { try harness.send(listed(50), to: group, by: "alice") }?.limit == 50)
        #expect(refusal { try harness.send(listed(49), to: group, by: "alice") }?.code == .unknownMedia)
        // A stranger learns nothing about files.
        #expect(refusal { try harness.send(listed(50), to: group, by: "carol") }?.code == .unknownConversation)
    }

    @Test("An upload requires permission to send to the conversation, at its start and at its end")
    func permission() async throws {
        #expect(await refused { try await harness.upload([1], to: group, by: "carol") }?.code == .unknownConversation)
        let alice = Caller(user: "alice")
        let row = try await harness.begin(try UploadRequest(conversation: group), by: "alice")
        let transfer = try await harness.engine.transfer(row.id, by: alice, interrupt: {})
        try await transfer.append(SampleFile.text)
        try harness.leave(group, "alice")
        #expect(await refused { _ = try await transfer.finish() }?.code == .notMember)
        await transfer.cancel()
        #expect(await refused { try await harness.upload([1], to: .direct("bob"), by: "alice") } == nil)
    }

    @Test("The number of open uploads per user is limited")
    func openUploads() async throws {
        try harness.set { $0.openUploads = 2 }
        let request = try UploadRequest(conversation: group)
        var rows: [UploadRow] = []
        for _ in 0..<2 { rows.append(try await harness.begin(request, by: "alice")) }
        #expect(
            await refused { _ = try await harness.engine.beginUpload(request, by: Caller(user: "alice")) }?.limit == 2)
        #expect(harness.engine.mediaCounts.openUploadRefusals.load(ordering: .relaxed) == 1)
        _ = try await harness.engine.beginUpload(request, by: Caller(user: "bob"))
        await (try await harness.engine.transfer(rows[0].id, by: Caller(user: "alice"), interrupt: {})).cancel()
        _ = try await harness.engine.beginUpload(request, by: Caller(user: "alice"))
    }

    @Test("A thumbnail is a small image that only the owner of the file can set")
    func thumbnail() async throws {
        let file = try await harness.upload(SampleFile.png(40, 30), as: .image, to: group, by: "alice")
        func put(_ bytes: [UInt8], by user: UserID) async throws -> MediaRow.Thumbnail {
            try await harness.engine.putThumbnail(bytes, of: file.id, by: Caller(user: user))
        }
        #expect(await refused { _ = try await put(SampleFile.png(4, 3), by: "bob") }?.code == .unknownMedia)
        try harness.send(harness.submission(of: file), to: group, by: "alice")
        #expect(await refused { _ = try await put(SampleFile.png(4, 3), by: "bob") }?.code == .forbidden)
        #expect(await refused { _ = try await put(SampleFile.html, by: "alice") }?.code == .invalidMedia)
        let large = SampleFile.gif(bytes: 64 << 10)
        #expect(try await put(large, by: "alice").size == 65_536)
        #expect(await refused { _ = try await put(SampleFile.gif(bytes: 65_537), by: "alice") }?.limit == 65_536)
        let thumbnail = try await put(SampleFile.jpeg, by: "alice")
        #expect(thumbnail.mediaType == "image/jpeg")
        #expect(try harness.engine.file(file.id, by: Caller(user: "bob")).thumbnail == thumbnail)
        // The previous thumbnail is gone. Only the file and its new thumbnail remain.
        #expect(try await harness.engine.media.blobs(after: nil, limit: 9).count == 2)
    }

    @Test("A client can choose a file's ID, and another upload with the same ID returns the same file")
    func ownID() async throws {
        let alice = Caller(user: "alice")
        let id = MediaID(UUID())
        let request = try UploadRequest(conversation: group, media: id)
        // The client lost the ID of its first upload and begins another.
        let lost = try await harness.begin(request, by: "alice")
        let file = try await harness.engine.upload(SampleFile.text, request, by: alice).file
        #expect(file.id == id)
        #expect(try await harness.engine.upload(SampleFile.mp3, request, by: alice).file == file)
        let late = try await harness.engine.transfer(lost.id, by: alice, interrupt: {})
        try await late.append(SampleFile.mp3)
        #expect(await refused { _ = try await late.finish() }?.code == .conflict)
        await late.cancel()
        #expect(
            await refused { _ = try await harness.engine.upload([1], request, by: Caller(user: "bob")) }?.code
                == .conflict)
        #expect(try await harness.engine.bytes(of: id, by: alice) == SampleFile.text)
    }
}
