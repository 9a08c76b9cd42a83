import Foundation
import ScrollbackModel

extension Transaction {
    /// Returns the files that a message's content refers to, after checking that the sender may send them.
    ///
    /// - Parameter known: Files that the message refers to already.
    /// - Throws: `unknown-media`, `media-too-large`, and `invalid-parameter` if the content does not match the file.
    func checkedFiles(
        of content: MessageContent, by sender: Caller, limits: MediaLimits, permissions: Permissions,
        known: Set<MediaID> = []
    ) throws -> [MediaID] {
        guard MessageContent.mayHaveFiles(content.type) else { return [] }
        let files = content.fileReferences
        guard files.count <= Self.maximumFiles else {
            throw ChatError.invalidParameter(
                "files", "must refer to at most \(Self.maximumFiles) files", limit: Self.maximumFiles)
        }
        var ids: [MediaID] = []
        for file in files {
            guard let row = try store.media(file.id), try known.contains(file.id) || maySend(row, sender, permissions)
            else {
                // A quote stays valid if the quoted file is gone or not visible; quoting a file does not grant access
                // to it.
                if file.isQuoted { continue }
                throw unknownMedia
            }
            if !file.isQuoted { try check(file, row, limits) }
            ids.append(file.id)
        }
        return ids
    }

    private static let maximumFiles = 50

    private func maySend(_ row: MediaRow, _ sender: Caller, _ permissions: Permissions) throws -> Bool {
        if sender.isAdmin || row.owner == sender.user { return true }
        // The access reads the rows of this batch from the store.
        try flush()
        return try readable(
            row, sender, in: store, permissions: permissions, generation: generation, now: now.date) != nil
    }

    private func check(_ file: FileReference, _ row: MediaRow, _ limits: MediaLimits) throws(ChatError) {
        if let size = file.size, size != row.size {
            throw .invalidParameter("size", "must be \(row.size), the file's size, or be left out")
        }
        if let mediaType = file.mediaType, mediaType.lowercased() != row.mediaType {
            throw .invalidParameter(
                "mediaType", "must be \(row.mediaType), as the file's content shows, or be left out")
        }
        guard let type = file.type else { return }
        try limits.check(row.size, for: type)
        let needsPixels = type == .image || type == .gif
        guard FileType(row.mediaType).isAllowed(in: type), !needsPixels || row.pixels != nil else {
            throw .invalidParameter(
                "type", "must be a type that accepts \(row.mediaType), such as file, or the type of the upload")
        }
    }

    /// Stores a message's references to files.
    func addReferences(to files: [MediaID], at seq: Seq, in number: Int64) throws {
        for id in files {
            try store.insert(MediaUseRow(media: id, conversation: number, seq: seq))
            guard var row = try store.media(id), row.unusedSince != nil else { continue }
            row.unusedSince = nil
            try store.put(row)
        }
    }

    /// Keeps files until a time, whether messages refer to them or not.
    func keep(_ files: [MediaID], until time: Date) throws {
        for id in files {
            guard var row = try store.media(id) else { continue }
            row.neededUntil = max(row.neededUntil ?? time, time)
            if let since = row.unusedSince { row.unusedSince = max(since, time) }
            try store.put(row)
        }
    }

    /// Deletes the file references of messages in a range; files without references are removed a day later.
    func removeReferences(at places: SeqRange, in number: Int64) throws {
        while case let uses = try store.uses(at: places, in: number, limit: 500), !uses.isEmpty {
            for use in uses { try drop(use) }
        }
    }

    private func drop(_ use: MediaUseRow) throws {
        try store.remove(use)
        guard try store.conversation(using: use.media, after: 0) == nil, var row = try store.media(use.media) else {
            return
        }
        row.unusedSince = max(now.date, row.neededUntil ?? now.date)
        try store.put(row)
    }

    /// Replaces a message's references to files.
    func replaceReferences(with files: [MediaID], of message: MessageRow, in number: Int64) throws {
        let before = Set(try store.uses(at: message.seq...message.seq, in: number, limit: .max).map(\.media))
        try addReferences(to: files.filter { !before.contains($0) }, at: message.seq, in: number)
        for id in before.subtracting(files) {
            try drop(MediaUseRow(media: id, conversation: number, seq: message.seq))
        }
    }
}

extension Transaction {
    /// Returns the existing file with an ID.
    ///
    /// - Throws: `conflict` if it belongs or belonged to another user, because messages must not show a different file
    ///   than they were sent with.
    func file(_ id: MediaID, ownedBy user: UserID) throws -> MediaRow? {
        guard let row = try store.media(id) else {
            if try store.conversation(using: id, after: 0) != nil { throw Self.takenID }
            return nil
        }
        guard row.owner == user else { throw Self.takenID }
        return row
    }

    static var takenID: ChatError {
        ChatError(.conflict, "The ID is already used for another file.", parameter: "id")
    }
}

/// The size limits of files, in bytes.
package struct MediaLimits: Hashable, Sendable {
    package var gifBytes: Int
    package var fileBytes: Int

    package init(gifBytes: Int, fileBytes: Int) {
        self.gifBytes = gifBytes
        self.fileBytes = fileBytes
    }

    func bytes(of type: MessageType) -> Int { type == .gif ? gifBytes : fileBytes }

    /// Checks a file's size.
    ///
    /// - Throws: `media-too-large`.
    func check(_ size: Int64, for type: MessageType) throws(ChatError) {
        let limit = bytes(of: type)
        guard size <= limit else {
            throw ChatError(
                .mediaTooLarge, "The file of a message of type \(type) can have at most \(limit) bytes.", limit: limit)
        }
    }
}

/// The error for a file that does not exist or is not visible; both cases have the same error.
var unknownMedia: ChatError {
    ChatError(.unknownMedia, "The file does not exist, or you may not see it.", parameter: "media")
}

/// Returns a file as a user may read it, or `nil` if they may not.
///
/// Its owner, administrators, and users who can see a message that refers to it may read a file. Former members see
/// neither files of messages that were edited after their membership ended, nor thumbnails that were added later.
///
/// This costs one lookup for each conversation with a reference, until one is found where the user can see such a
/// message. For a former member it costs one for each message that refers to the file.
func readable(
    _ row: MediaRow, _ caller: Caller, in store: any StoreReader, permissions: Permissions, generation: UInt64,
    now: Date
) throws -> MediaRow? {
    if caller.isAdmin || row.owner == caller.user { return row }
    var found: MediaRow?
    var after: Int64 = 0
    while let number = try store.conversation(using: row.id, after: after) {
        after = number
        guard let conversation = try store.conversation(numbered: number), !conversation.isDeleted,
            let access = try Access(
                ifVisible: conversation, to: caller, in: store, permissions: permissions, generation: generation,
                now: now),
            try access.hasVisibleUse(of: row.id, in: store)
        else { continue }
        guard let end = access.end, let thumbnail = row.thumbnail, thumbnail.addedAt > end.time else { return row }
        found = row
        found?.thumbnail = nil
    }
    return found
}

extension Access {
    /// Returns whether a message that the reader can see refers to a file.
    fileprivate func hasVisibleUse(of file: MediaID, in store: any StoreReader) throws -> Bool {
        for places in visible.ranges {
            var first = places.lowerBound
            while first <= places.upperBound,
                let seq = try store.firstUse(of: file, at: first...places.upperBound, in: conversation.number)
            {
                if end == nil { return true }
                if let message = try store.message(at: seq, in: conversation.number),
                    try !shown(message, in: store).isDeleted
                {
                    return true
                }
                first = seq + 1
            }
        }
        return false
    }
}
