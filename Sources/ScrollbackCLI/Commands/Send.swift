import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a text or a file and print its sequence number and ID.",
        discussion: """
            With the demo community of `make run`:
              scrollback send group:albatross "Tide is at 07:10" --as alice
              scrollback send group:albatross "@bob, see?" --as alice --mention bob
              scrollback send group:albatross --image tide.jpg --as alice
              scrollback send group:albatross "Which day?" --option Saturday --option Sunday --as alice
              scrollback send group:albatross "See https://www.swift.org" --preview --as alice

            With keys in SCROLLBACK_CIPHER_KEYS (NAME=BASE64,…, the first encrypts), messages are encrypted before \
            they are sent. `history`, `chat`, `edit` and `listen` then decrypt messages.
            """)

    @OptionGroup var conversation: ConversationArgument

    @Argument(help: "The text of the message.")
    var text: String?

    @Option(name: .customLong("as"), help: "The user who sends the message.", transform: ScrollbackCLI.user)
    var sender: UserID

    @Option(
        name: .customLong("option"),
        help: ArgumentHelp("An option of a poll, whose question is the text. Give 2 to 20.", valueName: "option"))
    var options: [String] = []

    @Flag(help: "Whether a user can vote for several options of the poll.")
    var several = false

    @Flag(help: "Add a preview of the page to which the text links. This machine requests the page.")
    var preview = false

    @OptionGroup var file: FileOptions

    @Option(
        help: ArgumentHelp("The message to reply to: its ID, or seq:N with its sequence number.", valueName: "message"))
    var replyTo: String?

    @Option(help: ArgumentHelp("A user to mention, or everyone. Can be repeated.", valueName: "user"))
    var mention: [String] = []

    @Option(
        help: "The ID of a text message, a UUID (default: a new one). A repeated ID does not send a second message.")
    var id: String?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (text == nil) != (file.given == nil) else {
            throw ValidationError("Send either a text or one file: --image, --gif, --file, --voice or --video.")
        }
        guard options.isEmpty || text != nil else { throw ValidationError("--option requires the poll's question.") }
        guard !preview || text != nil && options.isEmpty else {
            throw ValidationError("--preview can be used only for texts.")
        }
        if id != nil, file.given != nil { throw ValidationError("--id can be used only for texts.") }
    }

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: sender)
            var attributes = MessageAttributes()
            attributes.replyTo = try await replyToID(api)
            attributes.mentions = try mentions()
            if let attachment = file.given {
                try await send(attachment, attributes)
            } else if let text {
                let poll = Poll(question: text, options: options, allowsSeveralVotes: several)
                try await send(options.isEmpty ? try await content(text) : .poll(poll), attributes, api)
            }
        }
    }

    /// Returns a text, with a preview if there is to be one.
    private func content(_ text: String) async throws -> MessageContent {
        guard preview else { return .text(text) }
        let found = try await connection.withClient(for: sender, store: nil) { client in
            try await client.linkPreview(forLinkIn: text)
        }
        guard let found else {
            throw ChatError(
                .invalidParameter, "The text has no link to an HTML page with a title. Send it without --preview.",
                parameter: "preview")
        }
        return try .text(text, preview: found)
    }

    private func replyToID(_ api: ServerAPI) async throws -> MessageID? {
        guard let replyTo else { return nil }
        return try await MessageArgument.id(replyTo, in: conversation.id, api)
    }

    private func mentions() throws -> Mentions? {
        if mention.isEmpty { return nil }
        let users = try mention.filter { $0 != "everyone" }.map { try UserID($0, parameter: "mention") }
        return mention.contains("everyone") ? .everyone(also: users) : .users(users)
    }

    private func send(_ content: MessageContent, _ attributes: MessageAttributes, _ api: ServerAPI) async throws {
        var generator = SystemRandomNumberGenerator()
        let id =
            try id.map { (text) throws(ChatError) in try MessageID(text) }
            ?? MessageID(at: Date(), using: &generator)
        let submission = try connection.messageEncryption(for: sender)
            .seal(Submission(id: id, content: content, attributes: attributes), to: conversation.id)
        let result = try await api.object("POST", ServerAPI.path(conversation.id, "/messages")) {
            submission.writeMembers(to: &$0)
        } read: { (reader) throws(ChatError) in
            try SendResult(from: &reader)
        }
        if connection.json {
            Output.json { result.writeMembers(to: &$0) }
        } else {
            Output.line("\(result.position.map { String($0.seq) } ?? "-") \(result.id)")
        }
    }

    /// Sends a file with the SDK, which resizes pictures and resumes interrupted uploads.
    private func send(_ attachment: MediaAttachment, _ attributes: MessageAttributes) async throws {
        try await connection.withClient(for: sender, store: nil) { client in
            try await client.waitUntilOnline()
            let sending = try await client.conversation(conversation.id).send(
                attachment, mentioning: attributes.mentions, replyingTo: attributes.replyTo)
            let size = Int(try await sending.content()?.media?.size ?? 0)
            var progress = Progress("uploading", total: size, isBytes: true)
            for await state in sending.states {
                if case .uploading(let fraction) = state { progress.show(Int(fraction * Double(size))) }
            }
            let message = try await sending.waitUntilSent()
            progress.finish(size)
            Output.show(message, json: connection.json)
        }
    }
}

/// The options that select a file to send.
struct FileOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Send a picture (JPEG, PNG or WebP), scaled down.", valueName: "path"))
    var image: String?

    @Flag(help: "Send the picture in its original size, without location metadata.")
    var original = false

    @Option(help: ArgumentHelp("Send a GIF.", valueName: "path"))
    var gif: String?

    @Option(help: ArgumentHelp("Send a file of any kind.", valueName: "path"))
    var file: String?

    @Option(help: ArgumentHelp("Send a voice message. Requires --duration.", valueName: "path"))
    var voice: String?

    @Option(help: ArgumentHelp("Send a video.", valueName: "path"))
    var video: String?

    @Option(help: "The duration of a voice message or a video, in seconds.")
    var duration: Double?

    /// The selected file, or `nil` if none is given.
    var given: MediaAttachment? {
        func source(_ path: String) -> MediaAttachment.Source { .file(URL(filePath: path)) }
        if let image { return .image(source(image), original: original) }
        if let gif { return .gif(source(gif)) }
        if let file { return .file(source(file)) }
        if let voice { return .voice(source(voice), duration: duration ?? 0) }
        if let video { return .video(source(video), duration: duration) }
        return nil
    }

    func validate() throws {
        let given = [image, gif, file, voice, video].count { $0 != nil }
        if given > 1 { throw ValidationError("Send one file at a time.") }
        if voice != nil, duration == nil { throw ValidationError("--voice requires --duration, in seconds.") }
        if original, image == nil { throw ValidationError("--original requires --image.") }
        if duration != nil, voice == nil, video == nil {
            throw ValidationError("--duration requires --voice or --video.")
        }
    }
}
