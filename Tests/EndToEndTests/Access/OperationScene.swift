import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

/// Somebody who tries an operation in a group made for it, and somebody who may not.
struct OperationScene {
    let world: SmallWorld
    let rule: ServerOperation.Rule
    /// Whoever has what it takes, and no more than it takes.
    let holder: UserID
    /// Whose role is just too small; nobody, where roles are not asked.
    let lesser: UserID?
    private let tag: String
    private var values: [String: String]

    private static let roles: [Requirement] = [.anyone, .member, .moderator, .owner, .admin]

    init(_ operation: ServerOperation) async throws {
        world = try SmallWorld.shared
        rule = operation.rule
        let tag = UUID().uuidString.prefix(8).lowercased()
        self.tag = tag
        func person(_ role: Requirement) throws -> UserID {
            try UserID(role == .admin ? "admin" : role == .anyone ? "outsider-\(tag)" : "\(role.rawValue)-\(tag)")
        }
        switch rule.who {
        case .role(let actions):
            let needed = Permissions.standard[actions[0], .group]
            let index = try #require(Self.roles.firstIndex(of: needed))
            holder = try person(needed == .anyone ? .member : needed)
            lesser = index == 0 ? nil : try person(Self.roles[index - 1])
        case .administrator: (holder, lesser) = ("admin", nil)
        case .oneself: (holder, lesser) = (try person(.member), try person(.moderator))
        case .user, .everybody: (holder, lesser) = (try person(.member), nil)
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
            let answer = try await world.admin.call("PUT", "/v1/conversations/" + fill(path), body)
            try #require(answer.status < 300, "\(path): \(answer)")
        }
        for (sender, message) in [(holder.text, "OWN"), ("other-\(tag)", "MESSAGE")] {
            let api = try await world.server.api(UserID(sender), isAdmin: sender == "admin")
            let answer = try await api.call(
                "POST", fill("/v1/conversations/{G}/messages"),
                fill(#"{"id":"{\#(message)}","type":"text","content":{"text":"hello there"}}"#))
            try #require(answer.status == 201, "\(answer)")
        }
        if operation == .readPresence {
            // Off by itself, which is refused whoever asks.
            let answer = try await world.admin.call("PUT", "/v1/settings", #"{"presence":true}"#)
            try #require(answer.status == 200, "\(answer)")
        }
        values["EPOCH"] = try await world.admin.call("GET", fill("/v1/conversations/{G}")).json.string("epoch")
    }

    private static func id() -> String { UUID().uuidString.lowercased() }

    /// With what is there in the place of its names; what only some need is made when they need it.
    func fill(_ text: String) -> String {
        values.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    mutating func prepare(_ texts: String...) async throws {
        let api = try await world.server.api(holder, isAdmin: holder == "admin")
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

    /// Of the holder: good for what is needed and nothing else; where the role is an administrator's, that is the scope too.
    func justEnough(also others: Set<Scope> = []) async throws -> String {
        let needed = holder == "admin" ? .admin : rule.scope ?? .read
        return try await world.server.token(holder, Scopes(Set([needed]).union(others)))
    }

    /// Of the holder: good for all but what is needed.
    func allBut() async throws -> String {
        guard rule.scope != .admin else { return try await world.server.token(holder) }
        return try await world.server.token(
            holder, Scopes(Set(Scope.allCases).subtracting([rule.scope ?? .admin, .admin])))
    }

    /// Of somebody whose role is too small: good for all they may.
    func tooSmall() async throws -> String? {
        guard let lesser else { return nil }
        return try await world.server.token(lesser)
    }
}
