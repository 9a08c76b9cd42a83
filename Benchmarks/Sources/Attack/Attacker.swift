import ArgumentParser
import Foundation
import ScrollbackModel
import Synchronization

/// The process that attacks.
///
/// It runs at a lower priority than the server and the measuring user. It writes "ready" when it starts to attack, and
/// what it achieved at the end.
struct AttackerProcess: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "attacker", shouldDisplay: false)

    @Argument var kind: AttackKind
    @Option var server: String
    @Option var data: String
    @Option var seconds: Double
    @OptionGroup var sizes: AttackSizes

    func run() async throws {
        // Threads inherit the priority.
        _ = nice(10)
        // Ends the process if its parent has ended, and in any case after the attack.
        alarm(UInt32(seconds) + 120)
        Thread.detachNewThread {
            while read(0, UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1), 1) > 0 {}
            Foundation.exit(1)
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)

        guard let server = URL(string: server) else { throw ValidationError("--server must be a URL.") }
        let tokens = try await Tokens(URL(filePath: data))
        let attacker = Attacker(
            kind: kind, server: server, sizes: sizes, token: try await tokens.token("mallory"),
            end: now() + seconds)
        print("ready")
        fflush(nil)
        Task {
            do {
                try await attacker.run()
            } catch {
                FileHandle.standardError.write(Data("The attack \(kind.rawValue) failed: \(error)\n".utf8))
                _exit(1)
            }
        }
        try await Task.sleep(for: .seconds(seconds))
        // Requests in progress don't count, and the threads that wait for them end with the process.
        print(String(decoding: try JSONEncoder().encode(attacker.tally.total), as: UTF8.self))
        fflush(nil)
        _exit(0)
    }
}

/// What an attacker achieved and how the server refused the rest.
struct AttackTally: Codable {
    /// The number of pings sent, requests answered with success, or connections made.
    var accepted = 0
    /// The numbers of refusals by reason.
    var refused: [String: Int] = [:]
    var sentBytes = 0
    /// The highest number of connections that were open at the same time.
    var open = 0
}

/// An attacker counts from many threads.
final class TallyCounter: Sendable {
    private let state = Mutex(AttackTally())

    var total: AttackTally { state.withLock { $0 } }
    func accept(_ count: Int = 1) { state.withLock { $0.accepted += count } }
    func refuse(_ reason: String) { state.withLock { $0.refused[reason, default: 0] += 1 } }
    func sent(_ bytes: Int) { state.withLock { $0.sentBytes += bytes } }
    func open(_ count: Int) { state.withLock { $0.open = max($0.open, count) } }
}

/// One attack of the user mallory, who ignores all requests to wait.
struct Attacker: Sendable {
    let kind: AttackKind
    let server: URL
    let sizes: AttackSizes
    let token: String
    /// When the attack ends.
    let end: Double
    let tally = TallyCounter()

    var isOver: Bool { now() >= end }
    var authorization: [String] { ["Authorization: Bearer \(token)"] }
    /// The group of the attacker and the measuring user with all messages that searches find.
    static let group = "/v1/conversations/group:logs"

    /// Attacks until the end, or throws if the attack can't be prepared.
    func run() async throws {
        switch kind {
        case .pongs: await floodPings(sockets: 4)
        case .settings4, .settings8:
            await floodFrames(sockets: kind == .settings4 ? 4 : 8) { number in
                #""type":"settings","conversation":"group:logs","muted":\#(number.isMultiple(of: 2))"#
            }
        case .searchSockets:
            await floodFrames(sockets: 20) { _ in #""type":"search","text":"a b c","sort":"bestFirst","limit":100"# }
        case .searchHTTP:
            await floodRequests(connections: 50) { _, _ in
                ("GET", "/v1/search?text=a%20b%20c&sort=bestFirst&limit=100", nil)
            }
        case .strangers:
            let size = 512 << 10
            let frame = RawWebSocket.frame(1, [UInt8](repeating: UInt8(ascii: "["), count: size)).dropLast()
            let opening = Array(RawWebSocket.upgrade.utf8) + frame
            await hold(500) { _ in opening }
        case .connections: await hold(sizes.connections) { _ in [] }
        case .devices:
            await hold(sizes.connections) { [token] number in
                Array(RawWebSocket.upgrade.utf8) + RawWebSocket.hello(token: token, device: "device\(number)")
            }
        case .slowBodies: await hold(200, dripsBytes: true, slowRequest)
        case .heif, .jpeg, .png, .gif, .heifAsImage, .jpegAsImage, .pngAsImage: await uploadPictures()
        case .groups:
            let metadata = String(repeating: "x", count: 30_000)
            await floodRequests(connections: 8) { connection, number in
                let group = "/v1/conversations/group:bulk-\(connection)-\(number)"
                return ("PUT", group, #"{"metadata":{"note":"\#(metadata)"}}"#)
            }
        case .renames:
            await floodRequests(connections: 8, first: ("PUT", Self.noisyGroup, #"{"members":["alice"]}"#)) {
                ("PUT", Self.noisyGroup, #"{"name":"name \#($0) \#($1)"}"#)
            }
        case .members:
            await floodRequests(connections: 8) { connection, number in
                let names = (0..<1000).map { #""invented-\#(connection)-\#(number)-\#($0)""# }.joined(separator: ",")
                return ("PUT", "/v1/conversations/group:crowd-\(connection)-\(number)", #"{"members":[\#(names)]}"#)
            }
        case .users:
            await floodRequests(connections: 8) { connection, number in
                let names = (0..<100).map { #""guess-\#(connection)-\#(number)-\#($0)""# }.joined(separator: ",")
                return ("POST", "/v1/users/fetch", #"{"users":[\#(names)]}"#)
            }
        case .deletes: try await floodDeletions(connections: 8)
        }
    }

    private static let noisyGroup = "/v1/conversations/group:noisy"

    /// Runs a blocking body on several threads until the attack ends, and again after a short wait if it throws.
    func onEach(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) async {
        _ = try? await onThreads(count) { number in
            while !isOver {
                do {
                    try body(number)
                } catch {
                    tally.refuse("\(error)")
                    usleep(50_000)
                }
            }
        }
    }
}
