package import Foundation
package import ScrollbackModel
import Synchronization

/// A request to upload a file.
package struct UploadRequest: Sendable {
    /// The conversation to which the file will be sent.
    package var conversation: ConversationID
    /// The file's ID, if the client assigned it; a repeated upload with the same ID returns the same file.
    package var media: MediaID?
    /// The type of message that the file is for.
    package var type: MessageType
    package var name: String?
    /// The file's length in bytes, if it is known.
    package var length: Int64?
    /// The expected hash of the file, if it is known.
    package var expected: BlobID?

    /// Creates a request to upload a file.
    ///
    /// - Throws: `invalid-parameter` with the name of the invalid parameter.
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
        self.name = try name.map { (name) throws(ChatError) in
            try DisplayText.check(name, "name")
            return try Media.name(name)
        }
        self.length = length
        self.expected = expected
    }
}

/// The result of beginning an upload.
package enum UploadStart<Upload: Sendable>: Sendable {
    case upload(Upload)
    /// The file exists already, from an earlier upload whose answer was lost.
    case file(MediaRow)
}

extension Engine {
    /// How long an upload is kept after the last received data, and its result after its end, in seconds.
    package static let uploadLifetime: TimeInterval = 24 * 60 * 60

    /// Begins a resumable upload; ``transfer(_:by:interrupt:)`` transfers its bytes.
    ///
    /// - Throws: `media-too-large` if the length exceeds the limit. `rate-limited` if there are too many open uploads.
    ///   `conflict` if another user's file has the ID. The errors of sending to the conversation.
    package func beginUpload(
        _ request: UploadRequest, by caller: Caller
    ) async throws(ChatError) -> UploadStart<UploadRow> {
        let row = try newRow(request, by: caller)
        return switch try await admit(row, isResumable: true, by: caller) {
        case let file?: .file(file)
        case nil: .upload(row)
        }
    }

    /// Begins an upload whose bytes follow immediately; the caller must call ``Transfer/end()``.
    ///
    /// - Parameters:
    ///   - isResumable: Whether the upload can be resumed. An upload that can't has no row, and nothing remains if it
    ///     is interrupted.
    ///   - interrupt: See ``transfer(_:by:interrupt:)``.
    /// - Throws: The errors of ``beginUpload(_:by:)``.
    package func beginTransfer(
        _ request: UploadRequest, by caller: Caller, isResumable: Bool, interrupt: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> UploadStart<Transfer> {
        let row = try newRow(request, by: caller)
        let hold = await transfers.acquire(
            row.id, nonResumableOwner: isResumable ? nil : caller.user, interrupt: interrupt)
        do throws(ChatError) {
            guard let file = try await admit(row, isResumable: isResumable, by: caller) else {
                return .upload(
                    Transfer(
                        engine: self, row: row, caller: caller, hold: hold, isResumable: isResumable))
            }
            transfers.release(row.id, hold)
            return .file(file)
        } catch {
            transfers.release(row.id, hold)
            throw error
        }
    }

    private func newRow(_ request: UploadRequest, by caller: Caller) throws(ChatError) -> UploadRow {
        if let length = request.length { try settings.mediaLimits.check(length, for: request.type) }
        return UploadRow(
            media: request.media ?? MediaID(UUID()), owner: caller.user,
            conversation: request.conversation.logID.absolute(for: caller.user), type: request.type,
            name: request.name, length: request.length, expected: request.expected, touchedAt: clock())
    }

    /// Checks and stores a new upload.
    ///
    /// - Returns: The file, if it exists already.
    private func admit(_ row: UploadRow, isResumable: Bool, by caller: Caller) async throws(ChatError) -> MediaRow? {
        let limit = settings.openUploads
        return try await submit(for: WorkOwner(caller)) { [permissions, transfers, mediaCounts] transaction in
            _ = try transaction.checkMaySend(
                to: row.conversation, by: caller, permissions: permissions, now: transaction.now.date)
            if let file = try transaction.file(row.media, ownedBy: caller.user) { return file }
            try transaction.checkQuota(for: row, of: max(1, row.length ?? 1), by: caller)
            // A transfer that can't be resumed is already counted by `transfers`.
            let others =
                try transaction.store.openUploads(of: caller.user) + transfers.nonResumableCount(of: caller.user)
            guard others < limit + (isResumable ? 0 : 1) else {
                mediaCounts.openUploadRefusals.wrappingAdd(1, ordering: .relaxed)
                throw ChatError(
                    .rateLimited, "You have \(limit) open uploads. Finish or delete one first.",
                    limit: limit, retryAfter: 60)
            }
            if isResumable { try transaction.store.put(row) }
            return nil
        }
    }

    /// Returns an upload of the caller.
    ///
    /// - Throws: `unknown-upload` if the upload does not exist, has expired, or belongs to another user.
    package func upload(_ id: UploadID, by user: UserID) throws -> UploadRow {
        guard let row = try store.read({ try $0.upload(id) }), row.owner == user,
            row.touchedAt.addingTimeInterval(Self.uploadLifetime) > clock()
        else { throw Self.unknownUpload }
        return row
    }

    static var unknownUpload: ChatError {
        ChatError(.unknownUpload, "The upload does not exist or has expired. Begin a new upload.")
    }

    /// Acquires an upload, and interrupts the transfer that currently has it; data received so far is kept.
    ///
    /// The caller must call ``Transfer/end()``.
    ///
    /// - Parameter interrupt: Stops the source of the transfer's bytes, after which the transfer must be ended. It is
    ///   called when another request acquires the upload, possibly more than once.
    package func transfer(
        _ id: UploadID, by caller: Caller, interrupt: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> Transfer {
        do {
            _ = try upload(id, by: caller.user)
            let hold = await transfers.acquire(id, interrupt: interrupt)
            do {
                let row = try upload(id, by: caller.user)
                return Transfer(engine: self, row: row, caller: caller, hold: hold, isResumable: true)
            } catch {
                transfers.release(id, hold)
                throw error
            }
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// Interrupts all transfers; data received so far is kept.
    package func interruptTransfers() { transfers.interruptAll() }

    /// Creates a file from bytes in memory; if this fails, nothing remains.
    ///
    /// - Returns: The file, and whether it is new.
    /// - Throws: The errors of ``beginUpload(_:by:)`` except the limit of open uploads, and `invalid-media` if the
    ///   bytes don't match the type.
    package func upload(
        _ bytes: [UInt8], _ request: UploadRequest, by caller: Caller
    ) async throws(ChatError) -> (file: MediaRow, isNew: Bool) {
        var request = request
        request.length = Int64(bytes.count)
        let row = try newRow(request, by: caller)
        let blob = BlobID(of: bytes)
        let properties = try mediaCounts.examining { (steps) throws(ChatError) in
            try MediaProperties(of: Data(bytes), for: row.type, steps: steps)
        }
        let media = try row.media(properties: properties, blob: blob, at: clock())
        mediaCounts.receivedBytes.wrappingAdd(bytes.count, ordering: .relaxed)
        let owner = WorkOwner(caller)
        let known = try await pinning(blob, for: owner) { () throws(ChatError) in
            try await self.media.serving(owner).put(bytes, as: blob)
            return try await submit(for: owner) { [self] in try insertFile(media, by: caller, in: $0) }
        }
        guard let known else {
            mediaCounts.files.wrappingAdd(1, ordering: .relaxed)
            return (media, true)
        }
        // An existing file with the same ID is returned, even if the bytes differ.
        if known.blob != blob { try? await removeIfUnused(blob, for: owner) }
        return (known, false)
    }

    /// Stores a file's row, if its uploader may still send to the conversation.
    ///
    /// - Returns: The existing row with the same ID, if any. If two uploads create the same file, the first creates the
    ///   row.
    func insertFile(_ media: MediaRow, by caller: Caller, in transaction: Transaction) throws -> MediaRow? {
        _ = try transaction.checkMaySend(
            to: media.conversation, by: caller, permissions: permissions, now: transaction.now.date)
        if let known = try transaction.file(media.id, ownedBy: media.owner) { return known }
        let growth = Growth(fileBytes: media.size)
        try transaction.checkGrowth(growth, by: caller)
        try transaction.recordGrowth(growth, by: caller)
        try transaction.store.put(media)
        return nil
    }
}

extension UploadRow {
    /// Returns the file that the upload becomes.
    ///
    /// - Throws: `invalid-media` if the bytes don't have the expected hash.
    func media(properties: MediaProperties, blob: BlobID, at time: Date) throws(ChatError) -> MediaRow {
        if let expected, expected != blob {
            throw ChatError(
                .invalidMedia, "The file's SHA-256 hash differs from the one in the request. Upload the file again.",
                parameter: "Repr-Digest")
        }
        var row = MediaRow(
            id: media, owner: owner, conversation: conversation, type: type, name: name,
            mediaType: properties.mediaType,
            size: length ?? offset, blob: blob, createdAt: time)
        row.pixels = properties.pixels
        return row
    }
}

extension Transaction {
    /// Checks that the quota of today has space for an upload of a size in bytes.
    ///
    /// Uploads count when they end. Until then, they occupy what is left of the quota.
    func checkQuota(for upload: UploadRow, of size: Int64, by caller: Caller) throws {
        let occupied = try store.upload(upload.id)?.occupiedBytes ?? 0
        let others = try store.openUploadBytes(of: upload.owner) - occupied
        try checkGrowth(Growth(fileBytes: others + size), by: caller)
    }
}
