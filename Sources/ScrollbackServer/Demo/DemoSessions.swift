import Foundation
import HTTPTypes
import Hummingbird
import ScrollbackEngine
import ScrollbackModel

/// The tokens with which the chat page signs in the two users of a demonstration.
///
/// They need no authentication, so they are only for a browser on the server's computer. A page of another web origin
/// gets none, also if its name resolves to the server's address.
struct DemoSessions: Sendable {
    static let path = "/chat/demo.json"

    private static let users: [UserID] = ["alice", "bob"]
    private static let lifetime: TimeInterval = 86_400
    /// The fields that proxies add, whose clients are on other computers.
    private static let proxyFields: [HTTPField.Name] = ["Forwarded", "X-Forwarded-For", "Via"].compactMap {
        HTTPField.Name($0)
    }

    private let tokens: TokenService

    /// - Returns: `nil` unless the server is a demonstration that only its own computer can reach.
    init?(_ options: ServerOptions, _ tokens: TokenService) {
        guard options.offersDemoTokens else { return nil }
        self.tokens = tokens
    }

    func response(to request: Request) async throws(ChatError) -> Response {
        try Self.check(request)
        var sessions: [(user: UserID, token: String)] = []
        do {
            for user in Self.users {
                sessions.append((user, try await tokens.token(for: user, isAdmin: false, lifetime: Self.lifetime)))
            }
        } catch {
            throw ChatError(wrapping: error)
        }
        return respond { writer in
            writer.key("users")
            writer.array(sessions) { writer, session in
                writer.object {
                    $0.field("user", session.user.text)
                    $0.field("token", session.token)
                }
            }
        }
    }

    /// Checks that the request comes from a page of the server itself, in a browser on this computer.
    private static func check(_ request: Request) throws(ChatError) {
        let host = request.head.authority.flatMap { URLComponents(string: "http://\($0)")?.host }
        let isForwarded = proxyFields.contains { request.headers[$0] != nil }
        // Browsers send no origin with a GET request to the page's own server.
        guard let host, ListenAddress.loopbackHosts.contains(host), !isForwarded, request.headers[.origin] == nil else {
            throw ChatError(
                .forbidden,
                "Only a browser on the server's computer gets demo tokens. Open the server at http://localhost.")
        }
    }
}
