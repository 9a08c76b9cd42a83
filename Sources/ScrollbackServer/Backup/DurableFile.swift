import Crypto
import Foundation
import ScrollbackModel

/// Files that are whole and on disk once a call returns.
enum DurableFile {
    private static let step = 1 << 20

    /// Copies a file, for its owner's eyes alone.
    ///
    /// - Parameter progress: told how many bytes came besides.
    /// - Returns: what was copied.
    static func copy(
        _ source: URL, to copy: URL, progress: (Int64) -> Void = { _ in }
    ) throws(ChatError) -> BackupManifest.File {
        let output = open(copy.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("\(copy.path) can't be made") }
        defer { close(output) }
        let file = try read(source) { (bytes) throws(ChatError) in
            try write(bytes, to: output, copy)
            progress(Int64(bytes.count))
        }
        guard fsync(output) == 0 else { throw failure("\(copy.path) can't be written") }
        return file
    }

    /// Reads a file for its size and checksum.
    static func read(
        _ file: URL, _ body: (UnsafeRawBufferPointer) throws(ChatError) -> Void = { _ throws(ChatError) in }
    ) throws(ChatError) -> BackupManifest.File {
        let input = open(file.path, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw failure("\(file.path) can't be opened") }
        defer { close(input) }
        var hash = SHA256()
        var size: Int64 = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = Foundation.read(input, buffer.baseAddress, step)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("\(file.path) can't be read") }
            if count == 0 { break }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            hash.update(bufferPointer: bytes)
            try body(bytes)
            size += Int64(count)
        }
        return BackupManifest.File(name: file.lastPathComponent, bytes: size, sha256: hash.finalize().hexadecimal)
    }

    /// Copies the first bytes of an open file to another, named `file`.
    static func copy(_ count: Int64, from source: Int32, to copy: Int32, _ file: URL) throws(ChatError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
        defer { buffer.deallocate() }
        var done: Int64 = 0
        while done < count {
            let read = pread(source, buffer.baseAddress, min(step, Int(count - done)), off_t(done))
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { throw failure("\(file.path) can't be read") }
            try write(UnsafeRawBufferPointer(rebasing: buffer[..<read]), to: copy, file)
            done += Int64(read)
        }
    }

    static func write(_ bytes: [UInt8], to file: URL) throws(ChatError) {
        try write(to: file) { (output) throws(ChatError) in try write(bytes, to: output, at: 0, file) }
    }

    /// Makes a file of what is written to it.
    static func write(
        to file: URL, _ body: (_ output: Int32) throws(ChatError) -> Void
    ) throws(ChatError) {
        let output = open(file.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("\(file.path) can't be made") }
        defer { close(output) }
        try body(output)
        guard fsync(output) == 0 else { throw failure("\(file.path) can't be written") }
    }

    /// Gives a file a second name, so that it is whole under the first until a row says that it is done.
    ///
    /// Where the file system has no second names it loses the first.
    ///
    /// - Parameter temporary: a name that nothing has.
    static func giveSecondName(_ file: URL, _ name: URL, by temporary: URL) throws(ChatError) {
        guard link(file.path, temporary.path) == 0 else { return try rename(file, to: name) }
        try rename(temporary, to: name)
        // Two names of the same bytes both stay where they are.
        unlink(temporary.path)
    }

    /// Reads from a place on: fewer bytes than asked for at the end.
    static func read(_ input: Int32, at offset: Int64, count: Int) throws(ChatError) -> [UInt8] {
        while true {
            var found = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                found = pread(input, buffer.baseAddress, count, off_t(offset))
                initialized = max(0, found)
            }
            if found >= 0 { return bytes }
            guard errno == EINTR else { throw failure("the file can't be read") }
        }
    }

    /// Writes at a place of an open file, named `file`.
    static func write(_ bytes: [UInt8], to output: Int32, at offset: Int64, _ file: URL) throws(ChatError) {
        guard lseek(output, off_t(offset), SEEK_SET) == off_t(offset) else {
            throw failure("\(file.path) can't be written")
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
            guard count >= 0 else { throw failure("\(file.path) can't be written") }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits until a file, or which names a directory has, is on disk.
    static func sync(_ url: URL) throws(ChatError) {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("\(url.path) can't be opened") }
        defer { close(descriptor) }
        // Some file systems can't do it for a directory, and keep names by themselves.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("\(url.path) can't be written") }
    }

    /// Gives a file or a directory another name, in the place of what has it.
    static func rename(_ old: URL, to new: URL) throws(ChatError) {
        guard Foundation.rename(old.path, new.path) == 0 else {
            throw failure("\(old.path) can't be renamed to \(new.path)")
        }
    }

    /// What the system said last.
    static func failure(_ what: String) -> ChatError {
        let reason = errno
        guard [ENOSPC, EDQUOT, EFBIG].contains(reason) else {
            return ChatError(.internalError, "\(what): \(String(cString: strerror(reason)))")
        }
        return ChatError(.storageFull, "\(what): there is no room left")
    }
}
