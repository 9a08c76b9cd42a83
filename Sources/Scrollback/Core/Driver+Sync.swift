import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carrying out what ``ResumeState`` wants, and handing back what came of it.
extension Driver {
    func perform(_ actions: [ResumeAction]) {
        for action in actions {
            switch action {
            case .pullWindow(let request, let cursor):
                // A new device has something to show soon, and the rest in few answers.
                let limit = cursor == nil ? 100 : ClientRequest.maximumWindow
                send(.syncWindow(cursor: cursor, limit: limit), .window(request))
            case .sync(let batch, let positions): send(.syncLogs(positions), .logs(batch: batch, positions))
            case .wake(let date): wake(at: date)
            case .storeHeads(let heads, let cursor):
                core.mailbox.post(.storeHeads(heads, cursor, generation: generation))
            case .release(let events): released += events
            case .recheck(let ids): core.mailbox.post(.recheck(ids))
            }
        }
    }

    /// Hands live events to the resume machine, and applies those it lets pass, in one transaction.
    func applyLive(_ live: inout [LiveEvent]) async {
        guard !live.isEmpty else { return }
        lastHeard = now
        for event in live { perform(resume.live(event)) }
        live.removeAll(keepingCapacity: true)
        await applyReleased()
    }

    func applyReleased() async {
        guard !released.isEmpty else { return }
        let events = released
        released = []
        do {
            for outcome in try await core.apply(events.map { .live($0) }) {
                follow(outcome)
                guard !outcome.edit.isStale else { continue }
                switch outcome.input {
                case .live(.message(let message)):
                    said(by: message.sender, in: message.conversation)
                    core.tell(.message(message))
                case .live(.changed(_, _, .message(let message))): core.tell(.changed(message))
                default: break
                }
            }
        } catch {
            await failed(error)
        }
    }

    /// What an outcome shows to be missing is asked for.
    func follow(_ outcome: LogOutcome) {
        if outcome.needsHead { learn([outcome.conversation], after: outcome.input) }
        if let behind = outcome.behind, behind.conversation.kind.traits.replaysMissed || isHeard(behind.conversation) {
            perform(resume.needsSync(behind))
        }
    }

    /// What a head leaves open another may say, since something came meanwhile; after that there is no hurry.
    private func learn(_ ids: [ConversationID], after input: LogInput) {
        guard case .head = input else { return learn(ids) }
        for id in ids where !learnedTwice.insert(id).inserted { learningLater.insert(id) }
        learn(ids.filter { !learningLater.contains($0) })
        if !learningLater.isEmpty { retry(in: 5) }
    }

    /// Whether a channel or room is followed in full at the moment.
    private func isHeard(_ id: ConversationID) -> Bool { subscriptions[id] != nil }

    /// Events of these were lost, too many having been held for one: where each stands is asked of the store.
    func recheck(_ ids: [ConversationID]) async {
        do {
            let positions = try await core.store.read { reader in
                try ids.compactMap { id in try reader.log(of: id)?.position(in: id) }
            }
            for position in positions { perform(resume.needsSync(position)) }
        } catch {
            await failed(error)
        }
    }

    func windowAnswered(_ number: Int, _ result: Result<[UInt8], ChatError>) async {
        do {
            var reader = try JSONReader(try result.get())
            let window = try HeadWindow(from: &reader)
            windowEndsPass = window.isDone
            windowTotals = window.totals
            perform(
                resume.windowAnswered(
                    number, heads: window.heads, cursor: window.cursor, isDone: window.isDone))
        } catch {
            perform(resume.windowFailed(number, error, now: now, using: &generator))
        }
    }

    func store(_ heads: [ConversationHead], _ cursor: String) async {
        do {
            let endsPass = windowEndsPass
            let totals = windowTotals
            let outcomes = try await core.store.write { writer in
                // A deleted conversation's head is a stub that says so.
                for head in heads where !head.isMember && head.head == 0 { try writer.forget(head.conversation) }
                let outcomes = try writer.store(
                    heads.filter { $0.isMember || $0.head > 0 }, totals: totals, endsPass: endsPass)
                try writer.saveCursor(cursor, endsPass: endsPass)
                return outcomes
            }
            core.changes.changed(Set(heads.map(\.conversation)))
            await sendStates()
            let behind = Dictionary(outcomes.map { ($0.conversation, $0.behind) }, uniquingKeysWith: { $1 })
            perform(resume.windowStored { behind[$0.conversation] ?? nil })
            if endsPass {
                core.store.recentsEvents.greet(with: .loadedAll)
                core.changes.changedAnything()
                if continuesPass { return try await passAgain() }
                core.setCurrency(isResumed: true, heard: Set(subscriptions.keys))
                // Asked for on an earlier connection, which ended before the answer.
                learn(try await core.store.read { try $0.uncertainConversations() })
            }
            await applyReleased()
            if endsPass { await recheckHeard() }
        } catch {
            await failed(error)
        }
    }

    /// What channels and rooms that are heard brought while one pass followed another is in no pass.
    private func recheckHeard() async {
        guard hasBegunAgain else { return }
        hasBegunAgain = false
        await recheck(subscriptions.keys.sorted())
    }

    func logsAnswered(_ batch: Int, _ asked: [LogPosition], _ result: Result<[UInt8], ChatError>) async {
        do {
            var answers: [LogSyncAnswer] = []
            var reader = try JSONReader(try result.get())
            try reader.object { (name, value) throws(ChatError) in
                guard name == "logs" else { return try value.skip() }
                answers = try value.list("logs", limit: 500) { (answer) throws(ChatError) in
                    try LogSyncAnswer(from: &answer)
                }
            }
            await apply(answers, batch, asked)
        } catch {
            perform(resume.syncFailed(batch, error, now: now, using: &generator))
            await applyReleased()
        }
    }

    private func apply(_ answers: [LogSyncAnswer], _ batch: Int, _ asked: [LogPosition]) async {
        var inputs: [LogInput] = []
        for answer in answers {
            guard let position = asked.first(where: { $0.conversation == answer.conversation }) else { continue }
            if case .success(let sync) = answer.result { inputs.append(.sync(sync, asked: position)) }
        }
        do {
            let outcomes = try await core.apply(inputs)
            perform(
                resume.syncAnswered(batch, behind: outcomes.compactMap(\.behind), now: now, using: &generator))
            learn(outcomes.filter(\.needsHead).map(\.conversation))
            for outcome in outcomes {
                guard case .sync(let sync, _) = outcome.input, !outcome.edit.isStale else { continue }
                for message in sync.page.messages { core.tell(.message(message)) }
            }
            await applyReleased()
        } catch {
            await failed(error)
        }
    }
}
