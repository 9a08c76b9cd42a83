import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Sends the user's settings to the server, at most one change at a time for each conversation.
///
/// Reads go first, so that each later change includes their effect.
extension Driver {
    /// Sends all settings that the server has not confirmed.
    func sendSettings() async {
        guard connection != nil, !settingsArePaused else { return }
        do {
            let syncsReads = core.syncsReadState
            let (reads, states) = try await core.store.read { reader in
                (syncsReads ? try reader.pendingReads() : [], try reader.pendingSettings(withReads: syncsReads))
            }
            let marks = reads.filter { settingsInFlight.insert($0.conversation).inserted }
            for mark in marks { readsInFlight[mark.conversation] = mark.position }
            if let mark = marks.first, marks.count == 1 {
                let change = StateChange.read(seq: mark.position.seq, epoch: mark.position.epoch, userRev: mark.userRev)
                send(change.operation(in: mark.conversation), .read(mark.conversation))
            } else {
                for batch in marks.chunks(of: ReadMark.maximum) {
                    send(MarkSeveralRead(batch), .reads(batch.map(\.conversation)))
                }
            }
            var changesInFlight = requests.values.count { if case .state = $0 { true } else { false } }
            for state in states
            where changesInFlight < settingsWindow && settingsInFlight.insert(state.conversation).inserted {
                changesInFlight += 1
                send(state.change.operation(in: state.conversation), .state(state))
            }
        } catch {
            await storeFailed(error)
        }
    }

    func readAnswered(_ id: ConversationID, _ result: Result<[UInt8], ChatError>) async {
        let answer = result.flatMap { body in summary(body) }
        await readsAnswered([id], .success([ReadResult(conversation: id, result: answer)]))
    }

    func readsAnswered(_ ids: [ConversationID], _ result: Result<[ReadResult], ChatError>) async {
        settingsInFlight.subtract(ids)
        let marks = ids.compactMap { id in
            readsInFlight.removeValue(forKey: id).map { DeliveryMark(conversation: id, position: $0) }
        }
        let answers: [ReadResult]
        switch result {
        case .success(let all): answers = all
        case .failure(let error): answers = ids.map { ReadResult(conversation: $0, result: .failure(error)) }
        }
        do {
            let unknown = try await core.store.write { writer in
                try answers.filter { answer in
                    let mark = marks.first { $0.conversation == answer.conversation }
                    switch answer.result {
                    case .success(let summary):
                        // The server knows that this device has the messages that its user has read.
                        if let mark { try writer.saveReported(mark) }
                        return try writer.apply(summary, in: answer.conversation, answers: .read)
                    // The read is sent again after a delay, or on the next connection.
                    case .failure(let error) where error.isTemporary: return false
                    case .failure:
                        if let mark { try writer.dropPendingRead(mark) }
                        return true
                    }
                }.map(\.conversation)
            }
            core.changes.changed(Set(answers.map(\.conversation)))
            for case .failure(let error) in answers.map(\.result) { pauseSettings(after: error) }
            fetchHeads(unknown)
            // Other settings of the conversation wait until the read is accepted or rejected.
            let isDone = answers.contains { answer in
                if case .failure(let error) = answer.result { !error.isTemporary } else { true }
            }
            if isDone { await sendSettings() }
        } catch {
            await storeFailed(error)
        }
    }

    func stateAnswered(_ state: PendingSetting, _ result: Result<[UInt8], ChatError>) async {
        let id = state.conversation
        settingsInFlight.remove(id)
        do {
            switch result.flatMap({ summary($0) }) {
            case .success(let summary):
                settingsWindow = min(settingsWindow * 2, Self.maximumSettingsWindow)
                let isUnknown = try await core.store.write { writer in
                    try writer.removePending(state)
                    return try writer.apply(summary, in: id, answers: .state)
                }
                if isUnknown { fetchHeads([id]) }
            case .failure(let error) where error.isTemporary: return pauseSettings(after: error)
            case .failure:
                // The server's value is authoritative.
                try await core.store.write { try $0.removePending(state) }
                fetchHeads([id])
            }
            core.changes.changed([id])
            await sendSettings()
        } catch {
            await storeFailed(error)
        }
    }

    /// Sends no more settings until the retry after a temporary error.
    ///
    /// Otherwise the answer to another setting would send the refused one again, before the server accepts it.
    private func pauseSettings(after error: ChatError) {
        guard error.isTemporary else { return }
        settingsArePaused = true
        settingsWindow = 1
        retry(after: error)
    }

    /// Schedules a retry after a temporary error on a connection that stays open, such as a full disk or an overload.
    func retry(after error: ChatError) {
        if error.isTemporary { retry(in: error.retryAfter ?? 5) }
    }

    func retry(in seconds: Double) {
        if let date = lifecycle.retryRequests(after: seconds, now: now, using: &generator) { wake(at: date) }
    }

    func retryRequests() async {
        heads.tick()
        sendHeadRequests()
        if retriesPresence { requestPresence(watched.keys.sorted()) }
        retriesPresence = false
        push.tick()
        sendPushRegistration()
        settingsArePaused = false
        draftsArePaused = false
        await recoverFromRollback()
        await sendSettings()
        await perform(deliveries.retry(now: now))
        await syncDrafts()
    }

    /// Applies read states that were changed on another device, or that the server confirmed again.
    func stateChanged(_ reads: [(conversation: ConversationID, summary: ReadSummary)]) async throws(ChatError) {
        let ids = reads.map(\.conversation)
        let scope: RecentsEvent.ReadScope? = ids.count == 1 ? .one(ids[0]) : .many(ids)
        let isRead = try await core.store.read { reader in
            try reads.contains { try reader.isRead(by: $0.summary, in: $0.conversation) }
        }
        let unknown = try await core.store.write(reading: isRead ? scope : nil) { writer in
            try reads.filter { try writer.apply($0.summary, in: $0.conversation) }.map(\.conversation)
        }
        core.changes.changed(Set(ids))
        fetchHeads(unknown)
        for read in reads { core.events.send(.read(read.conversation, core.user, read.summary.readSeq)) }
    }

    private func summary(_ body: [UInt8]) -> Result<ReadSummary, ChatError> {
        Result { () throws(ChatError) in
            var reader = try JSONReader(body)
            return try ReadSummary(from: &reader)
        }
    }
}
