import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// What is done to messages after they were sent.
    static let changes: [Route] = [
        Route(.patch, "/v1/conversations/{conversation}/messages/{id}", .edit) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let conversation = try scope.conversation(context)
            let id = try MessageID(try scope.segment("id", context))
            var fields = MessageEditFields()
            try await scope.object(request) { (name, value) throws(ChatError) in
                if name == "type" {
                    fields.type = try MessageType(try value.string())
                } else if try !fields.read(name, &value) {
                    try value.skip()
                }
            }
            let edit = try fields.edit(limits: scope.engine.limits)
            let operation = fields.operation
            try scope.takeAllowance(of: caller)
            let message = try await scope.write {
                $0.edit(id, in: conversation, edit, operation: operation, by: caller, completion: $1)
            }
            return respond { message.writeMembers(to: &$0) }
        },
        Route(.delete, "/v1/conversations/{conversation}/messages/{id}", .delete) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let conversation = try scope.conversation(context)
            let id = try MessageID(try scope.segment("id", context))
            let query = try scope.query(request)
            guard query["for"] == nil || query["for"] == ["me"] || query["for"] == ["everyone"] else {
                throw .invalidParameter("for", "must be me or everyone")
            }
            if query["for"] == ["me"] {
                let count = try await scope.write { $0.hide([id], in: conversation, by: caller, completion: $1) }
                guard count > 0 else {
                    throw ChatError(.unknownMessage, "there is no message \(id) here that you may see")
                }
                return Response(status: .noContent)
            }
            let stub = try await scope.write { (engine, done: @escaping Engine.Completion<Message>) in
                engine.delete(id, in: conversation, by: caller, completion: done)
            }
            return respond { stub.writeMembers(to: &$0) }
        },
        Route(.post, "/v1/conversations/{conversation}/messages/delete", .delete) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let conversation = try scope.conversation(context)
            var ids: [MessageID]?
            var isForMe = false
            try await scope.object(request) { (name, value) throws(ChatError) in
                switch name {
                case "ids":
                    ids = try value.list("ids", limit: Engine.maximumDeleted) { (id) throws(ChatError) in
                        try id.messageID("ids")
                    }
                case "for": isForMe = try value.forMe()
                default: try value.skip()
                }
            }
            let wanted = try ids.required("ids")
            let forMe = isForMe
            let count = try await scope.write { (engine, done: @escaping Engine.Completion<Int>) in
                if forMe {
                    engine.hide(wanted, in: conversation, by: caller, completion: done)
                } else {
                    engine.delete(wanted, in: conversation, by: caller, completion: done)
                }
            }
            return respond { $0.field("deleted", count) }
        },
        Route(.delete, "/v1/conversations/{conversation}/messages", .deleteHistory) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let conversation = try scope.conversation(context)
            let (range, operation) = try deleteRange(scope.query(request))
            let count = try await scope.write {
                $0.delete(range, of: conversation, operation: operation, by: caller, completion: $1)
            }
            scope.tidy.begin()
            return respond { $0.field("deleted", count) }
        },
        Route(.put, "/v1/conversations/{conversation}/clear", .changeState) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let (seq, epoch) = try await scope.place(request)
            let summary = try await scope.write {
                $0.clear(id, through: seq, epoch: epoch, by: caller, completion: $1)
            }
            return respond { summary.writeMembers(to: &$0) }
        },
    ]

    /// What a range's parameters say: everything only where that is said.
    private static func deleteRange(
        _ query: [String: [String]]
    ) throws(ChatError) -> (DeleteRange, operation: MessageID?) {
        func one(_ name: String) throws(ChatError) -> String? {
            guard let given = query[name] else { return nil }
            guard given.count == 1 else { throw .invalidParameter(name, "must be given once") }
            return given[0]
        }
        let operation = try one("operation").map { (text) throws(ChatError) in
            try MessageID(text, parameter: "operation")
        }
        let all = try one("all")
        guard all == nil || all == "true" else { throw .invalidParameter("all", "must be true, or left out") }
        var fields = DeleteRangeFields()
        fields.from = try one("from")
        fields.to = try one("to")
        fields.isAll = all != nil
        return (try fields.range(), operation)
    }

    static let actions: [Route] = [
        Route(.post, "/v1/conversations/{conversation}/messages/{id}/actions", .react) {
            scope, request, context throws(ChatError) in
            let shutOuts = scope.engine.shutOuts
            let caller = try await scope.caller(request)
            let conversation = try scope.conversation(context)
            let id = try MessageID(try scope.segment("id", context))
            var type: String?
            var text: String?
            var operation: MessageID?
            try await scope.object(request) { (name, value) throws(ChatError) in
                switch name {
                case "type": type = try value.string()
                case "value": text = try value.string()
                case "operation": operation = try value.null() ? nil : value.messageID("operation")
                default: try value.skip()
                }
            }
            let (wanted, value, key) = (try type.required("type"), try text.required("value"), operation)
            try scope.takeAllowance(of: caller)
            let action = try await scope.write {
                $0.addAction(
                    to: id, in: conversation, type: wanted, value: value, operation: key, by: caller, since: shutOuts,
                    completion: $1)
            }
            return respond(.created) { action.writeMembers(to: &$0) }
        },
        Route(.get, "/v1/conversations/{conversation}/messages/{id}/actions", .readHistory) {
            scope, request, context throws(ChatError) in
            let id = try MessageID(try scope.segment("id", context))
            return try await actions(on: id, scope, request, context)
        },
        Route(.get, "/v1/conversations/{conversation}/actions", .readHistory) {
            scope, request, context throws(ChatError) in
            try await actions(on: nil, scope, request, context)
        },
        Route(.delete, "/v1/conversations/{conversation}/messages/{id}/actions/{timetoken}", .react) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let conversation = try scope.conversation(context)
            let id = try MessageID(try scope.segment("id", context))
            let time = try Timetoken(try scope.segment("timetoken", context))
            try scope.takeAllowance(of: caller)
            try await scope.write {
                $0.removeAction(from: id, .at(time), in: conversation, by: caller, completion: $1)
            }
            return Response(status: .noContent)
        },
    ]

    private static func actions(
        on id: MessageID?, _ scope: RequestScope, _ request: Request, _ context: BasicRequestContext
    ) async throws(ChatError) -> Response {
        let caller = try await scope.caller(request)
        let conversation = try scope.conversation(context)
        let list = try scope.list(request)
        let after = try list.cursor.map { (text) throws(ChatError) in try Timetoken(text, parameter: "cursor") }
        let (actions, next) = try await scope.read {
            try $0.actions(on: id, in: conversation, after: after, limit: list.limit, by: caller)
        }
        return respond { [MessageAction].write(actions, next: next, to: &$0) }
    }
}
