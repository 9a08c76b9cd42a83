package import Foundation
package import ScrollbackModel
import Synchronization

/// A lock that prevents a second process or store from opening a directory.
///
/// SQLite would allow a second opener, and the two would overwrite each other's work. The lock is a kernel lock on an
/// open file, so it ends with the process.
package final class DirectoryLock: Sendable {
    package static let fileName = "lock"

    private let descriptor: Mutex<Int32?>

    /// Acquires the lock.
    ///
    /// - Parameters:
    ///   - directory: The directory to lock.
    ///   - code: The code of the error.
    ///   - rule: The end of the error message if the directory is locked.
    /// - Throws: An error with `code` if this or another process has the directory open.
    package init(_ directory: URL, errorCode code: ChatError.Code, _ rule: String) throws(ChatError) {
        let path = directory.appending(component: Self.fileName).path
        let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, PrivateFiles.fileMode)
        guard descriptor >= 0 else {
            throw ChatError(code, "The file \(path) can't be opened: \(String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            Foundation.close(descriptor)
            throw ChatError(
                code,
                reason == EWOULDBLOCK
                    ? "The directory \(directory.path) is in use: \(rule)."
                    : "The file \(path) can't be locked: \(String(cString: strerror(reason))).")
        }
        self.descriptor = Mutex(descriptor)
    }

    /// Returns whether a process has a directory open, without changing the lock.
    package static func isHeld(_ directory: URL) -> Bool {
        let descriptor = open(directory.appending(component: fileName).path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        // Closing the descriptor releases the shared lock.
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
