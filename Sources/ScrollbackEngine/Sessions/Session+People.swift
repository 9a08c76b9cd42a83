import ScrollbackModel
import ScrollbackWire

/// Members, readers, invitations and presence: as over HTTP.
extension Session {
    func perform(_ request: PeopleRequest, _ ref: Int64, _ caller: Caller) {
        switch request {
        case .members(let id, let after, let limit):
            offload(ref, { try $0.memberList(of: id, after: after, limit: limit, by: caller) }) {
                $1.writeMembers(to: &$0)
            }
        case .putMember(let id, let user, let role, let mute):
            engine.putMember(user, role: role, mute: mute, of: id, by: caller) { [self] result in
                answer(ref, result) { $0.field("isNew", $1) }
            }
        case .removeMember(let id, let user):
            engine.removeMember(user, from: id, by: caller) { [self] result in answer(ref, result) { _, _ in } }
        case .readers(let id, let message, let after, let limit):
            offload(ref, { try $0.readers(of: message, in: id, after: after, limit: limit, by: caller) }) {
                $1.writeMembers(to: &$0)
            }
        case .invite(let id, let user, let lifetime):
            engine.invite(user, to: id, expiresIn: lifetime, by: caller) { [self] result in
                answer(ref, result) { $1.invitation.writeMembers(to: &$0) }
            }
        case .endInvitation(let id, let user):
            engine.endInvitation(of: user, to: id, by: caller) { [self] result in answer(ref, result) { _, _ in } }
        case .invitations(let id, let cursor, let limit):
            offload(ref, { try $0.invitations(to: id, cursor: cursor, limit: limit, by: caller) }) {
                $1.writeMembers(to: &$0)
            }
        case .presence(let users, let isOn): presence(of: users, isOn: isOn, ref, caller)
        }
    }
}
