package import ScrollbackModel

/// The conversation, the user and the messages that a change is about.
package struct Footprint: Hashable, Sendable {
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var user: UserID
    package var messages: [MessageID]
    /// Whether the change depends on what the user can see (``Access``).
    package var needsAccess: Bool
    /// The sequence number up to which the user reads, if the change is a read mark.
    package var readsThrough: Seq?

    package init(
        _ conversation: ConversationID, _ user: UserID, messages: [MessageID] = [], needsAccess: Bool = false,
        readsThrough: Seq? = nil
    ) {
        self.conversation = conversation
        self.user = user
        self.messages = messages
        self.needsAccess = needsAccess
        self.readsThrough = readsThrough
    }
}

/// What the changes of a transaction will probably read.
///
/// A store on another machine reads it in the round trip that begins the transaction. The changes can read anything
/// else, too, which then costs a round trip for each query (decision 59).
package struct ExpectedReads: Sendable {
    package var footprints: [Footprint] = []
    /// The users whose daily usage is needed.
    package var usage: Set<UserID> = []
    /// Whether to look for users who may receive pushes.
    package var includesPushRecipients = false

    package init() {}
}

extension ExpectedReads {
    package struct Membership: Hashable, Sendable {
        package var conversation: ConversationID
        package var user: UserID
    }

    package struct ReadPlace: Hashable, Sendable {
        package var conversation: ConversationID
        package var user: UserID
        package var seq: Seq
    }

    package struct MessageName: Hashable, Sendable {
        package var conversation: ConversationID
        package var id: MessageID
    }

    /// The users and their conversations, including the communities of channels.
    package var memberships: Set<Membership> { memberships { _ in true } }

    /// The memberships whose history is needed.
    package var access: Set<Membership> { memberships(where: \.needsAccess) }

    private func memberships(where isIncluded: (Footprint) -> Bool) -> Set<Membership> {
        var all: Set<Membership> = []
        for footprint in footprints where isIncluded(footprint) {
            all.insert(Membership(conversation: footprint.conversation, user: footprint.user))
            guard let community = footprint.conversation.community else { continue }
            all.insert(Membership(conversation: community, user: footprint.user))
        }
        return all
    }

    package var readPlaces: Set<ReadPlace> {
        Set(
            footprints.compactMap { footprint in
                footprint.readsThrough.map {
                    ReadPlace(conversation: footprint.conversation, user: footprint.user, seq: $0)
                }
            })
    }

    package var messages: Set<MessageName> {
        Set(
            footprints.flatMap { footprint in
                footprint.messages.map { MessageName(conversation: footprint.conversation, id: $0) }
            })
    }
}
