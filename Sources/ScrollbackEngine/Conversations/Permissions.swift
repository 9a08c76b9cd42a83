package import ScrollbackModel

/// The minimum role that a permission requires.
package enum Requirement: String, CaseIterable, Comparable, Sendable {
    case anyone, member, moderator, owner, admin
    /// The action is not possible for this kind of conversation, whatever the caller's role.
    case nobody

    private var rank: Int {
        switch self {
        case .anyone: 0
        case .member: 1
        case .moderator: 2
        case .owner: 3
        case .admin: 4
        case .nobody: 5
        }
    }

    package static func < (a: Requirement, b: Requirement) -> Bool {
        a.rank < b.rank
    }

    func isMet(by role: Role?, isAdmin: Bool) -> Bool {
        switch self {
        case .nobody: false
        case .anyone: true
        case .admin: isAdmin
        case .member: isAdmin || role != nil
        case .moderator: isAdmin || role.map { $0 >= .moderator } ?? false
        case .owner: isAdmin || role == .owner
        }
    }
}

extension Permissions {
    /// Checks that a user may carry out an action in a conversation.
    ///
    /// - Parameters:
    ///   - role: The caller's role; `nil` if the caller is not a member.
    ///   - act: A verb phrase for the error, such as "mute users".
    ///   - parameter: The parameter of the request that needs the permission, if not every such request does.
    /// - Throws: `forbidden` with the role that the action requires.
    package func require(
        _ action: Permission, in id: ConversationID, as role: Role?, by caller: Caller, to act: String,
        parameter: String? = nil
    ) throws(ChatError) {
        guard !self[action, id.kind].isMet(by: role, isAdmin: caller.isAdmin) else { return }
        throw refusal(of: action, in: id, to: act, parameter: parameter)
    }

    /// The error of a user who may not carry out an action.
    func refusal(
        of action: Permission, in id: ConversationID, to act: String, parameter: String? = nil
    ) -> ChatError {
        let required = self[action, id.kind]
        let text =
            switch required {
            case .anyone, .member: "You need to be a member of \(id) to \(act)."
            case .moderator, .owner: "You need the \(required.rawValue) role in \(id) to \(act)."
            case .admin: "In \(id), only administrators can \(act)."
            case .nobody: "In \(id), no user can \(act)."
            }
        return ChatError(.forbidden, text, parameter: parameter)
    }
}

/// The permission table: the requirement for each action and each kind of conversation.
package struct Permissions: Hashable, Sendable {
    private var cells: [Permission: [ConversationKind: Requirement]]

    package subscript(action: Permission, kind: ConversationKind) -> Requirement {
        get { cells[action]?[kind] ?? .nobody }
        set { cells[action, default: [:]][kind] = newValue }
    }

    /// Returns whether a role is high enough to mute, remove or ban a user, besides the permission to do so.
    ///
    /// Mutes and removals need a role that is not below the user's. Bans need a higher one. Users without a role in the
    /// conversation can be muted and banned, and a caller without a role counts as a member. Administrators can act on
    /// all users.
    ///
    /// - Parameters:
    ///   - action: `mute`, `removeMember` or `ban`.
    ///   - target: The role of the user to act on; `nil` if the user is not a member.
    ///   - role: The caller's role; `nil` if the caller is not a member.
    static func allows(_ action: Permission, onUserWith target: Role?, as role: Role?, isAdmin: Bool) -> Bool {
        guard !isAdmin, let target else { return true }
        let role = role ?? .member
        return action == .ban ? role > target : role >= target
    }

    /// The default permissions.
    package static let standard = Permissions(cells: [
        .create: [.direct: .anyone, .group: .anyone, .community: .admin, .room: .admin, .system: .admin],
        .read: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .member],
        .send: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .admin],
        .sendHigh: [.direct: .member, .group: .member, .community: .member, .room: .moderator, .system: .admin],
        .mentionEveryone: [
            .direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .admin,
        ],
        .editOwn: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .admin],
        .editOthers: [.direct: .admin, .group: .admin, .community: .admin, .room: .admin, .system: .admin],
        .recall: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .admin],
        .deleteOthers: [.direct: .admin, .group: .moderator, .community: .moderator, .room: .admin, .system: .admin],
        .deleteHistory: [.direct: .admin, .group: .admin, .community: .admin, .room: .admin, .system: .admin],
        .act: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .member],
        .pin: [.direct: .member, .group: .member, .community: .moderator, .room: .moderator, .system: .admin],
        .listMembers: [.direct: .member, .group: .member, .community: .member, .room: .nobody, .system: .member],
        .addMember: [.direct: .nobody, .group: .moderator, .community: .moderator, .room: .nobody, .system: .nobody],
        .invite: [.direct: .nobody, .group: .moderator, .community: .moderator, .room: .nobody, .system: .nobody],
        .removeMember: [
            .direct: .nobody, .group: .moderator, .community: .moderator, .room: .nobody, .system: .nobody,
        ],
        .mute: [.direct: .nobody, .group: .moderator, .community: .moderator, .room: .admin, .system: .nobody],
        .ban: [.direct: .nobody, .group: .moderator, .community: .moderator, .room: .admin, .system: .nobody],
        .leave: [.direct: .nobody, .group: .member, .community: .member, .room: .nobody, .system: .nobody],
        .changeRole: [.direct: .nobody, .group: .owner, .community: .owner, .room: .nobody, .system: .nobody],
        .changeSettings: [.direct: .nobody, .group: .owner, .community: .owner, .room: .admin, .system: .nobody],
        .delete: [.direct: .admin, .group: .owner, .community: .owner, .room: .admin, .system: .admin],
        .importHistory: [.direct: .admin, .group: .admin, .community: .admin, .room: .admin, .system: .admin],
    ])
}
