import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Who was erased, in `erasures.jsonl` of a data directory: a line each, appended and synced.
///
/// A restore puts back a store from before, and leaves this file alone: what it names is erased again.
final class FileErasureRegister: ErasureRegister {
    static let fileName = "erasures.jsonl"

    private let file: URL
    /// Held while the file is read or written.
    private let lock = Mutex(())

    convenience init(in directory: URL) {
        self.init(directory.appending(component: Self.fileName))
    }

    init(_ file: URL) {
        self.file = file
    }

    func add(_ erasure: RegisteredErasure) throws(ChatError) { try add([erasure]) }

    /// Writes several down, as one does.
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

    /// The lines of a file; the last one may have been cut by a crash, before anybody was told that it is there.
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
                    "line \(number + 1) of \(file.path) can't be read: mend it, or who it names comes back",
                    cause: error)
            }
        }
        return found
    }

    private func append(_ lines: [UInt8]) throws(ChatError) {
        let isNew = !FileManager.default.fileExists(atPath: file.path)
        let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DurableFile.failure("\(file.path) can't be opened") }
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
            // All but the end of the line is there: a crash has cut that, or somebody's editor does not write it.
            end = size
            lines.insert(UInt8(ascii: "\n"), at: 0)
        }
        // A line that a crash cut is written over.
        guard ftruncate(descriptor, end) == 0, pwrite(descriptor, lines, lines.count, end) == lines.count,
            fsync(descriptor) == 0
        else { throw DurableFile.failure("\(file.path) can't be written") }
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
