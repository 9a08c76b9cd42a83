public import Foundation
public import Scrollback

/// A row of a timeline, as ``TimelineModel/rows`` returns it.
public enum TimelineRow: Equatable, Identifiable, Sendable {
    /// A separator before the first message of a day: the beginning of the day, and the ID of the message's row.
    case day(Date, before: ID)
    /// A separator before ``TimelineModel/unreadLine``.
    case unread
    /// Messages that are missing on this device, with the ID of the item.
    case gap(ID, isLoading: Bool)
    /// A message, sent or not.
    case message(MessageRow)

    /// The ID: that of the timeline's item for messages and gaps.
    public var id: String {
        switch self {
        case .day(_, let next): "day before \(next)"
        case .unread: "unread"
        case .gap(let item, _): item
        case .message(let row): row.id
        }
    }
}

extension TimelineModel {
    /// The items as rows, with separators before each day and before the unread messages.
    ///
    /// The days are those of the system's calendar and time zone. Each access converts all items, so a view reads the
    /// property once for each update.
    public var rows: [TimelineRow] {
        var messages: [Timeline.Item.ID: MessageRow] = [:]
        for item in items { messages[item.id] = messageRow(of: item) }
        var rows: [TimelineRow] = []
        var (day, sender): (Date?, UserID?) = (nil, nil)
        for item in items {
            guard var message = messages[item.id] else {
                if case .gap(_, let state) = item { rows.append(.gap(item.id, isLoading: state == .loading)) }
                sender = nil
                continue
            }
            let start = Calendar.current.startOfDay(for: message.date)
            if start != day {
                rows.append(.day(start, before: item.id))
                (day, sender) = (start, nil)
            }
            if message.message == unreadLine {
                rows.append(.unread)
                sender = nil
            }
            message.showsSender = conversation.id.peer == nil && !message.isOwn && message.sender != sender
            message.reference = reference(of: item, in: messages)
            rows.append(.message(message))
            sender = message.sender
        }
        return rows
    }

    /// Returns the mentions of a message; `nil` if it has none, or if the items don't contain it.
    func mentions(of id: MessageID) -> Mentions? {
        switch items.first(where: { $0.id == id.description }) {
        case .message(let message): message.attributes.mentions
        case .pending(let pending): pending.attributes.mentions
        case .gap, nil: nil
        }
    }

    /// Returns the row of a message; `nil` if the items don't contain it.
    public func row(of id: MessageID) -> MessageRow? {
        items.first { $0.id == id.description }.flatMap { messageRow(of: $0) }
    }

    /// Adds this user's reaction to a message, or removes it.
    ///
    /// The row shows the change at once. If the server rejects it, ``error`` is set.
    ///
    /// - Throws: `invalid-parameter` if the value is not 1...128 bytes of UTF-8; `local-storage`.
    public func toggleReaction(_ value: String, of row: MessageRow) async throws(ChatError) {
        let isOwn = row.reactions.contains { $0.id == value && $0.isOwn }
        try await reportingErrors { () async throws(ChatError) in
            let change =
                isOwn
                ? try await conversation.unreact(value, from: row.message)
                : try await conversation.react(value, to: row.message)
            report(change)
        }
    }

    /// Recalls this user's message for everyone, or cancels it if it was never transmitted.
    ///
    /// If the server rejects the recall, ``error`` is set.
    ///
    /// - Throws: `local-storage`.
    public func recall(_ id: MessageID) async throws(ChatError) {
        try await reportingErrors { () async throws(ChatError) in report(try await conversation.recall(id)) }
    }

    /// Sets ``error`` if the server rejects a change, and removes the change from the outbox.
    func report(_ change: SendHandle) {
        Task { [weak self] in
            do throws(ChatError) {
                try await change.waitForCompletion()
            } catch {
                guard ![.closed, .cancelled].contains(error.code) else { return }
                self?.error = error
                try? await change.cancel()
            }
        }
    }

    private func messageRow(of item: Timeline.Item) -> MessageRow? {
        switch item {
        case .message(let message): MessageRow(message, in: self)
        case .pending(let pending): MessageRow(pending, in: self)
        case .gap: nil
        }
    }

    private func reference(of item: Timeline.Item, in rows: [Timeline.Item.ID: MessageRow]) -> MessageRow.Reference? {
        let (content, attributes): (MessageContent?, MessageAttributes)
        switch item {
        case .message(let message): (content, attributes) = (message.content, message.attributes)
        case .pending(let pending): (content, attributes) = (pending.content, pending.attributes)
        case .gap: return nil
        }
        if let quote = content?.quote {
            return MessageRow.Reference(
                message: quote.id, senderName: profiles.name(of: quote.sender), content: quote.content)
        }
        guard content != nil, let id = attributes.replyTo else { return nil }
        let row = rows[id.description]
        return MessageRow.Reference(message: id, senderName: row?.senderName, content: row?.content)
    }
}
