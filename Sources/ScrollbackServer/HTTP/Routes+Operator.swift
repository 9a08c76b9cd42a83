import Foundation
import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// What an operator sees of who and what is there.
    static let lists: [Route] = [
        Route(.get, "/v1/admin/users", .inspect) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let list = try scope.list(request, also: ["prefix", "state"])
            let state = try list["state"].map { (name) throws(ChatError) in
                guard let state = UserState.allCases.first(where: { $0.name == name }) else {
                    throw .invalidParameter(
                        "state", "must be one of \(UserState.allCases.map(\.name).joined(separator: ", "))")
                }
                return state
            }
            let after = try list.after()
            let (users, next) = try await scope.read {
                try $0.users(prefix: list["prefix"] ?? "", state: state, after: after, limit: list.limit, by: caller)
            }
            return respond { writer in
                writer.key("users")
                writer.array(users) { $1.write(to: &$0) }
                writer.field("cursor", next)
            }
        },
        Route(.get, "/v1/admin/conversations", .inspect) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let list = try scope.list(request, also: ["kind", "prefix", "user"])
            let (conversations, next) = try await conversations(list, scope, by: caller)
            return respond { writer in
                writer.key("conversations")
                writer.array(conversations) { writer, entry in writer.object { entry.writeMembers(to: &$0) } }
                writer.field("cursor", next)
            }
        },
        Route(.get, "/v1/admin/connections", .inspect) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let list = try scope.list(request, also: ["user"])
            let user = try list["user"].map { (name) throws(ChatError) in try UserID(name) }
            let after = try list.cursor.map { (text) throws(ChatError) in try ConnectionCursor(text) }
            let (connections, next) = try await scope.read {
                try $0.connections(
                    of: user, after: after.map { ($0.user, $0.device) }, limit: list.limit, by: caller)
            }
            return respond { writer in
                writer.key("connections")
                writer.array(connections) { $1.write(to: &$0) }
                writer.field("cursor", next.map { ConnectionCursor(user: $0.user, device: $0.device).text })
            }
        },
        Route(.delete, "/v1/admin/connections/{user}", .closeConnections) { scope, request, context throws(ChatError) in
            try await close(nil, scope, request, context)
        },
        Route(.delete, "/v1/admin/connections/{user}/{device}", .closeConnections) {
            scope, request, context throws(ChatError) in
            try await close(try scope.segment("device", context), scope, request, context)
        },
        Route(.get, "/v1/admin/jobs/{id}", .inspect) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let number = try number("id", scope, context)
            let job = try await scope.read { try $0.erasure(number, by: caller) }
            return respond { job.writeMembers(to: &$0) }
        },
    ]

    private static func conversations(
        _ list: ListQuery, _ scope: RequestScope, by caller: Caller
    ) async throws(ChatError) -> (conversations: [ConversationEntry], next: String?) {
        let kind = try list["kind"].map { (name) throws(ChatError) in
            guard let kind = ConversationKind(rawValue: name) else {
                throw .invalidParameter(
                    "kind", "must be one of \(ConversationKind.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            return kind
        }
        guard let name = list["user"] else {
            let after = try list.cursor.map { (text) throws(ChatError) in
                guard let id = try? ConversationID(text), id.isAbsolute, kind.map({ $0 == id.kind }) ?? true else {
                    throw .invalidParameter("cursor", "must be one that the list gave, as it was")
                }
                return id
            }
            let page = try await scope.read {
                try $0.conversations(
                    kind: kind, prefix: list["prefix"] ?? "", after: after, limit: list.limit, by: caller)
            }
            return (page.conversations, page.next?.description)
        }
        guard kind == nil, list["prefix"] == nil else {
            throw .invalidParameter("user", "does not go with kind or prefix: give one of them")
        }
        let user = try UserID(name)
        let after = try list.cursor.map { (text) throws(ChatError) in
            guard let number = Int64(text), number >= 0 else {
                throw .invalidParameter("cursor", "must be one that the list gave, as it was")
            }
            return number
        }
        let page = try await scope.read {
            try $0.conversations(of: user, after: after ?? 0, limit: list.limit, by: caller)
        }
        return (page.conversations, page.next.map { String($0) })
    }

    private static func close(
        _ device: String?, _ scope: RequestScope, _ request: Request, _ context: BasicRequestContext
    ) async throws(ChatError) -> Response {
        let caller = try await scope.caller(request)
        let user = try UserID(try scope.segment("user", context))
        let count = try await scope.read { try $0.closeConnections(of: user, device: device, by: caller) }
        return respond { $0.field("closed", count) }
    }

    static func number(
        _ name: String, _ scope: RequestScope, _ context: BasicRequestContext
    ) throws(ChatError) -> Int64 {
        guard let number = Int64(try scope.segment(name, context)), number > 0 else {
            throw .invalidParameter(name, "must be a whole number above 0")
        }
        return number
    }

    /// What becomes of a user.
    static let departures: [Route] = [
        Route(.put, "/v1/users/{user}/state", .changeUserState) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            var state: String?
            try await scope.object(request) { (name, value) throws(ChatError) in
                if name == "state" { state = try value.string() } else { try value.skip() }
            }
            let wanted = try state.required("state")
            guard ["active", "deactivated"].contains(wanted) else {
                throw .invalidParameter("state", "must be active or deactivated")
            }
            try await scope.write {
                $0.setState(of: user, isActive: wanted == "active", by: caller, completion: $1)
            }
            return respond { writer in
                writer.field("user", user)
                writer.field("state", wanted)
            }
        },
        Route(.delete, "/v1/users/{user}", .eraseUser) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            let given = try scope.query(request)["messages"] ?? []
            guard given.count == 1,
                let messages = ErasureRow.Messages.allCases.first(where: { $0.name == given[0] })
            else {
                throw .invalidParameter(
                    "messages", "must say what becomes of what they said: keep, anonymize or erase")
            }
            let job = try await scope.engine.erase(user, messages: messages, by: caller)
            return respond(.accepted) { job.writeMembers(to: &$0) }
        },
        Route(.get, "/v1/users/{user}/export", .exportUser) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            guard caller.isAdmin || caller.user == user else {
                throw ChatError(.forbidden, "what is held about \(user) is for them and for administrators")
            }
            return try await scope.export(user)
        },
    ]
}

/// The last connection of a page: names with their slashes escaped, so that one lies between the two.
private struct ConnectionCursor {
    var user: UserID
    var device: String

    init(user: UserID, device: String) {
        self.user = user
        self.device = device
    }

    init(_ text: String) throws(ChatError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { $0.removingPercentEncoding }
        guard parts.count == 2, let name = parts[0], let device = parts[1], let user = try? UserID(name) else {
            throw .invalidParameter("cursor", "must be one that the list gave, as it was")
        }
        self.init(user: user, device: device)
    }

    var text: String {
        [user.text, device].map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
            .joined(separator: "/")
    }
}

extension ErasureRow {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.field("id", number)
        writer.field("kind", "erase")
        writer.field("state", isOver ? "done" : error == nil ? "running" : "waiting")
        writer.field("user", user)
        writer.field("messages", messages.name)
        if messages != .keep { writer.field("replacement", replacement) }
        writer.key("done")
        writer.object { writer in
            writer.field("conversations", conversationCount)
            writer.field("messages", messageCount)
            writer.field("files", fileCount)
        }
        writer.field("createdAt", createdAt)
        writer.field("endedAt", endedAt)
        writer.field("error", error)
    }
}
