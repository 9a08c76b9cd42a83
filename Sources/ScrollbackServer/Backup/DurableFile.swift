import Crypto
import Foundation
import ScrollbackModel

/// File operations that sync to disk and retry interrupted system calls.
enum DurableFile {
    private static let step = 1 << 20

    /// Copies a file.
    ///
    /// Only its owner can read the copy.
    ///
    /// - Parameter progress: Called with the number of bytes of each copied part.
    /// - Returns: The size and the checksum of the file.
    static func copy(
        _ source: URL, to copy: URL, progress: (Int64) -> Void = { _ in }
    ) throws(ChatError) -> BackupManifest.File {
        let output = open(copy.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("Can't create \(copy.path)") }
        defer { close(output) }
        let file = try read(source) { (bytes) throws(ChatError) in
            try write(bytes, to: output, copy)
            progress(Int64(bytes.count))
        }
        guard fsync(output) == 0 else { throw failure("Can't write \(copy.path)") }
        return file
    }

    /// Reads a file in parts and returns its size and checksum.
    static func read(
        _ file: URL, _ body: (UnsafeRawBufferPointer) throws(ChatError) -> Void = { _ throws(ChatError) in }
    ) throws(ChatError) -> BackupManifest.File {
        let input = open(file.path, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw failure("Can't open \(file.path)") }
        defer { close(input) }
        var hash = SHA256()
        var size: Int64 = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = Foundation.read(input, buffer.baseAddress, step)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("Can't read \(file.path)") }
            if count == 0 { break }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            hash.update(bufferPointer: bytes)
            try body(bytes)
            size += Int64(count)
        }
        return BackupManifest.File(name: file.lastPathComponent, bytes: size, sha256: hash.finalize().hexadecimal)
    }

    /// Copies the first `count` bytes between open files.
    ///
    /// Errors name `file`.
    static func copy(_ count: Int64, from source: Int32, to copy: Int32, _ file: URL) throws(ChatError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
        defer { buffer.deallocate() }
        var done: Int64 = 0
        while done < count {
            let read = pread(source, buffer.baseAddress, min(step, Int(count - done)), off_t(done))
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { throw failure("Can't read \(file.path)") }
            try write(UnsafeRawBufferPointer(rebasing: buffer[..<read]), to: copy, file)
            done += Int64(read)
        }
    }

    static func write(_ bytes: [UInt8], to file: URL) throws(ChatError) {
        try write(to: file) { (output) throws(ChatError) in try write(bytes, to: output, at: 0, file) }
    }

    /// Creates or replaces a file with the bytes that `body` writes, and syncs it.
    static func write(
        to file: URL, _ body: (_ output: Int32) throws(ChatError) -> Void
    ) throws(ChatError) {
        let output = open(file.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("Can't create \(file.path)") }
        defer { close(output) }
        try body(output)
        guard fsync(output) == 0 else { throw failure("Can't write \(file.path)") }
    }

    /// Adds a second name to a file, so that the file keeps its first name until the database refers to the second one.
    ///
    /// Replaces an existing file with that name. If the file system has no hard links, renames the file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - name: The additional name.
    ///   - temporary: A name that no file has.
    static func addHardLink(_ file: URL, _ name: URL, by temporary: URL) throws(ChatError) {
        guard link(file.path, temporary.path) == 0 else { return try rename(file, to: name) }
        try rename(temporary, to: name)
        // Renaming a hard link to another link of the same file does nothing, so remove the temporary name.
        unlink(temporary.path)
    }

    /// Reads up to `count` bytes at an offset.
    ///
    /// Returns fewer bytes at the end of the file.
    static func read(_ input: Int32, at offset: Int64, count: Int) throws(ChatError) -> [UInt8] {
        while true {
            var found = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                found = pread(input, buffer.baseAddress, count, off_t(offset))
                initialized = max(0, found)
            }
            if found >= 0 { return bytes }
            guard errno == EINTR else { throw failure("Can't read the file") }
        }
    }

    /// Writes at an offset of an open file.
    ///
    /// Errors name `file`.
    static func write(_ bytes: [UInt8], to output: Int32, at offset: Int64, _ file: URL) throws(ChatError) {
        guard lseek(output, off_t(offset), SEEK_SET) == off_t(offset) else {
            throw failure("Can't write \(file.path)")
        }
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(ChatError) in try write(bytes, to: output, file) }
        }
        try outcome.get()
    }

    static func write(
        _ bytes: UnsafeRawBufferPointer, to output: Int32, _ file: URL
    ) throws(ChatError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Foundation.write(output, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("Can't write \(file.path)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Syncs a file, or the entries of a directory, to disk.
    static func sync(_ url: URL) throws(ChatError) {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("Can't open \(url.path)") }
        defer { close(descriptor) }
        // Some file systems don't support syncing a directory and persist its entries themselves.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("Can't write \(url.path)") }
    }

    /// Renames a file or a directory, and replaces an existing one.
    static func rename(_ old: URL, to new: URL) throws(ChatError) {
        guard Foundation.rename(old.path, new.path) == 0 else {
            throw failure("Can't rename \(old.path) to \(new.path)")
        }
    }

    /// Creates an error from `errno`: `storage-full` if the disk or a quota is full, otherwise `internal-error`.
    static func failure(_ what: String) -> ChatError {
        let reason = errno
        guard [ENOSPC, EDQUOT, EFBIG].contains(reason) else {
            return ChatError(.internalError, "\(what): \(String(cString: strerror(reason))).")
        }
        return ChatError(.storageFull, "\(what). No space is left.")
    }
}
