import Foundation
package import ScrollbackModel

extension Engine {
    /// Erases a user: shuts them out now, and removes what is theirs in small steps beside everybody's sends.
    ///
    /// Asked for once more before it has ended, it answers with the same.
    ///
    /// - Parameter messages: what becomes of what they said.
    /// - Throws: `unknown-user` where there is nothing of theirs; `conflict` while they are being erased in another way.
    package func erase(
        _ user: UserID, messages: ErasureRow.Messages, by caller: Caller
    ) async throws(ChatError) -> ErasureRow {
        if let refusal = checkIsOther(user, caller, "erasing users") { throw refusal }
        let id = UUID()
        let new = ErasureRow(
            id: id, user: user, messages: messages, replacement: .standIn(), createdAt: clock())
        let row: ErasureRow
        do {
            row = try await submit { [erasing] transaction in
                if let known = try transaction.openErasure(of: user) {
                    guard known.messages == messages else {
                        throw ChatError(
                            .conflict, "\(user) is being erased with messages=\(known.messages.name)",
                            parameter: "messages")
                    }
                    return known
                }
                guard try transaction.isKnown(user) else {
                    throw ChatError(.unknownUser, "there is no user \(user)", parameter: "user")
                }
                erasing.insert(user)
                return try transaction.beginErasure(new)
            }
        } catch {
            if try isNotErasing(user) { erasing.remove(user) }
            throw error
        }
        // The store has it, whatever becomes of the rest.
        erasing.begin()
        // On disk before anybody is told that it will be done; else by the work itself, before it removes anything.
        try erasures.add(RegisteredErasure(row))
        return row
    }

    /// How many people were shut out up to now: what one of them said before comes too late afterwards.
    package var shutOuts: Int { erasing.count }

    private func isNotErasing(_ user: UserID) throws(ChatError) -> Bool {
        do {
            return try store.read { try $0.user(user)?.state != .erasing }
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    /// How far an erasure has come.
    package func erasure(_ number: Int64, by caller: Caller) throws -> ErasureRow {
        guard caller.isAdmin else { throw ChatError(.forbidden, "jobs are for administrators to see") }
        guard let row = try store.read({ try $0.erasure(number) }) else {
            throw ChatError(.unknownJob, "there is no job \(number)", parameter: "id")
        }
        return row
    }

    /// Begins anew what the register has and the store has not: the store is from a backup that was made before.
    ///
    /// - Returns: how many those were.
    @discardableResult
    package func eraseAgain() async throws(ChatError) -> Int {
        let registered = try erasures.all()
        let missing: [RegisteredErasure]
        do {
            // Nothing is written where nothing is missing, which is every start but one.
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

    /// Carries erasures out as they come, and those that a start found; goes on until its task is cancelled.
    ///
    /// - Parameter failed: told what kept a step from being done; it is tried again later.
    package func carryOutErasures(failed: @Sendable (ChatError) -> Void) async {
        for await _ in erasing.wakes {
            do {
                while let row = try store.read({ try $0.openErasures(limit: 1).first }) {
                    try await carryOut(row)
                }
            } catch is CancellationError {
                return
            } catch {
                let error = ChatError(wrapping: error)
                failed(error)
                await note(error)
                try? await Task.sleep(for: .seconds(5))
                erasing.begin()
            }
            if Task.isCancelled { return }
        }
    }

    /// Writes down why the oldest erasure does not go on.
    private func note(_ error: ChatError) async {
        _ = try? await submit { transaction in
            guard var row = try transaction.store.openErasures(limit: 1).first else { return }
            row.error = "\(error)"
            try transaction.store.put(&row)
        }
    }

    // MARK: Steps

    /// Carries one erasure out to its end; where it stands is written down with every step.
    package func carryOut(_ row: ErasureRow) async throws {
        try erasures.add(RegisteredErasure(row))
        // What was asked for before its user was shut out is in the log after this.
        try await submit { _ in }
        var work = ErasureWork(row)
        while !work.row.isOver {
            try Task.checkCancellation()
            let start = ContinuousClock.now
            let step = try store.read { try work.next(in: $0) }
            guard let step else { continue }
            let row = work.row
            let (changed, blobs) = try await submit { [permissions, settings] transaction in
                try transaction.carryOut(
                    step, row, permissions: permissions, lowersUnread: settings.recallLowersUnread)
            }
            work.row = changed
            for blob in blobs { try? await removeIfUnused(blob) }
            // Others' sends have the writer in between, for as long as this had it.
            try await Task.sleep(for: ContinuousClock.now - start)
        }
        erasing.end(row.user)
    }
}

extension ErasureRow {
    package var isOver: Bool { endedAt != nil }
}
