import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import TestSupport

/// A subscriber of a conversation that stores only the sequence numbers of its messages.
final class CountingListener: Sendable {
    private let inbox: Inbox
    private let connection: any TransportConnection
    private let heart: PingTimer

    private final class Inbox: Sendable {
        let state = Mutex<(seqs: [Int64], isReady: Bool, closure: TransportClosure?)>(([], false, nil))

        func take(_ event: TransportEvent) {
            switch event {
            case .closed(let closure): state.withLock { $0.closure = closure }
            case .frame(let bytes):
                // Only the start of a frame is searched, where its type is: there are many frames, and tests are not
                // optimized.
                let head = String(decoding: bytes.prefix(300), as: UTF8.self)
                let isMessage = head.contains(#""type":"message""#)
                let isResult = !isMessage && head.contains(#""type":"result""#)
                let seq = isMessage ? CountingListener.number(after: #""seq":"#, in: head) : nil
                state.withLock { state in
                    if isResult { state.isReady = true }
                    if let seq { state.seqs.append(seq) }
                }
            }
        }
    }

    init(_ server: RunningServer, _ user: UserID) async throws {
        let inbox = Inbox()
        self.inbox = inbox
        connection = try await NIOTransport(trusting: nil).open(server.url) { inbox.take($0) }
        let token = try await server.token(user)
        connection.send(Array(#"{"type":"hello","token":"\#(token)","device":"\#(user)"}"#.utf8))
        heart = PingTimer(connection)
        // The server answers a request only after it has subscribed the connection to the user's conversations.
        connection.send(Array(#"{"type":"ping","ref":1}"#.utf8))
        try await eventually("\(user) is subscribed") { inbox.state.withLock { $0.isReady } ? true : nil }
    }

    deinit { connection.close() }

    /// The sequence numbers of the received messages, in the order in which they arrived.
    var seqs: [Int64] { inbox.state.withLock { $0.seqs } }
    var count: Int { inbox.state.withLock { $0.seqs.count } }
    var closure: TransportClosure? { inbox.state.withLock { $0.closure } }

    private static func number(after name: String, in text: String) -> Int64? {
        text.firstRange(of: name).flatMap { Int64(text[$0.upperBound...].prefix(while: \.isNumber)) }
    }
}
