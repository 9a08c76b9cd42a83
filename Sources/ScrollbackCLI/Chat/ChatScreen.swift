import Foundation
import Scrollback

/// Prints a conversation to a terminal: one line for each new message, and lines for changes of printed messages.
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

    /// Returns the messages that were not in earlier views.
    mutating func newMessages(in view: Timeline.View) -> [Message] {
        var newMessages: [Message] = []
        for case .message(let message) in view.items where message.seq > newest {
            newest = message.seq
            newMessages.append(message)
        }
        return newMessages
    }

    /// Returns lines for everything in the view that has not been printed yet.
    mutating func lines(for view: Timeline.View) -> [String] {
        var lines: [String] = []
        let before = newest
        for case .message(let message) in view.items where message.seq <= before {
            lines += changes(of: message)
        }
        for message in newMessages(in: view) {
            if let replyTo = message.attributes.replyTo {
                let quoted = shown[replyTo]?.text ?? "a message"
                lines.append("       ┌ \(quoted)")
            }
            let time = message.sentAt.formatted(date: .omitted, time: .shortened)
            lines.append("\(time)  \(message.sender): \(message.displayText)")
            remember(message)
        }
        return lines + refusals(in: view)
    }

    /// Returns lines for own messages that the server rejected.
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
        if message.isDeleted { return ["       ✗ \(known.text) was deleted"] }
        var lines: [String] = []
        let summary = Self.summary(of: message)
        if summary != known.text { lines.append("       ✎ \(known.text) → \(summary)") }
        for (emoji, count) in Self.reactions(on: message) where count > known.reactions[emoji] ?? 0 {
            lines.append("       \(emoji) \(count)  \(summary)")
        }
        return lines
    }

    private mutating func remember(_ message: Message) {
        shown[message.id] = Shown(
            rev: message.rev, text: Self.summary(of: message), reactions: Self.reactions(on: message))
    }

    // MARK: Text

    private static func reactions(on message: Message) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for action in message.actions where action.type == MessageAction.reaction {
            counts[action.value] = action.count
        }
        return counts
    }

    /// A short text that identifies a message.
    private static func summary(of message: Message) -> String {
        let summary = message.displayText
        return summary.count > 40 ? "\(summary.prefix(39))…" : summary
    }
}
