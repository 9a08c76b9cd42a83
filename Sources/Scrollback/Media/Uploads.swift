import Foundation
package import ScrollbackModel
import ScrollbackSync
import Synchronization

/// Brings the files of queued messages to the server, each message's one after the other.
///
/// What was reached is noted in the store as it goes: after a crash it goes on from what the server has.
package final class Uploads: Sendable {
    /// How much is handed over at a time: what a lost connection may cost.
    static let piece = 4 << 20

    /// How often one file is begun anew that the server has given up.
    private static let beginnings = 3

    private let state = Mutex(State())

    private struct State {
        /// The last of each message.
        var runs: [MessageID: Int] = [:]
        /// Of messages that are to be sent.
        var fractions: [MessageID: Double] = [:]
        /// Everything that runs, those that were stopped and those that tell the server so too.
        var tasks: [Int: Task<Void, Never>] = [:]
        var lastNumber = 0
        var hasEnded = false
    }

    /// How much of a message's files is there, 0...1.
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

    /// Nobody wants it any more.
    func stop(_ message: MessageID) {
        state.withLock { state in
            if let run = state.runs.removeValue(forKey: message) { state.tasks[run]?.cancel() }
        }
    }

    /// The outbox heard what became of it.
    func ended(_ message: MessageID) {
        state.withLock { _ = $0.runs.removeValue(forKey: message) }
    }

    /// The message is in the outbox no more.
    func forget(_ message: MessageID) {
        state.withLock { _ = $0.fractions.removeValue(forKey: message) }
    }

    /// Tells the server of uploads that nobody goes on with, so that it need not keep them for a day.
    ///
    /// Where it can't be told now, it is not told at all.
    func giveUp(_ resources: [String], in core: ClientCore) {
        guard !resources.isEmpty else { return }
        state.withLock { state in
            guard !state.hasEnded else { return }
            _ = run(&state) {
                for resource in resources {
                    try? await core.withToken { (token) throws(ChatError) in
                        try await core.media.giveUp(resource, token: token)
                    }
                }
            }
        }
    }

    /// Ends everything, and waits until it has; not for an app's uploader, which is cancelled and may end later.
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
        let (uploads, conversation, isEncrypted) = try await core.store.read { reader in
            let pending = try reader.asStored.pending(message)
            let isEncrypted = pending?.submission.content.encrypted != nil
            return (try reader.uploads(of: message), pending?.conversation, isEncrypted)
        }
        guard let conversation else { throw ChatError(.cancelled, "the message was cancelled") }
        let total = uploads.reduce(0) { $0 + $1.size }
        var before: Int64 = 0
        for upload in uploads {
            // Of one message: the closure is called by its own task and by nobody else.
            let base = before
            let tell: @Sendable (Int64) -> Void = { [self] done in
                state.withLock { state in
                    // An app's uploader may speak when nobody listens any more.
                    guard state.runs[message] != nil else { return }
                    state.fractions[message] = Double(base + done) / Double(max(1, total))
                }
                core.changes.changed(only: conversation)
            }
            if !upload.isDone {
                if let uploader = core.mediaSettings.uploader {
                    try await handOver(upload, to: uploader, core, tell)
                } else {
                    var upload = upload
                    // What it is called is in the message, for who has the key.
                    if isEncrypted { upload.name = nil }
                    try await transfer(upload, in: conversation, core, tell)
                }
            }
            before += upload.size
            tell(upload.size)
        }
        try await fillIn(message, core)
    }

    /// To the chat server.
    ///
    /// - Throws: also for a token that is refused, as temporary: the app's next one may be good.
    private func transfer(
        _ upload: LocalUpload, in conversation: ConversationID, _ core: ClientCore,
        _ tell: @Sendable (Int64) -> Void
    ) async throws(ChatError) {
        var upload = upload
        var beginnings = 0
        while !upload.isDone {
            do throws(ChatError) {
                try await goOn(&upload, in: conversation, core, tell)
            } catch {
                if Task.isCancelled {
                    // At the end of everything it is let be, and gone on with later.
                    giveUp(upload.resource.map { [$0] } ?? [], in: core)
                    throw error
                }
                beginnings += 1
                guard [.unknownUpload, .unknownMedia].contains(error.code), beginnings < Self.beginnings else {
                    throw error.isAboutToken ? error.asTemporary : error
                }
                upload.resource = nil
            }
        }
    }

    /// Goes on with an upload, or begins it; at its end it is done.
    ///
    /// - Throws: `unknown-upload` or `unknown-media` when the server has given it up: it has to be begun anew.
    private func goOn(
        _ upload: inout LocalUpload, in conversation: ConversationID, _ core: ClientCore,
        _ tell: @Sendable (Int64) -> Void
    ) async throws(ChatError) {
        var held = UploadProgress(offset: 0, isComplete: false)
        if let resource = upload.resource {
            held = try await progress(of: resource, core)
        } else {
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

    /// To wherever the app brings its files.
    private func handOver(
        _ upload: LocalUpload, to uploader: any MediaUploader, _ core: ClientCore,
        _ tell: @escaping @Sendable (Int64) -> Void
    ) async throws(ChatError) {
        var done = upload
        let file = OutgoingFile(
            file: core.files.url(of: upload.hash), type: upload.type, name: upload.name, mediaType: upload.mediaType,
            size: upload.size)
        let task = Task<Result<URL, any Error>, Never> {
            do {
                return .success(
                    try await uploader.upload(file) { fraction in
                        tell(Int64(min(max(fraction, 0), 1) * Double(upload.size)))
                    })
            } catch {
                return .failure(error)
            }
        }
        // It may go on for as long as it likes: nobody waits.
        let result = await withTaskCancellationHandler {
            await task.valueUnlessCancelled
        } onCancel: {
            task.cancel()
        }
        do {
            guard let url = try result?.get() else { throw ChatError(.cancelled, "the upload was stopped") }
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

    /// The message names the places its files were brought to, by whichever uploader this client had then.
    private func fillIn(_ message: MessageID, _ core: ClientCore) async throws(ChatError) {
        let now = core.clock()
        let sealing = core.store.sealing
        try await core.store.write { writer in
            guard var pending = try writer.reader.pending(message) else { return }
            let uploads = try writer.reader.uploads(of: message)
            guard uploads.contains(where: { $0.url != nil }) else { return }
            if let error = pending.decryptionError { throw error }
            for upload in uploads {
                guard let url = upload.url else { continue }
                pending.submission.content = pending.submission.content.moving(upload.media, to: url)
                try writer.save(LocalFile(hash: upload.hash, size: upload.size), as: url.absoluteString, now: now)
            }
            _ = try writer.replace(sealing.seal(pending.submission, to: pending.conversation))
        }
    }

    private static func checkNotCancelled() throws(ChatError) {
        if Task.isCancelled { throw ChatError(.cancelled, "the upload was stopped") }
    }
}

extension ChatError {
    fileprivate var isAboutToken: Bool { [.invalidToken, .tokenExpired, .tokenRevoked].contains(code) }

    fileprivate var asTemporary: ChatError {
        var error = self
        error.isTemporary = true
        return error
    }
}
