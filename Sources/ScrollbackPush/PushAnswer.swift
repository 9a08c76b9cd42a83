import Foundation
import ScrollbackEngine
import ScrollbackModel

/// How a push service that uses access tokens answered a push.
enum PushAnswer {
    case settled(PushOutcome)
    /// The service rejected the access token or the credentials. The value is its error code.
    case unauthorized(String)

    /// Interprets an HTTP status when the body has no code or the code adds nothing.
    init(_ response: PushResponse, retrySeconds: Double, reason: String?) {
        let reasonText = reason ?? "status \(response.status)"
        switch response.status {
        case 401, 403: self = .unauthorized(reasonText)
        case 429: self = .settled(.later(after: response.retryAfter ?? PushRetryDelay.rateLimited, reasonText))
        case 408, 500...: self = .settled(.later(after: response.retryAfter ?? retrySeconds, reasonText))
        // A response without a code comes from another server, for example a proxy.
        case 200..<300 where reason == nil:
            self = .settled(.later(after: response.retryAfter ?? retrySeconds, "\(reasonText) without a code"))
        default: self = .settled(.refused(reasonText))
        }
    }

    var outcome: PushOutcome {
        switch self {
        case .settled(let outcome): outcome
        // Retry until the operator fixes the credentials or the push expires.
        case .unauthorized(let code): .later(after: PushRetryDelay.credentialsRejected, code)
        }
    }
}

/// Delays in seconds for services that don't specify one.
enum PushRetryDelay {
    /// The delay after too many requests.
    static let rateLimited: Double = 60
    /// The delay after the daily quota is used up.
    static let quota: Double = 3600
    /// The delay after the credentials were rejected.
    static let credentialsRejected: Double = 300
}

/// A response with a JSON code in its body, which phone makers' services send with any HTTP status.
struct CodedResponse {
    /// A string, or the digits of a number.
    let code: String
    let message: String?
    private let members: [String: Any]

    /// Parses a response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - code: The name of the member with the code.
    ///   - message: The names of members with a description, in order of preference.
    init?(_ response: PushResponse, code: String, message: String...) {
        let json = try? JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        guard let members = json else { return nil }
        self.init(members, code: code, message: message)
    }

    /// Creates an answer from a member of a batch response.
    ///
    /// Returns `nil` if it has no code, which means success.
    init?(_ members: [String: Any], code: String, message: [String]) {
        switch members[code] {
        case let text as String: self.code = text
        case let number as Int: self.code = String(number)
        default: return nil
        }
        self.message = message.lazy.compactMap { members[$0] as? String }.first { !$0.isEmpty }
        self.members = members
    }

    /// Returns a member that is an object.
    func object(_ name: String) -> [String: Any] { members[name] as? [String: Any] ?? [:] }

    /// Returns a member that is an array of objects.
    func objects(_ name: String) -> [[String: Any]] { members[name] as? [[String: Any]] ?? [] }

    func text(_ name: String) -> String? { members[name] as? String }

    /// The description parsed as a JSON object, if it is one.
    var details: [String: Any]? {
        guard let message else { return nil }
        return try? JSONSerialization.jsonObject(with: Data(message.utf8)) as? [String: Any]
    }
}

extension PushNotification {
    /// Returns the code and the description of a refusal, without descriptions that repeat content of the push.
    func reason(_ code: String, _ message: String?) -> String {
        guard let message, !message.isEmpty else { return code }
        let own: [String?] = [device.token, text.title, text.body, data, link]
        let repeats = own.compactMap(\.self).contains { !$0.isEmpty && message.contains($0) }
        return repeats ? code : "\(code) \(message.truncated(200))"
    }
}

/// The service did not issue an access token.
struct TokenRequestError: Error {
    var reason: String
    var after: Double

    init(reason: String, after: Double) {
        self.reason = reason
        self.after = after
    }

    init(_ response: PushResponse, retrySeconds: Double) {
        switch PushAnswer(response, retrySeconds: retrySeconds, reason: nil).outcome {
        case .later(let after, let reason): self.init(reason: reason, after: after ?? retrySeconds)
        // The operator must fix this. Most likely the secret is wrong.
        default: self.init(reason: "status \(response.status)", after: PushRetryDelay.credentialsRejected)
        }
    }
}

/// Sends a push with an access token.
///
/// If the service rejects the token, tries once more with a new one.
func withToken(
    of tokens: TokenCache, _ post: (_ token: String) async throws -> PushAnswer
) async -> PushOutcome {
    do {
        let token = try await tokens.token()
        let answer = try await post(token)
        guard case .unauthorized = answer else { return answer.outcome }
        return try await post(try await tokens.token(after: token)).outcome
    } catch let error as TokenRequestError {
        return .later(after: error.after, "no access token: \(error.reason)")
    } catch {
        return .later(after: nil, "no answer: \(error)")
    }
}
