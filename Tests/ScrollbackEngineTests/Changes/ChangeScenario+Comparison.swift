import Foundation
import ScrollbackEngine
import ScrollbackModel

// Compares the answers of every entry point of the engine with the plain log.

extension ChangeScenario {
    /// Returns a description of the first difference, or `nil`.
    func difference() throws -> String? {
        let stored = try harness.store.read { reader in
            let row = try reader.conversation(log)
            return Set(
                try (row?.head ?? 0) > 0
                    ? reader.messages(
                        in: row?.number ?? 0, 1...reference.head, newestFirst: false, limit: .max, filter: .all,
                        reader: "root"
                    ).map(\.seq) : [])
        }
        for user in Self.everyone {
            if let found = try difference(for: user, stored) { return "\(user): \(found)" }
        }
        return nil
    }

    private func difference(for user: UserID, _ stored: Set<Seq>) throws -> String? {
        guard reference.maySee(user) else { return try accessibleEntryPoint(user) }
        var visible = reference.visible(to: user)
        let messages = try history(of: user)
        let numbers = reference.numbers
        if messages.map(\.seq) != visible.map(\.seq) {
            return "sees \(messages.map(\.seq)), expected \(visible.map(\.seq))"
        }
        visible = zip(visible, messages).map { reference.shown($0, to: user, isTombstone: $1.isDeleted) }
        for (message, entry) in zip(messages, visible) {
            if let found = difference(message, entry, numbers, stored, for: user) {
                return "message \(entry.seq): \(found)"
            }
        }
        return try state(of: user, visible) ?? pages(of: user, visible) ?? single(user, messages)
            ?? counts(of: user, visible) ?? actions(of: user, visible)
    }

    /// Returns an entry point that answers a user who was never a member, or `nil`.
    private func accessibleEntryPoint(_ user: UserID) throws -> String? {
        let entryPoints: [() throws -> Void] = [
            { _ = try self.harness.page(of: self.log, by: user) },
            { _ = try self.harness.head(self.log, user) },
            {
                _ = try self.harness.engine.actions(
                    on: nil, in: self.log, after: nil, limit: 10, by: Caller(user: user))
            },
        ]
        for (index, entryPoint) in entryPoints.enumerated() {
            do {
                try entryPoint()
                return "entry point \(index) answers a stranger"
            } catch let error as ChatError where error.code == .unknownConversation {
                continue
            }
        }
        return nil
    }

    private func difference(
        _ message: Message, _ entry: ReferenceLog.Entry, _ numbers: [Int64], _ stored: Set<Seq>, for user: UserID
    ) -> String? {
        if message.id != entry.id || message.sender != entry.sender || message.type != entry.type
            || message.timetoken != entry.time
        {
            return "has another ID, sender, type or time"
        }
        if message.countedIndex != numbers[Int(entry.seq) - 1] {
            return "has the counted index \(message.countedIndex)"
        }
        if message.isDeleted != (entry.isTombstone || entry.isEditedLater) { return "isDeleted \(message.isDeleted)" }
        if (message.text ?? "") != entry.text {
            return "has the text \(message.text ?? "nothing"), expected \(entry.text)"
        }
        if message.attributes.mentions != entry.mentions || message.attributes.customType != entry.customType {
            return "attributes \(message.attributes)"
        }
        if (message.editedAt != nil) != entry.isEdited { return "editedAt" }
        if message.thread != entry.thread { return "thread \(String(describing: message.thread))" }
        let found = Dictionary(uniqueKeysWithValues: message.actions.map { ($0.value, ($0.count, $0.senders)) })
        let expected = Dictionary(grouping: entry.reactions, by: \.value).mapValues { $0.map(\.user) }
        if found.mapValues(\.1) != expected || !found.values.allSatisfy({ Int($0.0) == $0.1.count }) {
            return "actions \(found), expected \(expected)"
        }
        // Replies in a deleted range count until their rows are removed.
        let isFormer = reference.isFormer(user)
        let replies = reference.entries.filter {
            $0.thread == entry.id && !$0.isTombstone && (!$0.isGone || stored.contains($0.seq))
                && (!isFormer || $0.seq <= reference.readerHead(user))
        }
        if Int(message.replies?.count ?? 0) != replies.count {
            return "\(String(describing: message.replies)), expected \(replies.count) replies"
        }
        if let last = replies.last, !replies.contains(where: \.isGone), message.replies?.lastReplyAt != last.time {
            return "the last reply is \(String(describing: message.replies)), expected \(last.time)"
        }
        return nil
    }

    private func state(of user: UserID, _ visible: [ReferenceLog.Entry]) throws -> String? {
        let head = try harness.engine.head(of: log, by: caller(user))
        var last = reference.readerHead(user)
        if reference.kind == .community, !reference.isMember(user) {
            // A community membership ends at a time. Deleted messages right above the last position can count as
            // earlier.
            while last < head.state.head, reference.entries[Int(last)].isGone { last += 1 }
        }
        if head.state.head != last || head.state.firstSeq != visible.first?.seq ?? last + 1 {
            return "head \(head.state), expected \(visible.first?.seq ?? last + 1)...\(last)"
        }
        if head.lastMessage?.seq != visible.last?.seq { return "the last message is \(head.lastMessage?.seq ?? 0)" }
        let unread = reference.unread(user)
        if head.unread != unread.count { return "unread \(head.unread), expected \(unread.map(\.seq))" }
        let person = reference.people[user]
        if head.readSeq < person?.read ?? 0 { return "readSeq went back to \(head.readSeq)" }
        let mentions = reference.unreadMentions(user, above: head.readSeq)
        if head.mentions != mentions { return "mentions \(head.mentions), expected \(mentions)" }
        if reference.kind != .room, person?.isMember == true {
            let page = try self.page(HistoryQuery(.around(.firstUnread, before: 0, after: 0)), user)
            if page.seqs != unread.prefix(1).map(\.seq) { return "first unread \(page.seqs)" }
        }
        return nil
    }

    // MARK: Pages

    private func page(_ query: HistoryQuery, _ user: UserID) throws -> LogPage {
        try harness.engine.history(of: log, query, by: caller(user))
    }

    private func history(of user: UserID) throws -> [Message] {
        var messages: [Message] = []
        var anchor: Anchor? = .earliest
        while let next = anchor {
            let page = try self.page(HistoryQuery(next, limit: 100, sort: .oldestFirst), user)
            messages += page.messages
            anchor = page.newer.map { .cursor($0) }
        }
        return messages
    }

    private func randomFilter() -> MessageFilter {
        random.pick([
            .all, .all, .types([.image, .notice]), .hasMedia, .noReplies, .init(excludedTypes: [.text]),
            .customTypes(["a"]),
            .customTypes([nil, "b"]), .senders(["alice", "dave"]), .mentionsMe,
            .thread(reference.entries.randomElement(using: &random)?.thread ?? harness.newID()),
        ])
    }

    private func pages(of user: UserID, _ visible: [ReferenceLog.Entry]) throws -> String? {
        for isNewer in [true, false] {
            let filter = randomFilter()
            let wanted = visible.filter { reference.matches($0, filter, user) }.map(\.seq)
            let found = try walk(
                isNewer ? .earliest : .latest, isNewer, filter, of: user, visible)
            if found != (isNewer ? wanted : wanted.reversed()) {
                return "pages \(isNewer ? "newer" : "older") \(filter): \(found), expected \(wanted)"
            }
        }
        let (a, b) = (Seq(random.below(Int(reference.head) + 2)) + 1, Seq(random.below(Int(reference.head) + 2)) + 1)
        let filter = randomFilter()
        let wanted = visible.filter { $0.seq >= min(a, b) && $0.seq < max(a, b) && reference.matches($0, filter, user) }
            .map(\.seq)
        let between = try walk(.between(.seq(min(a, b)), .seq(max(a, b))), true, filter, of: user, visible)
        if between != wanted {
            return "between \(min(a, b)) and \(max(a, b)) \(filter): \(between), expected \(wanted)"
        }
        let backward = try walk(
            .backward(from: .seq(max(a, b)), downTo: .seq(min(a, b))), false, filter, of: user, visible)
        if backward != wanted.reversed() {
            return "backward from \(max(a, b)) to \(min(a, b)) \(filter): \(backward), expected \(wanted)"
        }
        return nil
    }

    /// Reads pages to the end. Each page must begin where the coverage of the previous page ended.
    private func walk(
        _ start: Anchor, _ isNewer: Bool, _ filter: MessageFilter, of user: UserID, _ visible: [ReferenceLog.Entry]
    ) throws -> [Seq] {
        let shown = Set(visible.map(\.seq))
        var found: [Seq] = []
        var edge: Seq?
        var anchor: Anchor? = start
        var pages = 0
        while let next = anchor {
            let limit = random.pick([1, 2, 5, 100])
            let page = try self.page(
                HistoryQuery(
                    next, limit: limit, sort: isNewer ? .oldestFirst : .newestFirst,
                    filter: pages == 0 ? filter : .all),
                user)
            let (lower, upper) = (page.coverage.lower, page.coverage.upper)
            if let edge, edge != (isNewer ? lower : upper) {
                throw Violation(description: "adjacent pages have a gap: \(start)")
            }
            if lower <= upper {
                let deletedRanges = (lower...upper).filter { !shown.contains($0) }
                if deletedRanges != (lower...upper).filter({ page.coverage.deletedRanges.contains($0) }) {
                    throw Violation(description: "voids \(page.coverage) from \(start), expected \(deletedRanges)")
                }
            }
            edge = isNewer ? upper + 1 : lower - 1
            found += page.seqs
            anchor = (isNewer ? page.newer : page.older).map { .cursor($0) }
            pages += 1
            if pages > reference.entries.count + 3 { throw Violation(description: "pages from \(start) do not end") }
        }
        return found
    }

    // MARK: Single messages

    private func single(_ user: UserID, _ messages: [Message]) throws -> String? {
        for _ in 0..<min(3, reference.entries.count) {
            let entry = random.pick(reference.entries)
            let expected = messages.first { $0.id == entry.id }
            var found: Message?
            do {
                found = try harness.engine.message(entry.id, in: log, by: caller(user))
            } catch let error as ChatError where error.code == .unknownMessage {
                found = nil
            }
            if found != expected { return "message \(entry.seq) by its ID is \(String(describing: found))" }
            let refreshed = try harness.engine.refresh([MessageReference(entry.id, in: log)], by: caller(user))
            if (try? refreshed.first?.result.get()) != expected.flatMap({ $0.isDeleted ? nil : $0 }) {
                return "message \(entry.seq) refreshed is \(refreshed)"
            }
        }
        return nil
    }

    private func counts(of user: UserID, _ visible: [ReferenceLog.Entry]) throws -> String? {
        guard let entry = reference.entries.randomElement(using: &random) else { return nil }
        let time = Timetoken(rawValue: entry.time.rawValue + UInt64(random.below(2)))
        let found = try harness.engine.counts(since: [(log, time)], by: caller(user)).first?.count.get() ?? -1
        let expected = visible.count { $0.time >= time && !$0.isTombstone }
        return found == expected ? nil : "counts \(found) since \(entry.seq), expected \(expected)"
    }

    private func actions(of user: UserID, _ visible: [ReferenceLog.Entry]) throws -> String? {
        func all(_ id: MessageID?) throws -> [ReferenceLog.Reaction] {
            var found: [ReferenceLog.Reaction] = []
            var after: Timetoken?
            repeat {
                let some = try harness.engine.actions(
                    on: id, in: log, after: after, limit: random.pick([1, 3, 100]), by: caller(user))
                found += some.actions.map { .init(user: $0.sender, value: $0.value, time: $0.timetoken) }
                after = some.next
            } while after != nil
            return found
        }
        let expected = visible.flatMap(\.reactions).sorted { $0.time < $1.time }
        if case let found = try all(nil), found != expected { return "actions \(found), expected \(expected)" }
        guard let entry = visible.randomElement(using: &random) else { return nil }
        let found = try all(entry.id)
        return found == entry.reactions ? nil : "actions \(found) on \(entry.seq), expected \(entry.reactions)"
    }
}
