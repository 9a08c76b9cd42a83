public import Foundation
public import Scrollback

/// What a row of the list of conversations shows.
public struct ConversationRow: Hashable, Identifiable, Sendable {
    /// The line below the title.
    public enum Line: Hashable, Sendable {
        /// The names of the users who are typing.
        case typing([String])
        /// The text of the unsent draft.
        case draft(String)
        /// The last message; with the sender's name if another member of a group or community sent it.
        case message(Message, sender: String?)
        /// The conversation has no message on this device.
        case empty
    }

    /// The conversation.
    public let id: ConversationID
    /// The conversation's name, or the name of the peer.
    public let title: String
    /// The line below the title.
    public let line: Line
    /// The date of the last message; `nil` if there is none.
    public let date: Date?
    /// The number of unread messages.
    public let unread: Int64
    /// Whether unread messages mention the user.
    public let hasMention: Bool
    /// Whether the conversation is unread: it has unread messages or mentions, or the user marked it.
    ///
    /// A message that doesn't count as unread can mention the user.
    public let isUnread: Bool
    /// Whether the user muted the conversation.
    public let isMuted: Bool
    /// Whether the conversation is pinned to the top of the list.
    public let isPinned: Bool

    init(_ entry: RecentConversation, user: UserID, typing: [UserID], profiles: [UserID: UserProfile]) {
        id = entry.id
        title = entry.id.title(named: entry.name, profiles)
        date = entry.lastMessage?.sentAt
        unread = entry.unread
        hasMention = entry.mentions > 0
        isUnread = unread > 0 || hasMention || entry.isMarkedUnread
        isMuted = entry.isMuted
        isPinned = entry.isPinned
        if !typing.isEmpty {
            line = .typing(typing.map { profiles.name(of: $0) })
        } else if let text = entry.draft?.text, !text.isEmpty {
            line = .draft(text)
        } else if let last = entry.lastMessage {
            let isNamed = entry.id.peer == nil && last.sender != user && last.content?.notice == nil
            line = .message(last, sender: isNamed ? profiles.name(of: last.sender) : nil)
        } else {
            line = .empty
        }
    }
}
