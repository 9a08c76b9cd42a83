import Foundation
import ScrollbackModel

/// The administration data of a memory store: erasures, participants and the audit log.
///
/// This is a value type, so that a rollback restores the old value.
struct MemoryAdministration {
    struct ParticipantKey: Hashable {
        var user: UserID
        var conversation: Int64
    }

    var erasures: [Int64: ErasureRow] = [:]
    var participants: Set<ParticipantKey> = []
    /// The audit log in the order of its numbers.
    var audit: [AuditRow] = []
    var lastAudit: Int64 = 0
}

extension MemoryRows {
    func changeAdministration<Answer>(_ body: (inout MemoryAdministration) -> Answer) -> Answer {
        let old = administration
        undo.append { [unowned self] in administration = old }
        return body(&administration)
    }

    // MARK: Reading

    func users(prefix: String, state: UserState?, after: UserID?, limit: Int) -> [UserRow] {
        let all = users.values.filter { row in
            row.profile.id.text.utf8.starts(with: prefix.utf8) && (after.map { $0 < row.profile.id } ?? true)
                && (state.map { $0 == row.state } ?? (row.state != .erased))
        }
        return Array(all.sorted { $0.profile.id < $1.profile.id }.prefix(limit))
    }

    func conversations(
        kind: ConversationKind, prefix: String, after: ConversationID?, limit: Int
    ) -> [ConversationRow] {
        func name(_ id: ConversationID) -> [[UInt8]] {
            [Array(id.target.text.utf8), Array((id.part?.text ?? "").utf8)]
        }
        func isBelow(_ a: ConversationID, _ b: ConversationID) -> Bool {
            let (a, b) = (name(a), name(b))
            return a[0] == b[0] ? a[1].lexicographicallyPrecedes(b[1]) : a[0].lexicographicallyPrecedes(b[0])
        }
        let all = conversations.values.filter { row in
            row.id.kind == kind && row.id.target.text.utf8.starts(with: prefix.utf8)
                && (after.map { isBelow($0, row.id) } ?? true)
        }
        return Array(all.sorted { isBelow($0.id, $1.id) }.prefix(limit))
    }

    func memberships(of user: UserID, after conversation: Int64, limit: Int) -> [MemberRow] {
        Array(memberships(of: user).filter { $0.conversation > conversation }.prefix(limit))
    }

    func erasure(_ number: Int64) -> ErasureRow? { administration.erasures[number] }
    func erasure(named id: UUID) -> ErasureRow? { administration.erasures.values.first { $0.id == id } }

    func openErasures(limit: Int) -> [ErasureRow] {
        let all = administration.erasures.values.filter { $0.endedAt == nil }
        return Array(all.sorted { $0.number < $1.number }.prefix(limit))
    }

    func participations(of user: UserID, after conversation: Int64, limit: Int) -> [Int64] {
        let all = administration.participants.filter { $0.user == user && $0.conversation > conversation }
        return Array(all.map(\.conversation).sorted().prefix(limit))
    }

    func media(of owner: UserID, after id: MediaID?, limit: Int) -> [MediaRow] {
        let all = media.values.filter { row in row.owner == owner && (id.map { $0 < row.id } ?? true) }
        return Array(all.sorted { $0.id < $1.id }.prefix(limit))
    }

    func places(mentioning user: UserID, in conversation: Int64, above seq: Seq, limit: Int) -> [Seq] {
        let all = (mentions[conversation] ?? []).filter { $0.user == user && $0.seq > seq }
        return Array(all.map(\.seq).sorted().prefix(limit))
    }

    func keys(in conversation: Int64, after id: MessageID, limit: Int) -> [KeyRow] {
        let all = (keys[conversation] ?? [:]).values.filter { id < $0.id }
        return Array(all.sorted { $0.id < $1.id }.prefix(limit))
    }

    func invitations(by inviter: UserID, after last: InvitationRow?, limit: Int) -> [InvitationRow] {
        func isBelow(_ a: InvitationRow, _ b: InvitationRow) -> Bool {
            a.conversation == b.conversation ? a.user < b.user : a.conversation < b.conversation
        }
        let all = people.invitations.values.filter { row in
            row.by == inviter && (last.map { isBelow($0, row) } ?? true)
        }
        return Array(all.sorted(by: isBelow).prefix(limit))
    }

    // MARK: Writing

    func put(_ erasure: inout ErasureRow) {
        if erasure.number == 0 { erasure.number = (administration.erasures.keys.max() ?? 0) + 1 }
        changeAdministration { [erasure] in $0.erasures[erasure.number] = erasure }
    }

    func insertParticipant(_ user: UserID, in conversation: Int64) {
        changeAdministration { _ = $0.participants.insert(.init(user: user, conversation: conversation)) }
    }

    func setSender(_ sender: UserID, at seq: Seq, in conversation: Int64) throws {
        guard var row = message(at: seq, in: conversation) else { return }
        row.sender = sender
        try update(row, in: conversation)
    }

    func setSender(_ sender: UserID, ofKey id: MessageID, in conversation: Int64) {
        guard var key = keys[conversation]?[id] else { return }
        key.sender = sender
        insert(key, in: conversation)
    }

    func setSender(_ sender: UserID, ofMentionOf user: UserID?, at seq: Seq, in conversation: Int64) {
        guard (mentions[conversation] ?? []).contains(where: { $0.user == user && $0.seq == seq }) else { return }
        dropMention(of: user, at: seq, in: conversation)
        insertMention(of: user, by: sender, at: seq, in: conversation)
    }

    func setOwner(_ owner: UserID, of media: MediaID) {
        guard var row = self.media[media] else { return }
        row.owner = owner
        put(row)
    }

    func forget(_ user: UserID, in conversation: Int64) {
        change(\.members[Key(conversation: conversation, user: user)], nil)
        change(\.spans[Key(conversation: conversation, user: user)], nil)
        change(\.blocks[SetKey(conversation: conversation, set: .uncounted(user))], nil)
        change(\.deletedRanges[OwnerKey(conversation: conversation, user: user)], nil)
        change(\.mentions[conversation], mentions[conversation]?.filter { $0.user != user })
        change(\.people.receipts[Key(conversation: conversation, user: user)], nil)
        change(\.threadStates[Key(conversation: conversation, user: user)], nil)
        dropInvitation(of: user, to: conversation)
        putPushLevel(.none, of: user, in: conversation)
        changeModeration { $0.put(nil, of: user, in: conversation) }
        dropBan(of: user, in: conversation)
        changeAdministration { _ = $0.participants.remove(.init(user: user, conversation: conversation)) }
    }

    func forget(_ user: UserID) {
        change(\.scheduled[user], nil)
        change(\.cancelled[user], nil)
        dropIncomingWebhooks(of: user)
        changeModeration { moderation in
            for other in moderation.blocked(by: user, after: nil, limit: .max) {
                moderation.putBlock(of: other, by: user, isOn: false)
            }
            for other in moderation.blockers(of: user, limit: .max) {
                moderation.putBlock(of: user, by: other, isOn: false)
            }
        }
        for upload in uploads.values where upload.owner == user && upload.state == .open { remove(upload.id) }
        for (key, invitation) in people.invitations where [invitation.user, invitation.by].contains(user) {
            change(\.people.invitations[key], nil)
        }
        change(\.people.lastSeen[user], nil)
        forgetPushes(of: user)
        change(\.usages[user], nil)
        change(\.drafts[user], nil)
    }
}

extension MemoryRows {
    // MARK: Audit log

    func audit(_ filter: AuditFilter, below number: Int64, limit: Int) -> [AuditRow] {
        let found = administration.audit.reversed().filter { $0.number < number && filter.includes($0) }
        return Array(found.prefix(limit))
    }

    func insert(_ row: AuditRow) {
        changeAdministration { administration in
            administration.lastAudit += 1
            var row = row
            row.number = administration.lastAudit
            administration.audit.append(row)
        }
    }

    func renameAuditUser(_ user: UserID, to replacement: UserID) {
        changeAdministration { administration in
            for index in administration.audit.indices where administration.audit[index].user == user {
                administration.audit[index].user = replacement
            }
        }
    }

    func dropAudit(before time: Date, limit: Int) -> Int {
        changeAdministration { administration in
            let due = Set(administration.audit.filter { $0.at < time }.prefix(limit).map(\.number))
            administration.audit.removeAll { due.contains($0.number) }
            return due.count
        }
    }
}
