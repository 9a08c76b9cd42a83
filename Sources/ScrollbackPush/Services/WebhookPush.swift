import Foundation
package import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// The operator's own push endpoint, for services that the server does not support.
///
/// Each push is posted to the endpoint and signed in the same way as webhooks.
package struct WebhookPush: PushProvider {
    private let transport: any PushTransport
    private let url: String
    private let secret: String
    private let clock: @Sendable () -> Date

    init(_ credentials: PushCredentials, over transport: any PushTransport, clock: @escaping @Sendable () -> Date)
        throws
    {
        self.transport = transport
        self.clock = clock
        url = try credentials.text("url")
        secret = try credentials.text("secret")
        do {
            _ = try Media.url(url, parameter: "url")
        } catch { throw credentials.invalid("url", "must be an http or https URL") }
        guard (16...256).contains(secret.utf8.count) else {
            throw credentials.invalid("secret", "must have 16...256 bytes")
        }
    }

    func send(_ notification: PushNotification) async -> PushOutcome {
        do {
            let response = try await transport.post(request(for: notification))
            switch response.status {
            case 200..<300: return .sent
            case 410: return .gone(since: nil)
            case 408, 425, 429, 500...: return .later(after: response.retryAfter, "status \(response.status)")
            default: return .refused("status \(response.status)")
            }
        } catch {
            return .later(after: nil, "no answer: \(error)")
        }
    }

    private func request(for notification: PushNotification) -> PushRequest {
        let webhook = WebhookRequest(
            url: url, secret: secret, delivery: notification.id.uuidString.lowercased(),
            body: Self.body(of: notification), timeout: .seconds(30), now: clock())
        let headers = Dictionary(webhook.headers.map { ($0.0.lowercased(), $0.1) }, uniquingKeysWith: { $1 })
        return PushRequest(url: url, headers: headers, body: webhook.body)
    }

    /// Creates the request body with all fields of a push.
    package static func body(of notification: PushNotification) -> [UInt8] {
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            writer.field("event", "push")
            writer.field("id", notification.id.uuidString.lowercased())
            writer.field("device", notification.device.id.text)
            writer.field("token", notification.device.token)
            writer.field("topic", notification.device.topic)
            writer.field("language", notification.device.language)
            if notification.options.hidesTitle != true { writer.field("title", notification.text.title) }
            writer.field("body", notification.text.body)
            writer.field("badge", notification.badge)
            writer.field("replaces", notification.replaces)
            writer.field("expiresAt", notification.expiresAt)
            if let options = try? notification.options.json() { writer.field("push", options) }
            PushFields.write(notification, omitsData: false, to: &writer)
        }
        return writer.bytes
    }
}
