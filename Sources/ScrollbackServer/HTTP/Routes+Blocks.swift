import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// Whom the caller has blocked.
    static let blocks: [Route] = [
        Route(.get, "/v1/blocks", .readBlocks) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let list = try scope.list(request)
            let after = try list.after()
            let page = try await scope.read { try $0.blocked(by: caller, after: after, limit: list.limit) }
            return respond { page.writeMembers(to: &$0) }
        },
        Route(.put, "/v1/blocks/{user}", .block) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            try await scope.write { $0.block(user, isOn: true, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
        Route(.delete, "/v1/blocks/{user}", .block) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            try await scope.write { $0.block(user, isOn: false, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
    ]
}
