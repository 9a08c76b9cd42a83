package import Foundation
package import ScrollbackModel
import Synchronization

/// Keeps a second opener out of a store's directory: SQLite would let it in, and the two would undo each other's work.
///
/// The lock is the kernel's, on an open file: it goes with the process, however that ends.
package final class DirectoryLock: Sendable {
    package static let fileName = "lock"

    private let descriptor: Mutex<Int32?>

    /// - Parameters:
    ///   - code: of the error.
    ///   - rule: what to say of an opener that is there already.
    /// - Throws: `code` when somebody has the directory open, in this process or another.
    package init(_ directory: URL, else code: ChatError.Code, _ rule: String) throws(ChatError) {
        let path = directory.appending(component: Self.fileName).path
        let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw ChatError(code, "\(path) can't be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            Foundation.close(descriptor)
            throw ChatError(
                code,
                reason == EWOULDBLOCK
                    ? "\(directory.path) is in use: \(rule)"
                    : "\(path) can't be locked: \(String(cString: strerror(reason)))")
        }
        self.descriptor = Mutex(descriptor)
    }

    /// Whether somebody has a directory open; looking changes nothing.
    package static func isHeld(_ directory: URL) -> Bool {
        let descriptor = open(directory.appending(component: fileName).path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        // What is taken here goes with the descriptor.
        defer { Foundation.close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    package func release() {
        descriptor.withLock { descriptor in
            if let open = descriptor { Foundation.close(open) }
            descriptor = nil
        }
    }

    deinit { release() }
}
