import Foundation
import Logging
import ScrollbackEngine
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackServer

/// Servers that share their secrets, at times that the tests choose.
@Suite("Rotation of the secret of several nodes")
struct NodeSecretsTests {
    private let time = SimulatedTime()
    private let store = MemorySecrets()
    private let day: TimeInterval = 86_400

    private func node(clockOffset: TimeInterval = 0) async throws -> TestNode {
        try await TestNode(store, time, clockOffset: clockOffset)
    }

    /// Lets time pass while the nodes read the secrets every two seconds.
    private func pass(_ seconds: Int, reading nodes: [TestNode]) async throws {
        for _ in 0..<seconds / 2 {
            time.advance(by: 2)
            for node in nodes { try await node.read() }
        }
    }

    @Test("All nodes accept the new secret before one signs with it, and then sign with it")
    func order() async throws {
        let nodes = [try await node(), try await node()]
        let old = try await nodes[0].sign()
        #expect(try await nodes[1].verify(old) == nil)
        let rotation = try nodes[0].rotate(overlap: day)
        try await nodes[0].read()
        // The second node has not read the new secret yet.
        #expect(try await nodes[0].signingKey() != rotation.key)
        #expect(try await nodes[1].verify(nodes[0].sign()) == nil)
        try await pass(18, reading: nodes)
        #expect(try await nodes[0].signingKey() != rotation.key)
        try await pass(4, reading: nodes)
        for node in nodes {
            #expect(try await node.signingKey() == rotation.key)
            #expect(try await node.verify(old) == nil)
        }
        #expect(try await nodes[1].verify(nodes[0].sign()) == nil)
    }

    @Test("A node that starts after a rotation does not sign with the new secret before its time")
    func start() async throws {
        let first = try await node()
        let rotation = try first.rotate(overlap: day)
        let second = try await node()
        #expect(try await second.signingKey() != rotation.key)
        try await pass(22, reading: [second])
        #expect(try await second.signingKey() == rotation.key)
        #expect(try SigningKeys(decoding: Data(contentsOf: second.file)).keys.count == 2)
    }

    @Test("Tokens of the old secret are refused after the overlap, and its connections are to be closed")
    func retirement() async throws {
        let nodes = [try await node(), try await node()]
        let old = try await nodes[0].sign()
        let oldKey = try await nodes[0].signingKey()
        for node in nodes { #expect(node.tokens.retiredKeys() == []) }
        let rotation = try nodes[1].rotate(overlap: 0)
        try await pass(20, reading: nodes)
        #expect(try await nodes[0].verify(old) == nil)
        try await pass(12, reading: nodes)
        for node in nodes {
            #expect(try await node.verify(old) == .invalidToken)
            #expect(node.tokens.retiredKeys() == [oldKey])
            #expect(try await node.verify(nodes[1].sign()) == nil)
        }
        try await pass(60, reading: nodes)
        #expect(nodes[0].tokens.retiredKeys() == [])
        #expect(rotation.retiresAt.timeIntervalSince(rotation.signsAt) == SecretRotator.grace)
    }

    @Test("A node that can't read the secrets signs nothing, and does not refuse unknown tokens for good")
    func partition() async throws {
        let nodes = [try await node(), try await node()]
        _ = try nodes[0].rotate(overlap: 0)
        try await pass(8, reading: [nodes[0]])
        #expect(try await nodes[0].verify(nodes[1].sign()) == nil)
        try await pass(14, reading: [nodes[0]])
        await #expect(throws: ChatError.self) { try await nodes[1].sign() }
        let new = try await nodes[0].sign()
        #expect(try await nodes[1].verify(new) == .overloaded)
        try await nodes[1].read()
        #expect(try await nodes[1].verify(new) == nil)
        #expect(try await nodes[0].verify(nodes[1].sign()) == nil)
        #expect(try await nodes[1].signingKey() == nodes[0].signingKey())
    }

    @Test("If the database confirms the new secret late, nodes wait until the others know it")
    func lateCommit() async throws {
        let nodes = [try await node(), try await node()]
        let pending = PendingSecrets(store)
        let rotation = try nodes[0].rotate(overlap: day, in: pending)
        try await pass(60, reading: nodes)
        #expect(try pending.confirm())
        #expect(rotation.signsAt < time.date)
        try await nodes[0].read()
        #expect(try await nodes[1].verify(nodes[0].sign()) == nil)
        try await pass(14, reading: nodes)
        #expect(try await nodes[0].signingKey() == rotation.key)
        #expect(try await nodes[1].verify(nodes[0].sign()) == nil)
    }

    @Test("The second of two rotations gets a conflict, at the same time or until the new secret signs")
    func conflicts() async throws {
        let nodes = [try await node(), try await node()]
        store.beforeNextReplacement { [nodes] in _ = try nodes[1].rotate(overlap: 0) }
        let simultaneous = #expect(throws: ChatError.self) { try nodes[0].rotate(overlap: day) }
        #expect(simultaneous?.code == .conflict)
        #expect(try store.keys.keys.count == 2)
        let later = #expect(throws: ChatError.self) { try nodes[0].rotate(overlap: day) }
        #expect(later?.code == .conflict)
        try await pass(22, reading: nodes)
        _ = try nodes[0].rotate(overlap: day)
        #expect(try store.keys.keys.count == 3)
    }

    @Test("A rotation keeps the key of checkpoints")
    func checkpoints() async throws {
        let node = try await node()
        let key = try store.keys.checkpointKey
        _ = try node.rotate(overlap: 0)
        #expect(try store.keys.checkpointKey == key)
    }

    @Test("Each node writes the secrets to its file, and replaces a file that something else changed")
    func files() async throws {
        let nodes = [try await node(), try await node()]
        _ = try nodes[0].rotate(overlap: day)
        try await pass(2, reading: nodes)
        for node in nodes { #expect(try node.kids == store.keys.keys.map(\.kid)) }
        var other = try SigningKeys.open(in: nodes[1].folder.url)
        other.rotate(overlap: 0)
        try other.save(in: nodes[1].folder.url)
        try await pass(2, reading: nodes)
        #expect(try nodes[1].kids == store.keys.keys.map(\.kid))
    }

    @Test("Each node replaces its administrator token when the new secret signs")
    func adminKeys() async throws {
        let nodes = [try await node(), try await node()]
        for node in nodes { try await AdminKey.write(in: node.folder.url, node.tokens) }
        let rotation = try nodes[0].rotate(overlap: 0)
        try await pass(2, reading: nodes)
        for node in nodes {
            await node.tokens.reloadIfChanged(logger: Logger(label: "test"))
            #expect(AdminKey.key(in: node.folder.url) != rotation.key)
        }
        try await pass(20, reading: nodes)
        for node in nodes {
            await node.tokens.reloadIfChanged(logger: Logger(label: "test"))
            #expect(AdminKey.key(in: node.folder.url) == rotation.key)
        }
    }

    @Test("A server without other nodes rotates the secret of its file")
    func oneServer() async throws {
        let folder = try TemporaryFolder()
        let tokens = try await TokenService(directory: folder.url, clock: { [time] in time.date })
        let rotator = SecretRotator(SecretsFile(in: folder.url), isShared: false, clock: { [time] in time.date })
        let old = try await tokens.token(for: "alice", isAdmin: false, lifetime: 3600)
        let rotation = try rotator.rotate(own: tokens.encodedSecrets(), overlap: 0)
        await tokens.reloadIfChanged(logger: Logger(label: "test"))
        #expect(try await TestNode.key(of: tokens.token(for: "alice", isAdmin: false, lifetime: 60)) != rotation.key)
        time.advance(by: SecretRotator.delayOfOneServer + 1)
        #expect(try await TestNode.key(of: tokens.token(for: "alice", isAdmin: false, lifetime: 60)) == rotation.key)
        await #expect(throws: ChatError.self) { try await tokens.verify(old) }
    }

    @Test("A new secret is logged once when it signs, with its ID and without its value")
    func newSecretsAreLogged() async throws {
        let folder = try TemporaryFolder()
        let log = LogRecorder()
        let tokens = try await TokenService(directory: folder.url, clock: { [time] in time.date })
        func reload() async { for _ in 0..<2 { await tokens.reloadIfChanged(logger: log.logger) } }
        await reload()
        #expect(log.lines.isEmpty)
        var keys = try SigningKeys.open(in: folder.url)
        keys.rotate(overlap: day, now: time.date)
        try keys.save(in: folder.url)
        await reload()
        let first = try #require(keys.keys.last?.kid)
        #expect(log.lines == ["A new secret signs tokens. key=\(first)"])
        let rotator = SecretRotator(SecretsFile(in: folder.url), isShared: false, clock: { [time] in time.date })
        let second = try rotator.rotate(own: tokens.encodedSecrets(), overlap: day).key
        await reload()
        // It is only accepted yet.
        #expect(log.lines.count == 1)
        time.advance(by: SecretRotator.delayOfOneServer + 1)
        await reload()
        #expect(log.lines.dropFirst() == ["A new secret signs tokens. key=\(second)"])
    }

    @Test("No node refuses a token that another one signs", arguments: Seeds.range(20))
    func histories(seed: UInt64) async throws {
        var generator = SplitMix64(seed: seed)
        var nodes: [TestNode] = []
        for _ in 0..<3 { nodes.append(try await node(clockOffset: .random(in: -2...2, using: &generator))) }
        var silent: [Int: Int] = [:]
        for second in 0..<120 {
            time.advance(by: 1)
            if Int.random(in: 0..<20, using: &generator) == 0 {
                let overlap = Bool.random(using: &generator) ? 0 : day
                _ = try? nodes[Int.random(in: 0..<3, using: &generator)].rotate(overlap: overlap)
            }
            let unlucky = Int.random(in: 0..<3, using: &generator)
            switch Int.random(in: 0..<25, using: &generator) {
            case 0: try await nodes[unlucky].restart()
            // The node can't reach the database.
            case 1: silent[unlucky] = second + Int.random(in: 1...40, using: &generator)
            default: break
            }
            for (index, node) in nodes.enumerated() where second >= silent[index] ?? 0 {
                if Bool.random(using: &generator) || second % 2 == 0 { try await node.read() }
            }
            for (signer, node) in nodes.enumerated() {
                guard let token = try? await node.sign() else { continue }
                for (index, other) in nodes.enumerated() {
                    let error = try await other.verify(token)
                    #expect(
                        error == nil || error == .overloaded,
                        "second \(second): node \(index) refused a token of node \(signer)")
                }
            }
        }
    }
}

/// A time that only the tests advance.
private final class SimulatedTime: Sendable {
    private let seconds = Mutex(0.0)
    private let start = ContinuousClock.now

    func advance(by seconds: Double) { self.seconds.withLock { $0 += seconds } }

    var date: Date { Date(timeIntervalSince1970: 1_800_000_000 + seconds.withLock { $0 }) }
    var uptime: ContinuousClock.Instant { start + .seconds(seconds.withLock { $0 }) }
}

/// The secrets of all nodes, in memory.
private final class MemorySecrets: SecretsStore {
    private let bytes = Mutex<[UInt8]?>(nil)
    private let interruption = Mutex<(@Sendable () throws -> Void)?>(nil)

    var keys: SigningKeys {
        get throws { try SigningKeys(decoding: bytes.withLock { $0 } ?? []) }
    }

    func secrets(orStore own: [UInt8]) -> [UInt8] {
        bytes.withLock { bytes in
            let found = bytes ?? own
            bytes = found
            return found
        }
    }

    func replaceSecrets(_ old: [UInt8], by new: [UInt8]) throws -> Bool {
        let interruption = interruption.withLock { interruption in
            defer { interruption = nil }
            return interruption
        }
        try interruption?()
        return bytes.withLock { bytes in
            guard bytes == old else { return false }
            bytes = new
            return true
        }
    }

    /// Sets what happens between the reading and the replacement of the next rotation.
    func beforeNextReplacement(_ body: @escaping @Sendable () throws -> Void) { interruption.withLock { $0 = body } }
}

/// The tokens of one node.
private final class TestNode: Sendable {
    let folder: TemporaryFolder
    private let store: MemorySecrets
    private let time: SimulatedTime
    private let clockOffset: TimeInterval
    private let current: Mutex<TokenService>

    init(_ store: MemorySecrets, _ time: SimulatedTime, clockOffset: TimeInterval) async throws {
        folder = try TemporaryFolder()
        self.store = store
        self.time = time
        self.clockOffset = clockOffset
        current = Mutex(try await Self.open(folder, time, clockOffset))
        try await read()
    }

    private static func open(
        _ folder: TemporaryFolder, _ time: SimulatedTime, _ clockOffset: TimeInterval
    ) async throws -> TokenService {
        try await TokenService(
            directory: folder.url, isShared: true, clock: { time.date + clockOffset }, uptime: { time.uptime })
    }

    var tokens: TokenService { current.withLock { $0 } }
    var file: URL { folder.url.appending(component: "secrets.json") }
    var kids: [String] {
        get throws { try SigningKeys(decoding: Data(contentsOf: file)).keys.map(\.kid) }
    }

    func restart() async throws {
        let tokens = try await Self.open(folder, time, clockOffset)
        current.withLock { $0 = tokens }
        try await read()
    }

    func read() async throws {
        let tokens = tokens
        try await tokens.useShared(store.secrets(orStore: tokens.encodedSecrets()), readAt: time.uptime)
    }

    /// - Parameter other: Where the new secret is stored, if not in the store of the nodes.
    @discardableResult
    func rotate(overlap: TimeInterval, in other: (any SecretsStore)? = nil) throws -> SecretRotation {
        let rotator = SecretRotator(
            other ?? store, isShared: true, clock: { [time, clockOffset] in time.date + clockOffset })
        return try rotator.rotate(own: tokens.encodedSecrets(), overlap: overlap)
    }

    func sign() async throws -> String { try await tokens.token(for: "alice", isAdmin: false, lifetime: 3600) }

    /// The ID of the secret that signs.
    func signingKey() async throws -> String { Self.key(of: try await sign()) }

    static func key(of token: String) -> String { (try? TokenHeader(of: token))?.kid ?? "" }

    /// - Returns: The code of the error, or `nil` if the token is accepted.
    func verify(_ token: String) async throws -> ChatError.Code? {
        do {
            _ = try await tokens.verify(token)
            return nil
        } catch {
            return error.code
        }
    }
}

/// Secrets whose replacement the database confirms later.
private final class PendingSecrets: SecretsStore {
    private let target: MemorySecrets
    private let replacement = Mutex<(old: [UInt8], new: [UInt8])?>(nil)

    init(_ target: MemorySecrets) {
        self.target = target
    }

    func secrets(orStore own: [UInt8]) -> [UInt8] { target.secrets(orStore: own) }

    func replaceSecrets(_ old: [UInt8], by new: [UInt8]) -> Bool {
        replacement.withLock { $0 = (old, new) }
        return true
    }

    func confirm() throws -> Bool {
        guard let (old, new) = replacement.withLock({ $0 }) else { return false }
        return try target.replaceSecrets(old, by: new)
    }
}
