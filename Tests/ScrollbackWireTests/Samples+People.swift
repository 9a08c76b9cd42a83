import Foundation
import ScrollbackModel
import ScrollbackWire

// Members, readers, invitations and presence.

extension Sample {
    static let readHead = ConversationHead(conversation: .direct("bob"), state: state, peerReadSeq: 9)
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
        client(
            "hello-inactive",
            .hello(.init(token: "a.b.c", device: "phone", cursor: nil, sharesPresence: true, isActive: false))),
        client(
            "hello-sharing", .hello(.init(token: "a.b.c", device: "phone", cursor: nil, sharesPresence: true))),
        request("members", .people(.members(.group("swift"), after: nil, limit: 100))),
        request("members-on", .people(.members(.group("swift"), after: "bob", limit: 20))),
        request("putMember", .people(.putMember(.group("swift"), "bob", role: .moderator, mute: nil))),
        request("putMember-muted", .people(.putMember(.group("swift"), "bob", role: nil, mute: .some(.forever)))),
        request("putMember-unmuted", .people(.putMember(.group("swift"), "bob", role: nil, mute: .some(nil)))),
        request("removeMember", .people(.removeMember(.group("swift"), "bob"))),
        request("readers", .people(.readers(.group("swift"), Sample.id, after: "bob", limit: 20))),
        request("invite", .people(.invite(.group("swift"), "bob", expiresIn: 3600))),
        request("invite-forever", .people(.invite(.group("swift"), "bob", expiresIn: nil))),
        request("endInvitation", .people(.endInvitation(.group("swift"), "bob"))),
        request("invitations", .people(.invitations(nil, cursor: "1z", limit: 100))),
        request("invitations-to", .people(.invitations(.group("swift"), cursor: nil, limit: 20))),
        request("presence", .people(.presence(["alice", "bob"], isOn: nil))),
        request("presence-on", .people(.presence(["alice", "bob"], isOn: true))),
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
            "invitation", Sample.invitation, { $1.write(to: &$0) },
            { (r) throws(ChatError) in try Invitation(from: &r) }),
    ]
}
