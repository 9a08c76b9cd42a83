import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carries out the actions of ``ResumeState`` and reports their results back to it.
extension Driver {
    /// Starts a sync pass, which fetches the conversations that changed since the stored cursor.
    func startSync() async throws(ChatError) {
        let (point, behind) = try await core.store.read { (try $0.syncPoint(), try $0.positionsBehind()) }
        pass.began(isInterrupted: point.isInterrupted)
        perform(resume.connected(cursor: point.cursor, behind: behind, isNew: !point.hasCompletedSync))
    }

    /// Starts another sync pass, immediately or when the current one has ended.
    ///
    /// A pass only covers changes that were made before it began.
    func restartSync() async throws(ChatError) {
        guard pass.needsRestart(isFetchingWindows: resume.isFetchingWindows) else { return }
        await applyReleased()
        // The previous step may have started a pass. If the store failed in it, the connection is gone.
        guard connection != nil, !resume.isFetchingWindows else { return }
        pass.restarted()
        try await startSync()
    }

    func perform(_ actions: [ResumeAction]) {
        for action in actions {
            switch action {
            case .pullWindow(let request, let cursor):
                // A new device requests a short first window, to show something early, and large ones after it.
                let limit = cursor == nil ? 100 : SyncConversations.maximumWindow
                send(SyncConversations.window(cursor: cursor, limit: limit), .window(request))
            case .sync(let batch, let positions):
                send(SyncConversations.logs(positions), .logs(batch: batch, positions))
            case .wake(let date): wake(at: date)
            case .storeHeads(let heads, let cursor):
                core.mailbox.post(.storeHeads(heads, cursor, generation: lifecycle.generation))
            case .release(let events): released += events
            case .recheck: core.mailbox.post(.restartSync)
            }
        }
    }

    /// Passes live events to ``ResumeState``, and applies those it releases in one transaction.
    func applyLive(_ live: inout [LiveEvent]) async {
        guard !live.isEmpty else { return }
        for event in live { perform(resume.live(event)) }
        live.removeAll(keepingCapacity: true)
        await applyReleased()
    }

    func applyReleased() async {
        guard !released.isEmpty else { return }
        let events = released
        released = []
        do {
            let outcomes = try await core.apply(events.map { .live($0) })
            for outcome in outcomes {
                requestMissing(after: outcome)
                guard !outcome.edit.isStale else { continue }
                switch outcome.input {
                case .live(.message(let message)):
                    messageReceived(from: message.sender, in: message.conversation)
                    if message.sender == core.user { await removeStored([message]) }
                    core.notify(.message(message))
                case .live(.changed(_, _, .message(let message))): core.notify(.changed(message))
                default: break
                }
            }
            if outcomes.contains(where: \.missesHiddenMessages) { try await restartSync() }
        } catch {
            await storeFailed(error)
        }
    }

    /// Requests whatever an outcome shows to be missing.
    func requestMissing(after outcome: LogOutcome) {
        if outcome.needsHead {
            if case .head = outcome.input {
                heads.storedUncertain(outcome.conversation)
                sendHeadRequests()
            } else {
                fetchHeads([outcome.conversation])
            }
        }
        if let behind = outcome.behind,
            behind.conversation.kind.traits.replaysMissed || isSubscribed(behind.conversation)
        {
            perform(resume.needsSync(behind))
        }
    }

    /// Whether this client is subscribed to a channel or room.
    func isSubscribed(_ id: ConversationID) -> Bool { subscriptions.contains(id) }

    /// Syncs conversations from their stored positions.
    func recheck(_ ids: [ConversationID]) async {
        do {
            let positions = try await core.store.read { reader in
                try ids.compactMap { id in try reader.log(of: id)?.position(in: id) }
            }
            for position in positions { perform(resume.needsSync(position)) }
        } catch {
            await storeFailed(error)
        }
    }

    func windowAnswered(_ number: Int, _ result: Result<[UInt8], ChatError>) async {
        do {
            var reader = try JSONReader(try result.get())
            let window = try HeadWindow(from: &reader)
            let actions = resume.windowAnswered(
                number, heads: window.heads, cursor: window.cursor, isDone: window.isDone)
            // The answer to an earlier request is ignored.
            guard !actions.isEmpty else { return }
            pass.received(.init(isLast: window.isDone, totals: window.totals, hasDrafts: window.hasDrafts))
            perform(actions)
        } catch {
            perform(resume.windowFailed(number, error, now: now, using: &generator))
        }
    }

    func store(_ heads: [ConversationHead], _ cursor: String) async {
        do {
            let window = pass.window
            let outcomes = try await core.store.write { writer in
                // The head of a deleted conversation is a tombstone: not a member, and no messages.
                for head in heads where !head.isMember && head.head == 0 {
                    try writer.deleteConversation(head.conversation)
                }
                let outcomes = try writer.store(
                    heads.filter { $0.isMember || $0.head > 0 }, totals: window.totals,
                    isLastWindow: window.isLast)
                try writer.saveCursor(cursor, isLastWindow: window.isLast)
                if window.hasDrafts { try writer.markDraftsBehind() }
                return outcomes
            }
            core.changes.changed(Set(heads.map(\.conversation)))
            core.reportDelivered(after: outcomes)
            await removeStored(heads.compactMap(\.lastMessage))
            await sendSettings()
            if window.hasDrafts { await syncDrafts() }
            // If the store failed in one of these steps, the connection is gone. The next one repeats them.
            guard connection != nil else { return }
            let behind = Dictionary(outcomes.map { ($0.conversation, $0.behind) }, uniquingKeysWith: { $1 })
            perform(resume.windowStored { behind[$0.conversation] ?? nil })
            if window.isLast {
                core.store.recentsEvents.sendInitial(.loadedAll)
                core.changes.changedAnything()
                if pass.needsAnother { return try await restartSync() }
                core.setSyncStatus(isResumed: true, subscribed: Set(subscriptions.ids))
                // These heads were requested on an earlier connection, which ended before the answer.
                fetchHeads(try await core.store.read { try $0.uncertainConversations() })
                await recoverFromRollback()
            }
            await applyReleased()
            if window.isLast, pass.takeSubscriptionCheck() { await recheck(subscriptions.ids) }
        } catch {
            await storeFailed(error)
        }
    }

    func logsAnswered(_ batch: Int, _ asked: [LogPosition], _ result: Result<[UInt8], ChatError>) async {
        do {
            var reader = try JSONReader(try result.get())
            await apply(try LogSyncResult.list(&reader), batch, asked)
        } catch {
            perform(resume.syncFailed(batch, error, now: now, using: &generator))
            await applyReleased()
        }
    }

    private func apply(_ answers: [LogSyncResult], _ batch: Int, _ asked: [LogPosition]) async {
        var inputs: [LogInput] = []
        for answer in answers {
            guard let position = asked.first(where: { $0.conversation == answer.conversation }) else { continue }
            if case .success(let sync) = answer.result { inputs.append(.sync(sync, asked: position)) }
        }
        do {
            let outcomes = try await core.apply(inputs)
            perform(
                resume.syncAnswered(batch, behind: outcomes.compactMap(\.behind), now: now, using: &generator))
            fetchHeads(outcomes.filter(\.needsHead).map(\.conversation))
            for outcome in outcomes {
                guard case .sync(let sync, _) = outcome.input, !outcome.edit.isStale else { continue }
                await removeStored(sync.page.messages)
                for message in sync.page.messages { core.notify(.message(message)) }
            }
            await applyReleased()
        } catch {
            await storeFailed(error)
        }
    }
}
