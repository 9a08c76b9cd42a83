import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport

/// A push gateway with scripted outcomes, which records its notifications.
final class FakeServices: PushGateway {
    typealias Answer = @Sendable (PushNotification) async -> PushOutcome

    /// A struct and not a tuple, because each access to a closure in a tuple wraps the closure again.
    private struct State {
        var pushed: [PushNotification] = []
        var credentials: [RawJSON] = []
        var answer: Answer = { _ in .sent }
    }

    private let state = Mutex(State())

    /// All notifications that were sent, regardless of their outcome.
    var pushed: [PushNotification] { state.withLock { $0.pushed } }
    /// The credentials of each notification.
    var credentials: [RawJSON] { state.withLock { $0.credentials } }
    /// The receivers and texts of all notifications, sorted.
    var texts: [String] { pushed.map { "\($0.target.receiver): \($0.text.body)" }.sorted() }

    func forget() { state.withLock { ($0.pushed, $0.credentials) = ([], []) } }
    func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }
    func answer(_ outcome: PushOutcome) { answer { _ in outcome } }

    func check(_ credentials: RawJSON, for service: PushService) throws(ChatError) {
        if credentials.string(at: "key") == "wrong" { throw .invalidParameter("push.services.key", "must be a key") }
    }

    func send(_ notification: PushNotification, with credentials: RawJSON) async -> PushOutcome {
        let answer = state.withLock { state in
            state.pushed.append(notification)
            state.credentials.append(credentials)
            return state.answer
        }
        return await answer(notification)
    }
}

extension EngineHarness {
    /// Returns a harness with a push service, in which the users have a device.
    static func pushing(
        _ services: FakeServices, store: (any MessageStore)? = nil, pacing: PushTiming = .init(), users: [UserID] = []
    ) throws -> EngineHarness {
        let harness = try EngineHarness(store: store, gateway: services, pushTiming: pacing)
        try harness.set { $0.push.services = [.apns: RawJSON(known: #"{"key":"k"}"#)] }
        for user in users { try harness.register(user) }
        return harness
    }

    @discardableResult
    func register(_ user: UserID, _ name: String = "phone", token: String? = nil, language: String? = nil) throws
        -> PushDevice
    {
        let token =
            token
            ?? Data("\(user)/\(name)".utf8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let device = PushDevice(id: Identifier(known: name), service: .apns, token: token, language: language)
        return try perform(PutPushDevice(device: device), by: Caller(user: user)).device
    }

    func prefer(_ json: String, by user: UserID) throws {
        var reader = JSONReader(json)
        let change = ProfileChange(push: try PushPreferencesChange(from: &reader))
        _ = try done { engine.putUser(user, change, by: Caller(user: user), completion: $0) }
    }

    func change(_ id: ConversationID, _ change: StateChange, by user: UserID) throws {
        _ = try done { engine.change(id, change, by: Caller(user: user), completion: $0) }
    }

    /// Sends all queued pushes, and all retries that are due.
    func pushAll() async throws {
        let worker = Task { [engine] in await engine.runPushLoop() }
        defer { worker.cancel() }
        _ = try await eventually { try isPushed() }
        worker.cancel()
        engine.pushes.loop.wakeUp()
        await worker.value
    }

    private func isPushed() throws -> Bool {
        try store.read { store in
            let (waiting, _) = try store.pushCounts()
            return try waiting == 0 && store.pushRetries(dueBy: clock.now, limit: 1).isEmpty
        }
    }
}
