package import Foundation
package import ScrollbackModel

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
package enum UploadBeginning: Sendable {
    case upload(UploadRow)
    /// The file is there already, from an upload whose answer was lost.
    case file(MediaRow)
}

extension Engine {
    /// How long an upload is kept after something last came for it, and its answer after its end.
    package static let uploadLifetime: TimeInterval = 24 * 60 * 60

    /// Begins an upload; ``transfer(_:by:interrupt:)`` takes its bytes.
    ///
    /// - Throws: `media-too-large` for a length beyond the limit, `rate-limited` for too many that are under way, `conflict`
    ///   for an id that somebody else's file has, and what sending to the conversation throws.
    package func beginUpload(
        _ request: UploadRequest, by caller: Caller
    ) async throws(ChatError) -> UploadBeginning {
        let settings = settings
        if let length = request.length { try settings.mediaLimits.check(length, for: request.type) }
        let row = UploadRow(
            media: request.media ?? MediaID(UUID()), owner: caller.user,
            conversation: request.conversation.log.absolute(for: caller.user), type: request.type,
            name: request.name, length: request.length, expected: request.expected, touchedAt: clock())
        return try await submit { [permissions] transaction in
            _ = try transaction.checkSending(to: row.conversation, by: caller, permissions: permissions)
            if let file = try transaction.file(row.media, ownedBy: caller.user) { return .file(file) }
            guard try transaction.store.openUploads(of: caller.user) < settings.openUploads else {
                throw ChatError(
                    .rateLimited, "\(settings.openUploads) uploads are under way: finish or delete one first",
                    limit: settings.openUploads, retryAfter: 60)
            }
            try transaction.store.put(row)
            return .upload(row)
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
                return Transfer(engine: self, row: try upload(id, by: user), hold: hold)
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

    /// Uploads bytes that are at hand: what a device in the same process does.
    package func upload(
        _ bytes: [UInt8], _ request: UploadRequest, by caller: Caller
    ) async throws(ChatError) -> MediaRow {
        var request = request
        request.length = Int64(bytes.count)
        let row: UploadRow
        switch try await beginUpload(request, by: caller) {
        case .file(let file): return file
        case .upload(let begun): row = begun
        }
        let transfer = try await transfer(row.id, by: caller.user, interrupt: {})
        do {
            try await transfer.append(bytes)
            let media = try await transfer.finish(by: caller, keepsAnswer: false)
            await transfer.end()
            return media
        } catch {
            await transfer.cancel()
            throw error
        }
    }
}
