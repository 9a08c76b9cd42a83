package import Foundation
package import ScrollbackEngine
package import ScrollbackModel
import Synchronization

/// Every service this server can push by.
package final class PushServices: PushGateway {
    private struct Key: Hashable {
        var service: PushService
        var credentials: RawJSON
    }

    private let transport: any PushTransport
    private let http2: any PushTransport
    private let clock: @Sendable () -> Date
    private let refused: @Sendable (PushService, String) -> Void
    /// By what an operator set: a change of that makes another provider, and what is under way ends with the old one.
    private let providers = Mutex<[Key: any PushProvider]>([:])

    /// More are known only where credentials change often.
    private static let mostKnown = 32

    /// - Parameters:
    ///   - transport: reaches the services, but for those that speak HTTP/2 alone.
    ///   - http2: reaches those; without it the other does.
    ///   - refused: told what a service will never take, by its own word.
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
            if providers.count >= Self.mostKnown { providers.removeAll() }
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
