public import Foundation
public import ScrollbackModel
import ScrollbackWire

/// A directory through which a notification extension tells the app's client of pushes.
///
/// The extension is a process of its own, and a store has one opener: so each push is a small file, and the client takes
/// them up. Any number of extensions and clients may use one directory at once. A file holds what happened where, and no
/// text of a message.
public struct PushInbox: Hashable, Sendable {
    /// Where the files lie: in the container the app shares with its extensions (an app group), apart from any store.
    public let directory: URL

    /// What a client found in its inbox.
    public struct Contents: Hashable, Sendable {
        /// The pushes for its user, oldest first; they are taken out.
        public var messages: [PushMessage] = []
        /// Files that can't be read: they stay, under another name, and are not looked at again.
        public var setAside: [URL] = []
    }

    /// How many pushes wait at most, and how many files that can't be read are kept; beyond that the oldest go.
    ///
    /// What a push said is asked of the server at the next connection in any case.
    static let capacity = 1000
    /// The most bytes of a file.
    static let longestFile = 16 * 1024
    /// How long, in seconds, a file may take to be written.
    private static let patience: TimeInterval = 3600

    private static let written = "push"
    private static let unfinished = "new"
    private static let unreadable = "unreadable"

    /// An inbox in a directory, which is made when the first push comes.
    public init(directory: URL) {
        self.directory = directory
    }

    /// Puts in a push that was received.
    ///
    /// - Throws: `local-storage` when it can't be written; `invalid-parameter` for one larger than any service hands over.
    public func put(_ message: PushMessage) throws(ChatError) {
        try put(message, now: Date())
    }

    func put(_ message: PushMessage, now: Date) throws(ChatError) {
        var writer = JSONWriter(reserving: 512)
        writer.object { PushMessage(place: message.place, kind: message.kind).writeMembers(to: &$0) }
        guard writer.bytes.count <= Self.longestFile else {
            throw .invalidParameter("message", "must be at most \(Self.longestFile) bytes", limit: Self.longestFile)
        }
        // In the order of time: of two that come after each other the second is later by more than a microsecond.
        let time = String(Int64(now.timeIntervalSince1970 * 1_000_000))
        let stem = String(repeating: "0", count: max(0, 18 - time.count)) + time + "-" + UUID().uuidString
        let draft = directory.appending(component: "\(stem).\(Self.unfinished)")
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data(writer.bytes).write(to: draft)
            // Whole or not at all: a name that is read is never of a file that is being written.
            try FileManager.default.moveItem(
                at: draft, to: directory.appending(component: "\(stem).\(Self.written)"))
        } catch {
            throw ChatError(.localStorage, "a push can't be put into the inbox", cause: error)
        }
        if let names = try? names() { drop(files(Self.written, of: names).dropLast(Self.capacity)) }
    }

    // MARK: For the client

    /// The pushes for a user, with the names of their files; what can't be read is set aside.
    func read(for user: UserID, now: Date = Date()) throws(ChatError) -> (contents: Contents, names: [String]) {
        var contents = Contents()
        var taken: [String] = []
        let names = try names()
        for name in files(Self.written, of: names) {
            switch content(of: name) {
            case .success(let message?) where message.place.receiver == user:
                contents.messages.append(message)
                taken.append(name)
            // Another client's, or one took it meanwhile.
            case .success: continue
            case .failure: if let url = setAside(name) { contents.setAside.append(url) }
            }
        }
        drop(files(Self.unreadable, of: names).dropLast(Self.capacity))
        drop(files(Self.unfinished, of: names).filter { isAbandoned($0, now: now) })
        return (contents, taken)
    }

    func remove(_ names: [String]) { drop(names) }

    private func content(of name: String) -> Result<PushMessage?, ChatError> {
        let url = directory.appending(component: name)
        guard let data = try? Self.beginning(of: url) else {
            let isThere = FileManager.default.fileExists(atPath: url.path)
            return isThere ? .failure(ChatError(.localStorage, "the file can't be read")) : .success(nil)
        }
        return Result { () throws(ChatError) in
            guard data.count <= Self.longestFile else { throw ChatError(.tooLarge, "the file is too large") }
            return try PushMessage(String(decoding: data, as: UTF8.self))
        }
    }

    /// As much of a file as shows whether it is too large.
    private static func beginning(of url: URL) throws -> Data {
        let handle = try FileHandle(forReadingFrom: url)
        defer { try? handle.close() }
        return try handle.read(upToCount: longestFile + 1) ?? Data()
    }

    private func setAside(_ name: String) -> URL? {
        let from = directory.appending(component: name)
        let url = from.deletingPathExtension().appendingPathExtension(Self.unreadable)
        // Where it can't be moved it is met again.
        return (try? FileManager.default.moveItem(at: from, to: url)) == nil ? nil : url
    }

    private func isAbandoned(_ name: String, now: Date) -> Bool {
        let path = directory.appending(component: name).path
        let date = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        return date.map { now.timeIntervalSince($0) > Self.patience } ?? false
    }

    private func names() throws(ChatError) -> [String] {
        guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory.path)
        } catch {
            throw ChatError(.localStorage, "the inbox of pushes can't be read", cause: error)
        }
    }

    /// Those of a sort, oldest first.
    private func files(_ sort: String, of names: [String]) -> [String] {
        names.filter { $0.hasSuffix(".\(sort)") }.sorted()
    }

    /// One that is gone already was another's to remove.
    private func drop(_ names: some Sequence<String>) {
        for name in names { try? FileManager.default.removeItem(at: directory.appending(component: name)) }
    }
}
