import Foundation
import ScrollbackModel
import Synchronization

/// Keeps a second server from opening the same directory: SQLite would let it, and the two would give the same places.
///
/// The lock is the kernel's, on an open file: it goes with the process, however that ends.
final class DirectoryLock: Sendable {
    private let descriptor: Mutex<Int32?>

    init(_ directory: URL) throws {
        let path = directory.appending(component: "lock").path
        let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw ChatError(.internalError, "\(path) can't be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            Foundation.close(descriptor)
            throw ChatError(
                .internalError,
                reason == EWOULDBLOCK
                    ? "\(directory.path) is in use by another process: one server at a time may open it"
                    : "\(path) can't be locked: \(String(cString: strerror(reason)))")
        }
        self.descriptor = Mutex(descriptor)
    }

    func release() {
        descriptor.withLock { descriptor in
            if let open = descriptor { Foundation.close(open) }
            descriptor = nil
        }
    }

    deinit { release() }
}
