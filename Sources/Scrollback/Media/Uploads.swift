import Foundation
package import ScrollbackModel
import ScrollbackSync
import Synchronization

/// Uploads the files of queued messages, one file at a time for each message.
///
/// The progress is stored, so that an upload resumes after a crash at the offset that the server has.
package final class Uploads: Sendable {
    /// The size of a chunk in bytes, which is the most that a lost connection can cost.
    static let chunkSize = 4 << 20

    /// The maximum number of attempts for a file whose upload the server has deleted.
    private static let maximumAttempts = 3

    private let state = Mutex(State())

    private struct State {
        /// The latest run of each message.
        var runs: [MessageID: Int] = [:]
        /// The uploaded fractions of queued messages.
        var fractions: [MessageID: Double] = [:]
        /// All running tasks, including those that were stopped or that delete abandoned uploads.
        var tasks: [Int: Task<Void, Never>] = [:]
        var lastNumber = 0
        var hasEnded = false
    }

    /// Returns the uploaded fraction of a message's files, 0...1.
    package func fraction(of message: MessageID) -> Double { state.withLock { $0.fractions[message] ?? 0 } }

    func start(_ message: MessageID, in core: ClientCore) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            let before = state.runs[message].flatMap { state.tasks[$0] }
            before?.cancel()
            state.runs[message] = run(&state) { [self] in
                await before?.value
                let result: Result<Void, ChatError>
                do throws(ChatError) {
                    result = .success(try await upload(message, core))
                } catch {
                    result = .failure(error)
                }
                if !Task.isCancelled { core.mailbox.post(.uploaded(message, result)) }
            }
        }
    }

    /// Stops the upload of a message that is no longer needed.
    func stop(_ message: MessageID) {
        state.withLock { state in
            if let run = state.runs.removeValue(forKey: message) { state.tasks[run]?.cancel() }
        }
    }

    /// Ends a run whose result the outbox has received.
    func ended(_ message: MessageID) {
        state.withLock { _ = $0.runs.removeValue(forKey: message) }
    }

    /// Deletes the progress of a message that left the outbox.
    func forget(_ message: MessageID) {
        state.withLock { _ = $0.fractions.removeValue(forKey: message) }
    }

    /// Deletes abandoned uploads from the server, which would otherwise keep them for a day.
    ///
    /// Errors are ignored, and the request is not repeated.
    func cancelUploads(_ resources: [String], in core: ClientCore) {
        guard !resources.isEmpty else { return }
        state.withLock { state in
            guard !state.hasEnded else { return }
            _ = run(&state) {
                for resource in resources {
                    try? await core.withToken { (token) throws(ChatError) in
                        try await core.media.cancelUpload(resource, token: token)
                    }
                }
            }
        }
    }

    /// Cancels all tasks and waits until they have ended.
    ///
    /// An app's uploader is cancelled, but not awaited.
    func end() async {
        let tasks = state.withLock { state in
            state.hasEnded = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func run(_ state: inout State, _ body: @escaping @Sendable () async -> Void) -> Int {
        state.lastNumber += 1
        let number = state.lastNumber
        state.tasks[number] = Task { [self] in
            await body()
            self.state.withLock { _ = $0.tasks.removeValue(forKey: number) }
        }
        return number
    }

    // MARK: One message

    private func upload(_ message: MessageID, _ core: ClientCore) async throws(ChatError) {
        let (uploads, conversation, isEncrypted, wasTransmitted) = try await core.store.read { reader in
            let pending = try reader.asStored.pending(message)
            let isEncrypted = pending?.submission.content.encrypted != nil
            let wasTransmitted = try reader.item(of: message)?.wasTransmitted == true
            return (try reader.uploads(of: message), pending?.conversation, isEncrypted, wasTransmitted)
        }
        guard let conversation else { throw ChatError(.cancelled, "The message was cancelled.") }
        let total = uploads.reduce(0) { $0 + $1.size }
        var before: Int64 = 0
        for upload in uploads {
            // A message's task calls the closure sequentially.
            let base = before
            let reportProgress: @Sendable (Int64) -> Void = { [self] done in
                state.withLock { state in
                    // An app's uploader may report progress after the run has ended.
                    guard state.runs[message] != nil else { return }
                    state.fractions[message] = Double(base + done) / Double(max(1, total))
                }
                core.changes.changed(only: conversation)
            }
            if !upload.isDone {
                // The content of a message that was transmitted refers to files on the chat server.
                if !wasTransmitted, let uploader = core.mediaSettings.uploader {
                    try await uploadWithAppUploader(upload, to: uploader, core, reportProgress)
                } else {
                    var upload = upload
                    // The encrypted message contains the name, so the server must not receive it.
                    if isEncrypted { upload.name = nil }
                    try await transfer(upload, in: conversation, core, reportProgress)
                }
            }
            before += upload.size
            reportProgress(upload.size)
        }
        try await replaceFileReferences(message, core)
    }

    /// Uploads a file to the chat server.
    ///
    /// - Throws: The error of the upload. A rejected token is a temporary error, because the app's next token may be
    ///   valid.
    private func transfer(
        _ upload: LocalUpload, in conversation: ConversationID, _ core: ClientCore,
        _ reportProgress: @Sendable (Int64) -> Void
    ) async throws(ChatError) {
        var upload = upload
        var attempts = 0
        while !upload.isDone {
            do throws(ChatError) {
                try await resume(&upload, in: conversation, core, reportProgress)
            } catch {
                if Task.isCancelled {
                    // When the client closes, the upload is kept and resumed later.
                    cancelUploads(upload.resource.map { [$0] } ?? [], in: core)
                    throw error
                }
                attempts += 1
                guard error.isTakenID || [.unknownUpload, .unknownMedia].contains(error.code),
                    attempts < Self.maximumAttempts
                else { throw error.isTokenError ? error.asTemporary : error }
                if error.isTakenID {
                    let (taken, now) = (upload, core.clock())
                    let renamed = try await core.store.write { try $0.assignNewID(to: taken, now: now) }
                    upload.media = renamed.media
                }
                upload.resource = nil
            }
        }
    }

    /// Resumes or begins an upload, and completes it.
    ///
    /// - Throws: `unknown-upload` or `unknown-media` if the server has deleted it, so that it must be restarted.
    private func resume(
        _ upload: inout LocalUpload, in conversation: ConversationID, _ core: ClientCore,
        _ reportProgress: @Sendable (Int64) -> Void
    ) async throws(ChatError) {
        var serverProgress = UploadProgress(offset: 0, isComplete: false)
        if let resource = upload.resource {
            serverProgress = try await progress(of: resource, core)
        } else {
            let begun = upload
            upload.resource = try await core.withToken { (token) throws(ChatError) in
                try await core.media.begin(begun, in: conversation, token: token)
            }
            let saved = upload
            try await core.store.write { try $0.save(saved) }
        }
        while let resource = upload.resource, !serverProgress.isComplete {
            try Self.checkNotCancelled()
            reportProgress(serverProgress.offset)
            let chunk = try core.files.read(upload.hash, from: serverProgress.offset, upTo: core.uploadChunkSize)
            let (place, end) = (serverProgress.offset, serverProgress.offset + Int64(chunk.count))
            let isLast = end == upload.size
            guard isLast || !chunk.isEmpty else {
                throw ChatError(.localStorage, "The stored copy of the file is incomplete.")
            }
            do throws(ChatError) {
                try await core.withToken { (token) throws(ChatError) in
                    try await core.media.append(chunk, to: resource, at: place, isLast: isLast, token: token)
                }
                serverProgress = UploadProgress(offset: end, isComplete: isLast)
            } catch  where error.code == .conflict {
                // An answer was lost: continue from the server's offset.
                let now = try await progress(of: resource, core)
                guard now != serverProgress else { throw error }
                serverProgress = now
            }
        }
        if let hash = upload.thumbnail {
            let (picture, media) = (try core.files.read(hash, from: 0, upTo: Media.largestThumbnail), upload.media)
            try await core.withToken { (token) throws(ChatError) in
                try await core.media.setThumbnail(picture, of: media, token: token)
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

    /// Uploads a file with the app's own uploader.
    private func uploadWithAppUploader(
        _ upload: LocalUpload, to uploader: any MediaUploader, _ core: ClientCore,
        _ reportProgress: @escaping @Sendable (Int64) -> Void
    ) async throws(ChatError) {
        var done = upload
        let file = OutgoingFile(
            file: core.files.url(of: upload.hash), type: upload.type, name: upload.name, mediaType: upload.mediaType,
            size: upload.size)
        let task = Task<Result<URL, any Error>, Never> {
            do {
                return .success(
                    try await uploader.upload(file) { fraction in
                        reportProgress(Int64(min(max(fraction, 0), 1) * Double(upload.size)))
                    })
            } catch {
                return .failure(error)
            }
        }
        // The uploader may continue after cancellation, but its result is ignored.
        let result = await withTaskCancellationHandler {
            await task.valueUnlessCancelled
        } onCancel: {
            task.cancel()
        }
        do {
            guard let url = try result?.get() else { throw ChatError(.cancelled, "The upload was stopped.") }
            done.url = try Media.url(url.absoluteString, parameter: "uploader")
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.uploadFailed, "The app's uploader failed: \(error)", cause: error)
        }
        done.isDone = true
        let saved = done
        try await core.store.write { try $0.save(saved) }
    }

    /// Replaces the file references in the message with the URLs that the app's uploader returned.
    private func replaceFileReferences(_ message: MessageID, _ core: ClientCore) async throws(ChatError) {
        let now = core.clock()
        let messageEncryption = core.store.messageEncryption
        try await core.store.write { writer in
            guard var pending = try writer.reader.pending(message) else { return }
            let uploads = try writer.reader.uploads(of: message)
            guard uploads.contains(where: { $0.url != nil }) else { return }
            if let error = pending.decryptionError { throw error }
            for upload in uploads {
                guard let url = upload.url else { continue }
                pending.submission.content = pending.submission.content.replacingFile(
                    upload.media, with: .remote(url))
                try writer.save(LocalFile(hash: upload.hash, size: upload.size), as: url.absoluteString, now: now)
            }
            _ = try writer.replace(messageEncryption.seal(pending.submission, to: pending.conversation))
        }
    }

    private static func checkNotCancelled() throws(ChatError) {
        if Task.isCancelled { throw ChatError(.cancelled, "The upload was stopped.") }
    }
}

extension ChatError {
    /// Whether the server has another user's file with the ID of the upload.
    fileprivate var isTakenID: Bool { code == .conflict && parameter == "id" }

    fileprivate var isTokenError: Bool { [.invalidToken, .tokenExpired, .tokenRevoked].contains(code) }

    fileprivate var asTemporary: ChatError {
        var error = self
        error.isTemporary = true
        return error
    }
}
