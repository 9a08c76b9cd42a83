import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    static let messages: [Route] = [
        Route(.post, "/v1/conversations/{conversation}/messages", .send) { scope, request, context throws(ChatError) in
            // A body may come slowly.
            let shutOuts = scope.engine.shutOuts
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            var body = try await scope.json(request)
            let fields = try SubmissionFields(from: &body)
            try body.end()
            let submission = try Submission(from: fields, limits: scope.engine.limits)
            try scope.takeAllowance(of: caller)
            let result = try await scope.write {
                $0.send(submission, to: id, by: caller, since: shutOuts, completion: $1)
            }
            return respond(result.outcome == .duplicate ? .ok : .created) { result.writeMembers(to: &$0) }
        },
        Route(.get, "/v1/conversations/{conversation}/messages", .readHistory) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let query = try HistoryParameters(try scope.query(request)).query()
            let page = try await scope.read { try $0.history(of: id, query, by: caller) }
            return respond { page.writeMembers(to: &$0) }
        },
        Route(.get, "/v1/conversations/{conversation}/messages/{id}", .readHistory) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let conversation = try scope.conversation(context)
            let id = try MessageID(try scope.segment("id", context))
            let message = try await scope.read { try $0.message(id, in: conversation, by: caller) }
            return respond { message.writeMembers(to: &$0) }
        },
        Route(.post, "/v1/conversations/{conversation}/import", .importHistory) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let limits = scope.engine.limits
            var messages: [ImportedMessage]?
            var countsUnread = false
            try await scope.object(request) { (name, value) throws(ChatError) in
                switch name {
                case "countsUnread": countsUnread = try value.bool()
                case "messages":
                    messages = try value.list("messages", limit: 1000) { (message) throws(ChatError) in
                        let fields = try SubmissionFields(from: &message)
                        return ImportedMessage(
                            sender: try fields.sender.required("sender"), sentAt: try fields.sentAt.required("sentAt"),
                            submission: try Submission(from: fields, limits: limits))
                    }
                default: try value.skip()
                }
            }
            let batch = try messages.required("messages")
            let isCounted = countsUnread
            let report = try await scope.write {
                $0.importHistory(batch, into: id, countsUnread: isCounted, by: caller, completion: $1)
            }
            return respond { writer in
                writer.field("imported", report.imported)
                writer.field("skipped", report.skipped)
                writer.field("head", report.head)
            }
        },
    ]
}
