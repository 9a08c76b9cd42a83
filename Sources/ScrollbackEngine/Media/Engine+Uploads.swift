package import Foundation
package import ScrollbackModel
import Synchronization

/// What somebody wants to upload.
package struct UploadRequest: Sendable {
    /// Where it is to be sent.
    package var conversation: ConversationID
    /// The id the file is to have, if its device gave it one: the same id again is the same file.
    package var media: MediaID?
    /// The type of message it is for.
    package var type: MessageType
    package var name: String?
    /// How long it will be, if that is known.
    package var length: Int64?
    /// What its bytes' hash must be, if that is known.
    package var expected: BlobID?

    /// - Throws: `invalid-parameter` naming what is wrong.
    package init(
        conversation: ConversationID, media: MediaID? = nil, type: MessageType = .file, name: String? = nil,
        length: Int64? = nil,
        expected: BlobID? = nil
    ) throws(ChatError) {
        guard type.isMedia else {
            throw .invalidParameter("type", "must be image, gif, file, voice or video")
        }
        self.conversation = conversation
        self.media = media
        self.type = type
        self.name = try name.map { (name) throws(ChatError) in try Media.name(name) }
        self.length = length
        self.expected = expected
    }
}

/// What became of a wish to upload.
package enum UploadBeginning<Upload: Sendable>: Sendable {
    case upload(Upload)
    /// The file is there already, from an upload whose answer was lost.
    case file(MediaRow)
}

extension Engine {
    /// How long an upload is kept after something last came for it, and its answer after its end.
    package static let uploadLifetime: TimeInterval = 24 * 60 * 60

    /// Begins an upload that can be gone on with; ``transfer(_:by:interrupt:)`` takes its bytes.
    ///
    /// - Throws: `media-too-large` for a length beyond the limit, `rate-limited` for too many that are under way, `conflict`
    ///   for an id that somebody else's file has, and what sending to the conversation throws.
    package func beginUpload(
        _ request: UploadRequest, by caller: Caller
    ) async throws(ChatError) -> UploadBeginning<UploadRow> {
        let row = try newRow(request, by: caller)
        return switch try await admit(row, isResumable: true, by: caller) {
        case let file?: .file(file)
        case nil: .upload(row)
        }
    }

    /// Begins an upload whose bytes follow at once; whoever gets it must ``Transfer/end()`` it.
    ///
    /// - Parameters:
    ///   - isResumable: whether it can be gone on with. One that can't has no row: nothing is left of it where it is cut.
    ///   - interrupt: see ``transfer(_:by:interrupt:)``.
    /// - Throws: what ``beginUpload(_:by:)`` throws.
    package func beginTransfer(
        _ request: UploadRequest, by caller: Caller, isResumable: Bool, interrupt: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> UploadBeginning<Transfer> {
        let row = try newRow(request, by: caller)
        let hold = await transfers.take(row.id, plainOf: isResumable ? nil : caller.user, interrupt: interrupt)
        do throws(ChatError) {
            guard let file = try await admit(row, isResumable: isResumable, by: caller) else {
                return .upload(Transfer(engine: self, row: row, hold: hold, isResumable: isResumable))
            }
            transfers.letGo(row.id, hold)
            return .file(file)
        } catch {
            transfers.letGo(row.id, hold)
            throw error
        }
    }

    private func newRow(_ request: UploadRequest, by caller: Caller) throws(ChatError) -> UploadRow {
        if let length = request.length { try settings.mediaLimits.check(length, for: request.type) }
        return UploadRow(
            media: request.media ?? MediaID(UUID()), owner: caller.user,
            conversation: request.conversation.log.absolute(for: caller.user), type: request.type,
            name: request.name, length: request.length, expected: request.expected, touchedAt: clock())
    }

    /// - Returns: the file, where it is there already.
    private func admit(_ row: UploadRow, isResumable: Bool, by caller: Caller) async throws(ChatError) -> MediaRow? {
        let limit = settings.openUploads
        return try await submit { [permissions, transfers] transaction in
            _ = try transaction.checkSending(to: row.conversation, by: caller, permissions: permissions)
            if let file = try transaction.file(row.media, ownedBy: caller.user) { return file }
            // A plain one is among those under way itself.
            let others = try transaction.store.openUploads(of: caller.user) + transfers.plain(of: caller.user)
            guard others < limit + (isResumable ? 0 : 1) else {
                throw ChatError(
                    .rateLimited, "\(limit) uploads are under way: finish or delete one first",
                    limit: limit, retryAfter: 60)
            }
            if isResumable { try transaction.store.put(row) }
            return nil
        }
    }

    /// An upload of the caller's.
    ///
    /// - Throws: `unknown-upload` where there is none, it was given up, or it is somebody else's.
    package func upload(_ id: UploadID, by user: UserID) throws -> UploadRow {
        guard let row = try store.read({ try $0.upload(id) }), row.owner == user,
            row.touchedAt.addingTimeInterval(Self.uploadLifetime) > clock()
        else { throw Self.unknownUpload }
        return row
    }

    static var unknownUpload: ChatError {
        ChatError(.unknownUpload, "there is no such upload, or it was given up: begin it anew")
    }

    /// Takes hold of an upload, from whoever has it; what that one sent so far is kept.
    ///
    /// Whoever has it must ``Transfer/end()`` it.
    ///
    /// - Parameter interrupt: ends whatever gives bytes to the transfer, which then ends it. It is called when another
    ///   wants the upload, perhaps more than once.
    package func transfer(
        _ id: UploadID, by user: UserID, interrupt: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> Transfer {
        do {
            _ = try upload(id, by: user)
            let hold = await transfers.take(id, interrupt: interrupt)
            do {
                return Transfer(engine: self, row: try upload(id, by: user), hold: hold, isResumable: true)
            } catch {
                transfers.letGo(id, hold)
                throw error
            }
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// Ends all transfers; what has come is kept.
    package func interruptTransfers() { transfers.interruptAll() }

    /// Makes a file of bytes that are at hand: nothing is left of them where it goes wrong.
    ///
    /// - Returns: the file, and whether it was not there before.
    /// - Throws: what ``beginUpload(_:by:)`` throws, but for the number of uploads under way; `invalid-media` for what the
    ///   type doesn't take.
    package func upload(
        _ bytes: [UInt8], _ request: UploadRequest, by caller: Caller
    ) async throws(ChatError) -> (file: MediaRow, isNew: Bool) {
        var request = request
        request.length = Int64(bytes.count)
        let row = try newRow(request, by: caller)
        let blob = BlobID(of: bytes)
        let media = try row.media(facts: try MediaFacts(of: Data(bytes), for: row.type), blob: blob, at: clock())
        mediaCounts.receivedBytes.wrappingAdd(bytes.count, ordering: .relaxed)
        let known = try await pinning(blob) { () throws(ChatError) in
            try await self.media.put(bytes, as: blob)
            return try await submit { [self] in try keep(media, by: caller, in: $0) }
        }
        guard let known else {
            mediaCounts.files.wrappingAdd(1, ordering: .relaxed)
            return (media, true)
        }
        // The same id again is the same file, whatever comes with it.
        if known.blob != blob { try? await removeIfUnused(blob) }
        return (known, false)
    }

    /// Gives a file its row, where its uploader may still send it.
    ///
    /// - Returns: the row that its id has already: of two uploads of one file the first made it; it may have a thumbnail
    ///   and be sent by now.
    func keep(_ media: MediaRow, by caller: Caller, in transaction: Transaction) throws -> MediaRow? {
        _ = try transaction.checkSending(to: media.conversation, by: caller, permissions: permissions)
        if let known = try transaction.file(media.id, ownedBy: media.owner) { return known }
        try transaction.store.put(media)
        return nil
    }
}

extension UploadRow {
    /// The file that it becomes.
    ///
    /// - Throws: `invalid-media` where its bytes are not those that were said.
    func media(facts: MediaFacts, blob: BlobID, at time: Date) throws(ChatError) -> MediaRow {
        if let expected, expected != blob {
            throw ChatError(
                .invalidMedia, "the file's SHA-256 is not what was said: it changed on its way",
                parameter: "Repr-Digest")
        }
        var row = MediaRow(
            id: media, owner: owner, conversation: conversation, type: type, name: name, mediaType: facts.mediaType,
            size: length ?? offset, blob: blob, createdAt: time)
        row.pixels = facts.pixels
        return row
    }
}
