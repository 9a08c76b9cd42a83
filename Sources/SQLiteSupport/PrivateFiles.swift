package import Foundation
package import ScrollbackModel

/// Files and directories that only their owner may read: the stores of server and client, secrets and messages' files.
package enum PrivateFiles {
    package static let directoryMode: mode_t = 0o700
    package static let fileMode: mode_t = 0o600
    /// The permissions of everyone except the owner.
    private static let others: mode_t = 0o077

    /// Creates a directory, and its parents, for its owner only; keeps the mode of an existing directory.
    package static func createDirectory(_ directory: URL) throws {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: Int(directoryMode)])
    }

    /// Creates an empty file for its owner only, unless the file exists.
    ///
    /// SQLite gives its write-ahead log the mode of the database.
    package static func createFile(_ file: URL, errorCode code: ChatError.Code) throws(ChatError) {
        let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, fileMode)
        guard descriptor >= 0 else {
            throw ChatError(code, "The file \(file.path) can't be opened: \(String(cString: strerror(errno))).")
        }
        close(descriptor)
    }

    /// Takes the permissions of other users from a directory and its contents.
    ///
    /// Always checks the directory and its entries. If one of them was open to other users, checks everything below
    /// too. Symbolic links inside the directory, and what they lead to, stay unchanged.
    ///
    /// - Returns: The number of changed files and directories.
    /// - Throws: An error with `code` if the mode of a file or a directory can't be changed.
    package static func restrict(_ directory: URL, errorCode code: ChatError.Code) throws(ChatError) -> Int {
        // The data directory itself may be a link to another volume.
        var facts = stat()
        guard stat(directory.path, &facts) == 0 else { throw failure(directory.path, facts, code) }
        var changed = try restrict(directory.path, facts, code) ? 1 : 0
        var folders: [String] = []
        for entry in entries(of: directory.path) where try restrict(entry: entry, &folders, code) { changed += 1 }
        guard changed > 0 else { return 0 }
        while let folder = folders.popLast() {
            for entry in entries(of: folder) where try restrict(entry: entry, &folders, code) { changed += 1 }
        }
        return changed
    }

    /// Returns the mode of a file that users other than its owner may open, or `nil` if only its owner may.
    ///
    /// `nil`, too, if the file belongs to another user and is open to its group only. The current user then reads it as
    /// a member of the group.
    package static func exposedMode(of path: String) -> mode_t? {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_mode & others != 0 else {
            return nil
        }
        let isForGroup = facts.st_mode & 0o007 == 0
        return isForGroup && facts.st_uid != geteuid() ? nil : facts.st_mode & 0o777
    }

    private static func restrict(
        entry: String, _ folders: inout [String], _ code: ChatError.Code
    ) throws(ChatError) -> Bool {
        var facts = stat()
        // A file may disappear while the directory is read.
        guard lstat(entry, &facts) == 0 else { return false }
        switch facts.st_mode & S_IFMT {
        case S_IFDIR: folders.append(entry)
        case S_IFREG: break
        default: return false
        }
        return try restrict(entry, facts, code)
    }

    private static func restrict(
        _ path: String, _ facts: stat, _ code: ChatError.Code
    ) throws(ChatError) -> Bool {
        guard facts.st_mode & others != 0 else { return false }
        guard chmod(path, facts.st_mode & 0o700) == 0 else { throw failure(path, facts, code) }
        return true
    }

    private static func entries(of directory: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).map { "\(directory)/\($0)" }
    }

    private static func failure(_ path: String, _ facts: stat, _ code: ChatError.Code) -> ChatError {
        let reason = String(cString: strerror(errno))
        let mode = String(facts.st_mode & 0o777, radix: 8)
        return ChatError(
            code,
            "Other users can read \(path) (mode \(mode)), and its mode can't be changed: \(reason). Run chmod -R go= "
                + "on it as its owner, or use a new directory.")
    }
}
