package import ScrollbackModel
package import ScrollbackWire

extension ClearConversation: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> ReadSummary {
        try transaction.clear(
            through: seq, epoch, ChangeRequest(toLog: conversation, by: context.caller),
            permissions: context.permissions)
    }
}

extension Transaction {
    /// Clears the history up to a sequence number for the caller only.
    fileprivate func clear(
        through seq: Seq, _ epoch: Epoch, _ request: ChangeRequest, permissions: Permissions
    ) throws -> ReadSummary {
        let user = request.caller.user
        let subject = try subject(of: request, permissions: permissions, needsMember: false)
        try checkIsOrWasMember(of: user, in: subject.row)
        try checkPosition(EpochPosition(seq: seq, epoch: epoch), subject.access)
        var member = memberForChange(subject.access)
        if seq > member.clearSeq {
            member.clearSeq = seq
            member.clearCountedIndex = try max(
                member.clearCountedIndex, store.countedIndex(at: seq, in: subject.row))
            for deletedRange in try store.deletedRanges(of: user, in: subject.row.number)
            where deletedRange.places.upperBound <= seq {
                try store.dropDeletedRange(from: deletedRange.places.lowerBound, of: user, in: subject.row.number)
            }
            member.hasDeletedRanges = try !store.deletedRanges(of: user, in: subject.row.number).isEmpty
            member.userRev = try advanceRev(of: user, by: user)
            put(member)
            try flush()
            try publishHidden(user, ranges: [1...seq], request: request, permissions: permissions)
        }
        return try Access(
            to: request.conversation, for: request.caller, in: store, permissions: permissions, generation: generation,
            now: now.date
        ).summary(for: user, in: store)
    }
}
