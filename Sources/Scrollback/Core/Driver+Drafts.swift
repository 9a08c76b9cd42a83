import Logging
import ScrollbackModel
import ScrollbackWire

/// Synchronizes drafts with the user's other devices, one request at a time.
///
/// The server orders the changes. A draft that was changed on this device and not accepted yet stays as it is. The
/// server receives it later than the others, so it wins.
extension Driver {
    /// Fetches the drafts that other devices changed, if there are any, and sends those of this device.
    func syncDrafts() async {
        guard connection != nil, core.syncsDrafts, !draftsArePaused, !isSyncingDrafts else { return }
        do {
            let (cursor, pending) = try await core.store.read { reader in
                (try reader.draftCursorIfBehind(), try reader.nextPendingDraft())
            }
            // The connection may be gone by now.
            guard connection != nil, !isSyncingDrafts else { return }
            if let cursor {
                send(ListDrafts(cursor: cursor.text), .drafts(cursor))
            } else if let pending {
                send(PutDraft(conversation: pending.conversation, draft: pending.body), .draft(pending))
            }
        } catch {
            await storeFailed(error)
        }
    }

    private var isSyncingDrafts: Bool {
        requests.values.contains { request in
            switch request {
            case .drafts, .draft: true
            default: false
            }
        }
    }

    func draftsAnswered(_ cursor: DraftCursor, _ result: Result<[UInt8], ChatError>) async {
        do throws(ChatError) {
            var reader = try JSONReader(try result.get())
            let answer = try ListDrafts.Answer(from: &reader)
            let now = now
            let changed = try await core.store.write { writer in
                if answer.isReset { try writer.forgetDraftRevisions() }
                let changed = try answer.drafts.filter { try writer.apply($0, now: now) }
                try writer.saveDraftCursor(answer.cursor, after: cursor, hasMore: answer.hasMore)
                return changed
            }
            core.changes.changed(Set(changed.map(\.conversation)))
            await syncDrafts()
        } catch {
            guard error.code != .localStorage else { return await storeFailed(error) }
            await draftFailed(error)
        }
    }

    func draftAnswered(_ pending: PendingDraft, _ result: Result<[UInt8], ChatError>) async {
        do throws(ChatError) {
            do throws(ChatError) {
                var reader = try JSONReader(try result.get())
                let rev = try PutDraft.Answer(from: &reader).rev
                try await core.store.write { try $0.draftAccepted(pending, rev: rev) }
            } catch {
                guard error.code != .localStorage, !error.isTemporary else { throw error }
                // The draft stays on this device. The next change of it is sent again.
                core.logger.warning("The server refused a draft.", metadata: ["code": "\(error.code)"])
                try await core.store.write { try $0.draftAccepted(pending, rev: nil) }
            }
            await syncDrafts()
        } catch {
            guard error.code != .localStorage else { return await storeFailed(error) }
            await draftFailed(error)
        }
    }

    /// Stores a draft that another device changed.
    func received(_ draft: SyncedDraft) async throws(ChatError) {
        guard core.syncsDrafts else { return }
        let now = now
        // The server also reports this device's own change, whose answer is still to come.
        let isOwn = requests.values.contains { request in
            guard case .draft(let pending) = request else { return false }
            return pending.conversation == draft.conversation && pending.body == draft.draft
        }
        let isStored = try await core.store.write { try $0.receive(draft, isOwn: isOwn, now: now) }
        if isStored { core.changes.changed([draft.conversation]) } else { await syncDrafts() }
    }

    /// Waits for the retry after a temporary error.
    ///
    /// After another error, drafts are not synchronized on this connection.
    private func draftFailed(_ error: ChatError) async {
        draftsArePaused = true
        retry(after: error)
    }
}
