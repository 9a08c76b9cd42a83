package import ScrollbackModel
package import ScrollbackWire

/// What can be asked of a server, by whichever door it comes.
///
/// One table: both doors look here before they do anything, and `Documentation/permissions.md` is written from it. A route
/// names its operation where it is declared, a request over the WebSocket is named here.
package enum ServerOperation: String, CaseIterable, Sendable {
    case probe, connect
    case makeToken, revokeTokens, changeUserState, eraseUser
    case readProfiles, changeProfile, exportUser, readBlocks, block, readPresence
    case readDevices, changeDevices
    case listConversations, readSeveral, readConversation, readHistory, readMedia
    case send, edit, delete, deleteHistory, react, type, upload, report
    case changeState, markSeveralRead
    case putConversation, deleteConversation
    case listMembers, putMember, removeMember
    case readInvitations, readOwnInvitations, invite, readBans, ban
    case readReports, closeReport, inspect, closeConnections, banFromServer, readServerBans
    case readSettings, changeSettings, importHistory, testPush

    /// Who may, of those whose token is good for it.
    package enum Who: Hashable, Sendable {
        /// It takes no token.
        case everybody
        /// Whoever is signed in, as far as they see.
        case user
        /// Somebody about themselves, and administrators about anybody.
        case oneself
        /// Whoever ``Permissions`` lets do one of these in the conversation; the first is what it is about mostly.
        case role([Action])
        case administrator
    }

    package struct Rule: Sendable {
        /// What the token must be good for; nothing where it takes none.
        package let scope: Scope?
        package let who: Who
        /// The requests over the WebSocket that are this.
        package let requests: [String]

        fileprivate init(_ scope: Scope?, _ who: Who, requests: String...) {
            self.scope = scope
            self.who = who
            self.requests = requests
        }

        fileprivate static let administrator = Rule(.admin, .administrator)
    }

    package var rule: Rule { Self.rules[self] ?? .administrator }

    private static let rules = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.row) })

    private var row: Rule {
        switch self {
        case .probe: Rule(nil, .everybody)
        // A connection hears what is said.
        case .connect: Rule(.read, .user, requests: "hello", "token", "activity", "ping", "unsubscribe")

        case .makeToken, .revokeTokens, .changeUserState, .eraseUser: .administrator

        case .readProfiles: Rule(.read, .user, requests: "users")
        case .changeProfile: Rule(.account, .oneself)
        case .exportUser: Rule(.read, .oneself)
        case .readBlocks: Rule(.read, .user, requests: "blocks")
        case .block: Rule(.account, .user, requests: "block", "unblock")
        case .readPresence: Rule(.read, .user, requests: "presence")
        case .readDevices: Rule(.read, .user, requests: "pushDevices", "pushPreferences")
        case .changeDevices:
            Rule(.account, .user, requests: "putPushDevice", "dropPushDevice", "setPushPreferences")

        case .listConversations: Rule(.read, .user, requests: "sync", "heads")
        // What they don't see is left out, or answered with an error of its own.
        case .readSeveral: Rule(.read, .user, requests: "fetch", "counts", "refresh", "search")
        case .readConversation: Rule(.read, .role([.read]), requests: "subscribe")
        case .readHistory: Rule(.read, .role([.read]), requests: "history", "actions")
        case .readMedia: Rule(.read, .role([.read]))

        case .send: Rule(.write, .role([.send, .sendHigh]), requests: "send")
        case .edit: Rule(.write, .role([.editOwn, .editOthers]), requests: "edit")
        case .delete: Rule(.write, .role([.recall, .deleteOthers]), requests: "delete")
        case .deleteHistory: Rule(.write, .role([.deleteHistory]), requests: "deleteHistory")
        case .react: Rule(.write, .role([.act]), requests: "action", "removeAction")
        case .type: Rule(.write, .role([.send]), requests: "typing")
        case .upload: Rule(.write, .role([.send]))
        case .report: Rule(.write, .role([.read]), requests: "report")

        case .changeState:
            Rule(
                .account, .role([.read]), requests: "read", "markUnread", "settings", "notifications",
                "removeRecent", "addRecent", "stopRoaming", "clear")
        case .markSeveralRead: Rule(.account, .user, requests: "readMany")

        case .putConversation: Rule(.manage, .role([.changeSettings, .create]))
        case .deleteConversation: Rule(.manage, .role([.delete]))
        case .listMembers: Rule(.read, .role([.listMembers]), requests: "members", "readers")
        case .putMember: Rule(.manage, .role([.addMember, .changeRole, .mute]), requests: "putMember")
        case .removeMember: Rule(.manage, .role([.removeMember, .leave]), requests: "removeMember")
        case .readInvitations: Rule(.read, .role([.invite]), requests: "invitations")
        case .readOwnInvitations: Rule(.read, .user)
        case .invite: Rule(.manage, .role([.invite]), requests: "invite", "endInvitation")
        case .readBans: Rule(.read, .role([.ban]), requests: "bans")
        case .ban: Rule(.manage, .role([.ban]), requests: "ban", "unban")

        case .readReports, .closeReport, .inspect, .closeConnections, .banFromServer, .readServerBans: .administrator
        case .readSettings, .changeSettings, .importHistory, .testPush: .administrator
        }
    }

    // MARK: At the doors

    /// What a request over the WebSocket is; nothing for one that nobody put into the table.
    package init?(request: String) {
        guard let operation = Self.byRequest[request] else { return nil }
        self = operation
    }

    private static let byRequest = Dictionary(
        uniqueKeysWithValues: allCases.flatMap { operation in operation.rule.requests.map { ($0, operation) } })

    /// Whether a caller's token is good for it; what their role in the conversation lets them is asked where it is done.
    ///
    /// - Throws: `forbidden`.
    package func check(_ caller: Caller) throws(ChatError) {
        guard let scope = rule.scope, !caller.isAdmin else { return }
        guard scope != .admin else { throw ChatError(.forbidden, "this takes an administrator's token") }
        guard caller.scopes.contains(scope) else {
            let own = caller.scopes.names?.joined(separator: ", ") ?? ""
            throw ChatError(
                .forbidden,
                "this takes a token with the scope \(scope.rawValue): this one is good for \(own.isEmpty ? "nothing" : own)",
                parameter: "token")
        }
    }
}
