import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel

/// OPPO Push, also for OnePlus and realme.
package struct OPPO: PushProvider {
    private let mainland: PushBatcher<Message>
    private let international: PushBatcher<Message>
    private let setup: Setup
    private let clock: @Sendable () -> Date

    /// The service's tokens are valid for 24 hours.
    private static let tokenLifetime: TimeInterval = 23 * 3600

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
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
        func region(_ host: String) -> PushBatcher<Message> {
            let tokens = TokenCache(minimumAge: 60, clock: clock) {
                try await Self.token(key, secret, at: host, retrySeconds, over: transport, now: clock())
            }
            let region = Region(host: host, tokens: tokens, transport: transport, retrySeconds: retrySeconds)
            // OPPO accepts up to 1,000 pushes in a request and documents no size limit.
            return PushBatcher(maximumRequests: 4, pushes: 100, bytes: 128 << 10) { await region.post($0) }
        }
        mainland = region(try credentials.endpoint(or: "https://api.push.oppomobile.com"))
        international = region(try credentials.endpoint(or: "https://api-intl.push.oppomobile.com"))
    }

    /// Requests an access token.
    ///
    /// The request contains a signature instead of the secret.
    private static func token(
        _ key: String, _ secret: String, at host: String, _ retrySeconds: Double, over transport: any PushTransport,
        now: Date
    ) async throws -> TokenCache.Token {
        let milliseconds = String(Int64(now.timeIntervalSince1970 * 1000))
        let signature = SHA256.hash(data: Data((key + milliseconds + secret).utf8)).hexadecimal
        let form = ["app_key": key, "timestamp": milliseconds, "sign": signature]
        let response = try await transport.post(PushRequest(url: "\(host)/server/v1/auth", form: form))
        guard let answer = CodedResponse(response, code: "code", message: "message") else {
            throw TokenRequestError(response, retrySeconds: retrySeconds)
        }
        guard answer.code == "0", let text = answer.object("data")["auth_token"] as? String else {
            throw TokenRequestError(
                reason: answer.code,
                after: retryDelay(after: answer.code, retrySeconds) ?? PushRetryDelay.credentialsRejected)
        }
        return TokenCache.Token(text: text, renewAt: now + tokenLifetime)
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        guard let message = Self.message(for: notification, setup, now: clock()) else {
            return .refused("the parameters exceed the limit of OPPO Push")
        }
        let region = Self.isMainland(notification.device.token) ? mainland : international
        return await region.send(Message(notification: notification, json: message))
    }

    /// Whether a registration ID belongs to mainland China, which has its own host.
    package static func isMainland(_ token: String) -> Bool {
        let parts = token.split(separator: "_", omittingEmptySubsequences: false)
        return switch parts.count {
        case 1: true
        case 2: parts[0] == "CN"
        case 3: parts[1] == "CN"
        default: false
        }
    }

    /// Returns the delay in seconds after a temporary error, or `nil` for other codes.
    fileprivate static func retryDelay(after code: String, _ retrySeconds: Double) -> Double? {
        switch code {
        case "-1", "-3": retrySeconds
        case "-2", "13", "55": PushRetryDelay.rateLimited
        case "33", "42", "69": PushRetryDelay.quota
        default: nil
        }
    }
}

/// A push in the format of OPPO Push.
private struct Message: BatchablePush {
    let notification: PushNotification
    let json: [UInt8]

    var name: String { notification.device.token }
    var size: Int { json.count }
}

/// An API host and its access tokens.
///
/// Each host accepts only its own tokens.
private struct Region: Sendable {
    let host: String
    let tokens: TokenCache
    let transport: any PushTransport
    let retrySeconds: Double

    func post(_ messages: [Message]) async -> [PushOutcome] {
        if messages.count == 1 { return [await post(messages[0])] }
        var outcomes: [PushOutcome]?
        // Whether the response concerns the service instead of individual pushes.
        var isServiceWide = true
        let all = await withToken(of: tokens) { token in
            let array = "[\(messages.map { String(decoding: $0.json, as: UTF8.self) }.joined(separator: ","))]"
            let response = try await post("unicast_batch", ["auth_token": token, "messages": array])
            let batchAnswer = CodedResponse(response, code: "code", message: "message")
            isServiceWide = batchAnswer != nil || response.status == 429 || response.status >= 500
            outcomes = batchAnswer.flatMap { self.outcomes(in: $0, response, of: messages) }
            return outcomes == nil ? answer(to: response) { code, _ in code } : .settled(.sent)
        }
        if let outcomes { return outcomes }
        if isServiceWide, case .later = all { return Array(repeating: all, count: messages.count) }
        // Send the pushes one by one, so that an invalid push does not affect other devices.
        return await withTaskGroup(of: (Int, PushOutcome).self) { group in
            for (index, message) in messages.enumerated() { group.addTask { (index, await post(message)) } }
            return await group.reduce(into: Array(repeating: all, count: messages.count)) { $0[$1.0] = $1.1 }
        }
    }

    private func post(_ message: Message) async -> PushOutcome {
        await withToken(of: tokens) { token in
            let json = String(decoding: message.json, as: UTF8.self)
            let response = try await post("unicast", ["auth_token": token, "message": json])
            return answer(to: response, reason: message.notification.reason)
        }
    }

    private func post(_ operation: String, _ form: [String: String]) async throws -> PushResponse {
        let url = "\(host)/server/v1/message/notification/\(operation)"
        return try await transport.post(PushRequest(url: url, form: form))
    }

    /// Returns the outcomes of an accepted batch.
    ///
    /// The response lists only failed pushes, each with a code.
    ///
    /// - Returns: The outcomes, or `nil` if the batch was refused.
    private func outcomes(
        in taken: CodedResponse, _ response: PushResponse, of messages: [Message]
    ) -> [PushOutcome]? {
        guard taken.code == "0" else { return nil }
        let refused = taken.objects("data").compactMap { entry -> (String, CodedResponse)? in
            guard let name = entry["registrationId"] as? String,
                let answer = CodedResponse(entry, code: "errorCode", message: ["errorMessage"])
            else { return nil }
            return (name, answer)
        }
        let answers = Dictionary(refused) { $1 }
        return messages.map { message in
            guard let answer = answers[message.name] else { return .sent }
            return self.answer(answer, of: response, reason: message.notification.reason).outcome
        }
    }

    private func answer(to response: PushResponse, reason: (String, String?) -> String) -> PushAnswer {
        guard let answer = CodedResponse(response, code: "code", message: "message") else {
            return PushAnswer(response, retrySeconds: retrySeconds, reason: nil)
        }
        return self.answer(answer, of: response, reason: reason)
    }

    private func answer(
        _ answer: CodedResponse, of response: PushResponse, reason: (String, String?) -> String
    ) -> PushAnswer {
        if let wait = OPPO.retryDelay(after: answer.code, retrySeconds) {
            return .settled(.later(after: response.retryAfter ?? wait, answer.code))
        }
        return switch answer.code {
        // Code 32 means that the service already received this push.
        case "0", "32": .settled(.sent)
        case "10000": .settled(.gone(since: nil))
        case "11", "29": .unauthorized(answer.code)
        default: PushAnswer(response, retrySeconds: retrySeconds, reason: reason(answer.code, answer.message))
        }
    }
}
