import Foundation
import Scrollback

/// A line that the user typed.
enum ChatInput: Equatable {
    case text(String)
    /// The path of a picture, a GIF or another file.
    case image(String), gif(String), file(String)
    /// A reply to the newest message of another user.
    case reply(String)
    /// A reaction to the newest message of another user.
    case react(String)
    /// An unknown command.
    case unknown(String)

    static let help = """
        Commands start with a slash:
          /image PATH, /gif PATH, /file PATH   send a file
          /reply TEXT                          reply to the newest message of another user
          /react EMOJI                         react to that message
          //TEXT                               send a text that starts with a slash
        """

    init(_ line: String) {
        guard line.hasPrefix("/") else {
            self = .text(line)
            return
        }
        guard !line.hasPrefix("//") else {
            self = .text(String(line.dropFirst()))
            return
        }
        let parts = line.dropFirst().split(separator: " ", maxSplits: 1)
        let rest = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        self =
            switch (parts.first.map(String.init) ?? "", rest.isEmpty) {
            case ("image", false): .image(rest)
            case ("gif", false): .gif(rest)
            case ("file", false): .file(rest)
            case ("reply", false): .reply(rest)
            case ("react", false): .react(rest)
            default: .unknown(line)
            }
    }

    func perform(in chat: Conversation, as user: UserID) async throws {
        switch self {
        case .text(let text): try await chat.send(.text(text))
        case .image(let path): try await chat.send(.image(.file(Self.file(path))))
        case .gif(let path): try await chat.send(.gif(.file(Self.file(path))))
        case .file(let path): try await chat.send(.file(.file(Self.file(path))))
        case .reply(let text):
            try await chat.send(.text(text), replyingTo: try await Self.newest(in: chat, notOf: user))
        case .react(let emoji): try await chat.react(emoji, to: try await Self.newest(in: chat, notOf: user))
        case .unknown(let line):
            throw ChatError(.invalidParameter, "\(line) is not a valid command.\n\(Self.help)", parameter: "line")
        }
    }

    private static func file(_ path: String) -> URL {
        URL(filePath: (path as NSString).expandingTildeInPath)
    }

    private static func newest(in chat: Conversation, notOf user: UserID) async throws -> MessageID {
        let page = try await chat.history(.latest, limit: 100, from: .local)
        guard let message = page.messages.first(where: { $0.sender != user && !$0.isDeleted }) else {
            throw ChatError(.unknownMessage, "No other user has sent a message here.")
        }
        return message.id
    }
}
