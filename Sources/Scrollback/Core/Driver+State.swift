import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Sends the user's settings to the server, at most one change at a time for each conversation.
///
/// Reads go first, so that each later change includes their effect.
extension Driver {
    /// Sends all settings that the server has not confirmed.
    func sendStates() async {
        guard connection != nil else { return }
        do {
            let syncsReads = core.syncsReadState
            let (reads, states) = try await core.store.read { reader in
                (syncsReads ? try reader.pendingReads() : [], try reader.pendingStates(withReads: syncsReads))
            }
            let marks = reads.filter { statesInFlight.insert($0.conversation).inserted }
            if let mark = marks.first, marks.count == 1 {
                let change = StateChange.read(seq: mark.place.seq, epoch: mark.place.epoch, userRev: mark.userRev)
                send(change.operation(in: mark.conversation), .read(mark.conversation))
            } else {
                for first in stride(from: 0, to: marks.count, by: ReadMark.maximum) {
                    let batch = Array(marks[first..<min(first + ReadMark.maximum, marks.count)])
                    send(MarkSeveralRead(batch), .reads(batch.map(\.conversation)))
                }
            }
            for state in states where statesInFlight.insert(state.conversation).inserted {
                send(state.change.operation(in: state.conversation), .state(state))
            }
        } catch {
            await failed(error)
        }
    }

    func readAnswered(_ id: ConversationID, _ result: Result<[UInt8], ChatError>) async {
        let answer = result.flatMap { body in summary(body) }
        await readsAnswered([id], .success([ReadAnswer(conversation: id, result: answer)]))
    }

    func readsAnswered(_ ids: [ConversationID], _ result: Result<[ReadAnswer], ChatError>) async {
        statesInFlight.subtract(ids)
        let answers: [ReadAnswer]
        switch result {
        case .success(let all): answers = all
        case .failure(let error): answers = ids.map { ReadAnswer(conversation: $0, result: .failure(error)) }
        }
        do {
            let unknown = try await core.store.write { writer in
                try answers.filter { answer in
                    switch answer.result {
                    case .success(let summary):
                        return try writer.apply(summary, in: answer.conversation, answers: .read)
                    // The read is sent again after a delay, or on the next connection.
                    case .failure(let error) where error.isTemporary: return false
                    case .failure:
                        try writer.dropPendingRead(answer.conversation)
                        return true
                    }
                }.map(\.conversation)
            }
            core.changes.changed(Set(answers.map(\.conversation)))
            for case .failure(let error) in answers.map(\.result) { retry(after: error) }
            learn(unknown)
            // Other settings of the conversation wait until the read is accepted or rejected.
            let isDone = answers.contains { answer in
                if case .failure(let error) = answer.result { !error.isTemporary } else { true }
            }
            if isDone { await sendStates() }
        } catch {
            await failed(error)
        }
    }

    func stateAnswered(_ state: PendingState, _ result: Result<[UInt8], ChatError>) async {
        let id = state.conversation
        statesInFlight.remove(id)
        do {
            switch result.flatMap({ summary($0) }) {
            case .success(let summary):
                let isUnknown = try await core.store.write { writer in
                    try writer.settle(state)
                    return try writer.apply(summary, in: id, answers: .state)
                }
                if isUnknown { learn([id]) }
            case .failure(let error) where error.isTemporary: return retry(after: error)
            case .failure:
                // The server's value is authoritative.
                try await core.store.write { try $0.settle(state) }
                learn([id])
            }
            core.changes.changed([id])
            await sendStates()
        } catch {
            await failed(error)
        }
    }

    /// Schedules a retry after a temporary error on a connection that stays open, such as a full disk or an overload.
    func retry(after error: ChatError) {
        if error.isTemporary { retry(in: error.retryAfter ?? 5) }
    }

    func retry(in seconds: Double) {
        guard connection != nil, retryAt == nil else { return }
        // Add jitter, so that clients don't retry at the same time.
        let wait = seconds * Double.random(in: 0.5...1.5, using: &generator)
        retryAt = now + wait
        wake(at: now + wait)
    }

    func tickRetries() async {
        guard let date = retryAt, date <= now else { return }
        retryAt = nil
        let ids = learningLater.sorted()
        learningLater = []
        learnedTwice = []
        learn(ids)
        if watchesLater { askWhoIsThere(watched.keys.sorted()) }
        watchesLater = false
        push.tick()
        tellPush()
        await sendStates()
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
        learn(unknown)
        for read in reads { core.events.send(.read(read.conversation, core.user, read.summary.readSeq)) }
    }

    private func summary(_ body: [UInt8]) -> Result<ReadSummary, ChatError> {
        Result { () throws(ChatError) in
            var reader = try JSONReader(body)
            return try ReadSummary(from: &reader)
        }
    }
}
