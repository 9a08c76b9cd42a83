import Foundation
import Scrollback
import ScrollbackTesting
import Testing

struct Album: CustomContent {
    static let type: MessageType = "com.example.album"
    var title: String
}

struct BucketUploader: MediaUploader {
    func upload(_ file: OutgoingFile, progress: @escaping @Sendable (Double) -> Void) async throws -> URL {
        do {
            return try await backend.put(file.file, mediaType: file.mediaType, progress: progress)
        } catch let error as URLError where error.code == .notConnectedToInternet {
            throw ChatError(.unreachable, "The bucket is unreachable.", cause: error)  // The client retries.
        }
    }
}

/// The examples of the article on files.
@Suite("Examples: files")
struct FileSnippets {
    func picture(chat: Conversation, photo: URL) async throws {
        try await chat.send(.image(.file(photo)))
    }

    func original(chat: Conversation, photo: URL) async throws {
        try await chat.send(.image(.file(photo), original: true))
        try await chat.send(.image(.file(photo), original: true, keepsLocation: true))
    }

    func others(chat: Conversation, wave: Data, tides: URL, recording: URL) async throws {
        try await chat.send(.gif(.data(wave, name: "wave.gif")))
        try await chat.send(.file(.file(tides)), mentioning: .users(["bob"]))
        try await chat.send(.voice(.file(recording), duration: 4.2, waveform: [0, 12, 58, 90, 31]))
    }

    func video(chat: Conversation, film: URL, firstPicture: Data) async throws {
        let size = Media.Size(width: 1280, height: 720)
        try await chat.send(.video(.file(film), duration: 12, pixels: size, poster: firstPicture))
    }

    func remote(chat: Conversation, address: URL) async throws {
        try await chat.send(.file(.remote(address, size: 3_000_000_000)))
    }

    func album(chat: Conversation, first: URL, second: URL) async throws {
        let album = try MediaAttachment.custom(Album(title: "Harbour"), files: [.file(first), .file(second)])
        try await chat.send(album)
    }

    func showAlbum(client: ChatClient, content: MessageContent, show: Show<URL>) async throws {
        for source in content.files {
            show(try await client.media.file(for: Media(source)))
        }
    }

    func follow(chat: Conversation, film: URL, show: Show<Double>) async throws {
        let sending = try await chat.send(.video(.file(film)))
        for await state in sending.states {
            if case .uploading(let fraction) = state { show(fraction) }
        }
    }

    func cancel(sending: SendHandle) async throws {
        try await sending.cancel()
    }

    func present(client: ChatClient, message: Message, show: Show<URL>) async throws {
        guard let media = message.content?.media else { return }
        if let small = try await client.media.thumbnail(for: media) { show(small) }
        show(try await client.media.file(for: media))
    }

    func fetch(client: ChatClient, media: Media, show: @escaping @Sendable (Double) -> Void) async throws -> URL {
        let progress = Task {
            for await fraction in client.media.progress(of: media) { show(fraction) }
        }
        defer { progress.cancel() }
        return try await client.media.file(for: media)
    }

    func link(client: ChatClient, media: Media, play: Show<URL>) async throws {
        play(try await client.media.link(to: media, expiresIn: 600))
    }

    func forward(client: ChatClient, message: Message) async throws {
        if let content = message.content {
            try await client.conversation(.direct("bob")).send(content)
        }
    }

    func settings(configuration: inout ChatClient.Configuration) {
        configuration.media.images.longestSide = 2048
        configuration.media.images.quality = 0.9
        configuration.media.cacheSize = 2 << 30
        configuration.media.uploader = BucketUploader()
    }

    func refused(chat: Conversation, photo: URL, show: Show<String>) async throws {
        do {
            try await chat.send(.image(.file(photo)))
        } catch {
            switch error.code {
            case .mediaTooLarge: show("at most \(error.limit ?? 0) bytes")
            case .invalidMedia: try await chat.send(.file(.file(photo)))  // Send it as a plain file.
            default: show(error.message)
            }
        }
    }

    // MARK: Tests

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func fixture(_ name: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/Pictures").appending(path: name)
    }

    @Test("Images, GIFs, files, voice messages and videos reach the recipient")
    func arrives() async throws {
        let stage = try await Stage()
        let photo = fixture("private.jpg")
        try await withFolder { folder in
            let (tides, recording, film) = (
                folder.appending(path: "tides.txt"), folder.appending(path: "knock.amr"),
                folder.appending(path: "tide.mp4")
            )
            try Data("07:10".utf8).write(to: tides)
            try Data("#!AMR\n.".utf8).write(to: recording)
            try Data("\0\0\0\u{18}ftypmp42".utf8).write(to: film)
            try await picture(chat: stage.chat, photo: photo)
            try await original(chat: stage.chat, photo: photo)
            try await others(
                chat: stage.chat, wave: Data(contentsOf: fixture("animated.gif")), tides: tides, recording: recording)
            try await video(chat: stage.chat, film: film, firstPicture: Data(contentsOf: photo))
            try await remote(chat: stage.chat, address: try #require(URL(string: "https://example.com/tides.bin")))
            try await album(chat: stage.chat, first: tides, second: photo)
            try await refused(chat: stage.chat, photo: tides) { _ in }
        }
        // The files are deleted by now; the client sends its copies.
        await stage.alice.waitForOutbox()
        let messages = try await stage.messages()
        #expect(
            messages.map(\.type) == [
                .image, .image, .image, .gif, .file, .voice, .video, .file, "com.example.album", .file,
            ])
        var shown: [URL] = []
        for message in messages.prefix(7) {
            try await present(client: stage.bob, message: message) { shown.append($0) }
        }
        #expect(shown.count == 11)
        var files: [URL] = []
        try await showAlbum(client: stage.bob, content: try #require(messages[8].content)) { files.append($0) }
        #expect(try files.map { try Data(contentsOf: $0).count } == [5, Data(contentsOf: photo).count])

        let media = try #require(messages[4].content?.media)
        let copy = try await fetch(client: stage.bob, media: media) { _ in }
        #expect(try Data(contentsOf: copy) == Data("07:10".utf8))
        try await forward(client: stage.alice, message: messages[4])
        await stage.alice.waitForOutbox()
        let forwarded = try await stage.bob.conversation(.direct("alice")).history(from: .remote).messages
        #expect(forwarded.map(\.content) == [messages[4].content])
        await stage.server.close()
    }

    @Test("An upload reports its progress, and can be cancelled before it starts")
    func followsUpload() async throws {
        let stage = try await Stage()
        try await withFolder { folder in
            let film = folder.appending(path: "tide.mp4")
            try Data("\0\0\0\u{18}ftypmp42".utf8).write(to: film)
            try await follow(chat: stage.chat, film: film) { #expect((0...1).contains($0)) }
            #expect(try await stage.messages().map(\.type) == [.video])

            stage.server.goOffline("alice")
            let sending = try await stage.chat.send(.video(.file(film)))
            try await cancel(sending: sending)
            stage.server.goOnline("alice")
            for await state in stage.alice.connection where state == .online { break }
            await stage.alice.waitForOutbox()
            #expect(try await stage.messages().map(\.type) == [.video])
        }
        await stage.server.close()
    }

    @Test("A client opens with custom media settings")
    func configures() async throws {
        let nowhere = try #require(URL(string: "http://127.0.0.1:9"))
        var configuration = ChatClient.Configuration(
            server: nowhere, user: "alice", store: .inMemory, token: { try await backend.chatToken() })
        settings(configuration: &configuration)
        let client = try await ChatClient.open(configuration)
        #expect(configuration.media.images.longestSide == 2048)
        await client.close()
    }
}
