import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// Who is there.
    static let presence: [Route] = [
        Route(.post, "/v1/presence/fetch", .readPresence) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            var users: [UserID]?
            try await scope.object(request) { (name, value) throws(ChatError) in
                guard name == "users" else { return try value.skip() }
                users = try value.users()
            }
            let wanted = try users.required("users")
            let list = try await scope.read { try $0.presence(of: wanted, by: caller) }
            return respond { list.writeMembers(to: &$0) }
        }
    ]
}
