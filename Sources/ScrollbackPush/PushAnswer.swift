import Foundation
import ScrollbackEngine
import ScrollbackModel

/// What a service that is shown a token makes of a push.
enum PushAnswer {
    case settled(PushOutcome)
    /// Who asks is not known to it, by its own code.
    case denied(String)

    /// What a status says where the body has no code, or one that says nothing more.
    init(_ response: PushResponse, retrySeconds: Double, reason: String?) {
        let said = reason ?? "status \(response.status)"
        switch response.status {
        case 401, 403: self = .denied(said)
        case 429: self = .settled(.later(after: response.retryAfter ?? PushWait.pace, said))
        case 408, 500...: self = .settled(.later(after: response.retryAfter ?? retrySeconds, said))
        // Something else answered in the service's place.
        case 200..<300 where reason == nil:
            self = .settled(.later(after: response.retryAfter ?? retrySeconds, "\(said) without a code"))
        default: self = .settled(.refused(said))
        }
    }

    var outcome: PushOutcome {
        switch self {
        case .settled(let outcome): outcome
        // The operator's to mend: it is tried until they have, or it is too late.
        case .denied(let code): .later(after: PushWait.denial, code)
        }
    }
}

/// How long a service is let be that does not say for how long, in seconds.
enum PushWait {
    /// Where it was asked too often.
    static let pace: Double = 60
    /// Where a day's pushes are used up.
    static let quota: Double = 3600
    /// Where it does not take who asks.
    static let denial: Double = 300
}

/// An answer with a code in its body, as the phones' makers give it whatever the status is.
struct CodedAnswer {
    /// A text, or a number's digits.
    let code: String
    let words: String?
    private let members: [String: Any]

    /// - Parameters:
    ///   - code: what the code is called.
    ///   - words: what the words beside it are called, the best first.
    init?(_ response: PushResponse, code: String, words: String...) {
        let json = try? JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        guard let members = json else { return nil }
        self.init(members, code: code, words: words)
    }

    /// One in a batch, which may have no code where nothing is wrong.
    init?(_ members: [String: Any], code: String, words: [String]) {
        switch members[code] {
        case let text as String: self.code = text
        case let number as Int: self.code = String(number)
        default: return nil
        }
        self.words = words.lazy.compactMap { members[$0] as? String }.first { !$0.isEmpty }
        self.members = members
    }

    /// A member that is an object.
    func object(_ name: String) -> [String: Any] { members[name] as? [String: Any] ?? [:] }

    /// A member that is an array of objects.
    func objects(_ name: String) -> [[String: Any]] { members[name] as? [[String: Any]] ?? [] }

    func text(_ name: String) -> String? { members[name] as? String }

    /// The words, where they are an object of JSON themselves.
    var details: [String: Any]? {
        guard let words else { return nil }
        return try? JSONSerialization.jsonObject(with: Data(words.utf8)) as? [String: Any]
    }
}

extension PushNotification {
    /// A service's code and its words, without those that repeat what the receiver alone may read.
    func reason(_ code: String, _ words: String?) -> String {
        guard let words, !words.isEmpty else { return code }
        let own: [String?] = [device.token, text.title, text.body, data, link]
        let repeats = own.compactMap(\.self).contains { !$0.isEmpty && words.contains($0) }
        return repeats ? code : "\(code) \(words.fitting(200))"
    }
}

/// A service gives out no token.
struct NoToken: Error {
    var reason: String
    var after: Double

    init(reason: String, after: Double) {
        self.reason = reason
        self.after = after
    }

    init(_ response: PushResponse, retrySeconds: Double) {
        switch PushAnswer(response, retrySeconds: retrySeconds, reason: nil).outcome {
        case .later(let after, let reason): self.init(reason: reason, after: after ?? retrySeconds)
        // The operator's to mend, most likely a secret that is wrong.
        default: self.init(reason: "status \(response.status)", after: PushWait.denial)
        }
    }
}

/// Sends with a token, and once more with another one where the first is not taken.
func withToken(
    of tokens: TokenCache, _ post: (_ token: String) async throws -> PushAnswer
) async -> PushOutcome {
    do {
        let token = try await tokens.token()
        let answer = try await post(token)
        guard case .denied = answer else { return answer.outcome }
        return try await post(try await tokens.token(after: token)).outcome
    } catch let error as NoToken {
        return .later(after: error.after, "no access token: \(error.reason)")
    } catch {
        return .later(after: nil, "no answer: \(error)")
    }
}
