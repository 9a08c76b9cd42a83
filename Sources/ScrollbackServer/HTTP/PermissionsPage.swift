import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension APISurface {
    /// The content of `Documentation/permissions.md`.
    package static var permissionsPage: String {
        """
        # Permissions

        This page is generated from the endpoints of the server's operations and from `Permissions`. A test
        compares it with them. To generate it again, run `SCROLLBACK_WRITE_PAGES=1 swift test --filter
        PermissionsPageTests`.

        ## Scopes of tokens

        A token without scopes permits everything that its user may do, except what needs an administrator. A
        token with scopes permits only the operations of these scopes, over HTTP and over the WebSocket alike.
        All other operations fail with `forbidden`. [Operations](operations.md#tokens) describes how to create
        tokens.

        | scope | permits |
        |---|---|
        \(rows(Scope.allCases.map { [code($0.rawValue), description(of: $0)] }))

        ## Operations

        The server checks three things in this order: the user of the token, the scope of the operation, and the
        user's permission. For a conversation, the table of roles below defines the permission. Banned and
        deactivated users may do nothing.

        | operation | scope | callers | HTTP | WebSocket |
        |---|---|---|---|---|
        \(rows([connect] + CustomRouteRule.all.map(row) + OperationRegistry.all.map(row)))

        \(code("connect")) opens a connection and renews its token. A connection receives messages, so it needs
        the scope `read`. Clients that only write use HTTP. A link gives access to `GET /v1/media/{id}` and its
        thumbnail without a token. Only the user who started an upload can resume it. Devices, blocks, read
        positions and invitations belong to the user of the token.

        ## Roles in a conversation

        The table shows the lowest role that has each permission, by kind of conversation. The roles are
        **anyone**, **member**, **moderator**, **owner** and **admin**. Anyone means every signed-in user. The
        members of a direct conversation are its two users. A token with the scope `admin` has all permissions. A dash
        marks permissions that a kind of conversation does not have. Channels use the roles of their community,
        and private channels the higher of the two roles. Former members can still read the messages from their
        time as members. For users who can't see a conversation it does not exist (404).

        | | \(ConversationKind.allCases.map(\.rawValue).joined(separator: " | ")) |
        |---\(ConversationKind.allCases.map { _ in "|---" }.joined())|
        \(rows(Permission.allCases.map(row)))

        Mutes and removals also need a role that is not below the other user's role, and bans need a higher one. Users
        who are not members can be muted in rooms, and banned. Where the table allows the action, a token with the scope
        `admin` may act on users of every role.

        """
    }

    private static func rows(_ rows: [[String]]) -> String {
        rows.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
    }

    private static func code(_ text: String) -> String { "`\(text)`" }

    private static func description(of scope: Scope) -> String {
        switch scope {
        case .read: "read and receive what the user may see; changes nothing"
        case .write: "messages: send, edit, delete, react, typing, reports, and uploads"
        case .manage:
            "conversations and members: create, change, delete, join, leave, roles, invitations, bans"
        case .account: "the user's own data: profile, devices, blocks, read positions, mutes, pins, recents"
        case .admin: "everything, including operations for administrators"
        }
    }

    private static var connect: [String] { row("connect", .connect, "", code(HelloFrame.type)) }

    private static func row(_ rule: CustomRouteRule) -> [String] {
        let routes = operations.filter { $0.name == rule.name }.map { code("\($0.method) \($0.path)") }
        return row(rule.name, rule.access, routes.joined(separator: "<br>"), "")
    }

    private static func row(_ operation: any Executable.Type) -> [String] {
        let endpoint = operation.endpoint
        return row(
            operation.name, endpoint.access, endpoint.http.map { code("\($0.method.rawValue) \($0.path)") } ?? "",
            endpoint.frame.map(code) ?? "")
    }

    private static func row(_ name: String, _ access: AccessRule, _ http: String, _ frames: String) -> [String] {
        [
            code(name), access.scope.map { code($0.rawValue) } ?? "none, and no token",
            description(of: access.callers), http, frames,
        ]
    }

    private static func description(of callers: AccessRule.Callers) -> String {
        switch callers {
        case .everyone: "everyone"
        case .anyUser: "any signed-in user"
        case .selfOrAdministrator: "users for themselves, administrators"
        case .permission(let permissions):
            "users with the permission \(permissions.map { code($0.rawValue) }.joined(separator: " or "))"
        case .administrator: "administrators"
        }
    }

    private static func row(_ action: Permission) -> [String] {
        [code(action.rawValue)]
            + ConversationKind.allCases.map { kind in
                let required = Permissions.standard[action, kind]
                return required == .nobody ? "–" : required.rawValue
            }
    }
}
