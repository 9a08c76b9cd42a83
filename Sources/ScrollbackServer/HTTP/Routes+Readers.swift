import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// Who has read a message.
    static let readers: [Route] = [
        Route(.get, "/v1/conversations/{conversation}/messages/{id}/readers", .listMembers) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let message = try MessageID(try scope.segment("id", context))
            let list = try scope.list(request)
            let after = try list.after()
            let page = try await scope.read {
                try $0.readers(of: message, in: id, after: after, limit: list.limit, by: caller)
            }
            return respond { page.writeMembers(to: &$0) }
        }
    ]
}
