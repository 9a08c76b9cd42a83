import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel

/// OPPO Push, which serves OnePlus and realme too.
package struct OPPO: PushProvider {
    /// A host with the tokens that it gave out: another's are none to it.
    private struct Region: Sendable {
        var host: String
        var tokens: TokenCache
    }

    private let transport: any PushTransport
    private let mainland: Region
    private let elsewhere: Region
    private let setup: Setup
    private let retrySeconds: Double
    private let clock: @Sendable () -> Date

    /// A token is a day's.
    private static let tokenLifetime: TimeInterval = 23 * 3600

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        let (key, secret) = (try credentials.text("appKey"), try credentials.text("masterSecret"))
        var setup = Setup()
        setup.category = try credentials.optionalText("category")
        setup.channel = try credentials.optionalText("channel")
        setup.title = try credentials.optionalText("title")
        if let template = try credentials.optionalText("templateID") {
            setup.template = Template(
                id: template, title: try credentials.choices("templateTitleParameters"),
                text: try credentials.choices("templateTextParameters"))
        }
        self.setup = setup
        let retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
        self.retrySeconds = retrySeconds
        func region(_ host: String) -> Region {
            let tokens = TokenCache(leastAge: 60, clock: clock) {
                try await Self.token(key, secret, at: host, retrySeconds, over: transport, now: clock())
            }
            return Region(host: host, tokens: tokens)
        }
        mainland = region(try credentials.endpoint(or: "https://api.push.oppomobile.com"))
        elsewhere = region(try credentials.endpoint(or: "https://api-intl.push.oppomobile.com"))
    }

    /// Asks for a token, with a signature in place of the secret.
    private static func token(
        _ key: String, _ secret: String, at host: String, _ retrySeconds: Double, over transport: any PushTransport,
        now: Date
    ) async throws -> TokenCache.Token {
        let milliseconds = String(Int64(now.timeIntervalSince1970 * 1000))
        let signature = SHA256.hash(data: Data((key + milliseconds + secret).utf8)).hexadecimal
        let form = ["app_key": key, "timestamp": milliseconds, "sign": signature]
        let response = try await transport.post(PushRequest(url: "\(host)/server/v1/auth", form: form))
        guard let answer = CodedAnswer(response, code: "code", words: "message") else {
            throw NoToken(response, retrySeconds: retrySeconds)
        }
        guard answer.code == "0", let text = answer.object("data")["auth_token"] as? String else {
            throw NoToken(reason: answer.code, after: wait(after: answer.code, retrySeconds) ?? PushWait.denial)
        }
        return TokenCache.Token(text: text, renewAt: now + tokenLifetime)
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        guard let message = Self.message(for: notification, setup, now: clock()) else {
            return .refused("the parameters are longer than OPPO Push takes")
        }
        let region = Self.isMainland(notification.device.token) ? mainland : elsewhere
        return await withToken(of: region.tokens) { token in
            let form = ["auth_token": token, "message": String(decoding: message, as: UTF8.self)]
            let url = "\(region.host)/server/v1/message/notification/unicast"
            return answer(to: try await transport.post(PushRequest(url: url, form: form)), of: notification)
        }
    }

    /// Whether a registration id is of mainland China, where another host serves than elsewhere.
    package static func isMainland(_ token: String) -> Bool {
        let parts = token.split(separator: "_", omittingEmptySubsequences: false)
        return switch parts.count {
        case 1: true
        case 2: parts[0] == "CN"
        case 3: parts[1] == "CN"
        default: false
        }
    }

    private func answer(to response: PushResponse, of notification: PushNotification) -> PushAnswer {
        guard let answer = CodedAnswer(response, code: "code", words: "message") else {
            return PushAnswer(response, retrySeconds: retrySeconds, reason: nil)
        }
        if let wait = Self.wait(after: answer.code, retrySeconds) {
            return .settled(.later(after: response.retryAfter ?? wait, answer.code))
        }
        switch answer.code {
        // The second says that it had this push before.
        case "0", "32": return .settled(.sent)
        case "10000": return .settled(.gone(since: nil))
        case "11", "29": return .denied(answer.code)
        default:
            let reason = notification.reason(answer.code, answer.words)
            return PushAnswer(response, retrySeconds: retrySeconds, reason: reason)
        }
    }

    /// How long it is waited after a code that passes.
    private static func wait(after code: String, _ retrySeconds: Double) -> Double? {
        switch code {
        case "-1", "-3": retrySeconds
        case "-2", "13", "55": PushWait.pace
        case "33", "42", "69": PushWait.quota
        default: nil
        }
    }
}
