package import Foundation
package import ScrollbackEngine
package import ScrollbackModel
import Synchronization

/// The gateway to all supported push services.
package final class PushServices: PushGateway {
    private struct Key: Hashable {
        var service: PushService
        var credentials: RawJSON
    }

    private let transport: any PushTransport
    private let http2: any PushTransport
    private let clock: @Sendable () -> Date
    private let refused: @Sendable (PushService, String) -> Void
    /// The providers by service and credentials.
    ///
    /// Changed credentials get a new provider, and pending pushes end with the old one.
    private let providers = Mutex<[Key: any PushProvider]>([:])

    /// The maximum number of cached providers.
    private static let maximumProviders = 32

    /// Creates the gateway.
    ///
    /// - Parameters:
    ///   - transport: The transport for services that support HTTP/1.1.
    ///   - http2: The transport for services that require HTTP/2. If `nil`, `transport` is used for all services.
    ///   - clock: Returns the current time.
    ///   - refused: Called with the service's reason when a service permanently refuses a push.
    package init(
        over transport: any PushTransport, http2: (any PushTransport)? = nil,
        clock: @escaping @Sendable () -> Date = { Date() },
        refused: @escaping @Sendable (PushService, String) -> Void = { _, _ in }
    ) {
        self.transport = transport
        self.http2 = http2 ?? transport
        self.clock = clock
        self.refused = refused
    }

    package func check(_ credentials: RawJSON, for service: PushService) throws(ChatError) {
        _ = try make(Key(service: service, credentials: credentials))
    }

    package func send(_ notification: PushNotification, with credentials: RawJSON) async -> PushOutcome {
        let service = notification.device.service
        let outcome: PushOutcome
        do {
            outcome = try await provider(Key(service: service, credentials: credentials)).send(notification)
        } catch {
            outcome = .refused("\(error)")
        }
        if case .refused(let reason) = outcome { refused(service, reason) }
        return outcome
    }

    private func provider(_ key: Key) throws(ChatError) -> any PushProvider {
        if let known = providers.withLock({ $0[key] }) { return known }
        let made = try make(key)
        return providers.withLock { providers in
            if let known = providers[key] { return known }
            if providers.count >= Self.maximumProviders { providers.removeAll() }
            providers[key] = made
            return made
        }
    }

    private func make(_ key: Key) throws(ChatError) -> any PushProvider {
        do {
            let credentials = try PushCredentials(key.credentials, for: key.service)
            switch key.service {
            case .apns: return try APNS(credentials, over: http2, clock: clock)
            case .webhook: return try WebhookPush(credentials, over: transport, clock: clock)
            case .fcm: return try FCM(credentials, over: transport, clock: clock)
            case .web: return try WebPush(credentials, over: transport, clock: clock)
            case .huawei: return try Huawei(credentials, over: transport, clock: clock)
            case .honor: return try Honor(credentials, over: transport, clock: clock)
            case .xiaomi: return try Xiaomi(credentials, over: transport, clock: clock)
            case .oppo: return try OPPO(credentials, over: transport, clock: clock)
            case .vivo: return try Vivo(credentials, over: transport, clock: clock)
            case .harmony: return try Harmony(credentials, over: transport, clock: clock)
            }
        } catch { throw ChatError(wrapping: error) }
    }
}
