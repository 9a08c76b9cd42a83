import ScrollbackModel
package import ScrollbackWire

extension ReportDelivered: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        Answer(try transaction.recordDelivered(marks, by: context.caller, permissions: context.permissions))
    }

    package func footprints(for caller: Caller) -> [Footprint] {
        marks.map { mark in
            var footprint = Footprint(
                mark.conversation.logID.absolute(for: caller.user), caller.user, needsAccess: true,
                readsThrough: mark.position.seq)
            footprint.countsMembers = true
            return footprint
        }
    }
}

extension Transaction {
    /// Records the sequence numbers through which the caller's devices have stored several conversations.
    ///
    /// A sequence number that is not above the known one writes nothing.
    ///
    /// - Throws: `feature-off` if receipts are off.
    fileprivate func recordDelivered(
        _ marks: [DeliveryMark], by caller: Caller, permissions: Permissions
    ) throws -> [DeliveryResult] {
        try settings.checkReadReceipts()
        // The access reads the rows of this batch from the store.
        try flush()
        return try marks.map { mark in
            do {
                try recordDelivered(mark, by: caller, permissions: permissions)
                return DeliveryResult(conversation: mark.conversation)
            } catch let error as ChatError where error.status < 500 {
                return DeliveryResult(conversation: mark.conversation, error: error)
            }
        }
    }

    private func recordDelivered(_ mark: DeliveryMark, by caller: Caller, permissions: Permissions) throws {
        let id = mark.conversation.logID.absolute(for: caller.user)
        let access = try Access(
            to: id, for: caller, in: store, permissions: permissions, generation: generation, now: now.date)
        let row = access.conversation
        guard access.role != nil, let member = access.member else {
            throw ChatError(.notMember, "Only members of \(id) can report that messages arrived.")
        }
        try store.checkDeliveryReceipts(in: row)
        try checkPosition(mark.position, access)
        // As with read receipts, nothing is recorded while one of the two users blocks the other.
        guard row.blocks.isEmpty else { return }
        var receipt = try store.receipt(of: caller.user, in: row.number)
        // In a direct conversation, the read receipt is separate from the read position. Own messages also advance the
        // read position.
        let arrivedSeq = receipt.arrivedSeq(readSeq: id.kind == .direct ? nil : member.readSeq)
        let seq = mark.position.seq
        guard seq > arrivedSeq else { return }
        receipt.deliveredSeq = seq
        try store.put(receipt, of: caller.user, in: row.number)
        if id.kind == .direct {
            // Devices of the other user that are offline receive the position with the conversation's head.
            if let row = try conversation(id) { try put(row) }
        } else if permissions[.listMembers, id.kind] > min(.member, permissions[.read, id.kind]) {
            // Some subscribers may not list the members, so none gets the event.
            return
        }
        publish(.delivered(id, caller.user, seq))
    }
}
