import Scrollback
import ScrollbackModel
import ScrollbackSync
import Testing

/// What the server says comes late, or twice: what a device knows already, or was told to tell, stays.
@Suite("Older answers")
struct OlderAnswersTests {
    private let store: LocalStore
    private let group = ConversationID.group("swift")
    private let epoch = Epoch(rawValue: 7)

    init() throws {
        store = try LocalStore(directory: nil, user: "alice")
    }

    private func apply(_ head: ConversationHead) async throws {
        _ = try await store.write { try $0.apply([.head(head)]) }
    }

    private func entry() async throws -> RecentConversation? {
        try await store.read { [group] in try $0.recent(group) }
    }

    private func read() async throws {
        let hasMore = try await store.write { [group] in try $0.markRead(group, upTo: nil) }
        #expect(hasMore)
    }

    /// What the reads that are to be told name.
    private func named() async throws -> [Int64?] {
        try await store.read { reader in try reader.pendingReads().map(\.userRev) }
    }

    private func head(
        _ seq: Seq, of id: ConversationID? = nil, unread: Int64 = 0, userRev: Int64, isMarked: Bool = false,
        isSet: Bool = false, removedSeq: Seq = 0
    ) -> ConversationHead {
        let state = LogHead(epoch: epoch, view: 0, head: seq, firstSeq: 1, n: seq, rev: 0)
        let last = Message(
            conversation: id ?? group, seq: seq, n: seq, id: MessageID(high: 0x7000, low: UInt64(seq)),
            timetoken: Timetoken(rawValue: UInt64(seq)), epoch: epoch, sender: "bob", type: .text,
            content: .text("hello"), rev: 0)
        let isListed = seq > removedSeq
        return ConversationHead(
            conversation: id ?? group, state: state, unread: unread, readSeq: seq - unread, lastMessage: last,
            isMuted: isSet, isPinned: isSet, isMarkedUnread: isMarked, removedSeq: removedSeq,
            recentTime: isListed ? last.timetoken : nil, userRev: userRev)
    }

    private func summary(_ seq: Seq, userRev: Int64, isMarked: Bool) -> ReadSummary {
        ReadSummary(
            epoch: epoch, readSeq: seq, unread: 0, mentions: 0, isMarkedUnread: isMarked, seq: seq, n: seq, rev: 0,
            userRev: userRev)
    }

    @Test("WuKongIM#494: from before a mark was set or ended, no answer takes it away or brings it back")
    func olderMark() async throws {
        try await apply(head(10, userRev: 5, isMarked: true, isSet: true))
        func shown() async throws -> [Bool] {
            let entry = try #require(try await entry())
            return [entry.isMarkedUnread, entry.isMuted, entry.isPinned]
        }
        #expect(try await shown() == [true, true, true])
        _ = try await store.write { [group, read = summary(10, userRev: 4, isMarked: false)] in
            try $0.apply(read, in: group)
        }
        #expect(try await shown() == [true, true, true])
        try await apply(head(10, userRev: 4))
        #expect(try await shown() == [true, true, true])
        // Ended by a later one, it does not come back with the earlier.
        _ = try await store.write { [group, read = summary(10, userRev: 6, isMarked: false)] in
            try $0.apply(read, in: group)
        }
        #expect(try await shown() == [false, false, false])
        try await apply(head(10, userRev: 5, isMarked: true, isSet: true))
        #expect(try await shown() == [false, false, false])
    }

    @Test("Of what its user left nothing is unread, whatever is heard of it later")
    func left() async throws {
        func said(_ seq: Seq, rev: Int64 = 0, mentions: Mentions? = nil) -> Message {
            Message(
                conversation: group, seq: seq, n: seq, id: MessageID(high: 0x7000, low: UInt64(seq)),
                timetoken: Timetoken(rawValue: UInt64(seq)), epoch: epoch, sender: "bob", type: .text,
                content: .text("hello"), rev: rev, attributes: MessageAttributes(mentions: mentions))
        }
        try await apply(head(1, userRev: 5))
        let live = (2...4).map { LogInput.live(.message(said($0))) }
        _ = try await store.write { try $0.apply(live) }
        #expect(try await entry()?.unread == 3)
        var left = head(4, userRev: 6)
        (left.isMember, left.readSeq) = (false, 1)
        try await apply(left)
        let edited = LogInput.live(.changed(group, epoch, .message(said(3, rev: 1, mentions: .users(["alice"])))))
        _ = try await store.write { try $0.apply([edited]) }
        let entry = try #require(try await entry())
        #expect(entry.unread == 0 && entry.mentions == 0 && entry.lastMessage?.seq == 4)
        // A member again, they count what the server says.
        var again = head(4, unread: 2, userRev: 7)
        again.state.rev = 1
        try await apply(again)
        #expect(try await self.entry()?.unread == 2)
    }

    @Test("WuKongIM#381: from before it was taken out of the list, no head brings a conversation back")
    func olderRemoval() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        let wasThere = try await store.write { [group] in
            try $0.removeRecent(group, marksRead: false, stopsRoaming: false)
        }
        #expect(wasThere)
        // Read by the server before it heard of that, and after.
        try await apply(head(10, unread: 3, userRev: 5))
        #expect(try await entry() == nil)
        try await apply(head(10, unread: 3, userRev: 6, removedSeq: 10))
        for pending in try await store.read({ try $0.pendingStates() }) {
            try await store.write { try $0.settle(pending) }
        }
        try await apply(head(10, unread: 3, userRev: 5))
        #expect(try await entry() == nil)
        let totals = try await store.read { try $0.totals() }
        #expect(totals.unread == 0)
        try await apply(head(11, unread: 4, userRev: 6, removedSeq: 10))
        #expect(try await entry()?.unread == 4)
    }

    @Test("A read names the marks that were known when it was made, however much later it is told")
    func readBeforeMark() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        try await read()
        // Marked on another device after that; the answer that says so comes before the read is told.
        try await apply(head(10, unread: 3, userRev: 6, isMarked: true))
        #expect(try await named() == [5])
        // Read further, where it is known.
        try await apply(head(11, unread: 4, userRev: 6, isMarked: true))
        try await read()
        #expect(try await named() == [6])
    }

    @Test("A read that ends a mark of this device's own ends it, whether or not the server was told of it")
    func readAfterOwnMark() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        let isSet = try await store.write { [group] in try $0.set(.markUnread, in: group) }
        #expect(isSet)
        // Told, and the answer is lost.
        try await read()
        let states = try await store.read { try $0.pendingStates().count }
        #expect(states == 0)
        #expect(try await named() == [nil])
        // Read further before that is told, it ends it still.
        try await apply(head(12, unread: 5, userRev: 5))
        try await read()
        #expect(try await named() == [nil])
    }

    @Test("A read that only ends a mark is told until the server has heard of it, whatever heads come before")
    func readOfAMark() async throws {
        try await apply(head(10, userRev: 5, isMarked: true))
        try await read()
        #expect(try await entry()?.isMarkedUnread == false)
        // A window that was read before.
        try await apply(head(10, userRev: 5, isMarked: true))
        #expect(try await named() == [5])
        #expect(try await entry()?.isMarkedUnread == false)
        // Its answer: it was marked again meanwhile.
        _ = try await store.write { [group, answer = summary(10, userRev: 7, isMarked: true)] in
            try $0.apply(answer, in: group, answers: .read)
        }
        #expect(try await named() == [])
        #expect(try await entry()?.isMarkedUnread == true)
    }

    @Test("What was heard while a mark was told is asked for, where the answer to it is older")
    func heardBeforeItsAnswer() async throws {
        try await apply(head(10, userRev: 5))
        let isSet = try await store.write { [group] in try $0.set(.markUnread, in: group) }
        #expect(isSet)
        let states = try await store.read { try $0.pendingStates() }
        let told = try #require(states.first)
        // Taken, and ended by another device; that is heard before the answer.
        _ = try await store.write { [group, heard = summary(10, userRev: 7, isMarked: false)] in
            try $0.apply(heard, in: group)
        }
        #expect(try await entry()?.isMarkedUnread == true)
        let needsHead = try await store.write { [group, answer = summary(10, userRev: 6, isMarked: true)] in
            try $0.settle(told)
            return try $0.apply(answer, in: group, answers: .state)
        }
        #expect(needsHead)
        try await apply(head(10, userRev: 7))
        #expect(try await entry()?.isMarkedUnread == false)
    }

    @Test("A mark set elsewhere is shown by the head that says that what was read here was read there too")
    func markWithRead() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        try await read()
        try await apply(head(12, userRev: 7, isMarked: true))
        #expect(try await named() == [])
        #expect(try await entry()?.isMarkedUnread == true)
    }

    @Test("That something was taken away in a channel is asked about, also where a read waits to be told")
    func takenAway() async throws {
        let channel = ConversationID.community("city", channel: "open")
        try await apply(head(3, of: channel, unread: 1, userRev: 5))
        let isRead = try await store.write { try $0.markRead(channel, upTo: nil) }
        #expect(isRead)
        let news = LogHead(epoch: epoch, view: 0, head: 3, firstSeq: 1, n: 3, rev: 1)
        for (altersCounts, asks) in [(false, false), (true, true)] {
            var news = news
            news.rev += altersCounts ? 1 : 0
            let outcomes = try await store.write { [news] in
                try $0.apply([.live(.head(channel, news, altersCounts: altersCounts))])
            }
            #expect(outcomes.last?.needsHead == asks)
        }
    }

    @Test("What was said and recalled in one transaction is not brought back by an answer from between the two")
    func saidAndRecalled() async throws {
        try await apply(head(2, userRev: 5))
        let between = head(4, unread: 2, userRev: 5)
        let said = try [3, 4].map { try #require(head($0, userRev: 5).lastMessage) }
        var recalled = said[0]
        recalled.rev = 1
        recalled.attributes.traits.countsUnread = false
        _ = try await store.write { [group, epoch, recalled] in
            try $0.apply(said.map { .live(.message($0)) } + [.live(.changed(group, epoch, .message(recalled)))])
        }
        #expect(try await entry()?.unread == 1)
        try await apply(between)
        #expect(try await entry()?.unread == 1)
        #expect(try await store.read { try $0.uncertainConversations() } == [])
    }

    @Test("What was hidden in a channel before its news is not shown, whichever comes first", arguments: [true, false])
    func hiddenBeforeItsNews(isAnswerFirst: Bool) async throws {
        let channel = ConversationID.community("city", channel: "open")
        try await apply(head(3, of: channel, unread: 1, userRev: 5))
        let said = try #require(head(4, of: channel, userRev: 5).lastMessage)
        let place = LogHead(epoch: epoch, view: 0, head: 4, firstSeq: 1, n: 4, rev: 0)
        let news = LogInput.live(.head(channel, place, last: said, altersCounts: false))
        var answer = head(3, of: channel, unread: 1, userRev: 6)
        answer.state = place
        func asks(_ input: LogInput) async throws -> Bool {
            try await store.write { try $0.apply([input]) }.last?.needsHead ?? false
        }
        // Of what is known to be there nobody need ask.
        #expect(try await !asks(.live(.hidden(channel, epoch, [1...1]))))
        #expect(try await asks(.live(.hidden(channel, epoch, [4...4]))))
        // The news bring something new, or what the answer did not.
        if isAnswerFirst { try await apply(answer) }
        #expect(try await asks(news) == isAnswerFirst)
        if !isAnswerFirst { try await apply(answer) }
        let last = try await store.read { try $0.recent(channel)?.lastMessage?.seq }
        #expect(last == 3)
    }

    @Test("Of a channel where nothing else is left than what the list passes over, no row above that stays")
    func passedOverIsLeft() async throws {
        let channel = ConversationID.community("city", channel: "open")
        try await apply(head(4, of: channel, unread: 1, userRev: 5))
        var answer = head(3, of: channel, unread: 1, userRev: 6)
        answer.state.head = 4
        answer.state.n = 4
        answer.lastMessage?.attributes.traits.updatesRecents = false
        try await apply(answer)
        let last = try await store.read { try $0.recent(channel)?.lastMessage?.seq }
        #expect(last == 3)
    }

    @Test("What came and was hidden in one transaction leaves the server to say when the conversation was active")
    func cameAndWent() async throws {
        // Nothing is shown of it before.
        var empty = head(1, userRev: 5)
        (empty.lastMessage, empty.recentTime) = (nil, nil)
        try await apply(empty)
        let said = try #require(head(2, userRev: 5).lastMessage)
        let outcomes = try await store.write { [group, epoch] in
            try $0.apply([.live(.message(said)), .live(.hidden(group, epoch, [1...2]))])
        }
        #expect(outcomes.last?.needsHead == true)
    }

    @Test("A window from before its last message was hidden puts no entry back")
    func olderThanHidden() async throws {
        try await apply(head(1, userRev: 5))
        try await store.write { [group, epoch] in _ = try $0.apply([.live(.hidden(group, epoch, [1...1]))]) }
        var after = head(1, userRev: 6)
        (after.lastMessage, after.recentTime) = (nil, nil)
        try await apply(after)
        #expect(try await entry() == nil)
        try await apply(head(1, userRev: 5))
        #expect(try await entry() == nil)
    }

    @Test("Who sees a log anew may have read less of it than before")
    func seenAnew() async throws {
        try await apply(head(10, userRev: 5))
        var wider = head(10, unread: 10, userRev: 5)
        wider.state.view = 1
        try await apply(wider)
        #expect(try await entry()?.unread == 10)
        let isOpen = try await store.read { try $0.uncertainConversations() }
        #expect(isOpen == [])
        // What was read here meanwhile stays read.
        try await read()
        wider.state.view = 2
        try await apply(wider)
        #expect(try await entry()?.unread == 0)
        #expect(try await named() == [5])
    }

    @Test("Where an answer to sync says first that a log is seen anew, its head says how far it is read")
    func seenAnewBySync() async throws {
        try await apply(head(10, userRev: 5))
        var wider = head(10, unread: 10, userRev: 5)
        wider.state.view = 1
        let page = LogPage(
            messages: [], coverage: .nothing(above: 10), isFiltered: false, older: nil, newer: nil, state: wider.state)
        let sync = LogSync(page: page, changes: [], changedThrough: 0, mustRefetch: false)
        let known = try await store.read { [group] in try $0.log(of: group)?.position(in: group) }
        let position = try #require(known)
        let outcomes = try await store.write { try $0.apply([.sync(sync, asked: position)]) }
        #expect(outcomes.last?.needsHead == true)
        try await apply(wider)
        #expect(try await entry()?.unread == 10)
        let isOpen = try await store.read { try $0.uncertainConversations() }
        #expect(isOpen == [])
    }

    @Test("What was missed comes by itself but in channels: there the counts are asked for")
    func uncertainChannels() async throws {
        let channel = ConversationID.community("city", channel: "open")
        let said = [channel, group].compactMap { head(11, of: $0, userRev: 5).lastMessage }
        // To a new device nothing is missing.
        try await store.write { try $0.saveCursor("somewhere", endsPass: true) }
        _ = try await store.write { try $0.apply(said.map { .live(.message($0)) }) }
        let isOpen = try await store.read { try $0.uncertainConversations() }
        #expect(isOpen == [channel])
    }

    @Test("What the server says of before a mark that waits to be told is no reading")
    func markThatWaits() async throws {
        try await apply(head(10, userRev: 5))
        _ = try await store.write { [group] in try $0.set(.markUnread, in: group) }
        func isRead(_ userRev: Int64) async throws -> Bool {
            try await store.read { [group, muted = summary(10, userRev: userRev, isMarked: false)] in
                try $0.isRead(by: muted, in: group)
            }
        }
        #expect(try await !isRead(6))
        let pending = try #require(try await store.read { try $0.pendingStates().first })
        try await store.write { try $0.settle(pending) }
        #expect(try await isRead(7))
    }

    @Test("Marked, read and marked again, the answer to the first mark leaves the second to be told")
    func markedAgain() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        func mark() async throws { _ = try await store.write { [group] in try $0.set(.markUnread, in: group) } }
        func pending() async throws -> [PendingState] { try await store.read { try $0.pendingStates() } }
        try await mark()
        let first = try #require(try await pending().first)
        try await read()
        try await mark()
        _ = try await store.write { [group, answer = summary(7, userRev: 6, isMarked: true)] in
            try $0.settle(first)
            return try $0.apply(answer, in: group)
        }
        #expect(try await entry()?.isMarkedUnread == true)
        // The read is told first, and the mark once that is answered.
        #expect(try await pending().count == 0)
        _ = try await store.write { [group, answer = summary(10, userRev: 7, isMarked: false)] in
            try $0.apply(answer, in: group)
        }
        #expect(try await entry()?.isMarkedUnread == true)
        let second = try #require(try await pending().first)
        #expect(second.sort == .mark)
        _ = try await store.write { [group, answer = summary(10, userRev: 8, isMarked: true)] in
            try $0.settle(second)
            return try $0.apply(answer, in: group)
        }
        #expect(try await entry()?.isMarkedUnread == true)
        #expect(try await pending().count == 0)
    }
}
