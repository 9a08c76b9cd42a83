import Dispatch
import Scrollback
import Synchronization

/// Says every few seconds that a connection is still there, as every client does: who is silent for a minute is given up.
///
/// It has its own queue, so nothing that keeps the tests' threads stops it.
final class Heart: Sendable {
    /// What the pings are called; their answers tell a test nothing.
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
