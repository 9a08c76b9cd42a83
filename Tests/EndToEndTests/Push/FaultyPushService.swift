import Foundation
import ScrollbackModel
import Synchronization
import Testing

/// A push service that can be busy or down, hang, or cut connections.
protocol FaultyPushService: Sendable {
    /// The service's name among the stand-ins.
    var service: String { get }
    /// Whether the service reports devices that are gone.
    var reportsRemovedDevices: Bool { get }
    /// Starts a server that pushes to the service.
    func startServer() async throws -> PushServer
    /// Returns the members of registrations for new devices.
    func devices(_ count: Int) async throws -> [[String: Any]]
    /// Makes a tenth of the requests fail, or none.
    func setFaults(_ isOn: Bool) async throws
    /// Makes the service drop devices.
    func end(_ tokens: [String]) async throws
    func taken() async throws -> [AcceptedPush]
    /// Returns the violated rules, except those that a killed server could not know of.
    func ruleViolations(_ kills: [Double]) async throws -> [String]
}

/// A stand-in with faults.
struct FaultyStandIn: FaultyPushService {
    let service: String
    let standIn: PushStandIn

    /// Starts a stand-in. The test must have the trait `needs(.standIns)`.
    init(_ service: String) async throws {
        let standIn = try await PushStandIn.start(service)
        self.service = service
        self.standIn = standIn
    }

    var reportsRemovedDevices: Bool { service != "oppo" }

    func startServer() async throws -> PushServer { try await PushServer.start([service: standIn]) }

    func devices(_ count: Int) async throws -> [[String: Any]] {
        let options = service == "webpush" ? ["applicationServerKey": PushServer.webKey.publicKey] : [:]
        return try await standIn.devices(count, options)
    }

    func setFaults(_ isOn: Bool) async throws {
        // The last two cut the connection if the service uses HTTP/1.1.
        let faults: [[String: Any]] = [
            ["kind": "status", "status": 429, "retryAfter": 1], ["kind": "status", "status": 503, "retryAfter": 1],
            ["kind": "hang", "seconds": 3], ["kind": "reset"], ["kind": "resetAfter"], ["kind": "goaway"],
            ["kind": "streamReset"],
        ]
        try await standIn.order(
            "/faults", ["faults": isOn ? faults : [], "mode": "random", "share": 0.1, "seed": 7])
    }

    func end(_ tokens: [String]) async throws { try await standIn.order("/devices/dead", ["tokens": tokens]) }

    func taken() async throws -> [AcceptedPush] {
        try await standIn.received().map { notification in
            let payload = try JSONSerialization.data(withJSONObject: notification["payload"] ?? [:])
            return AcceptedPush(
                token: notification["token"] as? String ?? "",
                conversation: AcceptedPush.conversation(in: String(decoding: payload, as: UTF8.self)),
                at: try #require(notification["at"] as? Double) / 1000,
                isAnswered: try #require(notification["answered"] as? Bool))
        }
    }

    /// The seconds around a kill in which a rule may be violated.
    ///
    /// The server repeats requests that were answered just before the kill, and the kill cuts off what the server was
    /// writing.
    private static let excuses: [String: ClosedRange<Double>] = [
        "retry-too-soon": 0...2, "retry-of-final-answer": 0...30, "malformed-http1": -2...2,
    ]

    func ruleViolations(_ kills: [Double]) async throws -> [String] {
        try await standIn.list("/refused").compactMap { entry in
            let rule = entry["rule"] as? String ?? ""
            let at = try #require(entry["at"] as? Double) / 1000
            let isExcused = kills.contains { Self.excuses[rule]?.contains(at - $0) ?? false }
            return isExcused ? nil : "\(rule) \(entry["detail"] ?? "")"
        }
    }
}

/// A webhook with faults.
final class FaultyPushWebhook: FaultyPushService {
    let service = "webhook"
    let reportsRemovedDevices = true

    private enum Fault: CaseIterable {
        case busy, down, slow, cut, cutAfter
    }

    private final class Receiver: Sendable {
        private struct State {
            var taken: [AcceptedPush] = []
            var unsigned = 0
            var gone: Set<String> = []
            var hasFaults = false
            var generator = SplitMix64(seed: 7)
        }

        static let secret = "0123456789abcdef-secret"
        private let state = Mutex(State())

        var taken: [AcceptedPush] { state.withLock { $0.taken } }
        var unsigned: Int { state.withLock { $0.unsigned } }
        func setFaults(_ isOn: Bool) { state.withLock { $0.hasFaults = isOn } }
        func end(_ tokens: [String]) { state.withLock { $0.gone.formUnion(tokens) } }

        func take(_ post: WebhookReceiver.Post) -> WebhookReceiver.Behavior {
            let isSigned = post.isSigned(by: Self.secret)
            let token = post.json.string("token") ?? ""
            let conversation = AcceptedPush.conversation(in: String(decoding: post.body, as: UTF8.self))
            return state.withLock { state in
                if !isSigned { state.unsigned += 1 }
                let isFaulty = state.hasFaults && Int.random(in: 0..<10, using: &state.generator) == 0
                let fault = isFaulty ? Fault.allCases.randomElement(using: &state.generator) : nil
                switch fault {
                case .busy: return .answers("", status: 429, headers: ["Retry-After": "1"])
                case .down: return .answers("", status: 503)
                case .cut: return .cuts
                case nil, .slow, .cutAfter: break
                }
                guard !state.gone.contains(token) else { return .answers("", status: 410) }
                state.taken.append(
                    AcceptedPush(
                        token: token, conversation: conversation, at: Date().timeIntervalSince1970,
                        isAnswered: fault != .cutAfter))
                return fault == .cutAfter ? .cuts : .answers("", after: fault == .slow ? 3 : 0)
            }
        }
    }

    private let pushReceiver: Receiver
    private let receiver: WebhookReceiver

    init() async throws {
        let pushReceiver = Receiver()
        self.pushReceiver = pushReceiver
        receiver = WebhookReceiver { pushReceiver.take($0) }
        try await receiver.start()
    }

    func startServer() async throws -> PushServer {
        let push = try await PushServer.start([:])
        try await push.set(["services": ["webhook": ["url": receiver.url, "secret": Receiver.secret]]])
        return push
    }

    func devices(_ count: Int) async throws -> [[String: Any]] { (0..<count).map { ["token": "device \($0)"] } }
    func setFaults(_ isOn: Bool) async throws { pushReceiver.setFaults(isOn) }
    func end(_ tokens: [String]) async throws { pushReceiver.end(tokens) }
    func taken() async throws -> [AcceptedPush] { pushReceiver.taken }

    func ruleViolations(_ kills: [Double]) async throws -> [String] {
        pushReceiver.unsigned == 0 ? [] : ["\(pushReceiver.unsigned) requests were not signed"]
    }
}
