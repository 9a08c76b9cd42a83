import Foundation
import ScrollbackModel
import ScrollbackSync
import Synchronization

/// Brings the files of queued messages to the server, each message's one after the other.
///
/// What was reached is noted in the store as it goes: after a crash it goes on from what the server has.
final class Uploads: Sendable {
    /// How much is handed over at a time: what a lost connection may cost.
    static let piece = 4 << 20

    private let state = Mutex(State())

    private struct State {
        var tasks: [MessageID: Task<Void, Never>] = [:]
        var fractions: [MessageID: Double] = [:]
        var hasEnded = false
    }

    /// How much of a message's files is there, 0...1.
    func fraction(of message: MessageID) -> Double { state.withLock { $0.fractions[message] ?? 0 } }

    func start(_ message: MessageID, in core: ClientCore) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            let before = state.tasks[message]
            before?.cancel()
            state.tasks[message] = Task { [self] in
                await before?.value
                let result: Result<Void, ChatError>
                do throws(ChatError) {
                    result = .success(try await upload(message, core))
                } catch {
                    result = .failure(error)
                }
                guard !Task.isCancelled else { return }
                core.mailbox.post(.uploaded(message, result))
            }
        }
    }

    func stop(_ message: MessageID) {
        state.withLock { $0.tasks[message]?.cancel() }
    }

    /// The outbox heard what became of it.
    func forget(_ message: MessageID) {
        state.withLock { state in
            state.tasks[message] = nil
            state.fractions[message] = nil
        }
    }

    /// Ends everything, and waits until it has.
    func end() async {
        let tasks = state.withLock { state in
            state.hasEnded = true
            defer { state.tasks = [:] }
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    // MARK: One message

    private func upload(_ message: MessageID, _ core: ClientCore) async throws(ChatError) {
        let (uploads, conversation) = try await core.store.read { reader in
            (try reader.uploads(of: message), try reader.pending(message)?.conversation)
        }
        guard let conversation else { throw ChatError(.cancelled, "the message was cancelled") }
        let total = uploads.reduce(0) { $0 + $1.size }
        var before: Int64 = 0
        for upload in uploads {
            // Of one message: the closure is called by its own task and by nobody else.
            let base = before
            let tell: @Sendable (Int64) -> Void = { [self] done in
                state.withLock { $0.fractions[message] = Double(base + done) / Double(max(1, total)) }
                core.changes.changed([conversation])
            }
            if !upload.isDone {
                if let uploader = core.mediaSettings.uploader {
                    try await handOver(upload, to: uploader, core, tell)
                } else {
                    try await transfer(upload, in: conversation, core, tell)
                }
            }
            before += upload.size
            tell(upload.size)
        }
        if core.mediaSettings.uploader != nil { try await fillIn(message, core) }
    }

    /// To the chat server.
    private func transfer(
        _ upload: LocalUpload, in conversation: ConversationID, _ core: ClientCore,
        _ tell: @Sendable (Int64) -> Void
    ) async throws(ChatError) {
        var upload = upload
        var held = UploadProgress(offset: 0, isComplete: false)
        if let resource = upload.resource {
            do throws(ChatError) {
                held = try await progress(of: resource, core)
            } catch  where error.code == .unknownUpload {
                upload.resource = nil
            }
        }
        if upload.resource == nil {
            let begun = upload
            upload.resource = try await core.withToken { (token) throws(ChatError) in
                try await core.media.begin(begun, in: conversation, token: token)
            }
            let saved = upload
            try await core.store.write { try $0.save(saved) }
        }
        while let resource = upload.resource, !held.isComplete {
            try Self.checkNotCancelled()
            tell(held.offset)
            let piece = try core.files.read(upload.hash, from: held.offset, upTo: core.uploadPiece)
            let (place, end) = (held.offset, held.offset + Int64(piece.count))
            let isLast = end == upload.size
            guard isLast || !piece.isEmpty else { throw ChatError(.localStorage, "the copy of the file is cut off") }
            do throws(ChatError) {
                try await core.withToken { (token) throws(ChatError) in
                    try await core.media.append(piece, to: resource, at: place, isLast: isLast, token: token)
                }
                held = UploadProgress(offset: end, isComplete: isLast)
            } catch  where error.code == .conflict {
                // An answer was lost: what the server has decides.
                let now = try await progress(of: resource, core)
                guard now != held else { throw error }
                held = now
            }
        }
        if let hash = upload.thumbnail {
            let picture = try core.files.read(hash, from: 0, upTo: Media.largestThumbnail)
            try await core.withToken { (token) throws(ChatError) in
                try await core.media.setThumbnail(picture, of: upload.media, token: token)
            }
        }
        upload.isDone = true
        let done = upload
        try await core.store.write { try $0.save(done) }
    }

    private func progress(of resource: String, _ core: ClientCore) async throws(ChatError) -> UploadProgress {
        try await core.withToken { (token) throws(ChatError) in
            try await core.media.progress(of: resource, token: token)
        }
    }

    /// To wherever the app brings its files.
    private func handOver(
        _ upload: LocalUpload, to uploader: any MediaUploader, _ core: ClientCore,
        _ tell: @escaping @Sendable (Int64) -> Void
    ) async throws(ChatError) {
        var done = upload
        let file = OutgoingFile(
            file: core.files.url(of: upload.hash), type: upload.type, name: upload.name, mediaType: upload.mediaType,
            size: upload.size)
        do {
            let url = try await uploader.upload(file) { fraction in
                tell(Int64(min(max(fraction, 0), 1) * Double(upload.size)))
            }
            done.url = try Media.url(url.absoluteString, parameter: "uploader")
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.uploadFailed, "the app's uploader failed: \(error)", cause: error)
        }
        done.isDone = true
        let saved = done
        try await core.store.write { try $0.save(saved) }
    }

    /// The message names the places its files were brought to.
    private func fillIn(_ message: MessageID, _ core: ClientCore) async throws(ChatError) {
        let now = core.clock()
        try await core.store.write { writer in
            guard var pending = try writer.reader.pending(message) else { return }
            for upload in try writer.reader.uploads(of: message) {
                guard let url = upload.url else { continue }
                pending.submission.content = pending.submission.content.moving(upload.media, to: url)
                try writer.save(LocalFile(hash: upload.hash, size: upload.size), as: url.absoluteString, now: now)
            }
            _ = try writer.replace(pending.submission)
        }
    }

    private static func checkNotCancelled() throws(ChatError) {
        if Task.isCancelled { throw ChatError(.cancelled, "the upload was stopped") }
    }
}
