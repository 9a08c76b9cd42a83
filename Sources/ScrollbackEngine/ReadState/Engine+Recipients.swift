package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Returns the members whose devices have received a message, ordered by user ID and without the sender.
    ///
    /// - Throws: `feature-off` if the conversation has no delivery receipts, `unknown-message`, `forbidden`.
    package func recipients(
        of id: MessageID, in conversation: ConversationID, after: UserID?, limit: Int, by caller: Caller
    ) throws -> ListPage<MessageRecipient> {
        try checkLimit(limit)
        try settings.people.checkReadReceipts()
        let name = conversation.logID.absolute(for: caller.user)
        return try withAccess(to: name, for: caller) { access, store in
            let message = try message(id, listedBy: caller, access, store)
            try store.checkDeliveryReceipts(in: access.conversation)
            let found = try recipients(of: message, access, store).filter { recipient in
                recipient.deliveredSeq >= message.seq && after.map { $0 < recipient.id } ?? true
            }
            let page = Array(found.prefix(limit))
            return ListPage(page, after: found.count > limit ? page.last?.id : nil)
        }
    }

    /// Returns the users who could see a message, except its sender, with their positions.
    private func recipients(
        of message: MessageRow, _ access: Access, _ store: any StoreReader
    ) throws -> [MessageRecipient] {
        let row = access.conversation
        guard row.id.kind != .direct else {
            guard let peer = row.otherUser(than: message.sender) else { return [] }
            let receipt = try store.receipt(of: peer, in: row.number)
            return [MessageRecipient(id: peer, deliveredSeq: receipt.arrivedSeq())]
        }
        return try store.members(of: row.number, after: nil, limit: ReceiptRow.maximumMembers).filter { member in
            try member.user != message.sender && isReader(member, of: message, access, store)
        }.map { member in
            let receipt = try store.receipt(of: member.user, in: row.number)
            return MessageRecipient(id: member.user, deliveredSeq: receipt.arrivedSeq(readSeq: member.readSeq))
        }
    }

    /// Returns whether the reader's devices should report which messages they have stored.
    func hasDeliveryReceipts(_ access: Access, in store: any StoreReader) throws -> Bool {
        guard access.role != nil, settings.people.readReceipts else { return false }
        return try store.hasDeliveryReceipts(in: access.conversation)
    }
}

extension ReceiptRow {
    /// The maximum number of members of a group with delivery receipts.
    ///
    /// Every member's devices report every message, so the cost of a message grows with the square of the members.
    package static let maximumMembers = 20
}

extension StoreReader {
    /// Returns whether a conversation has delivery receipts: if it is direct with two users, or a small group.
    func hasDeliveryReceipts(in row: ConversationRow) throws -> Bool {
        switch row.id.kind {
        case .direct: Set(row.id.namedUsers).count > 1
        case .group:
            try memberCount(of: row.number, limit: ReceiptRow.maximumMembers + 1) <= ReceiptRow.maximumMembers
        default: false
        }
    }

    /// Checks that a conversation has delivery receipts.
    ///
    /// - Throws: `feature-off`.
    func checkDeliveryReceipts(in row: ConversationRow) throws {
        guard try hasDeliveryReceipts(in: row) else {
            throw ChatError(
                .featureOff,
                "\(row.id) has no delivery receipts. Direct conversations with another user and groups of at most "
                    + "\(ReceiptRow.maximumMembers) members have them.", limit: ReceiptRow.maximumMembers)
        }
    }
}
