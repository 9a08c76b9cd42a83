import Foundation
import ScrollbackModel
import Synchronization

/// Downloads files in chunks.
///
/// Concurrent requests for the same file share one download, and partial downloads are kept.
final class Downloads: Sendable {
    private let state = Mutex(State())

    private struct State {
        /// The latest download of each file; callers no longer wait for earlier ones.
        var running: [String: Fetch] = [:]
        var progress: [String: StateSource<Double>] = [:]
        var lastNumber = 0
        var hasEnded = false
    }

    private struct Fetch {
        var number: Int
        var task: Task<Result<URL, ChatError>, Never>
        /// The number of waiting callers.
        ///
        /// The download is cancelled when the last one leaves.
        var waiting = 1
    }

    private static let chunkSize = 4 << 20

    /// Returns a file, downloading it if necessary.
    ///
    /// - Parameter size: The size of the file according to the message.
    /// - Throws: `cancelled` if the waiting task is cancelled.
    func file(
        _ key: String, _ source: MediaChunk.Source, size: Int64?, _ core: ClientCore
    ) async throws(ChatError) -> URL {
        if let known = try await cachedFile(key, core) { return known }
        guard let fetch = join(key, source, size, core) else { throw ClientCore.closed }
        let result = await fetch.task.valueUnlessCancelled
        leave(key, fetch.number)
        guard let result else { throw ChatError(.cancelled, "The task that requested the file was cancelled.") }
        return try result.get()
    }

    private func join(
        _ key: String, _ source: MediaChunk.Source, _ size: Int64?, _ core: ClientCore
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
                // A cancelled download must release the file first.
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

    /// Returns the progress until the file is complete or the download fails; ends immediately if the file is stored.
    func progress(of key: String, size: Int64?, _ core: ClientCore) -> AsyncStream<Double> {
        AsyncStream { continuation in
            let begun = size.map { Double(core.files.sizeOfPartial(key)) / Double(max(1, $0)) } ?? 0
            // Register before reading the store, so that a download that finishes in between ends the progress.
            let source = state.withLock { state -> StateSource<Double>? in
                if state.hasEnded { return nil }
                let source = state.progress[key] ?? StateSource<Double>(min(begun, 1))
                state.progress[key] = source
                return source
            }
            let task = Task { [self] in
                if let source {
                    if (try? await cachedFile(key, core)) != nil { finishProgress(key) }
                    for await fraction in source.sequence { continuation.yield(fraction) }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// The keys of the files that are being downloaded.
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

    /// Ends the progress of a file that is already stored.
    private func finishProgress(_ key: String) {
        let source = state.withLock { $0.progress.removeValue(forKey: key) }
        source?.set(1)
        source?.end()
    }

    private func reportProgress(_ key: String, _ fraction: Double) {
        state.withLock { $0.progress[key] }?.set(fraction)
    }

    // MARK: Steps

    private func cachedFile(_ key: String, _ core: ClientCore) async throws(ChatError) -> URL? {
        guard let file = try await core.store.read({ try $0.file(key) }) else { return nil }
        let url = core.files.url(of: file.hash)
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        let now = core.clock()
        try await core.store.write { try $0.use(key, now: now) }
        return url
    }

    private func fetch(
        _ key: String, _ source: MediaChunk.Source, _ size: Int64?, _ core: ClientCore
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

    /// Downloads the missing part of a file.
    ///
    /// - Returns: The hash that the file must have, or `nil` if it is not known.
    private func fetchAll(
        _ key: String, _ source: MediaChunk.Source, _ size: Int64?, _ core: ClientCore
    ) async throws(ChatError) -> String? {
        var offset = core.files.sizeOfPartial(key)
        var hash = try await core.store.read { try $0.partialHash(key) }
        // Discard a partial file without a known validator, and a validator without a partial file.
        if hash == nil || offset == 0 { (offset, hash) = (0, nil) }
        // The chat server's validators are hashes of the content; those of other servers can be anything.
        let isHash = if case .remote = source { false } else { true }
        // The download was complete, but the app was terminated before the file was stored.
        if isHash, offset > 0, offset == size { return hash }
        var canRestart = true
        while true {
            guard !Task.isCancelled else { throw ClientCore.closed }
            var chunk: MediaChunk?
            do throws(ChatError) {
                chunk = try await read(source, from: offset, hash, core)
            } catch  where error.code == .conflict && offset > 0 {
                // The server has no data at this offset.
            }
            if chunk?.offset != offset || offset > 0 && chunk?.hash != hash {
                // The file on the server has changed.
                guard canRestart else {
                    throw ChatError(.malformed, "The file repeatedly changed during the download.")
                }
                canRestart = false
                core.files.removePartial(key)
                (offset, hash) = (0, nil)
            }
            guard let chunk, chunk.offset == offset else { continue }
            let end = offset + Int64(chunk.bytes.count)
            let limit = core.mediaSettings.largestDownload
            guard max(end, chunk.size ?? 0) <= limit else {
                throw ChatError(
                    .mediaTooLarge, "The file exceeds the download limit of \(limit) bytes.",
                    limit: Int(limit))
            }
            try core.files.append(chunk.bytes, toPartial: key, at: offset)
            if chunk.hash != hash || offset == 0 {
                hash = chunk.hash
                let validator = hash
                try await core.store.write { try $0.savePartialHash(validator, key) }
            }
            offset = end
            if let size = chunk.size { reportProgress(key, Double(offset) / Double(max(1, size))) }
            guard !chunk.isLast else { return isHash ? hash : nil }
            guard !chunk.bytes.isEmpty else {
                throw ChatError(.malformed, "The download ended early: received \(offset) bytes of the file.")
            }
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
        await core.evictFiles(keeping: stored.hash)
        return core.files.url(of: stored.hash)
    }

    private func read(
        _ source: MediaChunk.Source, from offset: Int64, _ hash: String?, _ core: ClientCore
    ) async throws(ChatError) -> MediaChunk {
        if case .remote = source {
            // Other servers must not receive the token.
            return try await core.media.read(source, from: offset, upTo: Self.chunkSize, ifStill: hash, token: nil)
        }
        return try await core.withToken { (token) throws(ChatError) in
            try await core.media.read(source, from: offset, upTo: Self.chunkSize, ifStill: hash, token: token)
        }
    }
}
