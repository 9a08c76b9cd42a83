import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport

/// Performs random operations on one conversation in the engine and on a plain log.
final class ChangeScenario {
    struct Violation: Error, CustomStringConvertible {
        var description: String
    }

    /// A request with an operation ID, which can be repeated.
    private struct Asked {
        var again: () throws -> String
        var answer: String
    }

    static let users: [UserID] = ["alice", "bob", "carol", "dave", "mona"]
    static let everyone = users + ["root"]

    let harness: EngineHarness
    let log: ConversationID
    var random: SplitMix64
    var reference: ReferenceLog
    var steps: [String] = []
    /// Devices that come online now and then.
    var shadows: [UserID: ShadowDevice] = [:]
    /// Returns a problem that the store itself finds, or `nil`.
    var check: () throws -> String? = { nil }
    private var lowersUnread = true
    private var retention: Int?
    private var asked: [Asked] = []
    private var actions: [MessageAction] = []

    init(seed: UInt64, store: (any MessageStore)? = nil) throws {
        random = SplitMix64(seed: seed)
        harness = try EngineHarness(store: store)
        log = random.pick([
            .group("g"), .group("g"), .group("g"), .direct(between: "alice", and: "bob"),
            .community("city", channel: "general"), .community("city", channel: "general"), .room("lobby"),
        ])
        reference = ReferenceLog(kind: log.kind)
        try harness.set {
            $0.countWindowDays = nil
            $0.replayDays = 36_500
        }
        switch log.kind {
        case .group: try harness.make(log, members: ["alice", "bob", "mona"])
        case .community:
            try harness.make(.community("city"), members: ["alice", "bob", "mona"])
            try harness.put(log)
        case .room: try harness.put(log)
        default: break
        }
        if let list {
            for user in ["alice", "bob", "mona"] as [UserID] { reference.people[user] = .init(spans: [(0, nil)]) }
            try harness.join(list, "mona", as: .moderator)
            reference.people["mona"]?.role = .moderator
        } else if log.kind == .direct {
            for user in ["alice", "bob"] as [UserID] { reference.people[user] = .init(spans: [(0, nil)]) }
            try send("alice")
        }
    }

    /// The conversation that has the member list, if there is one.
    private var list: ConversationID? {
        switch log.kind {
        case .group: log
        case .community: .community("city")
        default: nil
        }
    }

    func caller(_ user: UserID) -> Caller { Caller(user: user, isAdmin: user == "root") }

    private func note(_ text: String) { steps.append(text) }

    private func violation(_ text: String) -> Violation { Violation(description: text) }

    // MARK: Steps

    func step() async throws {
        if random.chance(25) { harness.clock.advance(by: random.pick([0.0005, 1, -1, 3_600, 86_400, 20 * 86_400])) }
        let user = random.pick(Self.users)
        switch random.below(40) {
        case 0...11: try send(user)
        case 12, 13: try burst()
        case 14, 15, 16: try edit(random.chance(15) ? "root" : user)
        case 17, 18, 19: try delete(random.chance(15) ? "root" : user)
        case 20, 21: try hide(user)
        case 22: try clear(user)
        case 23, 24: try deleteRange()
        case 25, 26, 27: try react(user)
        case 28: try unreact(random.chance(15) ? "root" : user)
        case 29, 30, 31: try read(user)
        case 32, 33: try toggle(user)
        case 34: try setVisibility()
        case 35: try setRetention()
        case 36: try await expire()
        case 37: try sweep()
        case 38: try retry()
        default: try await rare()
        }
    }

    private func burst() throws {
        for _ in 0..<random.below(12) { try send(random.pick(Self.users)) }
    }

    private func send(_ user: UserID) throws {
        let types: [MessageType] = [.text, .text, .text, .image, .video, .notice]
        let mentions: Mentions? =
            random.chance(20) ? random.pick([.everyone(), .users(["alice"]), .users(["bob", "mona"])]) : nil
        var submission = harness.submission(
            "said \(reference.head + 1)", type: random.pick(types), mentions: mentions,
            customType: random.chance(25) ? random.pick(["a", "b"]) : nil, countsUnread: !random.chance(10))
        var thread: MessageID?
        var isReferenceVisible = true
        if random.chance(35), !reference.entries.isEmpty {
            let answered = random.pick(reference.entries)
            submission.attributes.replyTo = answered.id
            // Messages that the user hid or cleared count as shown.
            isReferenceVisible = reference.wasShown(answered, to: user)
            if isReferenceVisible { thread = answered.thread ?? answered.id }
        }
        note("\(user) sends \(reference.head + 1) \(submission.content.type) \(submission.attributes.traits.bits)")
        let error = try outcome { try harness.send(submission, to: log, by: user) }
        let mayPost = (reference.kind == .room || reference.isMember(user)) && isReferenceVisible
        switch error {
        case .failure(let error):
            if mayPost { throw violation("send was refused: \(error)") }
        case .success(let result):
            guard mayPost, let position = result.position, position.seq == reference.head + 1 else {
                throw violation("the send returned \(String(describing: result.position))")
            }
            reference.entries.append(
                .init(
                    seq: position.seq, id: submission.id, time: result.timetoken, sender: user,
                    type: submission.content.type, text: submission.content.text ?? "",
                    customType: submission.attributes.customType, mentions: mentions,
                    counts: submission.traits.countsUnread, thread: thread, submission: submission))
        }
    }

    private func edit(_ user: UserID) throws {
        guard !reference.entries.isEmpty else { return }
        let index = random.below(reference.entries.count)
        let entry = reference.entries[index]
        let mentions: MessageEdit.Change<Mentions> = random.pick([
            .keep, .remove, .set(.users(["alice", "bob"])), .set(.everyone()),
        ])
        let customType: MessageEdit.Change<String> = random.pick([.keep, .keep, .remove, .set("b")])
        let text = "edited \(steps.count)"
        let type = random.chance(5) ? MessageType.appPoll : entry.type
        let edit = MessageEdit(
            MessageContent(known: type, json: MessageContent.text(text).json), mentions: mentions,
            customType: customType)
        let operation = harness.newID()
        note("\(user) edits \(entry.seq) \(type)")
        var editedAt: Date?
        func ask() throws -> String {
            let message: Message = try harness.done {
                harness.engine.edit(
                    entry.id, in: log, edit, operation: operation, by: caller(user), completion: $0)
            }
            editedAt = message.editedAt
            return "\(message.seq)"
        }
        let isAllowed =
            reference.sees(user, entry) && reference.mayChange(entry, user, others: nil) && !entry.isTombstone
            && type == entry.type
        switch try outcome(ask) {
        case .failure(let error):
            if isAllowed { throw violation("edit was refused: \(error)") }
        case .success(let answer):
            guard isAllowed else { throw violation("\(user) edited \(entry.seq)") }
            reference.entries[index].text = text
            reference.entries[index].isEdited = true
            reference.entries[index].editedAt = editedAt
            for former in Self.users where reference.isFormer(former) {
                reference.people[former]?.editedSince.insert(entry.seq)
            }
            reference.entries[index].mentions = mentions.applied(to: entry.mentions)
            reference.entries[index].customType = customType.applied(to: entry.customType)
            asked.append(Asked(again: ask, answer: answer))
        }
    }

    private func delete(_ user: UserID) throws {
        guard !reference.entries.isEmpty else { return }
        let mine = reference.entries.filter { $0.sender == user }
        let pool = random.chance(70) && !mine.isEmpty ? mine : reference.entries
        let chosen = (0...random.below(4)).map { _ in random.pick(pool) }
        note("\(user) deletes \(chosen.map(\.seq)) lowering \(lowersUnread)")
        let seen = chosen.filter { reference.sees(user, $0) }
        let isMember = reference.kind == .room || user == "root" || reference.isMember(user)
        let isAllowed = isMember && seen.allSatisfy { reference.mayChange($0, user, others: .moderator) }
        switch try outcome({ try harness.delete(chosen.map(\.id), in: log, by: caller(user)) }) {
        case .failure(let error):
            if isAllowed { throw violation("delete was refused: \(error)") }
        case .success(let count):
            guard isAllowed else { throw violation("\(user) deleted \(chosen.map(\.seq))") }
            let found = Set(seen.filter { !$0.isTombstone }.map(\.seq))
            guard found.count == count else { throw violation("deleted \(count) instead of \(found.sorted())") }
            for seq in found { reference.makeTombstone(at: Int(seq) - 1, lowersUnread: lowersUnread) }
        }
    }

    private func hide(_ user: UserID) throws {
        guard !reference.entries.isEmpty else { return }
        let chosen = (0...random.below(4)).map { _ in random.pick(reference.entries) }
        note("\(user) hides \(chosen.map(\.seq))")
        let isAllowed = reference.people[user]?.hasBeenMember == true
        switch try outcome({ try harness.hide(chosen.map(\.id), in: log, by: user) }) {
        case .failure(let error):
            if isAllowed { throw violation("hide was refused: \(error)") }
        case .success(let count):
            let seen = Set(chosen.filter { reference.sees(user, $0) }.map(\.seq))
            guard isAllowed, seen.count == count else { throw violation("hid \(count) instead of \(seen.sorted())") }
            reference.people[user]?.hidden.formUnion(seen)
        }
    }

    private func clear(_ user: UserID) throws {
        let seq = Seq(random.below(Int(reference.readerHead(user)) + 1))
        note("\(user) clears through \(seq)")
        let isAllowed = reference.people[user]?.hasBeenMember == true
        switch try outcome({ try harness.clear(log, through: seq, by: user) }) {
        case .failure(let error):
            if isAllowed { throw violation("clear was refused: \(error)") }
        case .success(let summary):
            guard isAllowed else { throw violation("\(user) cleared") }
            let before = reference.people[user]?.cleared ?? 0
            reference.people[user]?.cleared = max(seq, before)
            guard summary.unread == reference.unread(user).count else { throw violation("clear answered \(summary)") }
        }
    }

    private func deleteRange() throws {
        guard let range = randomRange() else { return }
        note("deletes the range \(range.name)")
        let operation = harness.newID()
        func ask() throws -> String { "\(try harness.delete(range.range, of: log, operation: operation))" }
        let indices = reference.entries.indices.filter {
            !reference.entries[$0].isGone && range.holds(reference.entries[$0])
        }
        let answer: String
        switch try outcome(ask) {
        case .success(let count): answer = count
        case .failure(let error):
            // A range whose start is newer than its end is refused.
            guard error.parameter == "from", range.range.to != nil, indices.isEmpty else {
                throw violation("the range deletion was refused: \(error)")
            }
            return
        }
        let expected = indices.count { !reference.entries[$0].isTombstone }
        guard answer == "\(expected)" else {
            throw violation("the range deletion removed \(answer) messages instead of \(expected)")
        }
        for index in indices { reference.entries[index].isGone = true }
        asked.append(Asked(again: ask, answer: answer))
    }

    private struct Range {
        var range: DeleteRange
        var holds: (ReferenceLog.Entry) -> Bool
        var name: String
    }

    private func randomRange() -> Range? {
        func point() -> (point: HistoryPoint, isBefore: (ReferenceLog.Entry) -> Bool)? {
            switch random.below(4) {
            case 0:
                let seq = Seq(random.below(Int(reference.head) + 3)) + 1
                return (.seq(seq), { $0.seq < seq })
            case 1:
                guard let entry = reference.visible(to: "root").randomElement(using: &random) else { return nil }
                return (.id(entry.id), { $0.seq < entry.seq })
            case 2:
                guard let entry = reference.entries.randomElement(using: &random) else { return nil }
                let time = Timetoken(rawValue: entry.time.rawValue + UInt64(random.below(2)))
                return (.timetoken(time), { $0.time < time })
            default:
                guard let entry = reference.entries.randomElement(using: &random) else { return nil }
                let time = Timetoken(entry.time.date)
                return (.date(entry.time.date), { $0.time < time })
            }
        }
        if random.chance(4) { return Range(range: .all, holds: { _ in true }, name: "all") }
        guard let first = point(), let second = point() else { return nil }
        switch random.below(6) {
        case 0:
            return Range(
                range: .init(from: nil, to: first.point), holds: { first.isBefore($0) }, name: "..<\(first.point.text)")
        case 1 where random.chance(40):
            return Range(
                range: .init(from: first.point, to: nil), holds: { !first.isBefore($0) }, name: "\(first.point.text)..."
            )
        default:
            return Range(
                range: .init(from: first.point, to: second.point),
                holds: { !first.isBefore($0) && second.isBefore($0) },
                name: "\(first.point.text)..<\(second.point.text)")
        }
    }

    private func react(_ user: UserID) throws {
        guard !reference.entries.isEmpty else { return }
        let index = random.below(reference.entries.count)
        let entry = reference.entries[index]
        let value = random.pick(["+1", "heart", "eyes"])
        note("\(user) reacts to \(entry.seq) with \(value)")
        let operation = harness.newID()
        func ask() throws -> MessageAction {
            try harness.react(value, to: entry.id, in: log, operation: operation, by: caller(user))
        }
        let isAllowed =
            reference.sees(user, entry) && (reference.kind == .room || reference.isMember(user)) && !entry.isTombstone
            && !entry.reactions.contains { $0.user == user && $0.value == value }
        switch try outcome(ask) {
        case .failure(let error):
            if isAllowed { throw violation("a reaction was refused: \(error)") }
        case .success(let action):
            guard isAllowed else { throw violation("\(user) reacted to \(entry.seq)") }
            reference.entries[index].reactions.append(.init(user: user, value: value, time: action.timetoken))
            actions.append(action)
            asked.append(Asked(again: { "\(try ask().timetoken)" }, answer: "\(action.timetoken)"))
        }
    }

    private func unreact(_ user: UserID) throws {
        guard !actions.isEmpty else { return }
        let action = random.pick(actions)
        guard let index = reference.index(action.message) else { return }
        let entry = reference.entries[index]
        note("\(user) removes \(action.value) of \(action.sender) from \(entry.seq)")
        let isThere = entry.reactions.contains { $0.time == action.timetoken }
        let isModerator = reference.people[user]?.role == .moderator && reference.isMember(user)
        let isAllowed =
            reference.sees(user, entry) && isThere
            && (user == "root" || isModerator
                || action.sender == user && (reference.kind == .room || reference.isMember(user)))
        switch try outcome({ try harness.unreact(action, in: log, by: caller(user)) }) {
        case .failure(let error):
            if isAllowed { throw violation("the removal of an action was refused: \(error)") }
        case .success:
            guard isAllowed else { throw violation("\(user) removed the action") }
            reference.entries[index].reactions.removeAll { $0.time == action.timetoken }
        }
    }

    private func read(_ user: UserID) throws {
        guard reference.kind != .room, reference.people[user]?.hasBeenMember == true else { return }
        let seq = Seq(random.below(Int(reference.readerHead(user)) + 1))
        note("\(user) reads to \(seq)")
        let summary = try harness.read(log, to: seq, by: user)
        let before = reference.people[user]?.read ?? 0
        reference.people[user]?.read = max(seq, before)
        guard summary.unread == reference.unread(user).count else { throw violation("read answered \(summary)") }
    }

    private func toggle(_ user: UserID) throws {
        guard let list, user != "mona" else { return }
        if reference.isMember(user) {
            note("\(user) leaves")
            try harness.leave(list, user)
            let end = try harness.store.read { store in
                try store.conversation(list).flatMap { try store.spans(of: user, in: $0.number).last?.end }
            }
            reference.end(user, at: end?.time.date)
        } else {
            note("\(user) joins")
            try harness.join(list, user)
            let head = reference.head
            reference.people[user, default: .init()].spans.append((head, nil))
        }
    }

    private func setVisibility() throws {
        guard reference.kind != .direct, reference.kind != .room else { return }
        reference.visibility = reference.visibility == .everything ? .sinceJoin : .everything
        note("visibility \(reference.visibility)")
        try harness.put(log, .init(visibility: reference.visibility))
    }

    private func setRetention() throws {
        retention = random.pick([nil, 1, 30, 90])
        note("retention \(retention.map(String.init) ?? "forever")")
        let policy = retention.map { RetentionPolicy.days($0) } ?? .forever
        if random.chance(50), reference.kind != .direct {
            try harness.set { $0.retention = .forever }
            try harness.put(log, .init(retention: .set(policy)))
        } else {
            if reference.kind != .direct { try harness.put(log, .init(retention: .remove)) }
            try harness.set { $0.retention = policy }
        }
    }

    private func expire() async throws {
        note("expires")
        try await harness.engine.expire()
        guard let retention else { return }
        let now = (harness.clock.now.timeIntervalSince1970 / 3600).rounded(.down) * 3600
        let cutoff = Timetoken(Date(timeIntervalSince1970: now - Double(retention) * 86_400))
        for index in reference.entries.indices where reference.entries[index].time < cutoff {
            reference.entries[index].isGone = true
        }
    }

    private func sweep() throws {
        let limit = random.pick([1, 2, 3, 7, 100])
        note("sweeps \(limit)")
        for _ in 0...random.below(4) { try harness.change { [log] in _ = try $0.sweep(log, limit: limit) } }
    }

    /// Repeats a request, which must get the same answer and change nothing.
    private func retry() throws {
        guard !reference.entries.isEmpty else { return }
        let before = try rev()
        if random.chance(50), !asked.isEmpty {
            let one = random.pick(asked)
            note("repeats a request")
            // The engine refuses users who can't see the message any more or are no longer members.
            if case .success(let answer) = try outcome(one.again), answer != one.answer {
                throw violation("a repeated request got \(answer), not \(one.answer)")
            }
        } else {
            let entry = random.pick(reference.entries)
            guard Timetoken(harness.clock.now).rawValue < entry.time.rawValue + Transaction.keyTicks else { return }
            note("\(entry.sender) sends \(entry.seq) again")
            let result = try harness.send(entry.submission, to: log, by: entry.sender)
            guard result.outcome == .duplicate, result.position?.seq == entry.seq, result.timetoken == entry.time
            else { throw violation("a repeated send got \(result)") }
        }
        if try rev() != before { throw violation("a repeated request changed something") }
    }

    private func rev() throws -> Int64 {
        try harness.store.read { try $0.conversation(log)?.rev ?? 0 }
    }

    private func rare() async throws {
        switch random.below(4) {
        case 0:
            lowersUnread.toggle()
            let lowers = lowersUnread
            note("recalls lower unread: \(lowers)")
            try harness.set { $0.recallLowersUnread = lowers }
        case 1:
            note("sweeps everything and forgets")
            try await harness.engine.sweep()
            try await harness.engine.prune()
            asked = []
        case 2:
            note("sweeps everything")
            try await harness.engine.sweep()
        default:
            note("100 days pass")
            harness.clock.advance(by: 100 * 86_400)
        }
    }

    private func outcome<Answer>(_ body: () throws -> Answer) throws -> Result<Answer, ChatError> {
        do {
            return .success(try body())
        } catch let error as ChatError where error.status < 500 {
            return .failure(error)
        }
    }
}
