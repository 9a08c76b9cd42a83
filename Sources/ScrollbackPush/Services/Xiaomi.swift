import Foundation
import ScrollbackEngine
import ScrollbackModel

/// Xiaomi's Mi Push.
package struct Xiaomi: PushProvider {
    private let transport: any PushTransport
    private let address: String
    private let secret: String
    private let setup: Setup
    private let retrySeconds: Double
    private let clock: @Sendable () -> Date

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        secret = try credentials.text("appSecret")
        // Each region outside mainland China has its own host.
        address = try credentials.endpoint(or: "https://api.xmpush.xiaomi.com") + "/v3/message/regid"
        var setup = Setup(app: try credentials.text("package"))
        setup.channel = try credentials.optionalText("channel")
        setup.title = try credentials.optionalText("title")
        if let template = try credentials.optionalText("templateID") {
            guard setup.channel != nil else {
                throw credentials.invalid("channel", "is required with templateID")
            }
            setup.template = Template(id: template, parameters: try credentials.choices("templateParameters"))
            guard setup.template?.parameters.count ?? 0 <= Self.maximumParameters else {
                throw credentials.invalid("templateParameters", "must have at most \(Self.maximumParameters) members")
            }
        }
        self.setup = setup
        retrySeconds = try credentials.seconds("retrySeconds", in: 0...86_400, or: 10)
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        // A comma would address other users' devices.
        guard !notification.device.token.contains(",") else { return .gone(since: nil) }
        if notification.canBeWithdrawn {
            let outcome = await post(Self.revocation(of: notification, setup), to: "\(address)/revoke", notification)
            // If withdrawing is refused, replace the notification. The service's newest documentation does not specify
            // the response.
            guard case .refused = outcome else { return outcome }
        }
        guard let form = Self.form(for: notification, setup, now: clock()) else {
            return .refused("the payload exceeds the limit of Mi Push")
        }
        return await post(form, to: address, notification)
    }

    private func post(
        _ form: [String: String], to address: String, _ notification: PushNotification
    ) async -> PushOutcome {
        // The service authenticates requests with the app's secret itself.
        let headers = [
            "authorization": "key=\(secret)", "content-type": "application/x-www-form-urlencoded;charset=UTF-8",
        ]
        do {
            let response = try await transport.post(PushRequest(url: address, headers: headers, form: form))
            return answer(to: response, of: notification).outcome
        } catch {
            return .later(after: nil, "no answer: \(error)")
        }
    }

    private func answer(to response: PushResponse, of notification: PushNotification) -> PushAnswer {
        guard let answer = CodedResponse(response, code: "code", message: "reason", "description") else {
            return PushAnswer(response, retrySeconds: retrySeconds, reason: nil)
        }
        if let wait = self.retryDelay(after: answer.code) {
            return .settled(.later(after: response.retryAfter ?? wait, answer.code))
        }
        switch answer.code {
        case "0":
            let bad = (answer.object("data")["bad_regids"] as? String)?.split(separator: ",") ?? []
            return .settled(bad.contains { $0 == notification.device.token } ? .gone(since: nil) : .sent)
        // Code 20301 is a general failure, which the service also returns for a request without any known device.
        case "10029", "20301", "66007": return .settled(.gone(since: nil))
        case "21301", "21302": return .unauthorized(answer.code)
        // Omit the description, because it can contain the message's text.
        case "10041": return .settled(.refused(answer.code))
        default:
            let reason = notification.reason(answer.code, answer.message)
            return PushAnswer(response, retrySeconds: retrySeconds, reason: reason)
        }
    }

    /// Returns the delay in seconds after a temporary error, or `nil` for other codes.
    private func retryDelay(after code: String) -> Double? {
        switch code {
        case "-1", "1", "10001", "10002", "10003", "10037", "22102", "26003": retrySeconds
        // Code 65003 means that the device was not found, which also occurs while it is offline.
        case "10022", "10023", "10024", "10027", "26004", "200002", "65003": PushRetryDelay.rateLimited
        case "10034", "200001": PushRetryDelay.quota
        default: nil
        }
    }
}
