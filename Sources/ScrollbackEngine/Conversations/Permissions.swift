package import ScrollbackModel

/// What somebody may want to do with a conversation.
package enum Action: String, CaseIterable, Sendable {
    case create
    /// Read history, and hear what is said.
    case read
    case send
    /// Send what a room streams whatever its pace.
    case sendHigh
    /// Change one's own message.
    case editOwn
    /// Change somebody else's message.
    case editOthers
    /// Delete one's own message for everyone.
    case recall
    /// Delete somebody else's message for everyone.
    case deleteOthers
    /// Delete whole ranges of history for everyone.
    case deleteHistory
    /// Attach a reaction or another action to a message.
    case act
    case listMembers
    /// Put somebody in.
    case addMember
    /// Let somebody join by themselves.
    case invite
    /// Put somebody else out.
    case removeMember
    /// Keep somebody from writing.
    case mute
    /// Put somebody out and keep them out.
    case ban
    case leave
    case changeRole
    case changeSettings
    case delete
    /// Put history in that was said elsewhere.
    case importHistory
}

/// What it takes.
package enum Requirement: String, CaseIterable, Comparable, Sendable {
    case anyone, member, moderator, owner, admin
    /// It makes no sense for this kind, whoever asks.
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

/// Who may do what, by kind of conversation: one table, each cell a setting.
package struct Permissions: Hashable, Sendable {
    private var cells: [Action: [ConversationKind: Requirement]]

    package subscript(action: Action, kind: ConversationKind) -> Requirement {
        get { cells[action]?[kind] ?? .nobody }
        set { cells[action, default: [:]][kind] = newValue }
    }

    /// The table of `model.md` 1.
    package static let standard = Permissions(cells: [
        .create: [.direct: .anyone, .group: .anyone, .community: .admin, .room: .admin, .system: .admin],
        .read: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .member],
        .send: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .admin],
        .sendHigh: [.direct: .member, .group: .member, .community: .member, .room: .moderator, .system: .admin],
        .editOwn: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .admin],
        .editOthers: [.direct: .admin, .group: .admin, .community: .admin, .room: .admin, .system: .admin],
        .recall: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .admin],
        .deleteOthers: [.direct: .admin, .group: .moderator, .community: .moderator, .room: .admin, .system: .admin],
        .deleteHistory: [.direct: .admin, .group: .admin, .community: .admin, .room: .admin, .system: .admin],
        .act: [.direct: .member, .group: .member, .community: .member, .room: .anyone, .system: .member],
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
