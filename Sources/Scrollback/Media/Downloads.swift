import Foundation
import ScrollbackModel
import Synchronization

/// Fetches files, each once however many ask, in pieces that stay.
final class Downloads: Sendable {
    private let state = Mutex(State())

    private struct State {
        var running: [String: Task<Result<URL, ChatError>, Never>] = [:]
        var progress: [String: StateSource<Double>] = [:]
        var hasEnded = false
    }

    private static let piece = 4 << 20

    func file(_ key: String, _ source: MediaPiece.Source, _ core: ClientCore) async throws(ChatError) -> URL {
        if let known = try await known(key, core) { return known }
        let task: Task<Result<URL, ChatError>, Never>? = state.withLock { state in
            if state.hasEnded { return nil }
            if let running = state.running[key] { return running }
            let task = Task<Result<URL, ChatError>, Never> { [self] in
                let result: Result<URL, ChatError>
                do throws(ChatError) {
                    result = .success(try await fetch(key, source, core))
                } catch {
                    result = .failure(error)
                }
                finished(key)
                return result
            }
            state.running[key] = task
            return task
        }
        guard let task else { throw ClientCore.closed }
        return try await task.value.get()
    }

    /// From now until it is there whole, or could not be fetched; at once where it is there already.
    func progress(of key: String, _ core: ClientCore) -> AsyncStream<Double> {
        AsyncStream { continuation in
            let task = Task { [self] in
                if let here = try? await known(key, core), here.isFileURL {
                    continuation.yield(1)
                } else {
                    let source = state.withLock { state -> StateSource<Double>? in
                        if state.hasEnded { return nil }
                        let source = state.progress[key] ?? StateSource<Double>(0)
                        state.progress[key] = source
                        return source
                    }
                    if let source { for await fraction in source.sequence { continuation.yield(fraction) } }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    func end() async {
        let running = state.withLock { state in
            state.hasEnded = true
            return Array(state.running.values)
        }
        for task in running { task.cancel() }
        for task in running { _ = await task.value }
        for source in state.withLock({ Array($0.progress.values) }) { source.end() }
    }

    private func finished(_ key: String) {
        let source = state.withLock { state in
            state.running[key] = nil
            return state.progress.removeValue(forKey: key)
        }
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
        _ key: String, _ source: MediaPiece.Source, _ core: ClientCore
    ) async throws(ChatError) -> URL {
        var offset = core.files.sizeOfPartial(key)
        var hash = try await core.store.read { try $0.partialHash(key) }
        // Without knowing what it was a part of, it is no part of anything.
        if hash == nil { offset = 0 }
        while true {
            guard !Task.isCancelled else { throw ClientCore.closed }
            let piece: MediaPiece
            do throws(ChatError) {
                piece = try await read(source, from: offset, hash, core)
            } catch  where error.code == .conflict && offset > 0 {
                // There is nothing at that place: it is another file now, or all of it was fetched before.
                (offset, hash) = (0, nil)
                continue
            }
            if piece.offset != offset || (hash != nil && piece.hash != hash) {
                // Another file lies there now.
                core.files.removePartial(key)
            }
            try core.files.append(piece.bytes, toPartial: key, at: piece.offset)
            if piece.hash != hash {
                hash = piece.hash
                let validator = hash
                try await core.store.write { try $0.savePartialHash(validator, key) }
            }
            offset = piece.offset + Int64(piece.bytes.count)
            if let size = piece.size { tell(key, Double(offset) / Double(max(1, size))) }
            guard !piece.isLast else { break }
            guard !piece.bytes.isEmpty else { throw ChatError(.malformed, "the file ended before its end") }
        }
        // The chat server's validators are hashes; others' may be anything.
        let expected: String? = if case .remote = source { nil } else { hash }
        let stored = try core.files.keep(partial: key, expecting: expected)
        let now = core.clock()
        try await core.store.write { writer in
            try writer.savePartialHash(nil, key)
            try writer.save(LocalFile(hash: stored.hash, size: stored.size), as: key, now: now)
        }
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
