import Dispatch
import Scrollback
import Synchronization

/// Sends a ping every 15 seconds, as every client does. The server closes a connection after a minute of silence.
///
/// It has its own dispatch queue, so blocked threads of the tests don't delay the pings.
final class PingTimer: Sendable {
    /// The reference of the pings. Tests ignore the answers to them.
    static let ref = 0

    private let timer: Mutex<any DispatchSourceTimer>

    init(_ connection: any TransportConnection) {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "heart"))
        timer.setEventHandler { connection.send(Array(#"{"type":"ping","ref":\#(Self.ref)}"#.utf8)) }
        timer.schedule(deadline: .now() + 15, repeating: 15)
        timer.activate()
        self.timer = Mutex(timer)
    }

    deinit { timer.withLock { $0.cancel() } }
}
