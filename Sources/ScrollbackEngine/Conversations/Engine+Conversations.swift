import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    package typealias Completion<Answer> = @Sendable (Result<Answer, ChatError>) -> Void

    /// Returns the current members ordered by user ID: at most `limit` after `after`.
    package func members(of id: ConversationID, after: UserID?, limit: Int, by caller: Caller) throws -> [Member] {
        try checkLimit(limit)
        let id = id.absolute(for: caller.user)
        return try withAccess(to: id, for: caller) { access, store in
            var row = access.conversation
            try permissions.require(.listMembers, in: id, as: access.role, by: caller, to: "list the members")
            if id.kind == .community, !row.isPrivate, !id.isCommunityRoot,
                let community = try store.conversation(.community(id.target))
            {
                row = community
            }
            return try store.members(of: row.number, after: after, limit: limit)
                .map {
                    Member(id: $0.user, role: $0.role, mute: try mute(of: $0.user, in: [access.conversation], store))
                }
        }
    }

    /// Returns the heads of conversations, each once; conversations that the caller may not see are left out.
    ///
    /// The answer's size is limited, because a head contains the newest message.
    ///
    /// - Returns: The heads, and the conversations to request again because the answer was full.
    package func heads(
        of ids: [ConversationID], by caller: Caller
    ) throws -> (heads: [ConversationHead], rest: [ConversationID]) {
        try read(about: ids.map(\.logID), for: caller, needsHeads: true) { store in
            var heads: [ConversationHead] = []
            var seen: Set<ConversationID> = []
            var bytes = 0
            for (index, id) in ids.enumerated() where seen.insert(id.logID).inserted {
                if bytes >= ResponseBudget.answerBytes { return (heads, Array(ids[index...])) }
                guard let row = try store.conversation(id.logID.absolute(for: caller.user)), !row.isDeleted,
                    let head = try visibleHead(of: row, for: caller, in: store)
                else { continue }
                heads.append(head)
                bytes += head.weight
            }
            return (heads, [])
        }
    }

    /// Returns a page of ``members(of:after:limit:by:)`` with a cursor for the next page.
    package func memberList(
        of id: ConversationID, after: UserID?, limit: Int, by caller: Caller
    ) throws -> ListPage<Member> {
        let members = try members(of: id, after: after, limit: limit, by: caller)
        return ListPage(members, after: members.count == limit ? members.last?.id : nil)
    }

    /// Returns a conversation's head with the caller's state in it, and its settings.
    ///
    /// Former members don't get the settings, which can have changed since their membership ended.
    package func conversation(
        _ id: ConversationID, by caller: Caller
    ) throws -> (head: ConversationHead, settings: ConversationSettings?) {
        let id = id.absolute(for: caller.user)
        return try withAccess(to: id, for: caller, needsHead: true) { access, store in
            let settings = access.end == nil ? access.conversation.settings : nil
            return (try head(of: access, for: caller.user, in: store), settings)
        }
    }

    /// Returns a conversation's head with the caller's state in it.
    package func head(of id: ConversationID, by caller: Caller) throws -> ConversationHead {
        let id = id.absolute(for: caller.user)
        return try withAccess(to: id, for: caller, needsHead: true) { try head(of: $0, for: caller.user, in: $1) }
    }

    /// Returns the channels of a community that the caller may see, ordered by name: at most `limit` after `after`.
    package func channels(
        of community: Identifier, after: Identifier?, limit: Int, by caller: Caller
    ) throws -> (heads: [ConversationHead], next: Identifier?) {
        try checkLimit(limit)
        return try store.read { store in
            _ = try access(to: .community(community), for: caller, in: store)
            let rows = try store.channels(of: community, after: after, limit: limit + 1)
            try store.readAhead(headsOf: rows.prefix(limit).map(\.number), for: caller.user)
            let heads = try rows.prefix(limit).filter { !$0.isDeleted }.compactMap { row in
                try visibleHead(of: row, for: caller, in: store)
            }
            return (heads, rows.count > limit ? rows[limit - 1].id.part : nil)
        }
    }

    private func visibleHead(
        of row: ConversationRow, for caller: Caller, in store: any StoreReader
    ) throws -> ConversationHead? {
        do {
            return try head(
                of: Access(
                    to: row, for: caller, in: store, permissions: permissions, generation: self.store.generation,
                    now: clock()),
                for: caller.user, in: store)
        } catch let error as ChatError where error.code == .unknownConversation || error.code == .banned {
            return nil
        }
    }

    func head(of access: Access, for user: UserID, in store: any StoreReader) throws -> ConversationHead {
        let row = access.conversation
        let name = row.id.relative(to: user)
        let summary = try access.summary(for: user, in: store)
        let receipt = try peerReceipt(of: access, for: user, in: store)
        var last = try lastMessage(of: access, in: store)
        let recentTime = last?.timetoken ?? access.activeTimeIfEmpty
        let newDeviceFloor = access.member?.newDeviceFloor ?? 0
        let isExcluded = newDeviceFloor > 0 && last?.seq ?? access.state.head <= newDeviceFloor
        if isExcluded { last = nil }
        var head = ConversationHead(
            conversation: name, name: access.name, avatar: access.avatar, state: access.state, unread: summary.unread,
            mentions: summary.mentions, readSeq: summary.readSeq,
            lastMessage: try last.map { try access.message($0, in: store) }, isMuted: summary.isMuted,
            notifications: summary.notifications, isPinned: summary.isPinned, isMarkedUnread: summary.isMarkedUnread,
            removedSeq: summary.removedSeq,
            newDeviceFloor: newDeviceFloor,
            recentTime: row.id.kind.traits.hasRecents ? recentTime : nil,
            isMember: access.role != nil,
            lastCommit: row.lastCommit, userRev: summary.userRev,
            isFrozen: access.restrictingConversations.contains(where: \.isFrozen),
            mute: try mute(of: user, in: access.restrictingConversations, store),
            peerReadSeq: receipt.readSeq, peerDeliveredSeq: receipt.deliveredSeq,
            hasDeliveryReceipts: try hasDeliveryReceipts(access, in: store))
        // This conversation is excluded from new devices up to `newDeviceFloor`. Devices that already have it keep
        // showing it; others receive it only if it is unread or pinned.
        if isExcluded, !head.hasUnread, !head.isPinned { head.recentTime = nil }
        return head
    }

    /// Returns the newest visible message that recents don't skip, or the newest visible message if none is within
    /// reach.
    private func lastMessage(of access: Access, in store: any StoreReader) throws -> MessageRow? {
        let number = access.conversation.number
        let recent = access.conversation.recentSeq
        if recent > 0, access.visible.contains(recent) { return try store.message(at: recent, in: number) }
        guard let highest = access.visible.highest, let newest = try store.message(atOrBelow: highest, in: number),
            access.visible.contains(newest.seq)
        else { return nil }
        var message = newest
        while message.attributes.traits.bits & MessageTraits.skipsRecentsBit != 0 {
            let next = message.seq - 1
            guard next > newest.seq - MessageTraits.recentsDepth,
                let older = try store.message(atOrBelow: next, in: number), access.visible.contains(older.seq)
            else { return newest }
            message = older
        }
        return message
    }

    /// Returns the mute that lasts longest of a user's active mutes in these conversations, or `nil` if there is none.
    private func mute(of user: UserID, in conversations: [ConversationRow], _ store: any StoreReader) throws -> Mute? {
        let now = clock()
        return try conversations.filter(\.hasMutes).compactMap { try store.mute(of: user, in: $0.number) }
            .filter { $0.isActive(at: now) }.max { $0.end < $1.end }
    }
}

extension ConversationRow {
    /// The settings that this kind of conversation has, so that a request with them changes nothing.
    fileprivate var settings: ConversationSettings {
        let isNamed = id.kind.traits.membership == .named
        return ConversationSettings(
            name: name, avatar: avatar, metadata: metadata, visibility: visibility,
            isPrivate: id.kind == .community && !id.isCommunityRoot ? isPrivate : nil,
            retention: retention.map { .set(RetentionPolicy(stored: $0)) } ?? .remove,
            isFrozen: isNamed ? nil : isFrozen,
            capacity: id.kind == .room ? capacity.map { .set(Int($0)) } ?? .remove : .keep)
    }
}

extension Mute {
    fileprivate var end: Date {
        switch self {
        case .until(let date): date
        case .forever: .distantFuture
        }
    }
}
