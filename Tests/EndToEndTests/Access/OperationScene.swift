import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

/// A group created for one operation, with a user who may perform it and a user who may not.
struct OperationScene {
    let fixture: ServerFixture
    let access: AccessRule
    /// The user with exactly the required role.
    let holder: UserID
    /// The user with the next lesser role, or `nil` if the operation does not depend on roles.
    let lesser: UserID?
    private let tag: String
    private var values: [String: String]

    private static let roles: [Requirement] = [.anyone, .member, .moderator, .owner, .admin]

    /// The settings that requests need. Presence and the directory are off by default, and then refused to any caller.
    private static let settings = [
        "presence": #"{"presence":true}"#, "POST /v1/presence/fetch": #"{"presence":true}"#,
        "searchUsers": #"{"directory":"everyone"}"#, "GET /v1/users": #"{"directory":"everyone"}"#,
    ]

    /// - Parameter request: The type of the WebSocket request, or the route.
    init(_ access: AccessRule, for request: String) async throws {
        fixture = try ServerFixture.shared
        self.access = access
        let tag = UUID().uuidString.prefix(8).lowercased()
        self.tag = tag
        func person(_ role: Requirement) throws -> UserID {
            try UserID(role == .admin ? "admin" : role == .anyone ? "outsider-\(tag)" : "\(role.rawValue)-\(tag)")
        }
        switch access.callers {
        case .permission(let actions):
            let needed = Permissions.standard[actions[0], .group]
            let index = try #require(Self.roles.firstIndex(of: needed))
            holder = try person(needed == .anyone ? .member : needed)
            lesser = index == 0 ? nil : try person(Self.roles[index - 1])
        case .administrator: (holder, lesser) = ("admin", nil)
        case .selfOrAdministrator: (holder, lesser) = (try person(.member), try person(.moderator))
        case .anyUser, .everyone: (holder, lesser) = (try person(.member), nil)
        }
        let people = ["member", "moderator", "owner", "other", "out"].map { "\"\($0)-\(tag)\"" }
        values = [
            "G": "group:\(tag)", "C": "community:\(tag)", "TAG": tag, "ME": holder.text, "OTHER": "other-\(tag)",
            "OUT": "out-\(tag)", "NEW": "new-\(tag)", "OWN": Self.id(), "MESSAGE": Self.id(), "FRESH": Self.id(),
        ]
        for (path, body) in [
            ("{G}", #"{"members":[\#(people.joined(separator: ","))]}"#),
            ("{C}", #"{"members":[\#(people.joined(separator: ","))]}"#),
            ("{G}/members/moderator-\(tag)", #"{"role":"moderator"}"#),
            ("{G}/members/owner-\(tag)", #"{"role":"owner"}"#),
        ] {
            let answer = try await fixture.admin.call("PUT", "/v1/conversations/" + fill(path), body)
            try #require(answer.status < 300, "\(path): \(answer)")
        }
        for (sender, message) in [(holder.text, "OWN"), ("other-\(tag)", "MESSAGE")] {
            let api = try await fixture.server.api(UserID(sender), isAdmin: sender == "admin")
            let answer = try await api.call(
                "POST", fill("/v1/conversations/{G}/messages"),
                fill(#"{"id":"{\#(message)}","type":"text","content":{"text":"hello there"}}"#))
            try #require(answer.status == 201, "\(answer)")
        }
        if let settings = Self.settings[request] {
            let answer = try await fixture.admin.call("PUT", "/v1/settings", settings)
            try #require(answer.status == 200, "\(answer)")
        }
        values["EPOCH"] = try await fixture.admin.call("GET", fill("/v1/conversations/{G}")).json.string("epoch")
    }

    private static func id() -> String { UUID().uuidString.lowercased() }

    /// Replaces the placeholders in `text`. `prepare` creates some of their values only if they are needed.
    func fill(_ text: String) -> String {
        values.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    mutating func prepare(_ texts: String...) async throws {
        let api = try await fixture.server.api(holder, isAdmin: holder == "admin")
        for name in ["FILE", "REPORT", "ACTION"]
        where values[name] == nil && texts.contains(where: { $0.contains("{\(name)}") }) {
            let (path, body, member) =
                switch name {
                case "FILE": ("/v1/media?conversation={G}&type=file&name=a.txt", "hello", "media")
                case "REPORT": ("/v1/conversations/{G}/messages/{MESSAGE}/reports", #"{"reason":"spam"}"#, "number")
                default:
                    (
                        "/v1/conversations/{G}/messages/{MESSAGE}/actions", #"{"type":"reaction","value":"x"}"#,
                        "timetoken"
                    )
                }
            let answer = try await api.call("POST", fill(path), body)
            let found = try #require(answer.json.all[member], "\(name): \(answer)")
            values[name] = "\(found)"
        }
    }

    // MARK: Tokens

    /// Returns a token of the holder with only the required scope.
    ///
    /// If the required role is the administrator's, the scope is `admin`.
    func justEnough(also others: Set<Scope> = []) async throws -> String {
        let needed = holder == "admin" ? .admin : access.scope ?? .read
        return try await fixture.server.token(holder, Scopes(Set([needed]).union(others)))
    }

    /// Returns a token of the holder with all scopes except the required one.
    func allBut() async throws -> String {
        guard access.scope != .admin else { return try await fixture.server.token(holder) }
        return try await fixture.server.token(
            holder, Scopes(Set(Scope.allCases).subtracting([access.scope ?? .admin, .admin])))
    }

    /// Returns a token of the user with the lesser role, with all scopes of that user.
    func tooSmall() async throws -> String? {
        guard let lesser else { return nil }
        return try await fixture.server.token(lesser)
    }
}
