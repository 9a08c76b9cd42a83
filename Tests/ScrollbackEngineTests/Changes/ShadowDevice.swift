import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// A device that is mostly offline and gets everything from `sync`.
final class ShadowDevice {
    private let harness: EngineHarness
    private let log: ConversationID
    private let caller: Caller
    private var cursor: String?
    private var state: LogHead?
    private var rev: Int64 = 0
    private(set) var rows: [Seq: Message] = [:]

    init(_ harness: EngineHarness, _ log: ConversationID, _ caller: Caller) {
        self.harness = harness
        self.log = log
        self.caller = caller
    }

    /// Comes online, synchronizes, and goes offline again.
    func catchUp() throws {
        let cursorBefore = cursor
        let pass = try harness.pass(cursor, by: caller.user)
        cursor = pass.cursor
        let hidden =
            pass.heads.first { $0.conversation.absolute(for: caller.user) == log }?.hidden ?? []
        for range in hidden { for seq in range { rows[seq] = nil } }
        if cursorBefore == nil { state = nil }
        var asked = LogPosition(
            conversation: log, epoch: state?.epoch ?? Epoch(rawValue: 0), view: state?.view ?? 0,
            seq: state?.head ?? 0, rev: rev)
        while true {
            let answer = try harness.engine.syncLogs([asked], by: caller)[0].result.get()
            let new = answer.page.state
            if answer.mustRefetch || new.epoch != state?.epoch || new.view != state?.view {
                return try refetch(new)
            }
            apply(answer)
            state = new
            if answer.changedThrough == new.rev, answer.page.newer == nil { break }
            asked.rev = rev
            asked.seq = max(asked.seq, answer.page.coverage.upper)
        }
    }

    private func apply(_ answer: LogSync) {
        let new = answer.page.state
        for message in answer.page.messages { take(message) }
        for change in answer.changes {
            switch change {
            case .message(let message): take(message)
            case .removed(let places, _): rows = rows.filter { !places.contains($0.key) }
            case .invisible: break
            }
        }
        rev = answer.changedThrough
        rows = rows.filter { $0.key >= new.firstSeq && !answer.page.coverage.deletedRanges.contains($0.key) }
    }

    /// Stores a message unless the stored row has the same or a newer revision.
    private func take(_ message: Message) {
        if let known = rows[message.seq], known.rev >= message.rev { return }
        rows[message.seq] = message
    }

    private func refetch(_ new: LogHead) throws {
        rows = [:]
        var anchor: Anchor? = .latest
        while let next = anchor {
            let page = try harness.page(next, of: log, by: caller.user)
            for message in page.messages { rows[message.seq] = message }
            state = page.state
            rev = page.state.rev
            anchor = page.older.map { .cursor($0) }
        }
    }
}
