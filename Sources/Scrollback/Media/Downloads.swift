import Foundation
import ScrollbackModel
import Synchronization

/// Fetches files, each once however many ask, in pieces that stay.
final class Downloads: Sendable {
    private let state = Mutex(State())

    private struct State {
        /// By the key of the file; the last that was started, of which earlier ones nobody waits for any more.
        var running: [String: Fetch] = [:]
        var progress: [String: StateSource<Double>] = [:]
        var lastNumber = 0
        var hasEnded = false
    }

    private struct Fetch {
        var number: Int
        var task: Task<Result<URL, ChatError>, Never>
        /// How many wait for it: it ends with the last of them.
        var waiting = 1
    }

    private static let piece = 4 << 20

    /// - Parameter size: what is said of the file's size.
    /// - Throws: `cancelled` when whoever asks does not wait any longer.
    func file(
        _ key: String, _ source: MediaPiece.Source, size: Int64?, _ core: ClientCore
    ) async throws(ChatError) -> URL {
        if let known = try await known(key, core) { return known }
        guard let fetch = join(key, source, size, core) else { throw ClientCore.closed }
        let result = await fetch.task.valueUnlessCancelled
        leave(key, fetch.number)
        guard let result else { throw ChatError(.cancelled, "the task that asked for the file was cancelled") }
        return try result.get()
    }

    private func join(
        _ key: String, _ source: MediaPiece.Source, _ size: Int64?, _ core: ClientCore
    ) -> Fetch? {
        state.withLock { state in
            guard !state.hasEnded else { return nil }
            let before = state.running[key]
            if var before, before.waiting > 0 {
                before.waiting += 1
                state.running[key] = before
                return before
            }
            state.lastNumber += 1
            let number = state.lastNumber
            let task = Task<Result<URL, ChatError>, Never> { [self] in
                // One that was given up has to let go of the file first.
                _ = await before?.task.value
                let result: Result<URL, ChatError>
                do throws(ChatError) {
                    result = .success(try await fetch(key, source, size, core))
                } catch {
                    result = .failure(error)
                }
                finished(key, number)
                return result
            }
            let new = Fetch(number: number, task: task)
            state.running[key] = new
            return new
        }
    }

    private func leave(_ key: String, _ number: Int) {
        state.withLock { state in
            guard var fetch = state.running[key], fetch.number == number else { return }
            fetch.waiting -= 1
            state.running[key] = fetch
            if fetch.waiting == 0 { fetch.task.cancel() }
        }
    }

    /// From now until it is there whole, or could not be fetched; at once where it is there already.
    func progress(of key: String, size: Int64?, _ core: ClientCore) -> AsyncStream<Double> {
        AsyncStream { continuation in
            let begun = size.map { Double(core.files.sizeOfPartial(key)) / Double(max(1, $0)) } ?? 0
            // Before the store is asked: a fetch that ends meanwhile ends it.
            let source = state.withLock { state -> StateSource<Double>? in
                if state.hasEnded { return nil }
                let source = state.progress[key] ?? StateSource<Double>(min(begun, 1))
                state.progress[key] = source
                return source
            }
            let task = Task { [self] in
                if let source {
                    if (try? await known(key, core)) != nil { isHere(key) }
                    for await fraction in source.sequence { continuation.yield(fraction) }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Those that are being fetched.
    var keys: Set<String> { state.withLock { Set($0.running.keys) } }

    func end() async {
        let running = state.withLock { state in
            state.hasEnded = true
            return Array(state.running.values)
        }
        for fetch in running { fetch.task.cancel() }
        for fetch in running { _ = await fetch.task.value }
        for source in state.withLock({ Array($0.progress.values) }) { source.end() }
    }

    private func finished(_ key: String, _ number: Int) {
        let source = state.withLock { state -> StateSource<Double>? in
            guard state.running[key]?.number == number else { return nil }
            state.running[key] = nil
            return state.progress.removeValue(forKey: key)
        }
        source?.end()
    }

    /// Nothing has to be fetched.
    private func isHere(_ key: String) {
        let source = state.withLock { $0.progress.removeValue(forKey: key) }
        source?.set(1)
        source?.end()
    }

    private func tell(_ key: String, _ fraction: Double) {
        state.withLock { $0.progress[key] }?.set(fraction)
    }

    // MARK: Steps

    private func known(_ key: String, _ core: ClientCore) async throws(ChatError) -> URL? {
        guard let file = try await core.store.read({ try $0.file(key) }) else { return nil }
        let url = core.files.url(of: file.hash)
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        let now = core.clock()
        try await core.store.write { try $0.use(key, now: now) }
        return url
    }

    private func fetch(
        _ key: String, _ source: MediaPiece.Source, _ size: Int64?, _ core: ClientCore
    ) async throws(ChatError) -> URL {
        do throws(ChatError) {
            let hash = try await fetchAll(key, source, size, core)
            return try await keep(key, expecting: hash, core)
        } catch {
            if [.malformed, .mediaTooLarge].contains(error.code) {
                core.files.removePartial(key)
                try? await core.store.write { try $0.savePartialHash(nil, key) }
            }
            throw error
        }
    }

    /// Fetches what is missing.
    ///
    /// - Returns: the hash that the file must have; nothing where it is not known.
    private func fetchAll(
        _ key: String, _ source: MediaPiece.Source, _ size: Int64?, _ core: ClientCore
    ) async throws(ChatError) -> String? {
        var offset = core.files.sizeOfPartial(key)
        var hash = try await core.store.read { try $0.partialHash(key) }
        // Without knowing what it was a part of, it is no part of anything; nothing is no part of anything either.
        if hash == nil || offset == 0 { (offset, hash) = (0, nil) }
        // The chat server's validators are hashes; others' may be anything.
        let isHash = if case .remote = source { false } else { true }
        // The app was ended before it was kept.
        if isHash, offset > 0, offset == size { return hash }
        var mayBeginAnew = true
        while true {
            guard !Task.isCancelled else { throw ClientCore.closed }
            var piece: MediaPiece?
            do throws(ChatError) {
                piece = try await read(source, from: offset, hash, core)
            } catch  where error.code == .conflict && offset > 0 {
                // There is nothing at that place.
            }
            if piece?.offset != offset || offset > 0 && piece?.hash != hash {
                // Another file lies there now.
                guard mayBeginAnew else { throw ChatError(.malformed, "the file changes while it is fetched") }
                mayBeginAnew = false
                core.files.removePartial(key)
                (offset, hash) = (0, nil)
            }
            guard let piece, piece.offset == offset else { continue }
            let end = offset + Int64(piece.bytes.count)
            let limit = core.mediaSettings.largestDownload
            guard max(end, piece.size ?? 0) <= limit else {
                throw ChatError(
                    .mediaTooLarge, "the file is larger than the \(limit) bytes that are fetched of one",
                    limit: Int(limit))
            }
            try core.files.append(piece.bytes, toPartial: key, at: offset)
            if piece.hash != hash || offset == 0 {
                hash = piece.hash
                let validator = hash
                try await core.store.write { try $0.savePartialHash(validator, key) }
            }
            offset = end
            if let size = piece.size { tell(key, Double(offset) / Double(max(1, size))) }
            guard !piece.isLast else { return isHash ? hash : nil }
            guard !piece.bytes.isEmpty else { throw ChatError(.malformed, "the file ended before its end") }
        }
    }

    private func keep(_ key: String, expecting hash: String?, _ core: ClientCore) async throws(ChatError) -> URL {
        let stored = try core.files.keep(partial: key, expecting: hash)
        let now = core.clock()
        try await core.store.write { writer in
            try writer.savePartialHash(nil, key)
            try writer.save(LocalFile(hash: stored.hash, size: stored.size), as: key, now: now)
        }
        withExtendedLifetime(stored) {}
        await core.makeRoom(keeping: stored.hash)
        return core.files.url(of: stored.hash)
    }

    private func read(
        _ source: MediaPiece.Source, from offset: Int64, _ hash: String?, _ core: ClientCore
    ) async throws(ChatError) -> MediaPiece {
        if case .remote = source {
            // Somebody else's server gets no token.
            return try await core.media.read(source, from: offset, upTo: Self.piece, ifStill: hash, token: nil)
        }
        return try await core.withToken { (token) throws(ChatError) in
            try await core.media.read(source, from: offset, upTo: Self.piece, ifStill: hash, token: token)
        }
    }
}
