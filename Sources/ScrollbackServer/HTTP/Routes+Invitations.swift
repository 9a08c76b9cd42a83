import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// Who may join by themselves what takes more than wanting to.
    static let invitations: [Route] = [
        Route(.get, "/v1/invitations", .readOwnInvitations) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let list = try scope.list(request)
            let page = try await scope.read {
                try $0.invitations(to: nil, cursor: list.cursor, limit: list.limit, by: caller)
            }
            return respond { page.writeMembers(to: &$0) }
        },
        Route(.get, "/v1/conversations/{conversation}/invitations", .readInvitations) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let list = try scope.list(request)
            let page = try await scope.read {
                try $0.invitations(to: id, cursor: list.cursor, limit: list.limit, by: caller)
            }
            return respond { page.writeMembers(to: &$0) }
        },
        Route(.put, "/v1/conversations/{conversation}/invitations/{user}", .invite) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            try scope.takeAllowance(of: caller)
            let id = try scope.conversation(context)
            let user = try UserID(try scope.segment("user", context))
            var lifetime: Int64?
            try await scope.object(request) { (name, value) throws(ChatError) in
                guard name == "expiresIn" else { return try value.skip() }
                lifetime = try value.null() ? nil : value.integer()
            }
            let wanted = lifetime
            let (invitation, isNew) = try await scope.write {
                $0.invite(user, to: id, expiresIn: wanted, by: caller, completion: $1)
            }
            return respond(isNew ? .created : .ok) { invitation.writeMembers(to: &$0) }
        },
        Route(.delete, "/v1/conversations/{conversation}/invitations/{user}", .invite) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let user = try UserID(try scope.segment("user", context))
            try await scope.write { $0.endInvitation(of: user, to: id, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
    ]
}
