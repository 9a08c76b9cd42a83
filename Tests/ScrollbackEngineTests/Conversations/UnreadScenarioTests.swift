import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

/// Performs random operations and recounts the unread counts of every user from the log after each step.
///
/// `SCROLLBACK_SEEDS` sets the number of seeds, and `SCROLLBACK_SEED` replays one seed.
@Suite("Random unread counts")
struct UnreadScenarioTests {
    @Test("Unread counts, mentions and totals equal a recount from the log after every step, for every user")
    func countsEqualARecount() async throws {
        for seed in Seeds.range(300) {
            await Task.yield()
            let scenario = try RandomScenario(seed: seed)
            if let violation = try scenario.run() {
                Issue.record("\(violation)\nReplay: SCROLLBACK_SEED=\(seed) swift test --filter UnreadScenarioTests")
                return
            }
        }
    }
}

private final class RandomScenario {
    struct Entry {
        var id: MessageID
        var sender: UserID
        var counts: Bool
        var mentions: Mentions?
        /// The index of the first message of the entry's thread.
        var thread: Int?
    }

    /// A conversation as a plain list, with the state of its users.
    struct Record {
        var entries: [Entry] = []
        var joined: [UserID: Int] = [:]
        var read: [UserID: Int] = [:]
        /// The position up to which a user removed the conversation from their recents.
        var removed: [UserID: Int] = [:]
        var muted: Set<UserID> = []
        /// The position up to which a user read the thread of an entry.
        var readThreads: [Int: [UserID: Int]] = [:]
    }

    private static let users: [UserID] = ["alice", "bob", "carol", "dave", "erin"]
    private static let logs: [ConversationID] = [
        .group("g"), .direct(between: "alice", and: "bob"), .community("city", channel: "default"),
        .community("city", channel: "general"), .community("city", channel: "secret"),
    ]
    private static let community = ConversationID.community("city")
    private static let secret = ConversationID.community("city", channel: "secret")

    private let harness = try! EngineHarness()
    private var random: SplitMix64
    private var records: [ConversationID: Record] = [:]
    private var citizens: Set<UserID> = ["alice", "bob"]
    /// The users who were ever members of a group or community or sent a message there, by its name.
    private var known: [Identifier: Set<UserID>] = [:]
    private var steps: [String] = []
    private let focus: ConversationID
    private var speaker: UserID = "alice"

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        focus = random.pick(Self.logs)
        for log in Self.logs { records[log] = Record() }
        try harness.make(.group("g"), members: ["alice", "bob"])
        try harness.make(Self.community, members: ["alice", "bob"])
        try harness.put(Self.logs[3])
        try harness.put(Self.secret, .init(isPrivate: true, members: ["alice"]))
        for user in ["alice", "bob"] as [UserID] {
            for log in Self.logs.prefix(4) { records[log]?.joined[user] = 0 }
        }
        records[Self.secret]?.joined["alice"] = 0
    }

    func run() throws -> String? {
        for _ in 0..<40 {
            let touched = try step()
            if let found = try difference(in: touched) { return found + "\n  " + steps.joined(separator: "\n  ") }
        }
        return try difference(in: Self.logs).map { $0 + "\n  " + steps.joined(separator: "\n  ") }
    }

    private func step() throws -> [ConversationID] {
        if random.chance(30) { harness.clock.advance(by: random.pick([0.001, 1, -1])) }
        // Mostly one conversation and one sender in a row, so that runs grow and are partly read.
        let log = random.chance(70) ? focus : random.pick(Self.logs)
        if !random.chance(35) { speaker = random.pick(Self.users) }
        let user = speaker
        switch random.below(17) {
        case 0 where log.kind == .group: return try toggle(user, in: log)
        case 1 where log.kind == .community && random.chance(60): return try toggleCitizen(user)
        case 2 where log == Self.secret && citizens.contains(user): return try toggle(user, in: log)
        case 3, 4, 5: return try read(log, user)
        case 6: return try importSome(log)
        case 7: return try set(log, user)
        case 8, 9: return try readThread(log, user)
        default: return try send(log, user)
        }
    }

    private func send(_ log: ConversationID, _ user: UserID) throws -> [ConversationID] {
        let isMember = records[log]?.joined[user] != nil
        let caller = Caller(user: user, isAdmin: !isMember && log.kind != .direct && random.chance(20))
        if caller.isAdmin { known[log.target, default: []].insert(user) }
        let type = random.pick([MessageType.text, .text, .text, .notice, .command])
        let counts = type == .text && random.chance(85)
        var submission = harness.submission(type: type, mentions: randomMentions(), countsUnread: counts)
        var thread: Int?
        if type != .command, let record = records[log], random.chance(40) {
            // Members surely see what was sent since they joined.
            let visible = (caller.isAdmin ? 0 : record.joined[user] ?? record.entries.count)..<record.entries.count
            if !visible.isEmpty {
                let answered = visible.lowerBound + random.below(visible.count)
                submission.attributes.replyTo = record.entries[answered].id
                thread = record.entries[answered].thread ?? answered
            }
        }
        steps.append(
            "\(user) sends \(type) to \(log), counts \(counts), thread \(thread.map(String.init) ?? "none"), "
                + "\(submission.attributes.mentions.map { "\($0)" } ?? "")"
        )
        let error = refusal { try harness.send(submission, to: log, by: caller) }
        if isMember || caller.isAdmin {
            if let error { throw error }
            if type != .command {
                records[log]?.entries.append(
                    Entry(
                        id: submission.id, sender: user, counts: counts, mentions: submission.attributes.mentions,
                        thread: thread))
            }
        } else if error == nil {
            throw ChatError(.internalError, "\(user) sent to \(log) without permission")
        }
        // A retry changes nothing.
        if error == nil, type != .command, random.chance(10) { try harness.send(submission, to: log, by: caller) }
        return [log]
    }

    private func randomMentions() -> Mentions? {
        guard random.chance(30) else { return nil }
        let some = (0...random.below(2)).map { _ in random.pick(Self.users) }
        return random.chance(30) ? .everyone(also: random.chance(50) ? some : []) : .users(some)
    }

    private func read(_ log: ConversationID, _ user: UserID) throws -> [ConversationID] {
        guard let record = records[log], record.joined[user] != nil, !record.entries.isEmpty || log.kind != .direct
        else { return [] }
        let seq = random.below(record.entries.count + 1)
        steps.append("\(user) reads \(log) to \(seq)")
        let summary = try harness.read(log, to: Seq(seq), by: user)
        records[log]?.read[user] = max(seq, record.read[user] ?? 0)
        let expected = recount(log, user)
        if Counts(summary.unread, summary.mentions) != expected {
            throw ChatError(
                .internalError, "the answer to \(user)'s read of \(log) is \(summary), expected \(expected)")
        }
        return [log]
    }

    /// Reads a thread up to a random position.
    private func readThread(_ log: ConversationID, _ user: UserID) throws -> [ConversationID] {
        guard let record = records[log], record.joined[user] != nil, !record.entries.isEmpty,
            let thread = try harness.engine.threads(of: log, limit: 100, by: Caller(user: user)).threads.first,
            let index = record.entries.firstIndex(where: { $0.id == thread.id })
        else { return [] }
        let seq = random.below(record.entries.count + 1)
        steps.append("\(user) reads the thread \(index) of \(log) to \(seq)")
        let read = EpochPosition(seq: Seq(seq), epoch: try harness.head(log, user).state.epoch)
        let state = try harness.perform(
            ChangeThread(conversation: log, thread: thread.id, ThreadChange(read: read)), by: Caller(user: user))
        let last = records[log]?.readThreads[index]?[user] ?? 0
        records[log]?.readThreads[index, default: [:]][user] = max(seq, last)
        let expected = recount(log, user, thread: index)
        if Counts(state.unread, state.mentions) != expected {
            throw ChatError(.internalError, "the answer to \(user)'s read is \(state), expected \(expected)")
        }
        return [log]
    }

    /// Removes a conversation from a user's recents, restores it, or mutes it.
    private func set(_ log: ConversationID, _ user: UserID) throws -> [ConversationID] {
        guard let record = records[log], record.joined[user] != nil, !record.entries.isEmpty || log.kind != .direct
        else { return [] }
        let change: StateChange
        switch random.below(4) {
        case 0:
            change = .addRecent
            records[log]?.removed[user] = 0
        case 1:
            change = .settings(isMuted: !record.muted.contains(user), isPinned: nil)
            records[log]?.muted.formSymmetricDifference([user])
        default:
            change = .removeRecent(at: nil, excludesFromNewDevices: false)
            records[log]?.removed[user] = record.entries.count
        }
        steps.append("\(user) sets \(change) in \(log)")
        _ = try harness.done { harness.engine.change(log, change, by: Caller(user: user), completion: $0) }
        return [log]
    }

    private func importSome(_ log: ConversationID) throws -> [ConversationID] {
        guard random.chance(40), let record = records[log], !record.entries.isEmpty || log.kind != .direct else {
            return []
        }
        let members = Self.users.filter { record.joined[$0] != nil }
        // A sender who was never seen there becomes a member who sees all messages.
        let met = known[log.target] ?? []
        let strangers = log.kind == .direct ? [] : Self.users.filter { !members.contains($0) && !met.contains($0) }
        guard !members.isEmpty else { return [] }
        // The imported messages are newer than all others, even if the clock stepped back in all 40 steps.
        harness.clock.advance(by: 60)
        let counts = random.chance(50)
        let batch = (0...random.below(3)).map { _ in
            harness.importedMessage(
                "old", by: random.pick(random.chance(30) && !strangers.isEmpty ? strangers : members),
                at: harness.clock.now, mentions: randomMentions(), countsUnread: random.chance(85))
        }
        steps.append("import of \(batch.count) into \(log) by \(batch.map(\.sender)), counts \(counts)")
        guard refusal({ try harness.importHistory(batch, into: log, countsUnread: counts) }) == nil else {
            return [log]
        }
        // Imported messages do not count as unread unless the import sets `countsUnread`.
        records[log]?.entries += batch.map { said in
            Entry(
                id: said.submission.id, sender: said.sender, counts: counts && said.submission.traits.countsUnread,
                mentions: counts ? said.submission.attributes.mentions : nil)
        }
        for sender in Set(batch.map(\.sender)) where strangers.contains(sender) { admitted(sender, by: log) }
        return log.kind == .community ? Self.logs : [log]
    }

    /// Records that a user is a member from the beginning.
    private func admitted(_ user: UserID, by log: ConversationID) {
        known[log.target, default: []].insert(user)
        records[log]?.joined[user] = 0
        guard log.kind == .community else { return }
        citizens.insert(user)
        for channel in Self.logs where channel.kind == .community && (channel != Self.secret || channel == log) {
            records[channel]?.joined[user] = 0
        }
    }

    private func toggle(_ user: UserID, in log: ConversationID) throws -> [ConversationID] {
        let isMember = records[log]?.joined[user] != nil
        steps.append("\(user) \(isMember ? "leaves" : "joins") \(log)")
        if isMember { try harness.leave(log, user) } else { try harness.join(log, user) }
        setJoined(user, log, !isMember)
        return [log]
    }

    private func toggleCitizen(_ user: UserID) throws -> [ConversationID] {
        let isMember = citizens.contains(user)
        steps.append("\(user) \(isMember ? "leaves" : "joins") the community")
        if isMember { try harness.leave(Self.community, user) } else { try harness.join(Self.community, user) }
        if isMember { citizens.remove(user) } else { citizens.insert(user) }
        for log in Self.logs where log.kind == .community && (isMember || log != Self.secret) {
            setJoined(user, log, !isMember)
        }
        return Self.logs
    }

    private func setJoined(_ user: UserID, _ log: ConversationID, _ isMember: Bool) {
        let head = records[log]?.entries.count
        records[log]?.joined[user] = isMember ? head : nil
        known[log.target, default: []].insert(user)
    }

    // MARK: Recount

    /// - Parameter thread: The index of the first message of the thread whose replies are counted; `nil` for all.
    private func recount(_ log: ConversationID, _ user: UserID, thread: Int? = nil) -> Counts {
        guard let record = records[log], let joined = record.joined[user] else { return Counts(0) }
        let read = max(record.read[user] ?? 0, thread.flatMap { record.readThreads[$0]?[user] } ?? 0)
        let above = record.entries.dropFirst(max(joined, read)).filter {
            $0.sender != user && (thread == nil || $0.thread == thread)
        }
        return Counts(
            Int64(above.count { $0.counts }), Int64(above.count { $0.mentions?.includes(user) == true }))
    }

    /// Returns the unread totals of all conversations in a user's recents.
    private func totals(_ user: UserID) -> UnreadTotals {
        var totals = UnreadTotals()
        for (log, record) in records where record.entries.count > record.removed[user] ?? 0 {
            let counts = recount(log, user)
            totals.add(
                counts.unread, mentions: counts.mentions, kind: log.kind, isMuted: record.muted.contains(user))
        }
        return totals
    }

    /// Returns the first position above the read marker that counts and has another sender.
    private func firstUnread(_ log: ConversationID, _ user: UserID) -> [Seq] {
        guard let record = records[log], let joined = record.joined[user] else { return [] }
        let start = max(joined, record.read[user] ?? 0)
        let index = record.entries.indices.dropFirst(start).first {
            record.entries[$0].counts && record.entries[$0].sender != user
        }
        return index.map { [Seq($0) + 1] } ?? []
    }

    private func threadDifference(_ log: ConversationID, _ user: UserID) throws -> String? {
        guard let record = records[log], let joined = record.joined[user] else { return nil }
        let found = try harness.engine.threads(of: log, limit: 100, by: Caller(user: user)).threads
        for thread in found {
            guard let index = record.entries.firstIndex(where: { $0.id == thread.id }) else {
                return "\(log) has the thread \(thread.id) of an unknown message"
            }
            let (counts, expected) = (
                Counts(thread.state.unread, thread.state.mentions), recount(log, user, thread: index)
            )
            if counts != expected {
                return "\(user) has \(counts) in the thread \(index) of \(log), expected \(expected)"
            }
        }
        // The user may also see threads from an earlier membership.
        let expected = Set(record.entries.compactMap(\.thread)).filter { $0 >= joined }
        let listed = found.compactMap { thread in record.entries.firstIndex { $0.id == thread.id } }
        let order = listed.map { index in record.entries.lastIndex { $0.thread == index } ?? 0 }
        guard Set(listed).isSuperset(of: expected), order == order.sorted(by: >) else {
            return "\(user) lists the threads \(listed) of \(log), expected \(expected.sorted())"
        }
        return nil
    }

    private func difference(in logs: [ConversationID]) throws -> String? {
        for log in logs where log.kind != .direct || records[log]?.entries.isEmpty == false {
            for user in Self.users {
                guard records[log]?.joined[user] != nil else { continue }
                let (found, expected) = (try harness.unread(log, user), recount(log, user))
                if found != expected { return "\(user) in \(log) has \(found), expected \(expected)" }
                if let found = try threadDifference(log, user) { return found }
                let first = try harness.page(.around(.firstUnread, before: 0, after: 0), of: log, by: user)
                if first.seqs != firstUnread(log, user) {
                    return "\(user)'s first unread in \(log) is \(first.seqs), expected \(firstUnread(log, user))"
                }
            }
        }
        for user in Self.users {
            let (found, expected) = (try harness.engine.totals(by: Caller(user: user)), totals(user))
            if found != expected { return "\(user) has \(found) in total, expected \(expected)" }
        }
        return nil
    }
}
