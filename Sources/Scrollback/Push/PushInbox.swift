public import Foundation
import SQLiteSupport
public import ScrollbackModel
import ScrollbackWire

/// A directory through which a notification extension passes pushes to the app's client.
///
/// An extension is a separate process and can't open the store, which has a single owner. It therefore stores each push
/// as a small file, and the client processes the files. Several extensions and clients can use the same directory
/// concurrently. The files contain the position and the kind of a message, but not its text.
public struct PushInbox: Hashable, Sendable {
    /// The directory of the files, in the container that the app shares with its extensions, outside of any store.
    public let directory: URL

    /// The pushes that a client found in its inbox.
    public struct Contents: Hashable, Sendable {
        /// The pushes for the client's user, oldest first, which are deleted from the inbox.
        public var messages: [PushMessage] = []
        /// Files that can't be decoded.
        ///
        /// They are renamed and not read again.
        public var unreadableFiles: [URL] = []
    }

    /// The maximum number of pushes, and of unreadable files.
    ///
    /// Older ones are deleted.
    ///
    /// Deleting them is safe, because the client fetches all changes on the next connection.
    static let capacity = 1000
    /// The maximum size of a file in bytes.
    static let maximumFileSize = 16 * 1024
    /// The time after which an unfinished file is abandoned, in seconds.
    private static let abandonedFileAge: TimeInterval = 3600

    private static let writtenExtension = "push"
    private static let unfinishedExtension = "new"
    private static let unreadableExtension = "unreadable"

    /// Creates an inbox in a directory, which is created with the first push.
    public init(directory: URL) {
        self.directory = directory
    }

    /// Stores a received push in the inbox.
    ///
    /// - Throws: `local-storage` if the push can't be written, or `invalid-parameter` if it is larger than any push
    ///   service permits.
    public func put(_ message: PushMessage) throws(ChatError) {
        try put(message, now: Date())
    }

    func put(_ message: PushMessage, now: Date) throws(ChatError) {
        var writer = JSONWriter(reserving: 512)
        writer.object { PushMessage(target: message.target, kind: message.kind).writeMembers(to: &$0) }
        guard writer.bytes.count <= Self.maximumFileSize else {
            throw .invalidParameter(
                "message", "must be at most \(Self.maximumFileSize) bytes", limit: Self.maximumFileSize)
        }
        // Names sort by time. Consecutive pushes are more than a microsecond apart.
        let time = String(Int64(now.timeIntervalSince1970 * 1_000_000))
        let stem = String(repeating: "0", count: max(0, 18 - time.count)) + time + "-" + UUID().uuidString
        let draft = directory.appending(component: "\(stem).\(Self.unfinishedExtension)")
        do {
            try PrivateFiles.createDirectory(directory)
            try PrivateFiles.createFile(draft, errorCode: .localStorage)
            try Data(writer.bytes).write(to: draft)
            // Rename atomically, so that readers never see a partially written file.
            try FileManager.default.moveItem(
                at: draft, to: directory.appending(component: "\(stem).\(Self.writtenExtension)"))
        } catch {
            throw ChatError(.localStorage, "The push can't be written to the inbox.", cause: error)
        }
        if let names = try? names() { drop(files(Self.writtenExtension, of: names).dropLast(Self.capacity)) }
    }

    // MARK: Reading by the client

    /// Returns the pushes for a user with the names of their files, and sets unreadable files aside.
    func read(for user: UserID, now: Date = Date()) throws(ChatError) -> (contents: Contents, names: [String]) {
        var contents = Contents()
        var taken: [String] = []
        let names = try names()
        for name in files(Self.writtenExtension, of: names) {
            switch content(of: name) {
            case .success(let message?) where message.target.receiver == user:
                contents.messages.append(message)
                taken.append(name)
            // The push is for another client, or was processed in the meantime.
            case .success: continue
            case .failure: if let url = markUnreadable(name) { contents.unreadableFiles.append(url) }
            }
        }
        drop(files(Self.unreadableExtension, of: names).dropLast(Self.capacity))
        drop(files(Self.unfinishedExtension, of: names).filter { isAbandoned($0, now: now) })
        return (contents, taken)
    }

    func remove(_ names: [String]) { drop(names) }

    private func content(of name: String) -> Result<PushMessage?, ChatError> {
        let url = directory.appending(component: name)
        guard let data = try? Self.beginning(of: url) else {
            let isThere = FileManager.default.fileExists(atPath: url.path)
            return isThere ? .failure(ChatError(.localStorage, "The file can't be read.")) : .success(nil)
        }
        return Result { () throws(ChatError) in
            guard data.count <= Self.maximumFileSize else { throw ChatError(.tooLarge, "The file is too large.") }
            return try PushMessage(String(decoding: data, as: UTF8.self))
        }
    }

    /// Reads at most one byte more than a file may have.
    private static func beginning(of url: URL) throws -> Data {
        let handle = try FileHandle(forReadingFrom: url)
        defer { try? handle.close() }
        return try handle.read(upToCount: maximumFileSize + 1) ?? Data()
    }

    private func markUnreadable(_ name: String) -> URL? {
        let from = directory.appending(component: name)
        let url = from.deletingPathExtension().appendingPathExtension(Self.unreadableExtension)
        // A file that can't be moved is found again the next time.
        return (try? FileManager.default.moveItem(at: from, to: url)) == nil ? nil : url
    }

    private func isAbandoned(_ name: String, now: Date) -> Bool {
        let path = directory.appending(component: name).path
        let date = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        return date.map { now.timeIntervalSince($0) > Self.abandonedFileAge } ?? false
    }

    private func names() throws(ChatError) -> [String] {
        guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory.path)
        } catch {
            throw ChatError(.localStorage, "The push inbox can't be read.", cause: error)
        }
    }

    /// Returns the file names with an extension, oldest first.
    private func files(_ sort: String, of names: [String]) -> [String] {
        names.filter { $0.hasSuffix(".\(sort)") }.sorted()
    }

    /// Ignores errors, because another process may have deleted the file.
    private func drop(_ names: some Sequence<String>) {
        for name in names { try? FileManager.default.removeItem(at: directory.appending(component: name)) }
    }
}
