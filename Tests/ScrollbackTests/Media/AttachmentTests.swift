import ContractRows
import Foundation
import PictureFixtures
import Scrollback
import ScrollbackModel
import ScrollbackPictures
import TestSupport
import Testing

/// Tests the processing of files between `send` and the upload. No server is involved.
@Suite("Attachment processing")
struct AttachmentTests {
    private let chat: ConversationID = .group("swift")

    private func withClient(
        _ change: (inout ChatClient.Configuration) -> Void = { _ in },
        _ body: (ChatClient, URL) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let nowhere = try #require(URL(string: "http://127.0.0.1:9"))
        var configuration = ChatClient.Configuration(
            server: nowhere, user: "alice", store: .directory(folder.url), token: { "none" })
        change(&configuration)
        let client = try await ChatClient.open(configuration)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(client, folder.url))
        } catch {
            result = .failure(error)
        }
        await client.close()
        try result.get()
    }

    private func sent(_ sending: SendHandle, _ client: ChatClient) async throws -> (MessageContent, [LocalUpload]) {
        try await client.core.store.read { reader in
            (try #require(try reader.pending(sending.id)).submission.content, try reader.uploads(of: sending.id))
        }
    }

    private func expect(
        _ code: ChatError.Code, _ sources: [MediaAttachment], _ client: ChatClient,
        _ place: SourceLocation = #_sourceLocation
    ) async {
        for attachment in sources {
            await #expect(
                performing: {
                    try await client.conversation(chat).send(attachment)
                }, throws: { ($0 as? ChatError)?.code == code })
        }
    }

    // MARK: Images

    @Test(
        "An image is sent upright as JPEG of at most 1080 pixels, with a thumbnail of at most 240 pixels",
        .rows(75, 97, 99, 100), arguments: ["photo-1600x1200.jpg", "orientation-6.jpg", "rgb16.png", "lossy.webp"])
    func image(name: String) async throws {
        let data = try PictureFixture.named(name)
        let upright = try PictureFile(data).header.upright
        try await withClient { client, _ in
            let sending = try await client.conversation(chat).send(.image(.data(data, name: "Übersicht 🏔.png")))
            let (content, uploads) = try await sent(sending, client)
            let media = try #require(content.media)
            #expect(content.type == .image)
            #expect(media.mediaType == "image/jpeg")
            #expect(media.name == "Übersicht 🏔.jpg")
            let longest = max(upright.width, upright.height)
            #expect(max(try #require(media.pixels).width, try #require(media.pixels).height) == min(1080, longest))
            let small = try #require(media.thumbnail)
            #expect(max(small.width, small.height) == min(240, longest))
            #expect((small.width > small.height) == (upright.width > upright.height))
            #expect(uploads.map(\.media) == [try #require(media.id)])

            let file = try PictureFile(Data(contentsOf: try await client.media.file(for: media)))
            #expect(file.header.width == media.pixels?.width && file.header.orientation == 1)
            #expect(Int64(file.data.count) == media.size)
            let thumbnail = try PictureFile(
                Data(contentsOf: try #require(try await client.media.thumbnail(for: media))))
            #expect(thumbnail.header.width == small.width)
        }
    }

    /// The first quantization table of a JPEG file, in the order of the file.
    private func quantization(_ data: Data) throws -> [Int] {
        let bytes = Array(data)
        let place = try #require(bytes.indices.dropLast(1).first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDB })
        return bytes[(place + 5)..<(place + 69)].map { Int($0) }
    }

    @Test("By default, images have a JPEG quality of 85 percent, and thumbnails of 30 percent", .rows(99, 100))
    func standardQuality() async throws {
        let policy = ImagePolicy()
        #expect(policy.longestSide == 1080 && policy.thumbnailLongestSide == 240)
        #expect(policy.quality == 0.85 && policy.thumbnailQuality == 0.3)
        let data = try PictureFixture.named("photo-1600x1200.jpg")
        func made(_ change: (inout ChatClient.Configuration) -> Void = { _ in }) async throws -> [Data] {
            var files: [Data] = []
            try await withClient(change) { client, _ in
                let sending = try await client.conversation(chat).send(.image(.data(data)))
                let media = try #require(try await sent(sending, client).0.media)
                let thumbnail = try #require(try await client.media.thumbnail(for: media))
                files = [try Data(contentsOf: await client.media.file(for: media)), try Data(contentsOf: thumbnail)]
            }
            return files
        }
        let standard = try await made()
        #expect(
            try await made {
                $0.media.images.quality = 0.85
                $0.media.images.thumbnailQuality = 0.3
            } == standard)
        for (image, thumbnail) in [(0.86, 0.31), (0.84, 0.29)] {
            let other = try await made {
                $0.media.images.quality = image
                $0.media.images.thumbnailQuality = thumbnail
            }
            #expect(other[0] != standard[0] && other[1] != standard[1])
        }
        #if os(Linux)
            // The start of the standard's table of luminance, which libjpeg scales by the quality.
            let table = [16, 11, 12, 14, 12, 10, 16, 14]
            for (file, percent) in zip(standard, [85, 30]) {
                let scale = percent < 50 ? 5000 / percent : 200 - 2 * percent
                #expect(try quantization(file).prefix(8) == table.map { ($0 * scale + 50) / 100 }[...], "\(percent)")
            }
        #endif
    }

    @Test(
        "An original image is sent unchanged except for its location metadata, which is removed by default", .rows(98))
    func original() async throws {
        let data = try PictureFixture.named("private.jpg")
        try await withClient { client, _ in
            let chat = client.conversation(chat)
            let cleaned = try await sent(try await chat.send(.image(.data(data), original: true)), client)
            let kept = try await sent(
                try await chat.send(.image(.data(data), original: true, keepsLocation: true)), client)
            let cleanedFile = try Data(contentsOf: try await client.media.file(for: try #require(cleaned.0.media)))
            let keptFile = try Data(contentsOf: try await client.media.file(for: try #require(kept.0.media)))
            #expect(keptFile == data)
            #expect(cleanedFile == (try PictureFile(data).cleaned()))
            #expect(cleanedFile.count < data.count)
            #expect(kept.1.first?.thumbnail != nil)
        }
    }

    @Test("The image settings are configurable within their valid ranges", .rows(102))
    func policy() async throws {
        let data = try PictureFixture.named("photo-1600x1200.jpg")
        try await withClient {
            $0.media.images.longestSide = 320
            $0.media.images.thumbnailLongestSide = 64
        } _: { client, _ in
            let sending = try await client.conversation(chat).send(.image(.data(data)))
            let media = try #require(try await sent(sending, client).0.media)
            #expect(media.pixels == Media.Size(width: 320, height: 240))
            #expect(media.thumbnail == Media.Size(width: 64, height: 48))
        }
        await #expect(
            performing: {
                try await withClient({ $0.media.images.quality = 2 }, { _, _ in })
            }, throws: { ($0 as? ChatError)?.parameter == "media.images.quality" })
    }

    @Test("A GIF is sent unchanged and without a thumbnail", .rows(101), arguments: ["animated.gif", "still.gif"])
    func gif(name: String) async throws {
        let data = try PictureFixture.named(name)
        try await withClient { client, _ in
            let (content, uploads) = try await sent(
                try await client.conversation(chat).send(.gif(.data(data))), client)
            #expect(try Data(contentsOf: try await client.media.file(for: try #require(content.media))) == data)
            #expect(uploads.first?.thumbnail == nil)
            #expect(content.media?.mediaType == "image/gif")
        }
    }

    // MARK: Refused files

    @Test(
        "A GIF of 2 MiB is accepted and one more byte is refused, except for a remote GIF", .contract("check 9"),
        .rows(106, 107))
    func gifLimit() async throws {
        // A comment block fills the file (GIF89a, section 24), and the trailer stays at the end.
        let (fits, large) = (Data(SampleFile.gif(bytes: 2_097_152)), Data(SampleFile.gif(bytes: 2_097_153)))
        try await withClient { client, _ in
            _ = try await client.conversation(chat).send(.gif(.data(fits)))
            await expect(.mediaTooLarge, [.gif(.data(large))], client)
            let remote = try #require(URL(string: "https://example.com/large.gif"))
            let sending = try await client.conversation(chat).send(.gif(.remote(remote, size: 2_097_153)))
            let (content, uploads) = try await sent(sending, client)
            #expect(content.media == Media(.remote(remote), size: 2_097_153))
            #expect(uploads.isEmpty)
        }
    }

    @Test("A file one byte above 100 MiB is refused before it is copied", .rows(106))
    func fileLimit() async throws {
        try await withClient { client, folder in
            let large = folder.appending(path: "large.bin")
            try Data().write(to: large)
            let handle = try FileHandle(forWritingTo: large)
            try handle.truncate(atOffset: 100 << 20 | 1)
            try handle.close()
            await expect(.mediaTooLarge, [.file(.file(large)), .video(.file(large)), .image(.file(large))], client)
            #expect(!FileManager.default.fileExists(atPath: client.core.store.files.directory.path))
        }
    }

    @Test("A folder is refused, and an invalid name is refused before the file is copied")
    func folders() async throws {
        try await withClient { client, folder in
            for attachment in [
                MediaAttachment.file(.file(folder)), .image(.file(folder)), .voice(.file(folder), duration: 1),
            ] {
                await #expect(
                    performing: { try await client.conversation(chat).send(attachment) },
                    throws: {
                        ($0 as? ChatError)?.code == .invalidParameter && ($0 as? ChatError)?.parameter == "source"
                    })
            }
            await expect(.invalidParameter, [.file(.data(Data([1]), name: String(repeating: "x", count: 256)))], client)
            #expect(!FileManager.default.fileExists(atPath: client.core.store.files.directory.path))
        }
    }

    @Test("An image whose thumbnail would be too large is sent without one")
    func largeThumbnail() async throws {
        let data = try PictureFixture.named("photo-1600x1200.jpg")
        try await withClient {
            $0.media.images.thumbnailLongestSide = 1080
            $0.media.images.thumbnailQuality = 1
        } _: { client, _ in
            let (content, uploads) = try await sent(
                try await client.conversation(chat).send(.image(.data(data))), client)
            #expect(content.media?.thumbnail == nil && content.media?.pixels != nil)
            #expect(uploads.map(\.thumbnail) == [nil])
        }
    }

    @Test("A file that does not match its message type is refused and leaves nothing behind", .rows(113))
    func mismatches() async throws {
        let png = try PictureFixture.named("plain.png")
        let html = Data("<!doctype html><script>alert(1)</script>".utf8)
        try await withClient { client, folder in
            let missing = folder.appending(path: "missing.jpg")
            await expect(
                .invalidMedia,
                [
                    .voice(.data(png, name: "song.mp3"), duration: 1), .image(.data(html, name: "page.png")),
                    .gif(.data(png)), .image(.data(try PictureFixture.named("still.gif"))), .video(.data(png)),
                    .image(.data(try PictureFixture.named("truncated.jpg"))),
                    .image(.data(try PictureFixture.named("bomb-30000-1bit.png"))),
                    .image(.data(try PictureFixture.named("liar-30000.jpg"))),
                    .image(.data(try PictureFixture.named("liar-30000.jpg")), original: true),
                    .image(.data(Data())), .gif(.data(Data())), .gif(.data(try PictureFixture.named("truncated.gif"))),
                ], client)
            await expect(
                .invalidParameter,
                [
                    .file(.file(missing)), .image(.file(missing)),
                    .file(.file(try #require(URL(string: "https://example.com/a.png")))),
                    .file(.remote(try #require(URL(string: "ftp://example.com/a")))),
                    .file(.data(png, name: String(repeating: "é", count: 128))), .file(.data(png, name: "")),
                    .voice(.data(png), duration: -1), .voice(.data(png), duration: 1, waveform: [101]),
                ], client)
            #expect(try await client.pendingCount() == 0)
            // The name of an HTML file does not change its media type.
            let (content, _) = try await sent(
                try await client.conversation(chat).send(.file(.data(html, name: "page.png"))), client)
            #expect(content.media?.mediaType == "text/html")
        }
    }

    // MARK: Custom content

    private struct Album: CustomContent, Equatable {
        static let type: MessageType = "app:album"
        var title: String
        var files: [String]?
    }

    @Test("Custom content can have hosted and remote files in order", .rows(76))
    func custom() async throws {
        let remote = try #require(URL(string: "https://example.com/a.png"))
        try await withClient { client, _ in
            let attachment = try MediaAttachment.custom(
                Album(title: "عطلة 🏖"), files: [.data(Data("one".utf8)), .remote(remote), .data(Data("two".utf8))])
            let (content, uploads) = try await sent(try await client.conversation(chat).send(attachment), client)
            #expect(content.files == [.hosted(uploads[0].media), .remote(remote), .hosted(uploads[1].media)])
            #expect(try content.custom(Album.self)?.title == "عطلة 🏖")
            await #expect(
                performing: {
                    try await client.conversation(chat).send(
                        try .custom(Album(title: "", files: []), files: [.data(Data("one".utf8))]))
                }, throws: { ($0 as? ChatError)?.parameter == "content" })
        }
    }

    // MARK: Cancelling

    @Test("Cancelling a message removes its files from the outbox", .rows(105))
    func cancelled() async throws {
        try await withClient { client, _ in
            let sending = try await client.conversation(chat).send(.file(.data(Data("file".utf8), name: "a.txt")))
            try await sending.cancel()
            let uploads = try await client.core.store.read { try $0.uploads(of: sending.id) }
            #expect(uploads.isEmpty)
        }
    }
}
