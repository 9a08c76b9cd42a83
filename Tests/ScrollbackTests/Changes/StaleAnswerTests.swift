import ContractRows
import Scrollback
import ScrollbackModel
import ScrollbackSync
import Testing

/// Tests answers that arrive late or twice. They must not undo what the client knows or still has to send.
@Suite("Stale answers")
struct StaleAnswerTests {
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

    /// The user revisions that the pending reads name.
    private func named() async throws -> [Int64?] {
        try await store.read { reader in try reader.pendingReads().map(\.userRev) }
    }

    private func head(
        _ seq: Seq, of id: ConversationID? = nil, unread: Int64 = 0, userRev: Int64, isMarked: Bool = false,
        isSet: Bool = false, removedSeq: Seq = 0
    ) -> ConversationHead {
        let state = LogHead(epoch: epoch, view: 0, head: seq, firstSeq: 1, countedIndex: seq, rev: 0)
        let last = Message(
            conversation: id ?? group, seq: seq, countedIndex: seq, id: MessageID(high: 0x7000, low: UInt64(seq)),
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
            epoch: epoch, readSeq: seq, unread: 0, mentions: 0, isMarkedUnread: isMarked, seq: seq, countedIndex: seq,
            rev: 0,
            userRev: userRev)
    }

    @Test("A stale answer neither clears nor restores the unread flag (WuKongIM#494)")
    func staleAnswerKeepsTheFlag() async throws {
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
        // A later answer cleared the flag, so an earlier one does not restore it.
        _ = try await store.write { [group, read = summary(10, userRev: 6, isMarked: false)] in
            try $0.apply(read, in: group)
        }
        #expect(try await shown() == [false, false, false])
        try await apply(head(10, userRev: 5, isMarked: true, isSet: true))
        #expect(try await shown() == [false, false, false])
    }

    @Test("A left conversation has no unread messages, even after later events")
    func leftConversationHasNoUnreadMessages() async throws {
        func liveMessage(_ seq: Seq, rev: Int64 = 0, mentions: Mentions? = nil) -> Message {
            Message(
                conversation: group, seq: seq, countedIndex: seq, id: MessageID(high: 0x7000, low: UInt64(seq)),
                timetoken: Timetoken(rawValue: UInt64(seq)), epoch: epoch, sender: "bob", type: .text,
                content: .text("hello"), rev: rev, attributes: MessageAttributes(mentions: mentions))
        }
        try await apply(head(1, userRev: 5))
        let live = (2...4).map { LogInput.live(.message(liveMessage($0))) }
        _ = try await store.write { try $0.apply(live) }
        #expect(try await entry()?.unread == 3)
        var left = head(4, userRev: 6)
        (left.isMember, left.readSeq) = (false, 1)
        try await apply(left)
        let edited = LogInput.live(
            .changed(group, epoch, .message(liveMessage(3, rev: 1, mentions: .users(["alice"])))))
        _ = try await store.write { try $0.apply([edited]) }
        let entry = try #require(try await entry())
        #expect(entry.unread == 0 && entry.mentions == 0 && entry.lastMessage?.seq == 4)
        // After rejoining, the server's count applies.
        var again = head(4, unread: 2, userRev: 7)
        again.state.rev = 1
        try await apply(again)
        #expect(try await self.entry()?.unread == 2)
    }

    @Test("A stale head does not restore a removed entry (WuKongIM#381)")
    func staleHeadKeepsTheRemoval() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        let wasThere = try await store.write { [group] in
            try $0.removeRecent(group, marksRead: false, excludesFromNewDevices: false)
        }
        #expect(wasThere)
        // One head was read before the server received the removal, and the other one after it.
        try await apply(head(10, unread: 3, userRev: 5))
        #expect(try await entry() == nil)
        try await apply(head(10, unread: 3, userRev: 6, removedSeq: 10))
        for pending in try await store.read({ try $0.pendingSettings() }) {
            try await store.write { try $0.removePending(pending) }
        }
        try await apply(head(10, unread: 3, userRev: 5))
        #expect(try await entry() == nil)
        let totals = try await store.read { try $0.totals() }
        #expect(totals.unread == 0)
        try await apply(head(11, unread: 4, userRev: 6, removedSeq: 10))
        #expect(try await entry()?.unread == 4)
    }

    @Test("A read names the user revision that was known when it was made, even if it is sent later")
    func readNamesItsUserRevision() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        try await read()
        // Another client then sets the unread flag. The answer with the flag arrives before the read is sent.
        try await apply(head(10, unread: 3, userRev: 6, isMarked: true))
        #expect(try await named() == [5])
        // The second read goes further and knows the flag.
        try await apply(head(11, unread: 4, userRev: 6, isMarked: true))
        try await read()
        #expect(try await named() == [6])
    }

    @Test("A read after marking as unread on the same client clears the flag, acknowledged or not")
    func readAfterOwnFlagClearsIt() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        let isSet = try await store.write { [group] in try $0.set(.markUnread, in: group) }
        #expect(isSet)
        // The flag was sent, but its answer is lost.
        try await read()
        let states = try await store.read { try $0.pendingSettings().count }
        #expect(states == 0)
        #expect(try await named() == [nil])
        // A further read before the first one is sent still clears the flag.
        try await apply(head(12, unread: 5, userRev: 5))
        try await read()
        #expect(try await named() == [nil])
    }

    @Test("A read that only clears the unread flag is sent until the server acknowledges it")
    func flagClearingReadIsSent() async throws {
        try await apply(head(10, userRev: 5, isMarked: true))
        try await read()
        #expect(try await entry()?.isMarkedUnread == false)
        // This window was read before.
        try await apply(head(10, userRev: 5, isMarked: true))
        #expect(try await named() == [5])
        #expect(try await entry()?.isMarkedUnread == false)
        // The answer to the read says that the flag was set again in between.
        _ = try await store.write { [group, answer = summary(10, userRev: 7, isMarked: true)] in
            try $0.apply(answer, in: group, answers: .read)
        }
        #expect(try await named() == [])
        #expect(try await entry()?.isMarkedUnread == true)
    }

    @Test("A refused read is deleted unless the user has read more since, or the log is a new one")
    func refusedReadIsDeleted() async throws {
        try await apply(head(3, unread: 3, userRev: 5))
        func refuse(_ seq: Seq, in epoch: Epoch) async throws -> [Seq] {
            let mark = DeliveryMark(conversation: group, position: EpochPosition(seq: seq, epoch: epoch))
            try await store.write { try $0.dropPendingRead(mark) }
            return try await store.read { try $0.pendingReads() }.map(\.position.seq)
        }
        _ = try await store.write { [group] in try $0.markRead(group, upTo: 2) }
        #expect(try await refuse(1, in: epoch) == [2])
        #expect(try await refuse(2, in: Epoch(rawValue: 8)) == [2])
        #expect(try await refuse(2, in: epoch) == [])
        // The server's counts apply again.
        try await apply(head(3, unread: 3, userRev: 5))
        #expect(try await entry()?.unread == 3)
    }

    @Test("A client requests the head when its acknowledgement is older than a change it already received")
    func staleAcknowledgementRequestsTheHead() async throws {
        try await apply(head(10, userRev: 5))
        let isSet = try await store.write { [group] in try $0.set(.markUnread, in: group) }
        #expect(isSet)
        let states = try await store.read { try $0.pendingSettings() }
        let pendingState = try #require(states.first)
        // The server accepted the flag, and another client cleared it. This change arrives before the answer.
        _ = try await store.write { [group, heard = summary(10, userRev: 7, isMarked: false)] in
            try $0.apply(heard, in: group)
        }
        #expect(try await entry()?.isMarkedUnread == true)
        let needsHead = try await store.write { [group, answer = summary(10, userRev: 6, isMarked: true)] in
            try $0.removePending(pendingState)
            return try $0.apply(answer, in: group, answers: .state)
        }
        #expect(needsHead)
        try await apply(head(10, userRev: 7))
        #expect(try await entry()?.isMarkedUnread == false)
    }

    @Test("A head that confirms a local read also applies an unread flag from another client")
    func headConfirmsReadAndAppliesFlag() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        try await read()
        try await apply(head(12, userRev: 7, isMarked: true))
        #expect(try await named() == [])
        #expect(try await entry()?.isMarkedUnread == true)
    }

    @Test("A removal in a channel makes the client request the head, even while a read is pending")
    func removalInAChannelRequestsTheHead() async throws {
        let channel = ConversationID.community("city", channel: "open")
        try await apply(head(3, of: channel, unread: 1, userRev: 5))
        let isRead = try await store.write { try $0.markRead(channel, upTo: nil) }
        #expect(isRead)
        let news = LogHead(epoch: epoch, view: 0, head: 3, firstSeq: 1, countedIndex: 3, rev: 1)
        for (altersCounts, asks) in [(false, false), (true, true)] {
            var news = news
            news.rev += altersCounts ? 1 : 0
            let outcomes = try await store.write { [news] in
                try $0.apply([.live(.head(channel, news, altersCounts: altersCounts))])
            }
            #expect(outcomes.last?.needsHead == asks)
        }
    }

    @Test("An answer from between a message and its recall in one transaction does not restore its count")
    func answerBetweenMessageAndRecall() async throws {
        try await apply(head(2, userRev: 5))
        let between = head(4, unread: 2, userRev: 5)
        let lastMessages = try [3, 4].map { try #require(head($0, userRev: 5).lastMessage) }
        var recalled = lastMessages[0]
        recalled.rev = 1
        recalled.attributes.traits.countsUnread = false
        _ = try await store.write { [group, epoch, recalled] in
            try $0.apply(lastMessages.map { .live(.message($0)) } + [.live(.changed(group, epoch, .message(recalled)))])
        }
        #expect(try await entry()?.unread == 1)
        try await apply(between)
        #expect(try await entry()?.unread == 1)
        #expect(try await store.read { try $0.uncertainConversations() } == [])
    }

    @Test("A recalled reply lowers the count if only heads announce the recall and the new reply count", .history(27))
    func headsOfRecallAndReplyCountInOneTransaction() async throws {
        // The server announces changes at or below a hidden message by heads, because the user may not see them.
        try await apply(head(3, unread: 3, userRev: 5))
        let rows = try ([1, 2, 3] as [Seq]).map { try #require(head($0, userRev: 5).lastMessage) }
        _ = try await store.write { try $0.apply(rows.map { .live(.message($0)) }) }
        let heads = ([(1, true), (2, false)] as [(Int64, Bool)]).map { rev, altersCounts in
            let head = LogHead(epoch: epoch, view: 0, head: 3, firstSeq: 1, countedIndex: 3, rev: rev)
            return LogInput.live(.head(group, head, altersCounts: altersCounts))
        }
        let outcomes = try await store.write { try $0.apply(heads) }
        let asked = try #require(outcomes.last?.behind)
        var (recalled, root) = (rows[1], rows[0])
        recalled.attributes.traits.countsUnread = false
        (recalled.rev, root.rev) = (1, 2)
        let page = LogPage(
            messages: [], coverage: .empty(above: 3), isFiltered: false, older: nil, newer: nil,
            state: LogHead(epoch: epoch, view: 0, head: 3, firstSeq: 1, countedIndex: 3, rev: 2))
        let sync = LogSync(
            page: page, changes: [.message(recalled), .message(root)], changedThrough: 2, mustRefetch: false)
        _ = try await store.write { try $0.apply([.sync(sync, asked: asked)]) }
        #expect(try await entry()?.unread == 2)
        #expect(try await store.read { try $0.uncertainConversations() } == [])
    }

    @Test(
        "A message that is hidden before its channel head event is not shown, in either order of arrival",
        arguments: [true, false])
    func messageHiddenBeforeHeadEvent(isAnswerFirst: Bool) async throws {
        let channel = ConversationID.community("city", channel: "open")
        try await apply(head(3, of: channel, unread: 1, userRev: 5))
        let lastMessage = try #require(head(4, of: channel, userRev: 5).lastMessage)
        let place = LogHead(epoch: epoch, view: 0, head: 4, firstSeq: 1, countedIndex: 4, rev: 0)
        let news = LogInput.live(.head(channel, place, last: lastMessage, altersCounts: false))
        var answer = head(3, of: channel, unread: 1, userRev: 6)
        answer.state = place
        func outcome(of input: LogInput) async throws -> LogOutcome? {
            try await store.write { try $0.apply([input]) }.last
        }
        // A known message causes no request.
        #expect(try await outcome(of: .live(.hidden(channel, epoch, [1...1])))?.missesHiddenMessages == false)
        #expect(try await outcome(of: .live(.hidden(channel, epoch, [4...4])))?.missesHiddenMessages == true)
        // The event is new if the answer arrived first, and otherwise the answer is.
        if isAnswerFirst { try await apply(answer) }
        #expect(try await outcome(of: news)?.needsHead == isAnswerFirst)
        if !isAnswerFirst { try await apply(answer) }
        let last = try await store.read { try $0.recent(channel)?.lastMessage?.seq }
        #expect(last == 3)
    }

    @Test("A channel whose only other messages do not update recents shows none of its hidden rows")
    func hiddenRowsOfAChannelAreNotShown() async throws {
        let channel = ConversationID.community("city", channel: "open")
        try await apply(head(4, of: channel, unread: 1, userRev: 5))
        var answer = head(3, of: channel, unread: 1, userRev: 6)
        answer.state.head = 4
        answer.state.countedIndex = 4
        answer.lastMessage?.attributes.traits.updatesRecents = false
        try await apply(answer)
        let last = try await store.read { try $0.recent(channel)?.lastMessage?.seq }
        #expect(last == 3)
    }

    @Test("A message that is hidden in the transaction that stored it makes the client request the head")
    func messageHiddenInItsTransaction() async throws {
        // The conversation showed no message before.
        var empty = head(1, userRev: 5)
        (empty.lastMessage, empty.recentTime) = (nil, nil)
        try await apply(empty)
        let lastMessage = try #require(head(2, userRev: 5).lastMessage)
        let outcomes = try await store.write { [group, epoch] in
            try $0.apply([.live(.message(lastMessage)), .live(.hidden(group, epoch, [1...2]))])
        }
        #expect(outcomes.last?.needsHead == true)
    }

    @Test("A window from before the last message was hidden does not restore the entry")
    func windowFromBeforeHideKeepsEntryHidden() async throws {
        try await apply(head(1, userRev: 5))
        try await store.write { [group, epoch] in _ = try $0.apply([.live(.hidden(group, epoch, [1...1]))]) }
        var after = head(1, userRev: 6)
        (after.lastMessage, after.recentTime) = (nil, nil)
        try await apply(after)
        #expect(try await entry() == nil)
        try await apply(head(1, userRev: 5))
        #expect(try await entry() == nil)
    }

    @Test("A client whose view of a log changes accepts a lower read marker from the server")
    func changedViewAcceptsLowerReadMarker() async throws {
        try await apply(head(10, userRev: 5))
        var wider = head(10, unread: 10, userRev: 5)
        wider.state.view = 1
        try await apply(wider)
        #expect(try await entry()?.unread == 10)
        let isOpen = try await store.read { try $0.uncertainConversations() }
        #expect(isOpen == [])
        // A read by this client is kept.
        try await read()
        wider.state.view = 2
        try await apply(wider)
        #expect(try await entry()?.unread == 0)
        #expect(try await named() == [5])
    }

    @Test("A sync answer with a new view makes the client request the head and take its read marker")
    func changedViewInSyncAnswerRequestsTheHead() async throws {
        try await apply(head(10, userRev: 5))
        var wider = head(10, unread: 10, userRev: 5)
        wider.state.view = 1
        let page = LogPage(
            messages: [], coverage: .empty(above: 10), isFiltered: false, older: nil, newer: nil, state: wider.state)
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

    @Test("After the initial sync, only channels need their counts confirmed when messages arrive")
    func onlyChannelsNeedConfirmation() async throws {
        let channel = ConversationID.community("city", channel: "open")
        let lastMessages = [channel, group].compactMap { head(11, of: $0, userRev: 5).lastMessage }
        // A new client misses nothing.
        try await store.write { try $0.saveCursor("somewhere", isLastWindow: true) }
        _ = try await store.write { try $0.apply(lastMessages.map { .live(.message($0)) }) }
        let isOpen = try await store.read { try $0.uncertainConversations() }
        #expect(isOpen == [channel])
    }

    @Test("A summary from before a pending unread flag does not count as a read")
    func summaryFromBeforeAPendingFlag() async throws {
        try await apply(head(10, userRev: 5))
        _ = try await store.write { [group] in try $0.set(.markUnread, in: group) }
        func isRead(_ userRev: Int64) async throws -> Bool {
            try await store.read { [group, muted = summary(10, userRev: userRev, isMarked: false)] in
                try $0.isRead(by: muted, in: group)
            }
        }
        #expect(try await !isRead(6))
        let pending = try #require(try await store.read { try $0.pendingSettings().first })
        try await store.write { try $0.removePending(pending) }
        #expect(try await isRead(7))
    }

    @Test("The answer to the first of two unread flags leaves the second one pending")
    func secondFlagStaysPending() async throws {
        try await apply(head(10, unread: 3, userRev: 5))
        func mark() async throws { _ = try await store.write { [group] in try $0.set(.markUnread, in: group) } }
        func pending() async throws -> [PendingSetting] { try await store.read { try $0.pendingSettings() } }
        try await mark()
        let first = try #require(try await pending().first)
        try await read()
        try await mark()
        _ = try await store.write { [group, answer = summary(7, userRev: 6, isMarked: true)] in
            try $0.removePending(first)
            return try $0.apply(answer, in: group)
        }
        #expect(try await entry()?.isMarkedUnread == true)
        // The client sends the read first, and the flag after the answer to it.
        #expect(try await pending().count == 0)
        _ = try await store.write { [group, answer = summary(10, userRev: 7, isMarked: false)] in
            try $0.apply(answer, in: group)
        }
        #expect(try await entry()?.isMarkedUnread == true)
        let second = try #require(try await pending().first)
        #expect(second.kind == .mark)
        _ = try await store.write { [group, answer = summary(10, userRev: 8, isMarked: true)] in
            try $0.removePending(second)
            return try $0.apply(answer, in: group)
        }
        #expect(try await entry()?.isMarkedUnread == true)
        #expect(try await pending().count == 0)
    }
}
