import Foundation
package import ScrollbackModel
import Synchronization

/// A request's exclusive hold of an upload, to which it appends bytes until the transfer ends.
package actor Transfer {
    /// The number of received bytes after which they are made durable; at most this many are sent again after a crash.
    private static let step: Int64 = 8 << 20
    /// The number of first bytes that are kept to detect invalid files early.
    private static let beginning = 256 << 10

    private let engine: Engine
    /// The user whose upload it is.
    private let caller: Caller
    /// The user, whose turns the transfer takes.
    private let owner: WorkOwner
    /// The files, in the owner's turns.
    private let files: any MediaStore
    private let hold: UInt64
    /// Whether the upload has a row and can be resumed.
    package nonisolated let isResumable: Bool
    /// The upload's row, as it is stored.
    package private(set) var row: UploadRow
    private var file: (any UploadFile)?
    private var isEnded = false
    /// The number of received bytes, whether or not they are durable.
    private var count: Int64
    /// The first bytes, as long as more of them can reveal an invalid file.
    private var prefix: Data?
    private var examinedCount = 0

    init(engine: Engine, row: UploadRow, caller: Caller, hold: UInt64, isResumable: Bool) {
        self.engine = engine
        self.caller = caller
        owner = WorkOwner(caller)
        files = engine.media.serving(owner)
        self.row = row
        self.hold = hold
        self.isResumable = isResumable
        count = row.offset
        prefix = row.offset == 0 ? Data() : nil
    }

    /// Sets the upload's length, if it is not known yet.
    ///
    /// - Throws: `malformed` if another length is already known, or if more bytes were already received. `rate-limited`
    ///   if the quota of today has no space for the length.
    package func setLength(_ length: Int64) async throws(ChatError) {
        if let known = row.length {
            guard known == length else { throw Self.wrongLength(known, length) }
            return
        }
        guard length >= count else { throw Self.wrongLength(length, count) }
        try engine.settings.mediaLimits.check(length, for: row.type)
        try await checkQuota(for: length)
        var known = row
        known.length = length
        try await store(known)
    }

    /// Appends bytes.
    ///
    /// - Throws: `malformed` if the bytes exceed the upload's length; in this case, none are appended.
    ///   `media-too-large` and `invalid-media` if the file can't become valid, and `rate-limited` if it has no known
    ///   length and exceeds the quota of today; in these cases, the upload is unusable.
    package func append(_ bytes: [UInt8]) async throws(ChatError) {
        guard !bytes.isEmpty else { return }
        let end = count + Int64(bytes.count)
        if let length = row.length, end > length { throw Self.wrongLength(length, end) }
        try engine.settings.mediaLimits.check(end, for: row.type)
        try examinePrefix(with: bytes)
        let file = try await open()
        try await file.append(bytes)
        count = end
        engine.mediaCounts.receivedBytes.wrappingAdd(bytes.count, ordering: .relaxed)
        if count - row.offset >= Self.step {
            if row.length == nil { try await checkQuota(for: count) }
            try await save()
        }
        await engine.uploadPace.wait(for: bytes.count, of: owner, clock: engine.clock)
        await engine.commits.giveWay()
    }

    private func checkQuota(for size: Int64) async throws(ChatError) {
        try await engine.submit(for: owner) { [row, caller] in try $0.checkQuota(for: row, of: size, by: caller) }
    }

    private func examinePrefix(with bytes: [UInt8]) throws(ChatError) {
        guard var known = prefix else { return }
        // With one reference, appending many small parts does not copy the others.
        prefix = nil
        known.append(contentsOf: bytes.prefix(Self.beginning - known.count))
        prefix = known
        // The prefix is examined each time it has doubled.
        guard known.count >= max(FileType.prefixLength, 2 * examinedCount) || known.count >= Self.beginning else {
            return
        }
        examinedCount = known.count
        let type = row.type
        let needsMoreBytes = try engine.mediaCounts.examining { (steps) throws(ChatError) in
            try MediaProperties.check(beginning: known, for: type, steps: steps)
        }
        if !needsMoreBytes || known.count >= Self.beginning { prefix = nil }
    }

    private func open() async throws(ChatError) -> any UploadFile {
        if let file { return file }
        let opened = try await files.open(row.id, at: row.offset)
        file = opened
        return opened
    }

    /// Makes the received bytes durable, and stores their number.
    package func save() async throws(ChatError) {
        guard count > row.offset, let file else { return }
        try await file.sync()
        var saved = row
        saved.offset = count
        try await store(saved)
    }

    private func store(_ new: UploadRow) async throws(ChatError) {
        var new = new
        new.touchedAt = engine.clock()
        if isResumable { try await engine.submit(for: owner) { [new] in try $0.store.put(new) } }
        row = new
    }

    /// Creates a file from the received bytes.
    ///
    /// The user must still be allowed to send to the conversation.
    ///
    /// - Throws: `malformed` if bytes are missing; in this case, the upload can be resumed. `invalid-media`,
    ///   `rate-limited` if it exceeds the quota of today, and the errors of sending to the conversation; in these
    ///   cases, the upload is unusable.
    package func finish() async throws(ChatError) -> MediaRow {
        if let length = row.length, count != length { throw Self.wrongLength(length, count) }
        // The bytes must not be kept if they exceed the quota. A known length was checked when it was set.
        if row.length == nil { try await checkQuota(for: count) }
        let file = try await open()
        let type = row.type
        let properties = try await file.examine { [counts = engine.mediaCounts] (data) throws(ChatError) in
            try counts.examining { (steps) throws(ChatError) in
                try MediaProperties(of: data, for: type, steps: steps)
            }
        }
        let blob = try await file.hash()
        var done = row
        done.state = .done
        done.length = count
        done.offset = count
        done.touchedAt = engine.clock()
        let (finished, media) = (done, try done.media(properties: properties, blob: blob, at: done.touchedAt))
        let known = try await engine.pinning(blob, for: owner) { [engine, caller, isResumable] () throws(ChatError) in
            try await file.persist(as: blob)
            return try await engine.submit(for: owner) { transaction in
                let known = try engine.insertFile(media, by: caller, in: transaction)
                guard known.map({ $0.blob == blob }) ?? true else { throw Transaction.takenID }
                // The row stays so that a client that lost the answer can get it.
                if isResumable { try transaction.store.put(finished) }
                return known
            }
        }
        row = done
        engine.mediaCounts.files.wrappingAdd(1, ordering: .relaxed)
        await file.close()
        self.file = nil
        // After a crash, the next search for bytes without a row finds the upload's bytes.
        try? await files.remove(row.id)
        return known ?? media
    }

    private static func wrongLength(_ said: Int64, _ found: Int64) -> ChatError {
        ChatError(
            .malformed, "The upload's length is \(said) bytes, but it has \(found) bytes.",
            parameter: "Upload-Length")
    }

    /// Cancels the upload and deletes its data.
    package func cancel() async {
        await file?.close()
        file = nil
        let id = row.id
        // Bytes that can't be deleted now are removed with abandoned uploads.
        if isResumable { try? await engine.submit(for: owner) { try $0.store.remove(id) } }
        try? await files.remove(id)
        release()
    }

    /// Keeps the received bytes, and releases the upload.
    package func end() async {
        if row.state == .open { try? await save() }
        await file?.close()
        file = nil
        release()
    }

    private func release() {
        guard !isEnded else { return }
        isEnded = true
        engine.transfers.release(row.id, hold)
    }
}
