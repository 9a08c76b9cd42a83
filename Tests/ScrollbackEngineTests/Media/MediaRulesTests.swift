import ContractRows
import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("What a file may be")
struct MediaRulesTests {
    private let group = ConversationID.group("g")
    private let world: World

    init() throws {
        world = try World()
        try world.make(group, members: ["alice", "bob"])
    }

    @Test("Its type is found by its bytes, and a picture's pixels by its header")
    func facts() async throws {
        let file = try await world.upload(SampleFile.png(40, 30), as: .image, to: group, by: "alice", name: "x.mp3")
        #expect(file.mediaType == "image/png" && file.pixels == Media.Size(width: 40, height: 30))
        #expect(file.size == Int64(SampleFile.png(40, 30).count) && file.name == "x.mp3")
        #expect(file.blob == BlobID(of: SampleFile.png(40, 30)))
        let gif = try await world.upload(SampleFile.gif(), as: .gif, to: group, by: "alice")
        #expect(gif.mediaType == "image/gif" && gif.pixels == Media.Size(width: 1, height: 1))
        let jpeg = try await world.upload(SampleFile.jpeg, as: .file, to: group, by: "alice")
        #expect(jpeg.mediaType == "image/jpeg" && jpeg.pixels == Media.Size(width: 1, height: 1))
    }

    @Test(
        "What is not of its type is refused",
        .rows(113),
        arguments: [
            (MessageType.voice, SampleFile.png(1, 1), "image/png"), (.image, SampleFile.html, "text/html"),
            (.image, SampleFile.svg, "image/svg+xml"), (.gif, SampleFile.png(1, 1), "image/png"),
            (.video, SampleFile.mp3, "audio/mpeg"), (.image, [], "text/plain"),
            (.image, SampleFile.png(30_000, 30_000), "30000 x 30000"),
            (.image, Array(SampleFile.png(100, 100).dropLast(8)), "cut off"),
            (.image, Array(SampleFile.jpeg.dropLast(2)), "cut off"),
        ])
    func notOfItsType(type: MessageType, bytes: [UInt8], reason: String) async throws {
        let refusal = await refused {
            try await world.upload(bytes, as: type, to: group, by: "alice")
        }
        #expect(refusal?.code == .invalidMedia && refusal?.status == 422 && refusal?.isTemporary == false)
        #expect(refusal?.message.contains(reason) == true, "\(String(describing: refusal))")
        #expect(try await world.engine.removeRemains() == 0)
        // As a file it may be anything.
        let file = try await world.upload(bytes, as: .file, to: group, by: "alice")
        #expect(file.size == Int64(bytes.count))
        if bytes.isEmpty || type == .image {
            // Nothing a device could show is sent as a picture by another way either.
            let refusal = ScrollbackEngineTests.refusal {
                try world.send(world.submission(of: file, type: .image), to: group, by: "alice")
            }
            #expect(refusal?.parameter == "type", "\(String(describing: refusal))")
        }
    }

    @Test("A GIF has at most 2 MiB and any file 100 MiB, equal allowed", .rows(106))
    func limits() async throws {
        let gif = 2 * 1 << 20
        let file = try await world.upload(SampleFile.gif(bytes: gif), as: .gif, to: group, by: "alice")
        #expect(file.size == Int64(gif))
        let refusal = await refused {
            try await world.upload(SampleFile.gif(bytes: gif + 1), as: .gif, to: group, by: "alice")
        }
        #expect(refusal?.code == .mediaTooLarge && refusal?.status == 413 && refusal?.limit == gif)
        let large = 100 * 1 << 20
        for (length, code) in [(large, nil), (large + 1, ChatError.Code.mediaTooLarge)] {
            let request = try UploadRequest(conversation: group, length: Int64(length))
            let refusal = await refused {
                _ = try await world.engine.beginUpload(request, by: Caller(user: "alice"))
            }
            #expect(refusal?.code == code)
        }
        // Uploaded as a file, it is not sent as a GIF.
        let asFile = try await world.upload(SampleFile.gif(bytes: gif + 1), to: group, by: "alice")
        #expect(
            ScrollbackEngineTests.refusal {
                try world.send(world.submission(of: asFile, type: .gif), to: group, by: "alice")
            }?.code == .mediaTooLarge)
        try world.set { $0.mediaLimits.gifBytes = gif + 1 }
        try world.send(world.submission(of: asFile, type: .gif), to: group, by: "alice")
    }

    @Test("A remote file has no limit and takes no upload", .rows(107))
    func remote() throws {
        try world.send(
            world.submission(.gif, #"{"url":"https://example.com/a.gif","size":999999999}"#), to: group, by: "alice")
    }

    @Test("What a content says of its file must be so")
    func said() async throws {
        let file = try await world.upload(SampleFile.png(4, 3), as: .image, to: group, by: "alice")
        func send(_ members: String) -> ChatError? {
            refusal {
                try world.send(
                    world.submission(.image, #"{"media":"\#(file.id)",\#(members)}"#), to: group, by: "alice")
            }
        }
        #expect(send(#""size":\#(file.size + 1)"#)?.parameter == "size")
        #expect(send(#""mediaType":"image/jpeg""#)?.parameter == "mediaType")
        #expect(send(#""size":\#(file.size),"mediaType":"image/png""#) == nil)
    }

    @Test("A message that is not kept has no files, and one has at most 50")
    func unkept() async throws {
        let file = try await world.upload(SampleFile.text, to: group, by: "alice")
        var unkept = try world.submission(of: file)
        unkept.attributes.traits.isStored = false
        #expect(refusal { try world.send(unkept, to: group, by: "alice") }?.parameter == "flags.storeInHistory")
        func listed(_ count: Int) throws -> Submission {
            let ids = (0..<count).map { _ in MediaID(UUID()).description } + [file.id.description]
            return try world.submission(MessageType("acme.album"), #"{"files":["\#(ids.joined(separator: #"",""#))"]}"#)
        }
        #expect(refusal { try world.send(listed(50), to: group, by: "alice") }?.limit == 50)
        #expect(refusal { try world.send(listed(49), to: group, by: "alice") }?.code == .unknownMedia)
        // Who may not send at all hears nothing of files.
        #expect(refusal { try world.send(listed(50), to: group, by: "carol") }?.code == .unknownConversation)
    }

    @Test("Uploading takes permission to send there, at the beginning and at the end")
    func permission() async throws {
        #expect(await refused { try await world.upload([1], to: group, by: "carol") }?.code == .unknownConversation)
        let alice = Caller(user: "alice")
        let row = try await world.begin(try UploadRequest(conversation: group), by: "alice")
        let transfer = try await world.engine.transfer(row.id, by: "alice", interrupt: {})
        try await transfer.append(SampleFile.text)
        try world.leave(group, "alice")
        #expect(await refused { _ = try await transfer.finish(by: alice) }?.code == .notMember)
        await transfer.cancel()
        #expect(await refused { try await world.upload([1], to: .direct("bob"), by: "alice") } == nil)
    }

    @Test("A user has so many uploads under way, and no more")
    func openUploads() async throws {
        try world.set { $0.openUploads = 2 }
        let request = try UploadRequest(conversation: group)
        var rows: [UploadRow] = []
        for _ in 0..<2 { rows.append(try await world.begin(request, by: "alice")) }
        #expect(
            await refused { _ = try await world.engine.beginUpload(request, by: Caller(user: "alice")) }?.limit == 2)
        _ = try await world.engine.beginUpload(request, by: Caller(user: "bob"))
        await (try await world.engine.transfer(rows[0].id, by: "alice", interrupt: {})).cancel()
        _ = try await world.engine.beginUpload(request, by: Caller(user: "alice"))
    }

    @Test("A thumbnail is a small picture, put by the file's owner alone")
    func thumbnail() async throws {
        let file = try await world.upload(SampleFile.png(40, 30), as: .image, to: group, by: "alice")
        func put(_ bytes: [UInt8], by user: UserID) async throws -> MediaRow.Thumbnail {
            try await world.engine.putThumbnail(bytes, of: file.id, by: Caller(user: user))
        }
        #expect(await refused { _ = try await put(SampleFile.png(4, 3), by: "bob") }?.code == .unknownMedia)
        try world.send(world.submission(of: file), to: group, by: "alice")
        #expect(await refused { _ = try await put(SampleFile.png(4, 3), by: "bob") }?.code == .forbidden)
        #expect(await refused { _ = try await put(SampleFile.html, by: "alice") }?.code == .invalidMedia)
        let large = SampleFile.gif(bytes: 64 << 10)
        #expect(try await put(large, by: "alice").size == 65_536)
        #expect(await refused { _ = try await put(SampleFile.gif(bytes: 65_537), by: "alice") }?.limit == 65_536)
        let thumbnail = try await put(SampleFile.jpeg, by: "alice")
        #expect(thumbnail.mediaType == "image/jpeg")
        #expect(try world.engine.file(file.id, by: Caller(user: "bob")).thumbnail == thumbnail)
        // The one before it is gone: the file and its thumbnail are all there is.
        #expect(try await world.engine.media.blobs(after: nil, limit: 9).count == 2)
    }

    @Test("A device gives a file its id, and the same id again is the same file")
    func ownID() async throws {
        let alice = Caller(user: "alice")
        let id = MediaID(UUID())
        let request = try UploadRequest(conversation: group, media: id)
        // Of an upload whose place was lost another is begun.
        let lost = try await world.begin(request, by: "alice")
        let file = try await world.engine.upload(SampleFile.text, request, by: alice).file
        #expect(file.id == id)
        #expect(try await world.engine.upload(SampleFile.mp3, request, by: alice).file == file)
        let late = try await world.engine.transfer(lost.id, by: "alice", interrupt: {})
        try await late.append(SampleFile.mp3)
        #expect(await refused { _ = try await late.finish(by: alice) }?.code == .conflict)
        await late.cancel()
        #expect(
            await refused { _ = try await world.engine.upload([1], request, by: Caller(user: "bob")) }?.code
                == .conflict)
        #expect(try await world.engine.bytes(of: id, by: alice) == SampleFile.text)
    }
}
