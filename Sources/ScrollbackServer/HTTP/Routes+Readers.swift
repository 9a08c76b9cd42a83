import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// Who has read a message.
    static let readers: [Route] = [
        Route(.get, "/v1/conversations/{conversation}/messages/{id}/readers") {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let message = try MessageID(try scope.segment("id", context))
            let (limit, cursor, _) = try scope.window(request)
            let after = try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") }
            let page = try await scope.read {
                try $0.readers(of: message, in: id, after: after, limit: limit, by: caller)
            }
            return respond { page.writeMembers(to: &$0) }
        }
    ]
}
