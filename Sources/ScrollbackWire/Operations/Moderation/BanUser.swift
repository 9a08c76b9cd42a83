package import Foundation
package import ScrollbackModel

/// Bans a user from a conversation.
package struct BanUser: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "ban", http: .put("/v1/conversations/{conversation}/bans/{user}"), scope: .manage,
        callers: .permission([.ban]), cost: .write, tag: .members,
        summary: "Ban a user from a conversation",
        details: """
            Moderators can ban users whose role is lower than their own, members or not. Only administrators can ban \
            users from a room. A banned user receives no further messages of the conversation. Adding them, entering \
            the room or writing there fails with 403 `banned`. A ban from a community covers all of its channels. \
            Public channels have no bans of their own. Banning a banned user replaces the ban.
            """,
        errors: [404])

    package var conversation: ConversationID
    package var user: UserID
    /// When the ban ends, from a request over the WebSocket.
    ///
    /// At most one of `until` and `lifetime` is set. Without both, the ban has no end.
    package var until: Date?
    /// How long the ban lasts, in seconds, from a request over HTTP.
    package var lifetime: Double?
    /// Shown to the banned user: 1 to 500 bytes of UTF-8.
    package var reason: String?

    package init(conversation: ConversationID, user: UserID, until: Date? = nil, reason: String? = nil) {
        self.conversation = conversation
        self.user = user
        self.until = until
        self.reason = reason
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        user = try request.required("user")
        until = try request.optional("until", on: .webSocket, "When the ban ends. Without it the ban has no end.")
        try request.refuse("expiresIn", on: .webSocket, "is for HTTP: give the time of the end as until")
        lifetime = try request.banLifetime()
        reason = try request.banReason()
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("user", user)
        writer.field("until", until)
        writer.field("reason", reason)
    }
}

extension RequestReader {
    /// How long a ban lasts, in seconds.
    package mutating func banLifetime() throws(ChatError) -> Double? {
        // Otherwise the ban would have no end.
        try refuse("until", on: .http, "is for the WebSocket: give the number of seconds as expiresIn")
        let range = 1...Ban.longestLifetime
        return try optional(
            "expiresIn", .number(range), example: "86400", on: .http,
            "How long the ban lasts, in seconds. Without it the ban has no end."
        ) { (value) throws(ChatError) in
            let lifetime = try value.double()
            guard range.contains(lifetime) else {
                let longest = Int(range.upperBound)
                throw .invalidParameter(
                    "expiresIn", "must be in 1...\(longest) seconds, or left out for a ban without an end",
                    limit: longest)
            }
            return lifetime
        }
    }

    /// Why a user is banned.
    package mutating func banReason() throws(ChatError) -> String? {
        try optional("reason", bytes: 1...Ban.reasonBytes, "Shown to the banned user, in UTF-8.")
    }
}
