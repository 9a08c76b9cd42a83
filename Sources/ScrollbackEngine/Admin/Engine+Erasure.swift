import Foundation
package import ScrollbackModel

extension Engine {
    /// Erases a user: refuses their requests from this call on, and removes their data in small steps between other
    /// writes.
    ///
    /// If the erasure is already in progress, the result is that erasure.
    ///
    /// - Parameter messages: What happens to the user's messages.
    /// - Throws: `unknown-user` if there is no data of the user, and `conflict` if an erasure with another value of
    ///   `messages` is in progress.
    package func erase(
        _ user: UserID, messages: ErasureRow.Messages, by caller: Caller
    ) async throws(ChatError) -> ErasureRow {
        try caller.checkMayAdminister(user, "Erasing users")
        let id = UUID()
        let new = ErasureRow(
            id: id, user: user, messages: messages, replacement: .erasedUser(), createdAt: clock())
        let row: ErasureRow
        do {
            row = try await submit(for: WorkOwner(caller)) { [erasing] transaction in
                if let known = try transaction.openErasure(of: user) {
                    guard known.messages == messages else {
                        throw ChatError(
                            .conflict, "\(user) is already being erased with messages=\(known.messages.name).",
                            parameter: "messages")
                    }
                    return known
                }
                guard try transaction.isKnown(user) else {
                    throw ChatError(.unknownUser, "The user \(user) does not exist.", parameter: "user")
                }
                erasing.insert(user)
                try transaction.audit(.erase, by: caller, of: user, detail: messages.name)
                return try transaction.beginErasure(new)
            }
        } catch {
            if try isNotErasing(user) { erasing.remove(user) }
            throw error
        }
        // The store has the erasure, even if registering it fails.
        erasing.begin()
        // The erasure is registered before it is acknowledged. If this fails, the work registers it before it removes
        // data.
        try erasures.add(RegisteredErasure(row))
        return row
    }

    /// The number of erasures started so far; requests from before a user's erasure are refused afterwards.
    package var erasureCount: Int { erasing.count }

    /// Refuses a request from before its user's erasure.
    ///
    /// - Parameter count: The value of ``erasureCount`` when the user was authenticated.
    /// - Throws: `user-deactivated`.
    package func checkNotErased(_ user: UserID, since count: Int) throws(ChatError) {
        try erasing.check(user, since: count)
    }

    private func isNotErasing(_ user: UserID) throws(ChatError) -> Bool {
        do {
            return try store.read { try $0.user(user)?.state != .erasing }
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// Returns the progress of an erasure.
    ///
    /// - Throws: `forbidden`, `unknown-job`.
    package func erasure(_ number: Int64, by caller: Caller) throws -> ErasureRow {
        try caller.checkIsAdministrator("Reading jobs")
        guard let row = try store.read({ try $0.erasure(number) }) else {
            throw ChatError(.unknownJob, "Job \(number) does not exist.", parameter: "id")
        }
        return row
    }

    /// Restarts registered erasures that the store does not have, because it was restored from an older backup.
    ///
    /// - Returns: The number of restarted erasures.
    @discardableResult
    package func restartMissingErasures() async throws(ChatError) -> Int {
        let registered = try erasures.all()
        let missing: [RegisteredErasure]
        do {
            // This check avoids a write on every start without missing erasures.
            missing = try store.read { store in
                try registered.filter { try store.erasure(named: $0.id) == nil }
            }
        } catch {
            throw ChatError(wrapping: error)
        }
        var count = 0
        for known in missing {
            let isNew = try await submit { [erasing, clock] transaction in
                guard try transaction.store.erasure(named: known.id) == nil else { return false }
                erasing.insert(known.user)
                _ = try transaction.beginErasure(
                    ErasureRow(
                        id: known.id, user: known.user, messages: known.messages, replacement: known.replacement,
                        createdAt: clock()))
                return true
            }
            if isNew { count += 1 }
        }
        erasing.begin()
        return count
    }

    /// Runs pending and new erasures until the task is cancelled.
    ///
    /// - Parameter failed: Called with the error of a failed step, which is retried later.
    package func runErasures(failed: @Sendable (ChatError) -> Void) async {
        for await _ in erasing.wakes {
            do {
                while isLeader, let row = try store.read({ try $0.openErasures(limit: 1).first }) {
                    try await runErasure(row)
                }
            } catch is CancellationError {
                return
            } catch {
                let error = ChatError(wrapping: error)
                failed(error)
                await recordError(error)
                try? await Task.sleep(for: .seconds(5))
                erasing.begin()
            }
            if Task.isCancelled { return }
        }
    }

    /// Stores the error of the oldest pending erasure.
    private func recordError(_ error: ChatError) async {
        _ = try? await submit { transaction in
            guard var row = try transaction.store.openErasures(limit: 1).first else { return }
            row.error = "\(error)"
            try transaction.store.put(&row)
        }
    }

    // MARK: Steps

    /// Runs one erasure to its end; each step stores its progress.
    package func runErasure(_ row: ErasureRow) async throws {
        try erasures.add(RegisteredErasure(row))
        // After this, the log has all requests that were accepted before the server began to refuse the user's.
        try await waitForSubmitted()
        var work = ErasureWork(row)
        while !work.row.hasEnded {
            try Task.checkCancellation()
            let start = ContinuousClock.now
            let step = try store.read { try work.next(in: $0) }
            guard let step else { continue }
            let row = work.row
            let (changed, blobs) = try await submit { [permissions, settings] transaction in
                try transaction.applyErasureStep(
                    step, row, permissions: permissions, lowersUnread: settings.recallLowersUnread)
            }
            work.row = changed
            for blob in blobs { try? await removeIfUnused(blob) }
            // Pauses for as long as the step took, so that other writes can proceed.
            try await Task.sleep(for: ContinuousClock.now - start)
        }
        erasing.end(row.user)
    }
}

extension ErasureRow {
    package var hasEnded: Bool { endedAt != nil }
}
