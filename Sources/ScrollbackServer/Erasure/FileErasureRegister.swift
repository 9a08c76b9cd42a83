import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// The register of erased users: `erasures.jsonl` in the data directory, with one JSON line for each erasure.
///
/// Each added line is synced to disk. Restoring a backup keeps this file, and the server then erases the listed users
/// again.
final class FileErasureRegister: ErasureRegister {
    static let fileName = "erasures.jsonl"

    private let file: URL
    /// Serializes access to the file.
    private let lock = Mutex(())

    convenience init(in directory: URL) {
        self.init(directory.appending(component: Self.fileName))
    }

    init(_ file: URL) {
        self.file = file
    }

    func add(_ erasure: RegisteredErasure) throws(ChatError) { try add([erasure]) }

    /// Adds erasures that the register does not contain yet, with one write.
    func add(_ erasures: [RegisteredErasure]) throws(ChatError) {
        let result = lock.withLock { _ in
            Result { () throws(ChatError) in
                var known = Set(try read().map(\.id))
                var lines: [UInt8] = []
                for erasure in erasures where known.insert(erasure.id).inserted {
                    var writer = JSONWriter()
                    writer.object { erasure.writeMembers(to: &$0) }
                    lines += writer.bytes + [UInt8(ascii: "\n")]
                }
                if !lines.isEmpty { try append(lines) }
            }
        }
        try result.get()
    }

    func all() throws(ChatError) -> [RegisteredErasure] {
        try lock.withLock { _ in Result { () throws(ChatError) in try read() } }.get()
    }

    private func read() throws(ChatError) -> [RegisteredErasure] {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return try Self.read(file)
    }

    /// Reads the lines of a file.
    ///
    /// Ignores an invalid last line, which a crash may have cut before `add` returned.
    static func read(_ file: URL) throws(ChatError) -> [RegisteredErasure] {
        guard let data = FileManager.default.contents(atPath: file.path) else {
            throw .invalidParameter("erasures", "can't be read: \(file.path)")
        }
        var found: [RegisteredErasure] = []
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() where !line.isEmpty {
            do throws(ChatError) {
                found.append(try RegisteredErasure(Array(line)))
            } catch {
                if number == lines.count - 1 { continue }
                throw ChatError(
                    .internalError,
                    "Line \(number + 1) of \(file.path) can't be read. Repair it to keep the user erased.",
                    cause: error)
            }
        }
        return found
    }

    private func append(_ lines: [UInt8]) throws(ChatError) {
        let isNew = !FileManager.default.fileExists(atPath: file.path)
        let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DurableFile.failure("Can't open \(file.path)") }
        defer { close(descriptor) }
        let size = lseek(descriptor, 0, SEEK_END)
        var end = size
        var rest: [UInt8] = []
        var byte: UInt8 = 0
        while end > 0, pread(descriptor, &byte, 1, end - 1) == 1, byte != UInt8(ascii: "\n") {
            end -= 1
            rest.append(byte)
        }
        var lines = lines
        if !rest.isEmpty, (try? RegisteredErasure(rest.reversed())) != nil {
            // Only the line feed is missing, because of a crash or a manual edit.
            end = size
            lines.insert(UInt8(ascii: "\n"), at: 0)
        }
        // Overwrite a line that a crash cut.
        guard ftruncate(descriptor, end) == 0, pwrite(descriptor, lines, lines.count, end) == lines.count,
            fsync(descriptor) == 0
        else { throw DurableFile.failure("Can't write \(file.path)") }
        if isNew { try DurableFile.sync(file.deletingLastPathComponent()) }
    }
}

extension RegisteredErasure {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.field("id", id.uuidString.lowercased())
        writer.field("user", user)
        writer.field("messages", messages.name)
        writer.field("replacement", replacement)
        writer.field("at", at)
    }

    fileprivate init(_ line: [UInt8]) throws(ChatError) {
        var id: UUID?
        var user: UserID?
        var messages: ErasureRow.Messages?
        var replacement: UserID?
        var at: Date?
        var reader = try JSONReader(line)
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "id": id = UUID(uuidString: try value.string())
            case "user": user = try value.user()
            case "messages":
                let text = try value.string()
                messages = ErasureRow.Messages.allCases.first { $0.name == text }
            case "replacement": replacement = try value.user("replacement")
            case "at": at = try value.date("at")
            default: try value.skip()
            }
        }
        try reader.end()
        self.init(
            id: try id.required("id"), user: try user.required("user"), messages: try messages.required("messages"),
            replacement: try replacement.required("replacement"), at: try at.required("at"))
    }
}
