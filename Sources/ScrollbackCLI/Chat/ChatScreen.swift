import Foundation
import Scrollback

/// What a terminal shows of a conversation: a line for each message as it comes, and for what becomes of those shown.
struct ChatScreen {
    let user: UserID
    private var shown: [MessageID: Shown] = [:]
    private var newest: Int64 = 0
    private var refused: Set<MessageID> = []

    private struct Shown {
        var rev: Int64
        var text: String
        var reactions: [String: Int64]
    }

    init(user: UserID) {
        self.user = user
    }

    /// Messages that were not there before.
    mutating func news(in view: Timeline.View) -> [Message] {
        var news: [Message] = []
        for case .message(let message) in view.items where message.seq > newest {
            newest = message.seq
            news.append(message)
        }
        return news
    }

    /// What there is to say of a view that was not said before.
    mutating func lines(for view: Timeline.View) -> [String] {
        var lines: [String] = []
        let before = newest
        for case .message(let message) in view.items where message.seq <= before {
            lines += changes(of: message)
        }
        for message in news(in: view) {
            if let replyTo = message.attributes.replyTo {
                let quoted = shown[replyTo]?.text ?? "a message"
                lines.append("       ┌ \(quoted)")
            }
            let time = message.sentAt.formatted(date: .omitted, time: .shortened)
            lines.append("\(time)  \(message.sender): \(message.words)")
            remember(message)
        }
        return lines + refusals(in: view)
    }

    /// Messages of this device that the server did not take.
    private mutating func refusals(in view: Timeline.View) -> [String] {
        view.items.compactMap { item in
            guard case .pending(let pending) = item, case .failed(let error) = pending.state,
                refused.insert(pending.id).inserted
            else { return nil }
            return "       ✗ not sent: \(error.message)"
        }
    }

    private mutating func changes(of message: Message) -> [String] {
        guard let known = shown[message.id], known.rev != message.rev else { return [] }
        remember(message)
        if message.isDeleted { return ["       ✗ \(known.text) was taken back"] }
        var lines: [String] = []
        let words = Self.summary(of: message)
        if words != known.text { lines.append("       ✎ \(known.text) → \(words)") }
        for (emoji, count) in Self.reactions(on: message) where count > known.reactions[emoji] ?? 0 {
            lines.append("       \(emoji) \(count)  \(words)")
        }
        return lines
    }

    private mutating func remember(_ message: Message) {
        shown[message.id] = Shown(
            rev: message.rev, text: Self.summary(of: message), reactions: Self.reactions(on: message))
    }

    // MARK: Words

    private static func reactions(on message: Message) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for action in message.actions where action.type == MessageAction.reaction {
            counts[action.value] = action.count
        }
        return counts
    }

    /// A few words for a line about a message.
    private static func summary(of message: Message) -> String {
        let words = message.words.replacing("\n", with: " ")
        return words.count > 40 ? "\(words.prefix(39))…" : words
    }
}
