import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carries out the actions of ``SettingRequests``, and stores the answers.
extension Driver {
    /// Sends all settings that the server has not confirmed.
    func sendSettings() async {
        guard connection != nil, !settings.isPaused else { return }
        do {
            let syncsReads = core.syncsReadState
            let (reads, states) = try await core.store.read { reader in
                (syncsReads ? try reader.pendingReads() : [], try reader.pendingSettings(withReads: syncsReads))
            }
            let pending = Dictionary(states.map { ($0.conversation, $0) }, uniquingKeysWith: { first, _ in first })
            for action in settings.next(reads: reads, settings: states.map(\.conversation)) {
                switch action {
                case .sendRead(let mark):
                    let change = StateChange.read(
                        seq: mark.position.seq, epoch: mark.position.epoch, userRev: mark.userRev)
                    send(change.operation(in: mark.conversation), .read(mark.conversation))
                case .sendReads(let marks): send(MarkSeveralRead(marks), .reads(marks.map(\.conversation)))
                case .sendSetting(let id):
                    if let state = pending[id] { send(state.change.operation(in: id), .state(state)) }
                }
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
        let answers: [ReadResult]
        switch result {
        case .success(let all): answers = all
        case .failure(let error): answers = ids.map { ReadResult(conversation: $0, result: .failure(error)) }
        }
        let errors = answers.compactMap(\.error)
        let marks = settings.readsAnswered(ids, errors: errors)
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
            for error in errors { retry(after: error) }
            fetchHeads(unknown)
            // Other settings of the conversation wait until the read is accepted or rejected.
            if answers.contains(where: { $0.error?.isTemporary != true }) { await sendSettings() }
        } catch {
            await storeFailed(error)
        }
    }

    func stateAnswered(_ state: PendingSetting, _ result: Result<[UInt8], ChatError>) async {
        let id = state.conversation
        let answer = ReadResult(conversation: id, result: result.flatMap { summary($0) })
        settings.settingAnswered(id, error: answer.error)
        do {
            switch answer.result {
            case .success(let summary):
                let isUnknown = try await core.store.write { writer in
                    try writer.removePending(state)
                    return try writer.apply(summary, in: id, answers: .state)
                }
                if isUnknown { fetchHeads([id]) }
            case .failure(let error) where error.isTemporary: return retry(after: error)
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
        perform(watchedUsers.tick())
        push.tick()
        sendPushRegistration()
        settings.retry()
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

extension ReadResult {
    fileprivate var error: ChatError? {
        if case .failure(let error) = result { error } else { nil }
    }
}
