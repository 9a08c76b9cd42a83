package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Returns the members who have read a message, ordered by user ID and without the sender.
    ///
    /// The result is computed from the members' read positions, so no receipts are stored per message. One call
    /// examines at most ``maximumReadersExamined`` members. A page can therefore be empty although more pages follow.
    ///
    /// - Throws: `feature-off` if read receipts are off, `invalid-parameter` for a room, `unknown-message`,
    ///   `forbidden`.
    package func readers(
        of id: MessageID, in conversation: ConversationID, after: UserID?, limit: Int, by caller: Caller
    ) throws -> ListPage<MessageReader> {
        try checkLimit(limit)
        try settings.people.checkReadReceipts()
        let name = conversation.logID.absolute(for: caller.user)
        guard name.kind.traits.hasRecents else {
            throw ChatError.invalidParameter("conversation", "is a \(name.kind.rawValue), which has no read positions")
        }
        return try withAccess(to: name, for: caller) { access, store in
            let message = try message(id, listedBy: caller, access, store)
            guard name.kind != .direct else { return try reader(of: message, access, after: after, store) }
            var found: [MessageReader] = []
            let rows = try store.positions(
                in: access.conversation.number, after: after, limit: Self.maximumReadersExamined)
            for row in rows where row.readSeq >= message.seq && row.user != message.sender {
                guard try isReader(row, of: message, access, store) else { continue }
                found.append(MessageReader(id: row.user, readSeq: row.readSeq))
                if found.count == limit { break }
            }
            let lastExamined = found.count == limit ? found.last?.id : rows.last?.user
            let isLast = rows.count < Self.maximumReadersExamined && lastExamined == rows.last?.user
            return ListPage(found, after: isLast ? nil : lastExamined)
        }
    }

    /// The maximum number of members that one call to `readers` examines.
    package static let maximumReadersExamined = 500

    /// Returns a message whose readers or recipients the caller may list.
    ///
    /// - Throws: `forbidden`, `unknown-message`.
    func message(
        _ id: MessageID, listedBy caller: Caller, _ access: Access, _ store: any StoreReader
    ) throws -> MessageRow {
        let row = access.conversation
        try permissions.require(.listMembers, in: row.id, as: access.role, by: caller, to: "list the members")
        guard let message = try store.message(id, in: row.number), access.visible.contains(message.seq) else {
            throw ChatError(.unknownMessage, "Message \(id) does not exist, or you may not see it.")
        }
        return message
    }

    /// Returns the other user of a direct conversation if their receipt covers the message.
    private func reader(
        of message: MessageRow, _ access: Access, after: UserID?, _ store: any StoreReader
    ) throws -> ListPage<MessageReader> {
        let row = access.conversation
        guard let reader = row.otherUser(than: message.sender), after.map({ $0 < reader }) ?? true else {
            return ListPage([], cursor: nil)
        }
        let seq = try store.receipt(of: reader, in: row.number).readSeq
        return ListPage(seq >= message.seq ? [MessageReader(id: reader, readSeq: seq)] : [], cursor: nil)
    }

    /// Returns whether a user who has read past a message is a member now and can see the message.
    func isReader(
        _ row: MemberRow, of message: MessageRow, _ access: Access, _ store: any StoreReader
    ) throws -> Bool {
        let conversation = access.conversation
        let seesAll = conversation.visibility == .everything
        if let community = access.community, !conversation.isPrivate {
            // The community's membership spans are times, not sequence numbers.
            guard try store.member(row.user, of: community.number)?.standing == .member else { return false }
            return try seesAll
                || store.spans(of: row.user, in: community.number).contains {
                    Timetoken(span: $0.joined) < message.timetoken
                        && ($0.left.map { message.timetoken <= Timetoken(span: $0) } ?? true)
                }
        }
        guard row.standing == .member else { return false }
        return try seesAll || row.joinSeq < message.seq
            || store.spans(of: row.user, in: conversation.number).contains {
                $0.joined < message.seq && ($0.left.map { message.seq <= $0 } ?? true)
            }
    }

    /// Returns the positions of the other user of a direct conversation, limited to what `user` can see.
    func peerReceipt(of access: Access, for user: UserID, in store: any StoreReader) throws -> ReceiptRow {
        guard let peer = access.conversation.otherUser(than: user), settings.people.readReceipts else {
            return ReceiptRow()
        }
        let receipt = try store.receipt(of: peer, in: access.conversation.number)
        let head = access.state.head
        return ReceiptRow(readSeq: min(receipt.readSeq, head), deliveredSeq: min(receipt.arrivedSeq(), head))
    }
}
