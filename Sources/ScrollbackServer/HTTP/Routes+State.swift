import HTTPTypes
import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// What somebody changes about themselves: what they read, what is muted, pinned or in their list.
extension Route {
    static let state: [Route] = [
        change(.put, "read") { (scope, request) throws(ChatError) in try await scope.fields(request).change("read") },
        change(.put, "settings") { (scope, request) throws(ChatError) in
            try await scope.fields(request).change("settings")
        },
        change(.put, "notifications") { (scope, request) throws(ChatError) in
            try await scope.fields(request).change("notifications")
        },
        change(.put, "unread") { (_, _) throws(ChatError) in .markUnread },
        change(.put, "recent") { (_, _) throws(ChatError) in .addRecent },
        change(.delete, "recent") { (scope, request) throws(ChatError) in
            let given = try scope.query(request)["stopRoaming"] ?? []
            guard given.isEmpty || given == ["true"] || given == ["false"] else {
                throw .invalidParameter("stopRoaming", "must be true or false, once")
            }
            return .removeRecent(at: nil, stopsRoaming: given == ["true"])
        },
        change(.delete, "roaming") { (_, _) throws(ChatError) in .stopRoaming(at: nil) },
        Route(.post, "/v1/read", .markSeveralRead) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            var marks: [ReadMark]?
            var scopeOfAll = ReadScopeFields()
            try await scope.object(request) { (name, value) throws(ChatError) in
                if name == "conversations" {
                    marks = try ReadMark.list(&value)
                } else if try !scopeOfAll.read(name, &value) {
                    try value.skip()
                }
            }
            guard let marks else {
                let wanted = try scopeOfAll.scope()
                let unread = try await scope.read { try $0.marks(wanted, by: caller) }
                var count = 0
                // Some at a time, so that sends come between.
                for first in stride(from: 0, to: unread.count, by: 100) {
                    let marks = Array(unread[first..<min(first + 100, unread.count)])
                    let answers = try await scope.write { $0.read(marks, by: caller, completion: $1) }
                    count += answers.count { (try? $0.result.get()) != nil }
                }
                return respond { $0.field("read", count) }
            }
            try scopeOfAll.checkIsEmpty()
            let answers = try await scope.write { $0.read(marks, by: caller, completion: $1) }
            return respond { ReadAnswer.write(answers, to: &$0) }
        },
    ]

    /// A change to one conversation, answered with the caller's state there.
    private static func change(
        _ method: HTTPRequest.Method, _ path: String,
        _ change: @escaping @Sendable (RequestScope, Request) async throws(ChatError) -> StateChange
    ) -> Route {
        Route(method, "/v1/conversations/{conversation}/\(path)", .changeState) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let change = try await change(scope, request)
            let summary = try await scope.write { $0.change(id, change, by: caller, completion: $1) }
            return respond { summary.writeMembers(to: &$0) }
        }
    }
}

extension RequestScope {
    fileprivate func fields(_ request: Request) async throws(ChatError) -> StateChangeFields {
        var fields = StateChangeFields()
        try await object(request) { (name, value) throws(ChatError) in
            if try !fields.read(name, &value) { try value.skip() }
        }
        return fields
    }
}

/// Which conversations are read: those of one kind, or all.
private struct ReadScopeFields {
    private var kind: ConversationKind?
    private var isAll: Bool?
    private var upTo: Timetoken?

    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "kind": kind = try value.null() ? nil : value.choice("kind")
        case "all": isAll = try value.null() ? nil : value.bool()
        case "upTo": upTo = try value.null() ? nil : value.timetoken("upTo")
        default: return false
        }
        return true
    }

    func scope() throws(ChatError) -> ReadScope {
        guard (kind != nil) != (isAll == true) else {
            throw .invalidParameter("conversations", "is missing: give conversations, or kind, or all: true")
        }
        return ReadScope(kind: kind, upTo: upTo)
    }

    func checkIsEmpty() throws(ChatError) {
        guard kind == nil, isAll == nil, upTo == nil else {
            throw .invalidParameter("conversations", "goes with neither kind nor all nor upTo")
        }
    }
}
