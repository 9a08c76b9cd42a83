import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Surface {
    /// `Documentation/permissions.md`: who may what, from the tables that decide it.
    package static var permissionsPage: String {
        """
        # Who may what

        Written from the tables that the server decides by, `ServerOperation` and `Permissions`; a test holds the two together.
        Write it anew with `SCROLLBACK_WRITE_PAGES=1 swift test --filter PermissionsPageTests`.

        ## Scopes of tokens

        A token that names no scopes is good for all that its user may do, but for what takes an administrator. One that names
        some is good for these operations and no others, over HTTP and over the WebSocket alike; anything else is `forbidden`.
        How tokens are made, and by whom: [operations](operations.md#tokens).

        | scope | what it is good for |
        |---|---|
        \(rows(Scope.allCases.map { [code($0.rawValue), description(of: $0)] }))

        ## Operations

        Three things are asked, in this order: who the token is of, whether it is good for the operation's scope, and whether the
        user may, which for a conversation is the next table's to say. Who is `banned` or deactivated may nothing.

        | operation | scope | who | HTTP | WebSocket |
        |---|---|---|---|---|
        \(rows(ServerOperation.allCases.map(row)))

        \(code("connect")) is what a connection needs to begin, and a fresh token to go on: it hears what is said. Whoever is to
        write without reading does it over HTTP. `GET /v1/media/{id}` and its thumbnail are given to who has a link as well. An
        upload is gone on with by who began it, and one's own devices, blocks, read positions and invitations are one's own.

        ## Roles in a conversation

        The least that a caller must be, by kind: **member** of the conversation (of a direct one, one of the two), **moderator**,
        **owner**, **admin** (a token with that scope, which is above all roles) or **anyone** who is signed in; `–` where it makes no
        sense for the kind. In a community the roles are those of the community, in a private channel the higher of the two. Who left
        still reads what was said while they were there. Who is not shown a conversation is told that it is not there (404).

        | | \(ConversationKind.allCases.map(\.rawValue).joined(separator: " | ")) |
        |---\(ConversationKind.allCases.map { _ in "|---" }.joined())|
        \(rows(Action.allCases.map(row)))

        """
    }

    private static func rows(_ rows: [[String]]) -> String {
        rows.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
    }

    private static func code(_ text: String) -> String { "`\(text)`" }

    private static func description(of scope: Scope) -> String {
        switch scope {
        case .read: "seeing and hearing what the user may; nothing changes by it"
        case .write: "messages: sending, editing, deleting, reactions, typing, reports, and files to send"
        case .manage:
            "conversations and who is in them: making, changing, deleting, joining, leaving, roles, invitations, bans"
        case .account: "what is the user's own: profile, devices, blocks, what is read, muted, pinned, hidden, listed"
        case .admin: "all of it, and what only administrators may"
        }
    }

    private static func row(_ operation: ServerOperation) -> [String] {
        let rule = operation.rule
        let routes = operations.filter { $0.operation == operation }.map { code("\($0.method) \($0.path)") }
        return [
            code(operation.rawValue), rule.scope.map { code($0.rawValue) } ?? "none, and no token", who(rule.who),
            routes.joined(separator: "<br>"), rule.requests.map(code).joined(separator: " "),
        ]
    }

    private static func who(_ who: ServerOperation.Who) -> String {
        switch who {
        case .everybody: "everybody"
        case .user: "whoever is signed in"
        case .oneself: "oneself, administrators"
        case .role(let actions): "as the table says: \(actions.map { code($0.rawValue) }.joined(separator: " "))"
        case .administrator: "administrators"
        }
    }

    private static func row(_ action: Action) -> [String] {
        [code(action.rawValue)]
            + ConversationKind.allCases.map { kind in
                let required = Permissions.standard[action, kind]
                return required == .nobody ? "–" : required.rawValue
            }
    }
}
