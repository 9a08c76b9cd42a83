import Hummingbird
import ScrollbackEngine
import ScrollbackModel

extension Route {
    /// The export of a user's data, which is streamed.
    static let exports: [Route] = [
        Route(.get, "/v1/users/{user}/export", .exportUser) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context.parameters))
            try scope.checkNames(of: try scope.query(request))
            guard caller.isAdmin || caller.user == user else {
                throw ChatError(.forbidden, "Only \(user) and administrators can export this user's data.")
            }
            return try await scope.export(user, for: WorkOwner(caller))
        }
    ]
}
