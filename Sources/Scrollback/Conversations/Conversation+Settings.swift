public import ScrollbackModel
import ScrollbackWire

// Creating, changing and deleting a conversation. Each call returns once the request is stored durably on this device,
// which shows its effect immediately. The outbox sends the request before later messages and changes of the
// conversation, across restarts. If the server refuses it, the effect is undone. The handle reports the result.

extension Conversation {
    /// Creates the conversation.
    ///
    /// Messages can be sent to it right away, also without a connection. The conversation is listed on this device, and
    /// on the members' devices with its first message.
    ///
    /// ```swift
    /// let group = client.conversation(.newGroup())
    /// try await group.create(ConversationSettings(name: "Climbing", members: ["bob"]))
    /// try await group.send(.text("Who has time on Saturday?"))
    /// ```
    ///
    /// Everyone can create groups, and owns the groups they created. Owners of a community create its channels.
    /// Communities and rooms require the administrator role, unless the server's configuration permits other roles.
    ///
    /// - Parameter settings: The settings and the first members.
    /// - Throws: `invalid-parameter` or `too-large` if the settings are invalid. `local-storage`. The server can still
    ///   refuse the request: `conflict` if the conversation exists and the user can see it, `unknown-conversation` if
    ///   they can't. `forbidden`, or `content-rejected` for the name. `blocked` or `invitation-required` if a member
    ///   can't be added. It delays the request with `rate-limited` if the user created too many groups today.
    @discardableResult
    public func create(_ settings: ConversationSettings = .init()) async throws(ChatError) -> SendHandle {
        let time = Timetoken(core.clock())
        return try await put(settings, exists: false) { [id] writer in
            if id.kind.traits.hasRecents { _ = try writer.addRecent(id, at: time, showsLast: true) }
        }
    }

    /// Fetches the conversation's settings from the server.
    ///
    /// - Returns: The settings that this kind of conversation has, without the members; see ``members(after:limit:)``.
    /// - Throws: `unknown-conversation` if the user can't see the conversation. `not-member` for a former member.
    ///   `unreachable` or `timeout`.
    public func settings() async throws(ChatError) -> ConversationSettings {
        let answer = try await core.perform(GetConversation(conversation: id.administered))
        guard let settings = answer.settings else {
            throw ChatError(.notMember, "Only members see the settings of \(id).")
        }
        return settings
    }

    /// Changes the conversation's settings, which requires the owner role.
    ///
    /// - Parameter settings: The settings to change. Settings that are not given stay as they are.
    /// - Throws: `invalid-parameter` or `too-large` if the settings are invalid, or if they have members: use
    ///   ``add(_:as:)`` instead. `local-storage`. The server can still refuse the request: `forbidden`,
    ///   `unknown-conversation`, or `invalid-parameter` for a setting that this kind of conversation doesn't have.
    @discardableResult
    public func update(_ settings: ConversationSettings) async throws(ChatError) -> SendHandle {
        guard settings.members.isEmpty else {
            throw .invalidParameter("members", "can be set only when a conversation is created: use add(_:as:)")
        }
        return try await put(settings, exists: true)
    }

    /// Deletes the conversation and all its messages for everyone, which requires the owner role.
    ///
    /// Deleting a community or its default channel deletes all channels of the community.
    ///
    /// - Throws: `local-storage`. The server can still refuse the request with `forbidden`. A conversation that doesn't
    ///   exist counts as deleted.
    @discardableResult
    public func deleteConversation() async throws(ChatError) -> SendHandle {
        let request = DeleteConversation(conversation: id.administered)
        return try await core.queue(.deleteConversation(request), core.newID(), in: id)
    }

    private func put(
        _ settings: ConversationSettings, exists: Bool,
        _ apply: @escaping @Sendable (LocalWriter) throws -> Void = { _ in }
    ) async throws(ChatError) -> SendHandle {
        let operation = core.newID()
        let request = PutConversation(
            conversation: id.administered, settings: settings, exists: exists, operation: operation)
        try request.validate()
        return try await core.queue(.putConversation(request), operation, in: id, apply)
    }
}

/// A page of the channels of a community.
public struct ChannelPage: Sendable {
    /// The channels, sorted by name.
    public var channels: [ConversationHead]
    /// The value of `after` for the next page; `nil` if there is none.
    public var next: ConversationID?
}

extension Conversation {
    /// Fetches a page of the community's channels that the user may see, sorted by name.
    ///
    /// - Parameters:
    ///   - channel: The `next` of the previous page.
    ///   - limit: The maximum number of channels, 1...100.
    /// - Throws: `invalid-parameter` if this is not a community, or for a limit out of range. `unknown-conversation` if
    ///   the user is not a member of the community. `unreachable` or `timeout`.
    public func channels(
        after channel: ConversationID? = nil, limit: Int = 100
    ) async throws(ChatError) -> ChannelPage {
        guard id.kind == .community else {
            throw .invalidParameter("conversation", "must be a community, but \(id) is a \(id.kind.rawValue)")
        }
        try Self.check(limit)
        let page = try await core.perform(
            ListChannels(community: id.target, page: Paging(limit: limit, cursor: channel?.part?.text)))
        return ChannelPage(
            channels: page.channels, next: page.next.map { .community(id.target, channel: $0) })
    }
}
