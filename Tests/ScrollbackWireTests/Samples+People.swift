import Foundation
import ScrollbackModel
import ScrollbackWire

// Members, readers, invitations and presence.

extension Sample {
    static let readHead = ConversationHead(conversation: .direct("bob"), state: state, peerReadSeq: 9)
    static let deliveredHead = ConversationHead(
        conversation: .direct("bob"), state: state, peerDeliveredSeq: 9, hasDeliveryReceipts: true)
    static let invitation = Invitation(
        conversation: .group("swift"), user: "bob", by: "مرحبا😀", at: Date(timeIntervalSince1970: 1_795_255_260.5),
        expiresAt: Date(timeIntervalSince1970: 1_795_258_860.5), name: "Swift", avatar: "https://example.com/s.png")
    static let bareInvitation = Invitation(
        conversation: .community("city"), user: "bob", by: "alice", at: Date(timeIntervalSince1970: 1_795_255_260))
    static let presence: [(user: UserID, presence: Presence)] = [
        ("alice", Presence(isOnline: true)),
        ("bob", Presence(isOnline: false, lastSeen: Date(timeIntervalSince1970: 1_795_255_260))),
        ("carol", Presence(isOnline: false)),
    ]
}

extension Golden {
    static let people: [Golden] = [
        hello(
            "hello-inactive", HelloFrame(token: "a.b.c", device: "phone", sharesPresence: true, isActive: false)),
        hello("hello-sharing", HelloFrame(token: "a.b.c", device: "phone", sharesPresence: true)),
        operation("members", ListMembers(conversation: .group("swift"), page: Paging(limit: 100))),
        operation("members-on", ListMembers(conversation: .group("swift"), page: Paging(cursor: "bob"))),
        operation("putMember", PutMember(conversation: .group("swift"), user: "bob", role: .moderator)),
        operation("putMember-muted", PutMember(conversation: .group("swift"), user: "bob", mute: .some(.forever))),
        operation("putMember-unmuted", PutMember(conversation: .group("swift"), user: "bob", mute: .some(nil))),
        operation("removeMember", RemoveMember(conversation: .group("swift"), user: "bob")),
        operation(
            "schedule",
            ScheduleMessage(
                conversation: .group("swift"), submission: Submission(id: Sample.id, content: .text("hi")),
                sendAt: Date(timeIntervalSince1970: 1_795_255_260.5))),
        operation("scheduled", ListScheduled(page: Paging(limit: 100, cursor: Sample.id.description))),
        operation("cancelScheduled", CancelScheduled(id: Sample.id)),
        operation(
            "readers", ListReaders(conversation: .group("swift"), id: Sample.id, page: Paging(cursor: "bob"))),
        operation(
            "recipients", ListRecipients(conversation: .group("swift"), id: Sample.id, page: Paging(cursor: "bob"))),
        operation("invite", InviteUser(conversation: .group("swift"), user: "bob", lifetime: 3600)),
        operation("invite-forever", InviteUser(conversation: .group("swift"), user: "bob")),
        operation("endInvitation", EndInvitation(conversation: .group("swift"), user: "bob")),
        operation("invitations", ListInvitations(conversation: nil, page: Paging(limit: 100, cursor: "1z"))),
        operation("invitations-to", ListInvitations(conversation: .group("swift"), page: Paging())),
        operation("presence", FetchPresence(users: ["alice", "bob"])),
        operation("presence-on", FetchPresence(users: ["alice", "bob"], isOn: true)),
        result(
            "members",
            ListPage(
                [
                    Member(id: "alice", role: .owner),
                    Member(id: "bob", role: .member, mute: .until(Date(timeIntervalSince1970: 1_795_255_260.5))),
                ], after: "bob"), { $1.writeMembers(to: &$0) },
            { (r) throws(ChatError) in try ListPage<Member>(from: &r) }),
        result(
            "readers", ListPage([MessageReader(id: "bob", readSeq: 12)], after: "bob"),
            { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try ListPage<MessageReader>(from: &r) }),
        result(
            "recipients", ListPage([MessageRecipient(id: "bob", deliveredSeq: 12)], after: "bob"),
            { $1.writeMembers(to: &$0) },
            { (r) throws(ChatError) in try ListPage<MessageRecipient>(from: &r) }),
        result(
            "invitations", ListPage([Sample.invitation, Sample.bareInvitation], cursor: "1z"),
            { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try ListPage<Invitation>(from: &r) }),
        result(
            "presence", PresenceList(Sample.presence), { $1.writeMembers(to: &$0) },
            { (r) throws(ChatError) in try PresenceList(from: &r) }),
        event("invitation", .invitation(Sample.invitation)),
        event("invitation-ended", .invitationEnded(.group("swift"))),
        event("presence", .presence("bob", Presence(isOnline: true))),
        event("presence-gone", .presence("bob", Sample.presence[1].presence)),
        value(
            "head-read", Sample.readHead, { $1.write(to: &$0) },
            { (r) throws(ChatError) in try ConversationHead(from: &r) }),
        value(
            "head-delivered", Sample.deliveredHead, { $1.write(to: &$0) },
            { (r) throws(ChatError) in try ConversationHead(from: &r) }),
        value(
            "invitation", Sample.invitation, { $1.write(to: &$0) },
            { (r) throws(ChatError) in try Invitation(from: &r) }),
    ]
}
