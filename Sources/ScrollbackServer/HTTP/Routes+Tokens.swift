import Foundation
import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// Tokens, which the server's token service makes.
    static let tokens: [Route] = [
        Route(.post, "/v1/tokens", .makeToken) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            var user: UserID?
            var lifetime = TokenService.standardLifetime
            var scopes = Scopes.all
            let known = ["user", "expiresIn", "scopes"]
            try await scope.object(request, from: caller, known: known) { (name, value) throws(ChatError) in
                switch name {
                case "user": user = try value.user()
                case "expiresIn":
                    if try value.null() { return }
                    lifetime = try value.double()
                    guard lifetime >= 1, lifetime <= TokenService.maximumLifetime else {
                        throw .invalidParameter(
                            "expiresIn", "must be in 1...\(Int(TokenService.maximumLifetime)) seconds")
                    }
                default:
                    if try value.null() { return }
                    let names = try value.list("scopes", limit: 10) { (name) throws(ChatError) in try name.string() }
                    scopes = try Scopes(names: names)
                }
            }
            let subject = try user.required("user")
            // Deactivated and banned users get no token.
            try await scope.read(for: WorkOwner(caller), in: .admission) {
                try $0.checkAccount(of: subject)
            }
            let token: String
            do {
                token = try await scope.tokens.token(for: subject, scopes: scopes, lifetime: lifetime)
            } catch {
                throw ChatError(wrapping: error)
            }
            // The audit log must have the record before the administrator gets the token.
            try await scope.engine.audit(
                .issueToken, by: caller, of: subject, detail: scopes.names?.joined(separator: " "))
            return respond { $0.field("token", token) }
        }
    ]
}
