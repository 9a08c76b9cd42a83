import Foundation
import ScrollbackModel
import Synchronization
import Testing

/// A push service that is busy, down, hangs and cuts connections as long as it is told to.
protocol TroubledService: Sendable {
    /// As stand-ins call it.
    var service: String { get }
    /// Whether it says of a device that it is gone.
    var tellsOfTheGone: Bool { get }
    /// A server that pushes by it.
    func startServer() async throws -> PushServer
    /// The members of registrations.
    func devices(_ count: Int) async throws -> [[String: Any]]
    /// A tenth of what comes is in trouble, or nothing any more.
    func setTrouble(_ isOn: Bool) async throws
    /// The devices are gone.
    func end(_ tokens: [String]) async throws
    func taken() async throws -> [TakenPush]
    /// The rules that were broken, but for what a server can't know that was killed.
    func brokenRules(_ kills: [Double]) async throws -> [String]
}

/// A stand-in.
struct TroubledStandIn: TroubledService {
    let service: String
    let standIn: PushStandIn

    /// - Returns: nothing where stand-ins can't be had.
    init?(_ service: String) async throws {
        guard let standIn = try await PushStandIn.start(service) else { return nil }
        self.service = service
        self.standIn = standIn
    }

    var tellsOfTheGone: Bool { service != "oppo" }

    func startServer() async throws -> PushServer { try await PushServer.start([service: standIn]) }

    func devices(_ count: Int) async throws -> [[String: Any]] {
        let options = service == "webpush" ? ["applicationServerKey": PushServer.webKey.publicKey] : [:]
        return try await standIn.devices(count, options)
    }

    func setTrouble(_ isOn: Bool) async throws {
        // The last two are cut connections where the service is spoken to over HTTP/1.1.
        let faults: [[String: Any]] = [
            ["kind": "status", "status": 429, "retryAfter": 1], ["kind": "status", "status": 503, "retryAfter": 1],
            ["kind": "hang", "seconds": 3], ["kind": "reset"], ["kind": "resetAfter"], ["kind": "goaway"],
            ["kind": "streamReset"],
        ]
        try await standIn.order(
            "/faults", ["faults": isOn ? faults : [], "mode": "random", "share": 0.1, "seed": 7])
    }

    func end(_ tokens: [String]) async throws { try await standIn.order("/devices/dead", ["tokens": tokens]) }

    func taken() async throws -> [TakenPush] {
        try await standIn.received().map { notification in
            let payload = try JSONSerialization.data(withJSONObject: notification["payload"] ?? [:])
            return TakenPush(
                token: notification["token"] as? String ?? "",
                conversation: TakenPush.conversation(in: String(decoding: payload, as: UTF8.self)),
                at: try #require(notification["at"] as? Double) / 1000,
                isAnswered: try #require(notification["answered"] as? Bool))
        }
    }

    /// How many seconds around a kill a rule may be broken: the server asks again what was answered just before it, and what
    /// it was writing is cut.
    private static let excuses: [String: ClosedRange<Double>] = [
        "retry-too-soon": 0...2, "retry-of-final-answer": 0...30, "malformed-http1": -2...2,
    ]

    func brokenRules(_ kills: [Double]) async throws -> [String] {
        try await standIn.list("/refused").compactMap { entry in
            let rule = entry["rule"] as? String ?? ""
            let at = try #require(entry["at"] as? Double) / 1000
            let isExcused = kills.contains { Self.excuses[rule]?.contains(at - $0) ?? false }
            return isExcused ? nil : "\(rule) \(entry["detail"] ?? "")"
        }
    }
}

/// The operator's own program.
final class TroubledWebhook: TroubledService {
    let service = "webhook"
    let tellsOfTheGone = true

    private enum Trouble: CaseIterable {
        case busy, down, slow, cut, cutAfter
    }

    private final class Program: Sendable {
        private struct State {
            var taken: [TakenPush] = []
            var unsigned = 0
            var gone: Set<String> = []
            var hasTrouble = false
            var generator = SplitMix64(seed: 7)
        }

        static let secret = "0123456789abcdef-secret"
        private let state = Mutex(State())

        var taken: [TakenPush] { state.withLock { $0.taken } }
        var unsigned: Int { state.withLock { $0.unsigned } }
        func setTrouble(_ isOn: Bool) { state.withLock { $0.hasTrouble = isOn } }
        func end(_ tokens: [String]) { state.withLock { $0.gone.formUnion(tokens) } }

        func take(_ post: WebhookReceiver.Post) -> WebhookReceiver.Mood {
            let isSigned = post.isSigned(by: Self.secret)
            let token = post.json.string("token") ?? ""
            let conversation = TakenPush.conversation(in: String(decoding: post.body, as: UTF8.self))
            return state.withLock { state in
                if !isSigned { state.unsigned += 1 }
                let isTroubled = state.hasTrouble && Int.random(in: 0..<10, using: &state.generator) == 0
                let trouble = isTroubled ? Trouble.allCases.randomElement(using: &state.generator) : nil
                switch trouble {
                case .busy: return .answers("", status: 429, headers: ["Retry-After": "1"])
                case .down: return .answers("", status: 503)
                case .cut: return .cuts
                case nil, .slow, .cutAfter: break
                }
                guard !state.gone.contains(token) else { return .answers("", status: 410) }
                state.taken.append(
                    TakenPush(
                        token: token, conversation: conversation, at: Date().timeIntervalSince1970,
                        isAnswered: trouble != .cutAfter))
                return trouble == .cutAfter ? .cuts : .answers("", after: trouble == .slow ? 3 : 0)
            }
        }
    }

    private let program: Program
    private let receiver: WebhookReceiver

    init() async throws {
        let program = Program()
        self.program = program
        receiver = WebhookReceiver { program.take($0) }
        try await receiver.start()
    }

    func startServer() async throws -> PushServer {
        let push = try await PushServer.start([:])
        try await push.set(["services": ["webhook": ["url": receiver.url, "secret": Program.secret]]])
        return push
    }

    func devices(_ count: Int) async throws -> [[String: Any]] { (0..<count).map { ["token": "device \($0)"] } }
    func setTrouble(_ isOn: Bool) async throws { program.setTrouble(isOn) }
    func end(_ tokens: [String]) async throws { program.end(tokens) }
    func taken() async throws -> [TakenPush] { program.taken }

    func brokenRules(_ kills: [Double]) async throws -> [String] {
        program.unsigned == 0 ? [] : ["\(program.unsigned) were not signed"]
    }
}
