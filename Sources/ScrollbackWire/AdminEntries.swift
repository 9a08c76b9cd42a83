package import Foundation
package import ScrollbackModel

// Entries of the administrators' lists of users, conversations and connections.

/// A user in an administrator's list.
package struct UserEntry: Sendable {
    package var profile: UserProfile
    package var state: String
    /// The active ban from the server.
    package var ban: Ban?

    package init(profile: UserProfile, state: String, ban: Ban?) {
        self.profile = profile
        self.state = state
        self.ban = ban
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("user", profile.id)
            writer.field("name", profile.name)
            writer.field("avatar", profile.avatar)
            writer.field("metadata", profile.metadata)
            writer.field("state", state)
            if let ban {
                writer.key("ban")
                ban.write(to: &writer)
            }
        }
    }
}

/// A conversation in an administrator's list.
package struct ConversationEntry: Sendable {
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var name: String?
    package var isPrivate: Bool
    package var isFrozen: Bool
    package var head: Seq
    package var countedIndex: Int64
    package var createdAt: Date
    /// When the newest message was sent; `nil` if there is none.
    package var lastActivity: Date?
    /// The membership of the user whose conversations are listed.
    package var membership: Membership?

    /// A user's membership in the conversation.
    package struct Membership: Sendable {
        /// The standing: `member`, `left`, or `reader` for a read position in a public channel.
        package var standing: String
        package var role: Role
        package var readSeq: Seq

        package init(standing: String, role: Role, readSeq: Seq) {
            self.standing = standing
            self.role = role
            self.readSeq = readSeq
        }
    }

    package init(
        conversation: ConversationID, name: String?, isPrivate: Bool, isFrozen: Bool, head: Seq, countedIndex: Int64,
        createdAt: Date, lastActivity: Date?, membership: Membership?
    ) {
        self.conversation = conversation
        self.name = name
        self.isPrivate = isPrivate
        self.isFrozen = isFrozen
        self.head = head
        self.countedIndex = countedIndex
        self.createdAt = createdAt
        self.lastActivity = lastActivity
        self.membership = membership
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("name", name)
        if isPrivate { writer.field("private", true) }
        if isFrozen { writer.field("frozen", true) }
        writer.field("head", head)
        writer.field("n", countedIndex)
        writer.field("createdAt", createdAt)
        writer.field("lastActivity", lastActivity)
        if let membership {
            writer.field("standing", membership.standing)
            writer.field("role", membership.role.rawValue)
            writer.field("readSeq", membership.readSeq)
        }
    }
}

/// A device's open connection in an administrator's list.
package struct ConnectionEntry: Sendable {
    package var user: UserID
    package var device: String
    package var since: Date
    package var lastReceivedAt: Date
    /// Whether the app is in the foreground.
    package var isActive: Bool
    /// The number of subscribed conversations.
    package var subscriptions: Int
    /// The number of bytes that wait for the client to read them.
    package var queuedBytes: Int

    package init(
        user: UserID, device: String, since: Date, lastReceivedAt: Date, isActive: Bool, subscriptions: Int,
        queuedBytes: Int
    ) {
        self.user = user
        self.device = device
        self.since = since
        self.lastReceivedAt = lastReceivedAt
        self.isActive = isActive
        self.subscriptions = subscriptions
        self.queuedBytes = queuedBytes
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("user", user)
            writer.field("device", device)
            writer.field("since", since)
            writer.field("lastHeard", lastReceivedAt)
            writer.field("active", isActive)
            writer.field("subscriptions", subscriptions)
            writer.field("queuedBytes", queuedBytes)
        }
    }
}
