import Foundation
package import ScrollbackModel
import Synchronization

/// One request's hold of an upload, which takes bytes until it is ended.
package actor Transfer {
    /// After how many bytes what came is put on disk: this much is sent again after a crash.
    private static let step: Int64 = 8 << 20
    /// How busy the writer of messages may be before files wait, and for how long they do.
    private static let busy = 0.7
    private static let pause = Duration.milliseconds(250)
    /// How much of the beginning is kept for finding out early what cannot be.
    private static let beginning = 256 << 10

    private let engine: Engine
    private let hold: UInt64
    /// Whether it has a row, and can be gone on with.
    package nonisolated let isResumable: Bool
    /// As it is on disk.
    package private(set) var row: UploadRow
    private var file: (any UploadFile)?
    private var isEnded = false
    /// How many bytes there are, on disk or not.
    private var count: Int64
    /// The first bytes, as long as more of them can tell more.
    private var prefix: Data?
    private var lookedAt = 0

    init(engine: Engine, row: UploadRow, hold: UInt64, isResumable: Bool) {
        self.engine = engine
        self.row = row
        self.hold = hold
        self.isResumable = isResumable
        count = row.offset
        prefix = row.offset == 0 ? Data() : nil
    }

    /// Says how long it will be, where that was not known.
    ///
    /// - Throws: `malformed` where it was, and is something else.
    package func setLength(_ length: Int64) async throws(ChatError) {
        if let known = row.length {
            guard known == length else { throw Self.wrongLength(known, length) }
            return
        }
        guard length >= count else { throw Self.wrongLength(length, count) }
        try engine.settings.mediaLimits.check(length, for: row.type)
        var known = row
        known.length = length
        try await store(known)
    }

    /// Takes bytes.
    ///
    /// - Throws: `malformed` where they go beyond the upload's length: none of them is taken. `media-too-large`,
    ///   `invalid-media` where the file can't be sent whatever follows: the upload is good for nothing then.
    package func append(_ bytes: [UInt8]) async throws(ChatError) {
        guard !bytes.isEmpty else { return }
        let end = count + Int64(bytes.count)
        if let length = row.length, end > length { throw Self.wrongLength(length, end) }
        try engine.settings.mediaLimits.check(end, for: row.type)
        try look(at: bytes)
        let file = try await open()
        try await file.append(bytes)
        count = end
        engine.mediaCounts.receivedBytes.wrappingAdd(bytes.count, ordering: .relaxed)
        if count - row.offset >= Self.step { try await save() }
        // Messages go first: while their writer has no rest, files come a part at a time.
        if engine.log.load.share > Self.busy { try? await Task.sleep(for: Self.pause) }
    }

    private func look(at bytes: [UInt8]) throws(ChatError) {
        guard var known = prefix else { return }
        known.append(contentsOf: bytes.prefix(Self.beginning - known.count))
        prefix = known
        // Each time with twice as much as the time before.
        guard known.count >= max(FileType.prefixLength, 2 * lookedAt) || known.count >= Self.beginning else { return }
        lookedAt = known.count
        let tellsMore = try MediaFacts.check(beginning: known, for: row.type)
        if !tellsMore || known.count >= Self.beginning { prefix = nil }
    }

    private func open() async throws(ChatError) -> any UploadFile {
        if let file { return file }
        let opened = try await engine.media.open(row.id, at: row.offset)
        file = opened
        return opened
    }

    /// Puts on disk what came, and remembers how much it is.
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
        if isResumable { try await engine.submit { [new] in try $0.store.put(new) } }
        row = new
    }

    /// Makes a file of what came.
    ///
    /// - Parameter caller: who must still be allowed to send to the conversation.
    /// - Throws: `malformed` where bytes are missing: the upload can be gone on with. `invalid-media` and what sending to
    ///   the conversation throws: it is good for nothing then.
    package func finish(by caller: Caller) async throws(ChatError) -> MediaRow {
        if let length = row.length, count != length { throw Self.wrongLength(length, count) }
        let file = try await open()
        let type = row.type
        let facts = try await file.examine { (data) throws(ChatError) in try MediaFacts(of: data, for: type) }
        let blob = try await file.hash()
        var done = row
        done.state = .done
        done.length = count
        done.offset = count
        done.touchedAt = engine.clock()
        let (finished, media) = (done, try done.media(facts: facts, blob: blob, at: done.touchedAt))
        let known = try await engine.pinning(blob) { [engine, isResumable] () throws(ChatError) in
            try await file.keep(as: blob)
            return try await engine.submit { transaction in
                let known = try engine.keep(media, by: caller, in: transaction)
                guard known.map({ $0.blob == blob }) ?? true else { throw Transaction.takenID }
                // Its answer is kept for who lost it.
                if isResumable { try transaction.store.put(finished) }
                return known
            }
        }
        row = done
        engine.mediaCounts.files.wrappingAdd(1, ordering: .relaxed)
        await file.close()
        self.file = nil
        // What is left there after a crash is found by the next search for remains.
        try? await engine.media.remove(row.id)
        return known ?? media
    }

    private static func wrongLength(_ said: Int64, _ found: Int64) -> ChatError {
        ChatError(
            .malformed, "the upload's length was said to be \(said) bytes, and this makes it \(found)",
            parameter: "Upload-Length")
    }

    /// Gives the upload up: nothing is left of it.
    package func cancel() async {
        await file?.close()
        file = nil
        let id = row.id
        // What can't be removed now goes with the abandoned ones.
        if isResumable { try? await engine.submit { try $0.store.remove(id) } }
        try? await engine.media.remove(id)
        release()
    }

    /// Keeps what came, and lets go of the upload.
    package func end() async {
        if row.state == .open { try? await save() }
        await file?.close()
        file = nil
        release()
    }

    private func release() {
        guard !isEnded else { return }
        isEnded = true
        engine.transfers.letGo(row.id, hold)
    }
}
