import Foundation
import Synchronization

/// What the measuring user does, each on a thread and a connection of its own.
enum UserWork: String, CaseIterable, CodingKeyRepresentable, Codable {
    /// A text of 300 bytes over the user's WebSocket, until it is acknowledged.
    case send
    /// The 50 most recent conversations over HTTP.
    case list
    /// A new connection of another user, until its welcome.
    case hello
    /// A file of 4 KiB over HTTP, until it is stored.
    case upload

    /// The time between the starts of two requests, in seconds.
    var interval: Double {
        switch self {
        case .send, .list: 0.1
        case .hello, .upload: 0.2
        }
    }
}

/// The users alice and carol, whose requests stay below every limit.
///
/// They run from the start of the server to the end of the attack, so that their connections are older than the attack.
final class WellBehavedUser: Sendable {
    struct Entry {
        var work: UserWork
        var start: Double
        var seconds: Double
        /// Why the request failed, or `nil` if it succeeded.
        var failure: String?
    }

    private let server: URL
    private let alice: String
    private let carol: String
    private let entries = Mutex<[Entry]>([])
    private let isStopped = Atomic<Bool>(false)
    /// A request without an answer in this time has failed.
    private static let timeout = 30.0

    init(_ server: URL, alice: String, carol: String) {
        self.server = server
        self.alice = alice
        self.carol = carol
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Returns the requests that started in a range of time.
    func entries(from start: Double, to end: Double) -> [Entry] {
        entries.withLock { $0 }.filter { $0.start >= start && $0.start < end }
    }

    /// Sends requests until `stop`, and waits for the last answers.
    func run() async throws {
        _ = try await onThreads(UserWork.allCases.count) { number in
            let work = UserWork.allCases[number]
            switch work {
            case .send: self.repeatSends()
            case .list:
                self.repeatRequests(work) { try $0.exchange("GET", "/v1/conversations?limit=50", $1) }
            case .upload:
                self.repeatRequests(work) { (http, headers) in
                    let path = "/v1/media?conversation=direct:bob&type=file&name=notes.bin"
                    return try http.upload(
                        path, headers, size: 4096, start: Array(UUID().uuidString.utf8), pattern: [0])
                }
            case .hello:
                var number = 0
                self.repeatWork(work) {
                    number += 1
                    var web = try RawWebSocket(self.server, timeout: Self.timeout)
                    try web.signIn(token: self.carol, device: "newcomer\(number)")
                    web.close()
                }
            }
        }
    }

    private func repeatSends() {
        var connection: RawWebSocket?
        let text = String(repeating: "x", count: 289)
        repeatWork(.send) {
            do {
                var web = try connection ?? self.signIn()
                let message = #"{"id":"\#(UUID())","type":"text","content":{"text":"\#(text)"}}"#
                _ = try web.request(#""type":"send","conversation":"direct:bob","message":\#(message)"#)
                connection = web
            } catch {
                connection = nil
                throw error
            }
        }
        connection?.close()
    }

    private func signIn() throws -> RawWebSocket {
        var web = try RawWebSocket(server, timeout: Self.timeout)
        try web.signIn(token: alice, device: "phone")
        return web
    }

    private func repeatRequests(
        _ work: UserWork, _ request: (PlainHTTP, _ headers: [String]) throws -> PlainHTTP.Answer
    ) {
        var connection: PlainHTTP?
        repeatWork(work) {
            do {
                let http = try connection ?? PlainHTTP(self.server, timeout: Self.timeout)
                let answer = try request(http, ["Authorization: Bearer \(self.alice)"])
                guard answer.isSuccess else { throw BenchError(answer.reason) }
                connection = http
            } catch {
                connection = nil
                throw error
            }
        }
    }

    /// Measures a body at its interval until `stop`.
    ///
    /// If the body takes longer, the next one starts immediately.
    private func repeatWork(_ work: UserWork, _ body: () throws -> Void) {
        while !isStopped.load(ordering: .relaxed) {
            let start = now()
            var failure: String?
            do {
                try body()
            } catch {
                failure = "\(error)"
            }
            let end = now()
            let entry = Entry(work: work, start: start, seconds: end - start, failure: failure)
            entries.withLock { $0.append(entry) }
            usleep(UInt32(max(0, start + work.interval - end) * 1e6))
        }
    }
}
