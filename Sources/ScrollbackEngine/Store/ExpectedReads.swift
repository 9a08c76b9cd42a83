package import ScrollbackModel

/// What a transaction or a snapshot will probably read.
///
/// A store on another machine reads it in one round trip. The rules can read anything else, too, which then costs a
/// round trip for each query (decision 59).
package struct ExpectedReads: Sendable {
    package var footprints: [Footprint] = []
    /// The users whose daily usage is needed.
    package var usage: Set<UserID> = []
    /// Whether to look for users who may receive pushes.
    package var includesPushRecipients = false
    /// The summaries of memberships with which `sync` begins.
    package var summaries: Summaries?
    /// The conversations whose heads are needed.
    package var heads: Heads?
    /// The conversations whose rows are needed.
    package var conversations: [ConversationID] = []
    /// The numbers of further conversations whose rows are needed.
    package var numbers: [Int64] = []
    /// The parts of logs that devices or the search index lack.
    package var logs: [Log] = []

    package init() {}

    /// The arguments of `membershipSummaries`, for a user whose row, channels and first changed draft are needed, too.
    package struct Summaries: Hashable, Sendable {
        package var user: UserID
        package var lastCommit: Int64
        package var rev: Int64

        package init(of user: UserID, committedAfter lastCommit: Int64, changedAbove rev: Int64) {
            self.user = user
            self.lastCommit = lastCommit
            self.rev = rev
        }
    }

    /// Conversations by number, and the user whose heads of them are needed.
    package struct Heads: Hashable, Sendable {
        package var conversations: [Int64]
        package var user: UserID

        package init(_ conversations: [Int64], of user: UserID) {
            self.conversations = conversations
            self.user = user
        }
    }

    /// A part of a conversation's log.
    package struct Log: Sendable {
        package var conversation: ConversationRow
        /// The messages that are needed.
        package var places: SeqRange?
        /// The revision after which changes are needed, with the messages that they changed.
        package var changedAfter: Int64?
        /// The time for which the newest sequence number at or before it is needed.
        package var time: Timetoken?

        package init(
            of conversation: ConversationRow, _ places: SeqRange? = nil, changedAfter: Int64? = nil,
            time: Timetoken? = nil
        ) {
            self.conversation = conversation
            self.places = places
            self.changedAfter = changedAfter
            self.time = time
        }
    }
}

extension ExpectedReads {
    package struct Membership: Hashable, Sendable {
        package var conversation: ConversationID
        package var user: UserID
    }

    /// A sequence number that a user reports as read or delivered.
    package struct ReadPosition: Hashable, Sendable {
        package var conversation: ConversationID
        package var user: UserID
        package var seq: Seq
    }

    /// A message by its ID, which need not exist.
    package struct MessageName: Hashable, Sendable {
        package var conversation: ConversationID
        package var id: MessageID
    }

    package struct Action: Hashable, Sendable {
        package var message: MessageName
        package var user: UserID
    }

    /// A user who may follow the thread of a sent reply.
    package struct Follower: Hashable, Sendable {
        /// The message that is replied to.
        package var answered: MessageName
        /// The user; `nil` for the sender of the thread's first message.
        package var user: UserID?
    }

    /// The users and their conversations, including the communities of channels.
    package var memberships: Set<Membership> { memberships { _ in true } }

    /// The memberships whose times are needed.
    package var spans: Set<Membership> { memberships { $0.needsAccess || $0.needsSpans } }

    /// The memberships for which the rows of ``Access`` are needed.
    package var access: Set<Membership> { memberships(where: \.needsAccess) }

    /// The memberships whose heads are needed, without the communities of channels.
    package var headMemberships: Set<Membership> {
        Set(footprints.filter(\.needsHead).map { Membership(conversation: $0.conversation, user: $0.user) })
    }

    /// The memberships in groups whose members are counted.
    package var counted: Set<Membership> {
        Set(
            footprints.filter { $0.countsMembers && $0.conversation.kind == .group }
                .map { Membership(conversation: $0.conversation, user: $0.user) })
    }

    private func memberships(where isIncluded: (Footprint) -> Bool) -> Set<Membership> {
        var all: Set<Membership> = []
        for footprint in footprints where isIncluded(footprint) {
            all.insert(Membership(conversation: footprint.conversation, user: footprint.user))
            guard let community = footprint.conversation.community else { continue }
            all.insert(Membership(conversation: community, user: footprint.user))
        }
        return all
    }

    package var readPositions: Set<ReadPosition> {
        Set(
            footprints.compactMap { footprint in
                footprint.readsThrough.map {
                    ReadPosition(conversation: footprint.conversation, user: footprint.user, seq: $0)
                }
            })
    }

    package var messages: Set<MessageName> {
        Set(
            footprints.flatMap { footprint in
                footprint.messages.map { MessageName(conversation: footprint.conversation, id: $0) }
            })
    }

    /// The idempotency IDs of changes.
    package var operations: Set<MessageName> {
        Set(
            footprints.compactMap { footprint in
                footprint.operation.map { MessageName(conversation: footprint.conversation, id: $0) }
            })
    }

    /// The actions that are added or removed, by their users.
    package var actions: Set<Action> {
        Set(
            footprints.compactMap { footprint in
                guard footprint.changesActions, let id = footprint.messages.first else { return nil }
                let message = MessageName(conversation: footprint.conversation, id: id)
                return Action(message: message, user: footprint.user)
            })
    }

    /// The messages that are replied to.
    package var answered: Set<MessageName> { Set(followers.map(\.answered)) }

    /// The users who may follow the threads of sent replies.
    package var followers: Set<Follower> {
        Set(
            footprints.flatMap { footprint -> [Follower] in
                guard let reply = footprint.reply else { return [] }
                let answered = MessageName(conversation: footprint.conversation, id: reply.message)
                return ([nil, footprint.user] + reply.mentions).map { Follower(answered: answered, user: $0) }
            })
    }

    /// The files that sent messages refer to.
    package var media: Set<MediaID> {
        Set(footprints.flatMap { $0.content?.fileReferences.map(\.id) ?? [] })
    }
}

extension StoreReader {
    /// Reads what the heads of conversations need, as ``readAhead(_:)`` does.
    func readAhead(headsOf conversations: some Sequence<Int64>, for user: UserID) throws {
        var reads = ExpectedReads()
        reads.heads = ExpectedReads.Heads(Array(conversations), of: user)
        try readAhead(reads)
    }
}
