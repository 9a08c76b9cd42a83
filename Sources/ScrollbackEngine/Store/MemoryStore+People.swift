import Foundation
import ScrollbackModel

/// The read receipts, invitations and last-seen times of a memory store.
struct MemoryPeople {
    var receipts: [MemoryRows.Key: ReceiptRow] = [:]
    var invitations: [MemoryRows.Key: InvitationRow] = [:]
    var lastSeen: [UserID: Date] = [:]
}

extension MemoryRows {
    // MARK: Reading

    func receipt(of user: UserID, in conversation: Int64) -> ReceiptRow {
        people.receipts[Key(conversation: conversation, user: user)] ?? ReceiptRow()
    }

    func memberCount(of conversation: Int64, limit: Int) -> Int {
        members.values.lazy.filter { $0.conversation == conversation && $0.standing == .member }.prefix(limit).count
    }

    func positions(in conversation: Int64, after: UserID?, limit: Int) -> [MemberRow] {
        let all = members.values.filter { row in
            row.conversation == conversation && (after.map { $0 < row.user } ?? true)
        }
        return Array(all.sorted { $0.user < $1.user }.prefix(limit))
    }

    func invitation(of user: UserID, to conversation: Int64) -> InvitationRow? {
        people.invitations[Key(conversation: conversation, user: user)]
    }

    func invitations(to conversation: Int64, after: UserID?, limit: Int) -> [InvitationRow] {
        let all = people.invitations.values.filter { row in
            row.conversation == conversation && (after.map { $0 < row.user } ?? true)
        }
        return Array(all.sorted { $0.user < $1.user }.prefix(limit))
    }

    func invitations(of user: UserID, after conversation: Int64, limit: Int) -> [InvitationRow] {
        let all = people.invitations.values.filter { $0.user == user && $0.conversation > conversation }
        return Array(all.sorted { $0.conversation < $1.conversation }.prefix(limit))
    }

    func lastSeen(of user: UserID) -> Date? { people.lastSeen[user] }

    // MARK: Writing

    func put(_ receipt: ReceiptRow, of user: UserID, in conversation: Int64) {
        change(\.people.receipts[Key(conversation: conversation, user: user)], receipt)
    }

    func put(_ invitation: InvitationRow) {
        change(\.people.invitations[Key(conversation: invitation.conversation, user: invitation.user)], invitation)
    }

    func dropInvitation(of user: UserID, to conversation: Int64) {
        change(\.people.invitations[Key(conversation: conversation, user: user)], nil)
    }

    func dropInvitations(endedBy time: Date, limit: Int) -> Int {
        let ended = people.invitations.filter { !$0.value.isActive(at: time) }.keys.prefix(limit)
        for key in ended { change(\.people.invitations[key], nil) }
        return ended.count
    }

    func put(lastSeen time: Date, of user: UserID) { change(\.people.lastSeen[user], time) }

    func erasePeople(of conversation: Int64) {
        for key in people.receipts.keys where key.conversation == conversation { change(\.people.receipts[key], nil) }
        for key in people.invitations.keys where key.conversation == conversation {
            change(\.people.invitations[key], nil)
        }
    }
}
