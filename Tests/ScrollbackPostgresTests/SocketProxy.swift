import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

/// A Unix socket that forwards connections to PostgreSQL and can lose or delay an answer.
final class SocketProxy: Sendable {
    /// The directory of the socket, as it is named in a URL.
    var directory: String { folder.url.path }
    private let folder: TemporaryFolder
    private let listener: UnixListener
    private enum Fate { case forward, lose, hold }
    private let nextAnswer = Mutex(Fate.forward)
    private let isHeld = DispatchSemaphore(value: 0)
    private let isReleased = DispatchSemaphore(value: 0)

    init(to server: PostgresDatabase.Socket) throws {
        folder = try TemporaryFolder()
        listener = try UnixListener(at: folder.url.appending(component: server.name))
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener.descriptor, nil, nil)
                guard client >= 0 else { return }
                guard let server = try? UnixListener.connect(to: server.file) else { return }
                Thread.detachNewThread { self.forward(from: client, to: server) { false } }
                Thread.detachNewThread { self.forward(from: server, to: client) { self.isLost() } }
            }
        }
    }

    private func isLost() -> Bool {
        let fate = nextAnswer.withLock { fate in
            defer { fate = .forward }
            return fate
        }
        if fate == .hold {
            isHeld.signal()
            isReleased.wait()
        }
        return fate == .lose
    }

    /// Closes the connection that receives the next data from PostgreSQL, and drops the data.
    func loseNextAnswer() { nextAnswer.withLock { $0 = .lose } }

    /// Holds the next data from PostgreSQL back until ``release()``.
    func holdNextAnswer() { nextAnswer.withLock { $0 = .hold } }

    /// Waits until data is held back.
    func waitForHeldAnswer() { isHeld.wait() }

    /// Forwards the data that is held back.
    func release() { isReleased.signal() }

    private func forward(from source: CInt, to target: CInt, isLost: () -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0, !isLost(), write(target, buffer, count) == count else { break }
        }
        // The other direction then ends too.
        shutdown(source, CInt(SHUT_RDWR))
        shutdown(target, CInt(SHUT_RDWR))
    }

    func close() { listener.close() }
}

/// A listening Unix socket.
struct UnixListener {
    let descriptor: CInt

    init(at file: URL) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        let result = try Self.withAddress(of: file) { bind(descriptor, $0, $1) }
        try #require(result == 0 && listen(descriptor, 8) == 0)
    }

    static func connect(to file: URL) throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        try #require(try withAddress(of: file) { Foundation.connect(descriptor, $0, $1) } == 0)
        return descriptor
    }

    private static func withAddress<Answer>(
        of file: URL, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Answer
    ) throws -> Answer {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(file.path.utf8)
        try #require(path.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Ends `accept` and closes the socket.
    func close() {
        shutdown(descriptor, CInt(SHUT_RDWR))
        _ = Foundation.close(descriptor)
    }
}
