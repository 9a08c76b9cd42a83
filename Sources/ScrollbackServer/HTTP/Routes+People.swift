import Foundation
import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    static let people: [Route] = [
        Route(.post, "/v1/tokens", .makeToken) { scope, request, _ throws(ChatError) in
            _ = try await scope.caller(request)
            var user: UserID?
            var lifetime = TokenService.standardLifetime
            var scopes = Scopes.all
            try await scope.object(request) { (name, value) throws(ChatError) in
                switch name {
                case "user": user = try value.user()
                case "expiresIn":
                    if try value.null() { return }
                    lifetime = try value.double()
                    guard lifetime >= 1, lifetime <= TokenService.maximumLifetime else {
                        throw .invalidParameter(
                            "expiresIn", "must be in 1...\(Int(TokenService.maximumLifetime)) seconds")
                    }
                case "scopes":
                    if try value.null() { return }
                    let names = try value.list("scopes", limit: 10) { (name) throws(ChatError) in try name.string() }
                    scopes = try Scopes(names: names)
                default: try value.skip()
                }
            }
            let subject = try user.required("user")
            // Whoever may not come in gets no token to try it with.
            try await scope.read { try $0.checkMayEnter(subject, issuedAt: .distantFuture) }
            let token: String
            do {
                token = try await scope.tokens.token(for: subject, scopes: scopes, lifetime: lifetime)
            } catch {
                throw ChatError(wrapping: error)
            }
            return respond { $0.field("token", token) }
        },
        Route(.delete, "/v1/users/{user}/tokens", .revokeTokens) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            try await scope.write { $0.revokeTokens(of: user, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
        Route(.get, "/v1/me", .readProfiles) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let (profile, push) = try await scope.read { engine in
                (
                    try engine.users([caller.user]).first ?? UserProfile(id: caller.user),
                    try engine.pushPreferences(of: caller.user, by: caller)
                )
            }
            return answer(profile, push)
        },
        Route(.get, "/v1/users/{user}", .readProfiles) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            let (profile, push) = try await scope.read { engine in
                // How somebody wants to be told is theirs to know.
                let isOwn = caller.user == user || caller.isAdmin
                return (try engine.user(user), isOwn ? try engine.pushPreferences(of: user, by: caller) : nil)
            }
            return answer(profile, push)
        },
        Route(.put, "/v1/users/{user}", .changeProfile) { scope, request, context throws(ChatError) in
            let shutOuts = scope.engine.shutOuts
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            var fields = ProfileFields()
            var push: PushPreferencesChange?
            try await scope.object(request) { (name, value) throws(ChatError) in
                if name == "push" {
                    push = try PushPreferencesChange(from: &value)
                } else if try !fields.read(name, &value) {
                    try value.skip()
                }
            }
            try scope.engine.limits.check(attribute: fields.metadata, "metadata")
            let change = ProfileChange(
                name: fields.name, avatar: fields.avatar, metadata: fields.metadata, push: push)
            let changed = try await scope.write {
                $0.putUser(user, change, by: caller, since: shutOuts, completion: $1)
            }
            return answer(changed, try await scope.read { try $0.pushPreferences(of: user, by: caller) })
        },
        Route(.post, "/v1/users/fetch", .readProfiles) { scope, request, _ throws(ChatError) in
            _ = try await scope.caller(request)
            var users: [UserID]?
            try await scope.object(request) { (name, value) throws(ChatError) in
                guard name == "users" else { return try value.skip() }
                users = try value.users()
            }
            let wanted = try users.required("users")
            let profiles = try await scope.read { try $0.users(wanted) }
            return respond { profiles.writeMembers(to: &$0) }
        },
    ]

    private static func answer(_ profile: UserProfile, _ push: PushPreferences?) -> Response {
        var writer = JSONWriter()
        writer.object { writer in
            profile.writeMembers(to: &writer)
            guard let push else { return }
            writer.key("push")
            push.write(to: &writer)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: .init(bytes: writer.bytes)))
    }
}
