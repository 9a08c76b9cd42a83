import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

/// Compares pages of random logs with a filtered list.
///
/// `SCROLLBACK_SEEDS` sets the number of seeds, and `SCROLLBACK_SEED` replays one seed.
@Suite("Pages of random logs")
struct PageScenarioTests {
    @Test(
        "Pages match a plain list, state their coverage, and continue exactly where they ended",
        .rows(19, 20, 27, 37, 38, 41, 161, 162, 163, 164, 165, 171))
    func pagesMatchAPlainList() async throws {
        for seed in Seeds.range(60) {
            await Task.yield()
            let log = try RandomLog(seed: seed)
            if let violation = try log.violation() {
                Issue.record("\(violation)\nReplay: SCROLLBACK_SEED=\(seed) swift test --filter PageScenarioTests")
                return
            }
        }
    }
}

/// A group with a random history, as the reader `rita` must see it.
private final class RandomLog {
    struct Entry {
        var seq: Seq
        var time: Timetoken
        var id: MessageID
        var sender: UserID
        var type: MessageType
        var customType: String?
        var mentions: Mentions?
    }

    private let harness: EngineHarness
    private let group = ConversationID.group("g")
    private var random: SplitMix64
    private var entries: [Entry] = []
    /// The spans of the membership: the sequence numbers above `joined`, up to and including `left`.
    private var spans: [(joined: Seq, left: Seq?)] = []
    private var visibility: HistoryVisibility
    private var floor: Seq = 1
    private var cleared: Seq = 0

    init(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        harness = try EngineHarness()
        visibility = random.chance(60) ? .sinceJoin : .everything
        let isEarly = random.chance(50)
        try harness.put(group, .init(visibility: visibility, members: ["alice", "bob"] + (isEarly ? ["rita"] : [])))
        if isEarly { spans = [(0, nil)] }
        self.random = random
        let steps = self.random.pick([0, 1, 3, 20, 60, 120])
        for _ in 0..<steps { try step() }
        try end()
    }

    private var head: Seq { entries.last?.seq ?? 0 }
    private var isMember: Bool { spans.last.map { $0.left == nil } ?? false }

    private func step() throws {
        switch random.below(20) {
        case 0 where isMember:
            try harness.leave(group, "rita")
            spans[spans.count - 1].left = head
        case 0 where !isMember, 1 where !isMember:
            try harness.join(group, "rita")
            // A member who rejoins at the same position has one span.
            if let last = spans.last, last.joined == head { spans.removeLast() }
            spans.append((head, nil))
        case 2: harness.clock.advance(by: random.pick([0.0004, 0.001, 0.7, 3_600, -5]))
        case 3:
            // A burst of messages in one millisecond.
            for _ in 0..<random.below(30) { try send() }
        default:
            if random.chance(50) { harness.clock.advance(by: random.pick([0.001, 0.002, 0.01])) }
            try send()
        }
    }

    private func send() throws {
        let sender: UserID = random.pick(isMember ? ["alice", "bob", "rita"] : ["alice", "bob"])
        let type = random.pick([MessageType.text, .text, .image, .notice])
        let customType: String? = random.chance(30) ? random.pick(["a", "b"]) : nil
        let mentions: Mentions? =
            random.chance(20)
            ? random.pick([.everyone(), .users(["rita"]), .users(["bob"]), .everyone(also: ["rita"])]) : nil
        let submission = harness.submission("\(head + 1)", type: type, mentions: mentions, customType: customType)
        let result = try harness.send(submission, to: group, by: sender)
        entries.append(
            Entry(
                seq: try #require(result.position).seq, time: result.timetoken, id: submission.id, sender: sender,
                type: type,
                customType: customType, mentions: mentions))
    }

    /// Sets a retention floor and a clear position directly, so the rows below them still exist.
    private func end() throws {
        if spans.isEmpty {
            try harness.join(group, "rita")
            spans = [(head, nil)]
        }
        if random.chance(30), head > 2 { floor = Seq(random.below(Int(head))) + 1 }
        if random.chance(20), head > 2 { cleared = Seq(random.below(Int(head))) }
        let (floor, cleared, group) = (floor, cleared, group)
        try harness.change { transaction in
            guard var row = try transaction.conversation(group),
                var member = try transaction.member("rita", of: row.number)
            else { return }
            row.firstSeq = floor
            row.floorCountedIndex =
                try transaction.store.message(atOrBelow: floor - 1, in: row.number)?.countedIndex ?? 0
            try transaction.put(row)
            member.clearSeq = cleared
            transaction.put(member)
        }
    }

    // MARK: Comparison

    private lazy var visible: [Entry] = entries.filter { entry in
        let seq = entry.seq
        guard seq >= floor, seq > cleared else { return false }
        switch visibility {
        case .everything: return isMember || seq <= spans.compactMap(\.left).max() ?? 0
        case .sinceJoin: return spans.contains { seq > $0.joined && seq <= $0.left ?? .max }
        }
    }
    private lazy var visibleSeqs = Set(visible.map(\.seq))
    private lazy var readerHead: Seq = isMember ? head : spans.compactMap(\.left).max() ?? 0
    private lazy var firstSeq: Seq = visible.first?.seq ?? readerHead + 1

    private func matches(_ entry: Entry, _ filter: MessageFilter) -> Bool {
        if let types = filter.types, !types.contains(entry.type) { return false }
        if let types = filter.excludedTypes, types.contains(entry.type) { return false }
        if let types = filter.customTypes, !types.contains(entry.customType) { return false }
        if let senders = filter.senders, !senders.contains(entry.sender) { return false }
        if filter.mentionsMe {
            guard let mentions = entry.mentions, mentions.everyone || mentions.users.contains("rita") else {
                return false
            }
        }
        return true
    }

    func violation() throws -> String? {
        let filters: [MessageFilter] = [
            .all, .types([.image]), .types([.image, .notice]), .init(excludedTypes: [.text]), .customTypes([nil]),
            .customTypes(["a"]),
            .senders(["rita"]),
            .mentionsMe, .init(types: [.text], senders: ["alice"]),
        ]
        for filter in filters {
            if let found = try walks(filter) { return found }
            for _ in 0..<(filter == .all ? 30 : 8) {
                if let found = try single(filter) { return found }
            }
        }
        return nil
    }

    /// Reads all pages in both directions.
    private func walks(_ filter: MessageFilter) throws -> String? {
        let limit = random.pick([1, 3, 7, 100])
        let expected = visible.filter { matches($0, filter) }.map(\.seq)
        for isNewer in [false, true] {
            var found: [Seq] = []
            var edge: Seq?
            var anchor: Anchor? = isNewer ? .earliest : .latest
            var pages = 0
            while let next = anchor {
                let page = try harness.page(
                    HistoryQuery(
                        next, limit: limit, sort: isNewer ? .oldestFirst : .newestFirst,
                        filter: pages == 0 ? filter : .all), of: group, by: "rita")
                if let fault = fault(page, filter) { return "walk \(isNewer) \(filter) page \(pages): \(fault)" }
                // Adjacent pages have no gap between them.
                let start = isNewer ? page.coverage.lower : page.coverage.upper
                if start != edge ?? (isNewer ? firstSeq : readerHead) {
                    return
                        "walk \(isNewer) \(filter): page \(pages) begins at \(start), expected \(edge ?? -1)"
                }
                edge = isNewer ? page.coverage.upper + 1 : page.coverage.lower - 1
                found += page.seqs
                anchor = (isNewer ? page.newer : page.older).map { .cursor($0) }
                pages += 1
                if pages > entries.count + 3 { return "walk \(isNewer) \(filter) does not end" }
            }
            if edge != (isNewer ? readerHead + 1 : firstSeq - 1) {
                return "walk \(isNewer) \(filter) ended at \(edge ?? -1)"
            }
            if found != (isNewer ? expected : expected.reversed()) {
                return "walk \(isNewer) \(filter) by \(limit): \(found), expected \(expected)"
            }
        }
        return nil
    }

    /// Returns the first violation of a page's invariants, or `nil`.
    private func fault(_ page: LogPage, _ filter: MessageFilter) -> String? {
        let state = page.state
        if (state.head, state.firstSeq) != (readerHead, firstSeq) {
            return "head \(state.head) and firstSeq \(state.firstSeq), expected \(readerHead) and \(firstSeq)"
        }
        let (lower, upper) = (page.coverage.lower, page.coverage.upper)
        if lower < firstSeq || upper > readerHead || lower > upper + 1 { return "covers \(lower)...\(upper)" }
        if page.isFiltered != (filter != .all) { return "isFiltered \(page.isFiltered)" }
        if (page.older == nil) != (lower <= firstSeq) { return "older \(page.older != nil) at \(lower) of \(firstSeq)" }
        if (page.newer == nil) != (upper >= readerHead) {
            return "newer \(page.newer != nil) at \(upper) of \(readerHead)"
        }
        return inside(page, filter)
    }

    private func inside(_ page: LogPage, _ filter: MessageFilter) -> String? {
        let (lower, upper) = (page.coverage.lower, page.coverage.upper)
        let inside = lower <= upper ? Array(lower...upper) : []
        let rows = page.seqs.sorted()
        let matching = visible.filter { lower <= $0.seq && $0.seq <= upper && matches($0, filter) }.map(\.seq)
        if rows != matching { return "\(rows) within \(lower)...\(upper), expected \(matching)" }
        let deletedRanges = inside.filter { page.coverage.deletedRanges.contains($0) }
        if deletedRanges != inside.filter({ !visibleSeqs.contains($0) })
            || Int64(deletedRanges.count) != page.coverage.deletedRanges.count
        {
            return "voids \(page.coverage.deletedRanges.ranges) within \(lower)...\(upper)"
        }
        for message in page.messages {
            guard let entry = entries.first(where: { $0.seq == message.seq }), entry.id == message.id,
                entry.time == message.timetoken, entry.sender == message.sender, entry.type == message.type,
                entry.customType == message.attributes.customType, entry.mentions == message.attributes.mentions
            else { return "message \(message.seq) differs from the list" }
        }
        return nil
    }

    // MARK: Anchors

    /// The positions before and after a point. The message at the point is in neither.
    private struct Split {
        var before: (Seq) -> Bool
        var after: (Seq) -> Bool
    }

    private func randomPoint() -> (HistoryPoint, Split)? {
        func times(_ isBefore: @escaping (Timetoken) -> Bool, _ isAfter: @escaping (Timetoken) -> Bool) -> Split {
            let older = Set(entries.filter { isBefore($0.time) }.map(\.seq))
            let newer = Set(entries.filter { isAfter($0.time) }.map(\.seq))
            return Split(before: { older.contains($0) }, after: { newer.contains($0) })
        }
        switch random.below(7) {
        case 0: return (.latest, Split(before: { _ in true }, after: { _ in false }))
        case 1: return (.earliest, Split(before: { _ in false }, after: { _ in true }))
        case 2, 3:
            let seq = Seq(random.below(Int(head) + 3)) + 1
            return (.seq(seq), Split(before: { $0 < seq }, after: { $0 > seq }))
        case 4:
            guard !visible.isEmpty else { return nil }
            let entry = random.pick(visible)
            return (.id(entry.id), Split(before: { $0 < entry.seq }, after: { $0 > entry.seq }))
        case 5:
            guard !entries.isEmpty else { return nil }
            let raw = random.pick(entries).time.rawValue
            let time = Timetoken(rawValue: raw &+ UInt64(random.below(3)) &- 1)
            return (.timetoken(time), times({ $0 < time }, { $0 > time }))
        default:
            guard !entries.isEmpty else { return nil }
            let date = random.pick(entries).time.date.addingTimeInterval(Double(random.below(3)) * 0.001 - 0.001)
            let first = Timetoken(date).rawValue
            return (.date(date), times({ $0.rawValue < first }, { $0.rawValue >= first + 10_000 }))
        }
    }

    private func single(_ filter: MessageFilter) throws -> String? {
        guard let (point, split) = randomPoint() else { return nil }
        let limit = random.pick([0, 1, 2, 5, 100])
        let sort = random.pick(Sort.allCases)
        let wanted = visible.filter { matches($0, filter) }.map(\.seq)
        let before = wanted.filter(split.before)
        let after = wanted.filter(split.after)
        let anchor: Anchor
        let expected: [Seq]
        switch random.below(4) {
        case 0:
            if point == .earliest { return nil }
            anchor = .before(point)
            expected = before.suffix(limit)
        case 1:
            if point == .latest { return nil }
            anchor = .after(point)
            expected = Array(after.prefix(limit))
        case 2:
            let other = random.pick([0, 2, 100])
            anchor = .around(point, before: limit, after: other)
            // If several messages have the same time, the first is the message at the point, and the others are newer.
            let there = entries.map(\.seq).filter { $0 >= floor && !split.before($0) && !split.after($0) }
            let itself = there.prefix(1).filter(wanted.contains)
            let newer = wanted.filter { split.after($0) || there.dropFirst().contains($0) }
            expected = before.suffix(limit) + itself + newer.prefix(other)
        default:
            guard let (end, endSplit) = randomPoint() else { return nil }
            anchor = .between(point, end)
            expected = Array(wanted.filter { !split.before($0) && endSplit.before($0) }.prefix(limit))
            let page = try harness.page(
                HistoryQuery(anchor, limit: limit, sort: sort, filter: filter), of: group, by: "rita")
            if page.seqs.sorted() != expected { return "\(anchor) \(filter): \(page.seqs), expected \(expected)" }
            if let fault = inside(page, filter) { return "\(anchor) \(filter): \(fault)" }
            return try restOfBetween(
                page, wanted.filter { !split.before($0) && endSplit.before($0) }, "\(anchor) \(filter)")
        }
        let page = try harness.page(
            HistoryQuery(anchor, limit: limit, sort: sort, filter: filter), of: group, by: "rita")
        let context = "\(anchor) limit \(limit) \(sort) \(filter): "
        if page.seqs != (sort == .newestFirst ? expected.reversed() : expected) {
            return context + "\(page.seqs), expected \(expected) of \(wanted)"
        }
        return fault(page, filter).map { context + $0 }
    }

    /// Checks that the pages between two points reach the end and stop there.
    private func restOfBetween(_ page: LogPage, _ expected: [Seq], _ context: String) throws -> String? {
        var page = page
        var found = page.seqs.sorted()
        if page.older != nil { return context + " has an older cursor" }
        for _ in 0...entries.count + 2 {
            guard let newer = page.newer else {
                return found == expected ? nil : context + ": all pages have \(found), expected \(expected)"
            }
            page = try harness.page(HistoryQuery(.cursor(newer), limit: 5), of: group, by: "rita")
            found += page.seqs.sorted()
        }
        return context + " does not end"
    }
}
