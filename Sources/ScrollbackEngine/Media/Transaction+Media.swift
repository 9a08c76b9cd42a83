import Foundation
import ScrollbackModel

extension Transaction {
    /// The files that a content refers to, which its sender may send there.
    ///
    /// - Parameter known: files that the message refers to already.
    /// - Throws: `unknown-media`, `media-too-large`, or `invalid-parameter` naming what the content says and the file isn't.
    func checkedFiles(
        of content: MessageContent, by sender: Caller, limits: MediaLimits, permissions: Permissions,
        known: Set<MediaID> = []
    ) throws -> [MediaID] {
        guard MessageContent.mayHaveFiles(content.type) else { return [] }
        let files = content.fileReferences
        guard files.count <= Self.mostFiles else {
            throw ChatError.invalidParameter("files", "must name at most \(Self.mostFiles)", limit: Self.mostFiles)
        }
        var ids: [MediaID] = []
        for file in files {
            guard let row = try store.media(file.id), try known.contains(file.id) || maySend(row, sender, permissions)
            else {
                // A quote stays what it is when the file it tells of has gone; nobody may read a file for being quoted.
                if file.isQuoted { continue }
                throw unknownMedia
            }
            if !file.isQuoted { try check(file, row, limits) }
            ids.append(file.id)
        }
        return ids
    }

    private static let mostFiles = 50

    private func maySend(_ row: MediaRow, _ sender: Caller, _ permissions: Permissions) throws -> Bool {
        if sender.isAdmin || row.owner == sender.user { return true }
        // The rows of this batch must be where the access reads them.
        try flush()
        return try mayRead(
            row, sender, in: store, permissions: permissions, generation: generation, now: now.date)
    }

    private func check(_ file: FileReference, _ row: MediaRow, _ limits: MediaLimits) throws(ChatError) {
        if let size = file.size, size != row.size {
            throw .invalidParameter("size", "must be \(row.size), which the file has, or be left out")
        }
        if let mediaType = file.mediaType, mediaType.lowercased() != row.mediaType {
            throw .invalidParameter(
                "mediaType", "must be \(row.mediaType), which the file's bytes show, or be left out")
        }
        guard let type = file.type else { return }
        let needsPixels = type == .image || type == .gif
        guard FileType(row.mediaType).fits(type), !needsPixels || row.pixels != nil else {
            throw .invalidParameter(
                "type", "must be one that takes \(row.mediaType), which the file's bytes show, such as file")
        }
        try limits.check(row.size, for: type)
    }

    /// Remembers that a message refers to files.
    func use(_ files: [MediaID], at seq: Seq, in number: Int64) throws {
        for id in files {
            try store.insert(MediaUseRow(media: id, conversation: number, seq: seq))
            guard var row = try store.media(id), row.unusedSince != nil else { continue }
            row.unusedSince = nil
            try store.put(row)
        }
    }

    /// Forgets that messages refer to files: those that none refers to any more go a day later.
    func dropUses(at places: SeqRange, in number: Int64) throws {
        while case let uses = try store.uses(at: places, in: number, limit: 500), !uses.isEmpty {
            for use in uses { try drop(use) }
        }
    }

    private func drop(_ use: MediaUseRow) throws {
        try store.remove(use)
        guard try store.conversation(using: use.media, after: 0) == nil, var row = try store.media(use.media) else {
            return
        }
        row.unusedSince = now.date
        try store.put(row)
    }

    /// Remembers the files that a message refers to now, and forgets those that it did.
    func replaceUses(with files: [MediaID], of message: MessageRow, in number: Int64) throws {
        let before = Set(try store.uses(at: message.seq...message.seq, in: number, limit: .max).map(\.media))
        try use(files.filter { !before.contains($0) }, at: message.seq, in: number)
        for id in before.subtracting(files) {
            try drop(MediaUseRow(media: id, conversation: number, seq: message.seq))
        }
    }
}

extension Transaction {
    /// The file that has an id already.
    ///
    /// - Throws: `conflict` where it is somebody else's, or was: a message must not show another file than it was sent with.
    func file(_ id: MediaID, ownedBy user: UserID) throws -> MediaRow? {
        guard let row = try store.media(id) else {
            if try store.conversation(using: id, after: 0) != nil { throw Self.takenID }
            return nil
        }
        guard row.owner == user else { throw Self.takenID }
        return row
    }

    static var takenID: ChatError { ChatError(.conflict, "the id is another file's already", parameter: "id") }
}

/// How large files may be.
package struct MediaLimits: Hashable, Sendable {
    package var gifBytes: Int
    package var fileBytes: Int

    package init(gifBytes: Int, fileBytes: Int) {
        self.gifBytes = gifBytes
        self.fileBytes = fileBytes
    }

    func bytes(of type: MessageType) -> Int { type == .gif ? gifBytes : fileBytes }

    /// - Throws: `media-too-large`.
    func check(_ size: Int64, for type: MessageType) throws(ChatError) {
        let limit = bytes(of: type)
        guard size <= limit else {
            throw ChatError(
                .mediaTooLarge, "the file of a message of type \(type) may have at most \(limit) bytes", limit: limit)
        }
    }
}

/// Not there, or not visible: the two do not differ.
var unknownMedia: ChatError {
    ChatError(.unknownMedia, "there is no such file, or you may not see it", parameter: "media")
}

/// Whether somebody may read a file: its owner, administrators, and whoever may see a message that refers to it.
///
/// One seek for each conversation that refers to it, until one is found where they see such a message.
func mayRead(
    _ row: MediaRow, _ caller: Caller, in store: any StoreReader, permissions: Permissions, generation: UInt64,
    now: Date
) throws -> Bool {
    if caller.isAdmin || row.owner == caller.user { return true }
    var after: Int64 = 0
    while let number = try store.conversation(using: row.id, after: after) {
        after = number
        guard let conversation = try store.conversation(numbered: number), !conversation.isDeleted,
            let access = try access(
                to: conversation, caller, in: store, permissions: permissions, generation: generation, now: now)
        else { continue }
        for places in access.visible.ranges where try store.uses(row.id, at: places, in: number) { return true }
    }
    return false
}

private func access(
    to row: ConversationRow, _ caller: Caller, in store: any StoreReader, permissions: Permissions, generation: UInt64,
    now: Date
) throws -> Access? {
    do {
        return try Access(to: row, for: caller, in: store, permissions: permissions, generation: generation, now: now)
    } catch let error as ChatError where error.code == .unknownConversation || error.code == .banned {
        return nil
    }
}
