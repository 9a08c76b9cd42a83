import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

/// Compares the engine with plain lists over random operations.
///
/// The tests check the sync passes of offline devices, the events of connected devices, and the answers of every entry
/// point. `SCROLLBACK_SEEDS` sets the number of seeds, and `SCROLLBACK_SEED` replays one seed.
@Suite("Random sync")
struct SyncScenarioTests {
    @Test("No pass misses an earlier change, and no user gets messages from outside their memberships")
    func noPassMissesAnEarlierChange() async throws {
        for seed in Seeds.range(150) {
            await Task.yield()
            let scenario = try SyncScenario(seed: seed)
            if let violation = try scenario.run() {
                Issue.record("\(violation)\nReplay: SCROLLBACK_SEED=\(seed) swift test --filter SyncScenarioTests")
                return
            }
        }
    }
}

/// The state of a device that only uses sync, and what it must know at the end of its pass.
private struct ClientState {
    var cursor: String?
    var known: [ConversationID: ConversationHead] = [:]
    /// The state of the server when the pass began.
    var due: ServerState?
}

private struct ServerState {
    var heads: [ConversationID: ConversationHead]
    var lastCommit: Int64
    /// The user's own revision.
    var userRev: Int64
}

private final class SyncScenario {
    private static let people: [UserID] = ["alice", "bob", "carol", "dave"]

    private let harness: EngineHarness
    private let model: SyncModel
    private var random: SplitMix64
    private var copies: [UserID: ClientState] = [:]
    private var devices: [UserID: Device] = [:]
    private var imports: [ConversationID: [ImportedMessage]] = [:]
    private var steps: [String] = []
    private var lastText = 0

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        harness = try EngineHarness()
        model = SyncModel()
        for group in SyncModel.groups {
            try harness.make(group, members: ["alice", "bob"])
            for user: UserID in ["alice", "bob"] { model.join(group, user) }
        }
        try harness.make(SyncModel.city, members: ["alice", "bob", "carol"])
        try harness.put(SyncModel.open)
        try harness.put(SyncModel.secret, .init(isPrivate: true, members: ["alice", "bob"]))
        for user: UserID in ["alice", "bob", "carol"] { model.joinCity(user) }
        for user: UserID in ["alice", "bob"] { model.join(SyncModel.secret, user) }
        let sessions = SessionHarness(harness)
        for user in Self.people {
            copies[user] = ClientState()
            devices[user] = sessions.device(user.text)
        }
    }

    func run() throws -> String? {
        for _ in 0..<60 {
            if random.chance(30) { harness.clock.advance(by: random.pick([0.001, 0.3, -0.3, 60, -3_600])) }
            if let found = try step() ?? entryPointDifference(random.pick(SyncModel.logs), random.pick(Self.people)) {
                return report(found)
            }
        }
        for user in Self.people {
            // The current pass ends, and one more pass has the rest.
            for _ in 0..<2 {
                repeat { if let found = try window(user) { return report(found) } } while copies[user]?.due != nil
            }
            for log in SyncModel.logs {
                if let found = try entryPointDifference(log, user) {
                    return report(found)
                }
            }
            let received = try devices[user]?.messages.filter {
                SyncModel.streams.contains($0.conversation.absolute(for: user))
            }
            if received?.map({ $0.text ?? "" }) != model.received[user] ?? [] {
                return report(
                    "\(user)'s device received \(received?.map(\.text) ?? []), not \(model.received[user] ?? [])")
            }
        }
        return nil
    }

    private func report(_ violation: String) -> String { violation + "\n  " + steps.joined(separator: "\n  ") }

    private func step() throws -> String? {
        let user = random.pick(Self.people)
        let log = random.pick(SyncModel.logs)
        switch random.below(20) {
        case 0, 1: try toggle(random.pick(SyncModel.groups + [SyncModel.secret]), user)
        case 2: try toggleCity(user)
        case 3: try rename(random.pick(SyncModel.groups))
        case 4: try importSome(random.pick(SyncModel.groups))
        case 5: return try importAgain(random.pick(SyncModel.groups))
        case 6: return try foreignID(log, user)
        case 7: try remake(SyncModel.groups[1])
        case 8, 9: try read(log, user)
        case 10, 11, 12, 13: return try window(user)
        default: try send(log, user)
        }
        return nil
    }

    // MARK: Operations of users

    private func text() -> String {
        lastText += 1
        return "\(lastText)"
    }

    private func send(_ log: ConversationID, _ user: UserID) throws {
        let submission = harness.submission(text())
        let error = refusal { try harness.send(submission, to: log, by: user) }
        steps.append("\(user) sends \(lastText) to \(log)\(error.map { ": \($0.code)" } ?? "")")
        guard (error == nil) == model.isMember(log, user) else {
            throw error ?? ChatError(.internalError, "\(user) sent")
        }
        if error == nil { model.sendMessage(submission, in: log, by: user) }
    }

    private func read(_ log: ConversationID, _ user: UserID) throws {
        guard model.isMember(log, user), let seq = model.visible(log, user).max() else { return }
        steps.append("\(user) reads \(log) to \(seq)")
        try harness.read(log, to: Seq(random.below(Int(seq))) + 1, by: user)
    }

    private func toggle(_ log: ConversationID, _ user: UserID) throws {
        let isMember = model.isMember(log, user)
        guard isMember || log != SyncModel.secret || model.isMember(SyncModel.open, user) else { return }
        steps.append("\(user) \(isMember ? "leaves" : "joins") \(log)")
        if isMember { try harness.leave(log, user) } else { try harness.join(log, user) }
        if isMember { model.leave(log, user) } else { model.join(log, user) }
    }

    private func toggleCity(_ user: UserID) throws {
        let isMember = model.isMember(SyncModel.open, user)
        steps.append("\(user) \(isMember ? "leaves" : "joins") the community")
        if isMember { try harness.leave(SyncModel.city, user) } else { try harness.join(SyncModel.city, user) }
        if isMember { model.leaveCity(user) } else { model.joinCity(user) }
    }

    private func rename(_ log: ConversationID) throws {
        steps.append("\(log) is renamed")
        try harness.put(log, .init(name: text()))
    }

    private func remake(_ log: ConversationID) throws {
        let members = Self.people.filter { _ in random.chance(50) }
        steps.append("\(log) is deleted and recreated with \(members)")
        try harness.delete(log)
        try harness.make(log, members: members)
        model.remake(log, members)
        imports[log] = nil
    }

    private func importSome(_ log: ConversationID) throws {
        // The imported messages are newer than all others, even if the clock stepped back.
        harness.clock.set(max(harness.clock.now, try harness.store.newest.date) + 1)
        let batch = (0...random.below(3)).map { _ in
            harness.importedMessage(text(), by: random.pick(Self.people), at: harness.clock.now)
        }
        steps.append("import into \(log) of \(batch.map { "\($0.sender)'s" })")
        try harness.importHistory(batch, into: log)
        imports[log, default: []] += batch
        for message in batch { model.add(message.submission, in: log, by: message.sender) }
        for sender in Set(batch.map(\.sender)) where !model.isMember(log, sender) {
            model.join(log, sender, sinceBeginning: true)
        }
    }

    /// Repeats an import, which must succeed and change nothing, and imports an older message, which must be refused.
    private func importAgain(_ log: ConversationID) throws -> String? {
        guard let known = imports[log], let sender = known.first?.sender else { return nil }
        steps.append("import into \(log) again")
        let (head, lastCommit) = (model.entries[log]?.count ?? 0, try harness.store.lastCommit)
        let before = try harness.store.read { try $0.conversation(log) }
        let report = try harness.importHistory(known, into: log)
        if report != ImportReport(imported: 0, skipped: known.count, head: Seq(head)) {
            return "the repeated import into \(log) reports \(report), and the head is \(head)"
        }
        if try harness.store.read({ try $0.conversation(log) }) != before {
            return "the repeated import into \(log) changed the conversation, between commit \(lastCommit) and now"
        }
        let old = harness.importedMessage("old", by: sender, at: Date(timeIntervalSince1970: 1_400_000_000))
        let error = refusal { try harness.importHistory(known + [old], into: log) }
        return error?.code == .outOfOrder
            ? nil : "an old message before the head of \(log): \(error.map { "\($0)" } ?? "taken")"
    }

    /// Sends a message with an ID that is already used, which must not change the stored message.
    private func foreignID(_ log: ConversationID, _ user: UserID) throws -> String? {
        guard let entries = model.entries[log], !entries.isEmpty else { return nil }
        let entry = random.pick(entries)
        let isRetry = random.chance(40)
        let submission = isRetry ? entry.submission : harness.submission("not mine", id: entry.submission.id)
        steps.append("\(user) sends to \(log) with the ID of \(entry.text), by \(entry.sender)")
        let row = { [harness] in
            try harness.store.read { store in
                try store.conversation(log).map { ($0, try store.message(entry.submission.id, in: $0.number)) }
            }
        }
        let before = try row()
        var result: SendResult?
        let error = refusal { result = try harness.send(submission, to: log, by: user) }
        let after = try row()
        guard after?.0 == before?.0, after?.1 == before?.1, after?.1?.sender == entry.sender else {
            return "message \(entry.text) of \(log) or its conversation changed"
        }
        if isRetry, user == entry.sender {
            return result?.outcome == .duplicate ? nil : "\(user)'s retry: \(error.map { "\($0)" } ?? "no duplicate")"
        }
        return error == nil || model.isMember(log, user) && error?.code != .conflict
            ? "\(user) with \(entry.sender)'s id: \(error.map { "\($0)" } ?? "taken")" : nil
    }

    // MARK: What devices receive

    private func heads(of user: UserID) throws -> [ConversationID: ConversationHead] {
        var heads: [ConversationID: ConversationHead] = [:]
        for log in SyncModel.logs {
            do { heads[log] = try harness.head(log, user) } catch let error as ChatError where error.status == 404 {}
        }
        return heads
    }

    private func rev(of user: UserID) throws -> Int64 { try harness.store.read { try $0.user(user)?.rev ?? 0 } }

    /// Requests one window of a user's pass. At its end, the device must know all changes from before the pass.
    private func window(_ user: UserID) throws -> String? {
        guard var copy = copies[user] else { return nil }
        let due =
            try copy.due
            ?? ServerState(heads: heads(of: user), lastCommit: harness.store.lastCommit, userRev: rev(of: user))
        let limit = random.pick([1, 2, 3, 100])
        let window = try harness.engine.syncWindow(cursor: copy.cursor, limit: limit, by: Caller(user: user))
        steps.append(
            "\(user): \(window.heads.map { "\($0.conversation) to \($0.state.head)\($0.isMember ? "" : ", left")" })"
                + (window.isDone ? ", and the pass is done" : ""))
        for head in window.heads {
            let log = head.conversation.absolute(for: user)
            copy.known[log] = head
            if let last = head.lastMessage, !model.visible(log, user).contains(last.seq) {
                return "\(user) gets message \(last.seq) of \(log), which they may not see"
            }
        }
        copy.cursor = window.cursor
        copy.due = window.isDone ? nil : due
        copies[user] = copy
        guard window.isDone else { return nil }
        for log in SyncModel.logs {
            if let found = try difference(in: log, user, due) { return "after the pass, " + found }
        }
        return nil
    }

    /// Returns a difference between a device and the state of the server when the pass began, or `nil`.
    ///
    /// Changes during the pass are in the next pass, including the user's own. A removal must be in this pass, because
    /// no later commit concerns the user.
    private func difference(in log: ConversationID, _ user: UserID, _ due: ServerState) throws -> String? {
        let known = copies[user]?.known[log]
        let now = try heads(of: user)[log]
        let lastCommit = try harness.store.read { try $0.conversation(log)?.lastCommit ?? 0 }
        guard let head = due.heads[log] else {
            return known?.isMember == true && now == nil && lastCommit <= due.lastCommit
                ? "\(user)'s device still has \(log)" : nil
        }
        guard try rev(of: user) == due.userRev, now?.state.epoch == head.state.epoch else { return nil }
        if head.isMember {
            guard lastCommit <= due.lastCommit, now == head, known != head else { return nil }
        } else {
            guard known?.isMember != false || known?.state.head != head.state.head else { return nil }
        }
        return "\(user)'s device has \(log) as \(known.map { "\($0)" } ?? "nothing"), and it is \(head)"
    }

    /// Compares the answers of the entry points with what a user may see.
    private func entryPointDifference(_ log: ConversationID, _ user: UserID) throws -> String? {
        let visible = model.visible(log, user)
        let caller = Caller(user: user)
        let position = LogPosition(conversation: log, epoch: Epoch(rawValue: 0), view: 0, seq: 0, rev: 0)
        var results: [(String, Set<Seq>)] = []
        if model.isVisible(log, user) {
            results.append(("history", Set(try harness.page(of: log, by: user).seqs)))
            results.append(("sync", Set(try harness.engine.syncLogs([position], by: caller)[0].result.get().page.seqs)))
        } else if let error = refusal({ _ = try harness.page(of: log, by: user) }) {
            guard error.code == .unknownConversation else { return "\(user) gets \(error) for \(log)" }
            results.append(("history", []))
        }
        let ids = (model.entries[log] ?? []).enumerated().filter { _, entry in
            refusal { _ = try harness.engine.message(entry.submission.id, in: log, by: caller) } == nil
        }
        results.append(("message", Set(ids.map { Seq($0.offset) + 1 })))
        for (entryPoint, found) in results where found != visible {
            return "\(user) gets \(found.sorted()) of \(log) from \(entryPoint), not \(visible.sorted())"
        }
        return nil
    }
}
