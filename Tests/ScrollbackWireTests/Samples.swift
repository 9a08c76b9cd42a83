import Foundation
import ScrollbackModel
import ScrollbackWire

/// Values with every member set, and their bytes on the wire.
enum Sample {
    static let id = MessageID(high: 0x0198_f3c2_7c1e_7000, low: 0x8000_0123_4567_89ab)
    static let otherID = MessageID(high: 0x0198_f3c2_7c1e_7001, low: 0x8000_0123_4567_89ab)
    static let epoch = Epoch(rawValue: .max)
    static let time = Timetoken(rawValue: 17_952_552_001_230_007)
    static let examplePoll = MessageType(rawValue: "com.example.poll")

    static let attributes = MessageAttributes(
        mentions: .everyone(also: ["bob", "مرحبا😀"], pushText: "look \"here\""),
        metadata: RawJSON(known: #"{ "a" : 1.50, "b":[ ] }"#), extra: RawJSON(known: #"["\u0041",null]"#),
        customType: "poll,of the day", push: RawJSON(known: #"{"title":"x"}"#), replyTo: otherID,
        traits: MessageTraits(isStored: true, countsUnread: false, notifies: false, updatesRecents: false))

    static let message = Message(
        conversation: .group("swift"), seq: 12, countedIndex: 11, id: id, timetoken: time, epoch: epoch,
        sender: "alice",
        type: .text, content: .text("hi"))

    static let fullMessage = Message(
        conversation: .community("a/b", channel: "c:d%"), seq: 1 << 52, countedIndex: 0, id: id, timetoken: time,
        epoch: epoch,
        sender: "مرحبا😀", type: examplePoll,
        content: MessageContent(known: examplePoll, json: RawJSON(known: #"{ "q":"?" , "n":1e2}"#)),
        rev: 7, attributes: attributes, editedAt: Date(timeIntervalSince1970: 1_795_255_260.5))

    static let operation = MessageID(high: 0x0198_F3C2_7C1E_7000, low: 0x8000_0123_4567_89AC)
    static let annotatedMessage = Message(
        conversation: .group("swift"), seq: 12, countedIndex: 11, id: id, timetoken: time, epoch: epoch,
        sender: "alice",
        type: .text, content: .text("hi"), rev: 9, thread: operation,
        replies: ReplySummary(count: 3, lastReplyAt: time),
        actions: [ActionSummary(type: "reaction", value: "👍🏽", count: 2, senders: ["bob", "غرفة"])])
    static let deletedMessage = Message(
        conversation: .direct("bob"), seq: 3, countedIndex: 2, id: id, timetoken: time, epoch: epoch, sender: "alice",
        type: .text,
        content: nil, rev: 9)

    static let transient = TransientMessage(
        conversation: .direct("bob"), id: id, timetoken: time, sender: "alice",
        content: MessageContent(known: .command, json: RawJSON(known: #"{"name":"typing"}"#)),
        attributes: .init(traits: MessageTraits(isStored: false)))

    static let submission = Submission(id: id, content: .text("hi \u{1} \u{2028}"), attributes: attributes)

    static let state = LogHead(epoch: epoch, view: 2, head: 120, firstSeq: 51, countedIndex: 99, rev: 7)

    static let page = LogPage(
        messages: [message, fullMessage],
        coverage: Coverage(lower: 51, upper: 120, deletedRanges: SeqRangeSet([81...119, 55...55])),
        isFiltered: false, older: HistoryCursor(rawValue: "b2xkZXI"), newer: HistoryCursor(rawValue: "bmV3ZXI"),
        state: state)

    static let filteredPage = LogPage(
        messages: [], coverage: .empty(above: 120), isFiltered: true, older: nil, newer: nil, state: state)

    static let frozenHead = ConversationHead(
        conversation: .group("swift"), state: state, isFrozen: true,
        mute: .until(Date(timeIntervalSince1970: 1_795_255_260.5)))
    static let highMessage = Message(
        conversation: .room("lobby"), seq: 12, countedIndex: 0, id: id, timetoken: time, epoch: epoch, sender: "alice",
        type: .text,
        content: .text("hi"), attributes: .init(priority: .high))

    static let head = ConversationHead(
        conversation: .direct("bob"), name: "Bob", avatar: "https://example.com/b.png", state: state, unread: 3,
        mentions: 1, readSeq: 9, lastMessage: message, isMuted: true, isPinned: true, isMarkedUnread: true,
        isMember: false, userRev: 14)

    static let summary = ReadSummary(
        epoch: epoch, readSeq: 9, unread: 3, mentions: 1, isMarkedUnread: true, seq: 12, countedIndex: 11, rev: 4,
        userRev: 14)

    static let fullSummary = ReadSummary(
        epoch: epoch, readSeq: 9, unread: 0, mentions: 0, isMarkedUnread: false, isMuted: true, isPinned: true,
        removedSeq: 12, seq: 12, countedIndex: 11, rev: 4, userRev: 15)

    static let firstWindow: HeadWindow = {
        var head = ConversationHead(
            conversation: .group("swift"), state: state, removedSeq: 3, newDeviceFloor: 2, recentTime: time,
            lastCommit: 77,
            userRev: 2)
        head.isPinned = true
        var window = HeadWindow(heads: [head], cursor: "k.1.2.1.5.z", isDone: false)
        var totals = UnreadTotals()
        totals.add(3, mentions: 1, kind: .direct, isMuted: false)
        totals.add(4, mentions: 0, kind: .group, isMuted: true)
        window.totals = totals
        return window
    }()

    static let profile = UserProfile(
        id: "alice", name: "Alice", avatar: "https://example.com/a.png", metadata: RawJSON(known: #"{"x": 1}"#))

    static let ban = Ban(
        id: "mallory", until: Date(timeIntervalSince1970: 1_795_258_800.5), reason: "spam", by: "root",
        at: Date(timeIntervalSince1970: 1_795_255_200))
    /// The error that a banned user gets.
    static let banned: ChatError = {
        var error = ChatError(.banned, "you are banned from group:swift", retryAfter: 60)
        error.until = ban.until
        error.reason = ban.reason
        return error
    }()
    static let problem = ChatError(
        .rateLimited, "more than 20 messages a second", parameter: "limit", limit: 20, retryAfter: 0.25)

    static let positions = [
        LogPosition(conversation: .direct("bob"), epoch: epoch, view: 3, seq: 0, rev: 2),
        LogPosition(
            conversation: .community("city", channel: "general"), epoch: Epoch(rawValue: 1), view: 0, seq: 5, rev: 0),
    ]

    static let filter = MessageFilter(
        types: [.text, examplePoll], excludedTypes: [.notice], customTypes: [nil, "a,b"], senders: ["alice", "b,c"],
        mentionsMe: true)

    static let logSync = LogSync(
        page: page,
        changes: [.message(deletedMessage), .removed(5...9, rev: 10), .invisible(rev: 11)], changedThrough: 11,
        mustRefetch: true)
}

/// A value and the golden file with its bytes.
struct Golden: CustomStringConvertible, Sendable {
    let name: String
    let bytes: [UInt8]
    /// Decodes the bytes and encodes the result.
    let recode: @Sendable ([UInt8]) throws -> [UInt8]

    var description: String { name }

    init(_ name: String, _ bytes: [UInt8], _ recode: @escaping @Sendable ([UInt8]) throws -> [UInt8]) {
        self.name = name
        self.bytes = bytes
        self.recode = recode
    }

    static func hello(_ name: String, _ hello: HelloFrame) -> Golden {
        Golden("client-\(name)", hello.encoded()) { try HelloFrame($0, limits: .standard).encoded() }
    }

    static func operation<Request: ClientOperation>(_ name: String, _ operation: Request) -> Golden {
        Golden("client-\(name)", operation.frame(ref: 7)) { bytes in
            let frame = try RequestFrame(bytes)
            var reader = RequestReader(frame: frame.members, limits: .standard)
            return try Request(from: &reader).frame(ref: frame.ref.required("ref"))
        }
    }

    static func event(_ name: String, _ event: ServerEvent) -> Golden {
        Golden("event-\(name)", event.encoded()) { bytes in
            guard case .event(let event) = try ServerFrame.decode(bytes) else { throw Unexpected() }
            return event.encoded()
        }
    }

    private static func error(_ name: String, _ ref: Int64?, _ error: ChatError) -> Golden {
        Golden("server-\(name)", ServerFrame.encodeError(ref: ref, error)) { bytes in
            guard case .error(let ref, let error) = try ServerFrame.decode(bytes) else { throw Unexpected() }
            return ServerFrame.encodeError(ref: ref, error)
        }
    }

    /// Returns the golden file of an answer to a request. The members of the answer are the members of the value.
    static func result<Value>(
        _ name: String, _ value: Value, _ write: @escaping @Sendable (inout JSONWriter, Value) -> Void,
        _ read: @escaping @Sendable (inout JSONReader) throws(ChatError) -> Value
    ) -> Golden {
        Golden("result-\(name)", ServerFrame.encodeResult(ref: 7) { write(&$0, value) }) { bytes in
            guard case .result(let ref, let body) = try ServerFrame.decode(bytes) else { throw Unexpected() }
            var reader = try JSONReader(body)
            let value = try read(&reader)
            try reader.end()
            return ServerFrame.encodeResult(ref: ref) { write(&$0, value) }
        }
    }

    static func value<Value>(
        _ name: String, _ value: Value, _ write: @escaping @Sendable (inout JSONWriter, Value) -> Void,
        _ read: @escaping @Sendable (inout JSONReader) throws(ChatError) -> Value
    ) -> Golden {
        @Sendable func encoded(_ value: Value) -> [UInt8] {
            var writer = JSONWriter()
            write(&writer, value)
            return writer.bytes
        }
        return Golden(name, encoded(value)) { bytes in
            var reader = try JSONReader(bytes)
            let value = try read(&reader)
            try reader.end()
            return encoded(value)
        }
    }

    struct Unexpected: Error {}

    static let all: [Golden] = clientFrames + serverFrames + events + values + people + push

    static let clientFrames: [Golden] = [
        hello("hello", HelloFrame(token: "a.b.c", device: "phone")),
        hello("hello-checkpoint", HelloFrame(token: "a.b.c", device: "phone", checkpoint: "l.1284.t")),
        operation(
            "send",
            SendMessage(conversation: .group("swift"), submission: Submission(id: Sample.id, content: .text("hi")))),
        operation(
            "send-full",
            SendMessage(conversation: .community("city", channel: "general"), submission: Sample.submission)),
        operation("history", GetHistory(conversation: .group("swift"), query: HistoryQuery())),
        operation(
            "history-before",
            GetHistory(
                conversation: .group("swift"), query: HistoryQuery(.before(.seq(10)), limit: 100, sort: .oldestFirst))
        ),
        operation(
            "history-after",
            GetHistory(conversation: .group("swift"), query: HistoryQuery(.after(.timetoken(Sample.time)), limit: 0))),
        operation(
            "history-around",
            GetHistory(conversation: .group("swift"), query: HistoryQuery(.around(.id(Sample.id), before: 3, after: 0)))
        ),
        operation(
            "history-between",
            GetHistory(conversation: .group("swift"), query: HistoryQuery(.between(.date(Sample.time.date), .latest)))),
        operation(
            "history-filtered",
            GetHistory(conversation: .group("swift"), query: HistoryQuery(.after(.earliest), filter: Sample.filter))),
        operation(
            "history-cursor",
            GetHistory(
                conversation: .group("swift"), query: HistoryQuery(.cursor(.init(rawValue: "b2xkZXI")), limit: 50))),
        operation("read", MarkRead(conversation: .direct("bob"), seq: 9, epoch: Sample.epoch)),
        operation("read-knowing", MarkRead(conversation: .direct("bob"), seq: 9, epoch: Sample.epoch, userRev: 7)),
        operation("markUnread", MarkUnread(conversation: .direct("bob"))),
        operation(
            "settings", SetOwnSettings(conversation: .direct("bob"), isMuted: true, isPinned: false)),
        operation("settings-pinned", SetOwnSettings(conversation: .direct("bob"), isPinned: true)),
        operation(
            "removeRecent",
            RemoveRecent(
                conversation: .direct("bob"), at: EpochPosition(seq: 9, epoch: Sample.epoch),
                excludesFromNewDevices: true)),
        operation("removeRecent-now", RemoveRecent(conversation: .direct("bob"))),
        operation("addRecent", AddRecent(conversation: .direct("bob"))),
        operation(
            "stopRoaming",
            ExcludeFromNewDevices(conversation: .direct("bob"), at: EpochPosition(seq: 9, epoch: Sample.epoch))),
        operation(
            "readMany",
            MarkSeveralRead([
                ReadMark(
                    conversation: .direct("bob"), position: EpochPosition(seq: 9, epoch: Sample.epoch), userRev: 7),
                ReadMark(conversation: .group("swift"), position: EpochPosition(seq: 0, epoch: Sample.epoch)),
            ])),
        operation(
            "delivered",
            ReportDelivered([
                DeliveryMark(conversation: .direct("bob"), position: EpochPosition(seq: 9, epoch: Sample.epoch)),
                DeliveryMark(conversation: .group("swift"), position: EpochPosition(seq: 0, epoch: Sample.epoch)),
            ])),
        operation("heads", GetHeads([.direct("bob"), .group("swift")])),
        operation(
            "history-backward",
            GetHistory(
                conversation: .group("swift"),
                query: HistoryQuery(.backward(from: .latest, downTo: .seq(4)), filter: .hasMedia))),
        operation(
            "history-thread", GetHistory(conversation: .group("swift"), query: HistoryQuery(filter: .thread(Sample.id)))
        ),
        operation(
            "edit",
            EditMessage(
                conversation: .group("swift"), id: Sample.id,
                edit: MessageEdit(
                    .text("hi there"), mentions: .set(.users(["bob"])), metadata: .remove, customType: .set("later")),
                operation: Sample.operation)),
        operation("delete", DeleteMessages(conversation: .group("swift"), ids: [Sample.id])),
        operation(
            "delete-for-me",
            DeleteMessages(conversation: .direct("bob"), ids: [Sample.id, Sample.operation], audience: .me)),
        operation(
            "action",
            AddAction(
                conversation: .group("swift"), id: Sample.id, action: ActionContent(type: "reaction", value: "👍🏽"),
                operation: Sample.operation)),
        operation(
            "removeAction",
            RemoveAction(
                conversation: .group("swift"), id: Sample.id, action: .at(Sample.time), operation: Sample.operation)),
        operation("actions", ListActions(conversation: .group("swift"), id: Sample.id, after: Sample.time, limit: 50)),
        operation("actions-all", ListActions(conversation: .group("swift"))),
        operation("clear", ClearConversation(conversation: .direct("bob"), seq: 9, epoch: Sample.epoch)),
        operation(
            "fetch",
            FetchHistory(query: FetchQuery([(.group("swift"), nil), (.direct("bob"), nil)], anchor: .before(.seq(9))))),
        operation(
            "fetch-on",
            FetchHistory(
                query: FetchQuery(
                    [(.group("swift"), HistoryCursor(rawValue: "b2xkZXI"))], limit: 10, sort: .newestFirst,
                    includesActions: true))),
        operation(
            "deleteHistory",
            DeleteHistory(
                conversation: .group("swift"), range: DeleteRange(from: .seq(3), to: .timetoken(Sample.time)),
                operation: Sample.operation)),
        operation(
            "deleteHistory-all",
            DeleteHistory(conversation: .group("swift"), range: .all, operation: Sample.operation)),
        operation(
            "history-actions",
            GetHistory(conversation: .group("swift"), query: HistoryQuery(.latest, includesActions: true))),
        operation("counts", CountMessages(since: [(.group("swift"), Sample.time)])),
        operation("refresh", RefreshMessages(messages: [MessageReference(Sample.id, in: .direct("bob"))])),
        operation("search", SearchMessages(query: SearchQuery("tide \"東京\" 👍🏽"))),
        operation(
            "search-on",
            SearchMessages(
                query: SearchQuery(
                    "tide", in: .direct("bob"), sort: .bestFirst, limit: 100,
                    after: SearchCursor(rawValue: "1z.0.k")))),
        operation("sync", SyncConversations.window(cursor: nil, limit: 50)),
        operation("sync-on", SyncConversations.window(cursor: "k.1.2", limit: 100)),
        operation("sync-logs", SyncConversations.logs(Sample.positions)),
        operation("subscribe", Subscribe([.room("lobby"), .community("city", channel: "general")])),
        operation("unsubscribe", Unsubscribe([.room("lobby")])),
        operation("typing", SignalTyping(conversation: .direct("bob"), isTyping: true)),
        operation("block", BlockUser(user: "mallory")),
        operation("unblock", UnblockUser(user: "mallory")),
        operation("blocks", ListBlockedUsers(page: Paging())),
        operation("blocks-on", ListBlockedUsers(page: Paging(limit: 100, cursor: "mallory"))),
        operation(
            "ban",
            BanUser(conversation: .group("swift"), user: "mallory", until: Sample.ban.until, reason: "spam 坏话")),
        operation("ban-forever", BanUser(conversation: .room("lobby"), user: "mallory")),
        operation("unban", UnbanUser(conversation: .group("swift"), user: "mallory")),
        operation("bans", ListBans(conversation: .group("swift"), page: Paging())),
        operation("bans-on", ListBans(conversation: .group("swift"), page: Paging(limit: 100, cursor: "mallory"))),
        operation("report", ReportMessage(conversation: .group("swift"), id: Sample.id, reason: .spam)),
        operation(
            "report-text",
            ReportMessage(
                conversation: .direct("bob"), id: Sample.id, reason: .init(rawValue: "app:x"), text: "look \"here\"")),
        operation(
            "send-low",
            SendMessage(
                conversation: .room("lobby"),
                submission: Submission(id: Sample.id, content: .text("hi"), attributes: .init(priority: .low)))),
        operation("users", FetchUsers(users: ["alice", "bob"])),
        operation("activity", SetActivity(isActive: false)),
        operation("token", RenewToken(token: "a.b.c")),
        operation("ping", Ping()),
    ]

    static let serverFrames: [Golden] = [
        Golden("server-welcome", ServerFrame.encodeWelcome(.init(user: "alice", heartbeat: 30, limits: .standard))) {
            bytes in
            guard case .welcome(let welcome) = try ServerFrame.decode(bytes) else { throw Unexpected() }
            return ServerFrame.encodeWelcome(welcome)
        },
        Golden("server-moving", ServerFrame.encodeMoving(within: 5_000)) { bytes in
            guard case .moving(let within) = try ServerFrame.decode(bytes) else { throw Unexpected() }
            return ServerFrame.encodeMoving(within: within)
        },
        error("error", 7, Sample.problem),
        error("error-banned", 8, Sample.banned),
        error("error-without-ref", nil, ChatError(.malformed, "not JSON: expected a value at byte 0")),
        result(
            "send",
            SendResult(
                outcome: .committed, id: Sample.id, timetoken: Sample.time,
                position: .init(seq: 12, countedIndex: 11, epoch: Sample.epoch)),
            { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try SendResult(from: &r) }),
        result(
            "send-delivered", SendResult(outcome: .delivered, id: Sample.id, timetoken: Sample.time, position: nil),
            { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try SendResult(from: &r) }),
        result(
            "send-replaced",
            SendResult(
                outcome: .committed, id: Sample.id, timetoken: Sample.time,
                position: .init(seq: 12, countedIndex: 11, epoch: Sample.epoch),
                content: RawJSON(known: #"{"text":"a ****"}"#)),
            { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try SendResult(from: &r) }),
        result(
            "blocks", ListPage<UserID>(["mallory", "مرحبا😀"], after: "مرحبا😀"), { $1.writeMembers(to: &$0) },
            { (r) throws(ChatError) in try ListPage<UserID>(from: &r) }),
        result(
            "bans",
            ListPage([Sample.ban, Ban(id: "zed", by: "alice", at: Sample.ban.at)], after: "zed"),
            { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try ListPage<Ban>(from: &r) }),
        result(
            "history", Sample.page, { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try LogPage(from: &r) }),
        result(
            "read", Sample.summary, { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try ReadSummary(from: &r) }
        ),
        result(
            "read-state", Sample.fullSummary, { $1.writeMembers(to: &$0) },
            { (r) throws(ChatError) in try ReadSummary(from: &r) }),
        result(
            "readMany",
            [
                ReadResult(conversation: .direct("bob"), result: .success(Sample.summary)),
                ReadResult(
                    conversation: .group("x"), result: .failure(ChatError(.unknownConversation, "there is none"))),
            ],
            { ReadResult.write($1, to: &$0) }, { (r) throws(ChatError) in try ReadResult.list(&r) }),
        result(
            "delivered",
            ReportDelivered.Answer([
                DeliveryResult(conversation: .direct("bob")),
                DeliveryResult(
                    conversation: .group("x"), error: ChatError(.unknownConversation, "there is none")),
            ]),
            { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try ReportDelivered.Answer(from: &r) }),
        result(
            "sync-totals", Sample.firstWindow, { $1.writeMembers(to: &$0) },
            { (r) throws(ChatError) in try HeadWindow(from: &r) }),
        result(
            "sync", HeadWindow(heads: [Sample.head], cursor: "k.1.2", isDone: true), { $1.writeMembers(to: &$0) },
            { (r) throws(ChatError) in try HeadWindow(from: &r) }),
        result(
            "refresh",
            RefreshMessages.Answer(messages: [
                (MessageReference(Sample.id, in: Sample.message.conversation), .success(Sample.message)),
                (
                    MessageReference(Sample.operation, in: .direct("bob")),
                    .failure(ChatError(.unknownMessage, "there is no such message"))
                ),
            ]), { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try RefreshMessages.Answer(from: &r) }),
        result(
            "search",
            SearchPage(
                hits: [SearchHit(message: Sample.message, ranges: [0..<2, 3..<7])],
                next: SearchCursor(rawValue: "1z.0.k"), isIndexing: true),
            { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try SearchPage(from: &r) }),
        result(
            "counts",
            CountMessages.Answer(counts: [
                (.group("swift"), .success(12)), (.group("x"), .failure(ChatError(.unknownConversation, "none"))),
            ]), { $1.writeMembers(to: &$0) }, { (r) throws(ChatError) in try CountMessages.Answer(from: &r) }),
    ]

    static let events: [Golden] = [
        event("message", .message(Sample.fullMessage)),
        event("transient", .transient(Sample.transient)),
        event("changed", .changed(.group("swift"), Sample.epoch, .message(Sample.deletedMessage))),
        event("changed-removed", .changed(.group("swift"), Sample.epoch, .removed(5...9, rev: 10))),
        event("changed-invisible", .changed(.group("swift"), Sample.epoch, .invisible(rev: 11))),
        event(
            "head",
            .head(
                .community("city", channel: "general"),
                HeadUpdate(epoch: Sample.epoch, seq: 12, countedIndex: 11, rev: 4))),
        event(
            "head-floor",
            .head(
                .community("city", channel: "general"),
                HeadUpdate(epoch: Sample.epoch, seq: 12, countedIndex: 11, rev: 4, firstSeq: 7))),
        event(
            "head-news",
            .head(
                Sample.message.conversation,
                HeadUpdate(
                    epoch: Sample.epoch, seq: 12, countedIndex: 11, rev: 4, last: Sample.message, altersCounts: true))),
        event("hidden", .hidden(.direct("bob"), Sample.epoch, [1...4, 9...9])),
        event("changed-annotated", .changed(.group("swift"), Sample.epoch, .message(Sample.annotatedMessage))),
        event("read", .read(.direct("bob"), Sample.summary)),
        event(
            "reads",
            .reads([
                (conversation: .direct("bob"), summary: Sample.summary),
                (conversation: .group("swift"), summary: Sample.fullSummary),
            ])),
        event(
            "draft",
            .draft(SyncedDraft(conversation: .group("swift"), draft: RawJSON(known: #"{"text":"hi"}"#), rev: 14))),
        event("draft-deleted", .draft(SyncedDraft(conversation: .direct("bob"), draft: nil, rev: 15))),
        event(
            "thread",
            .thread(
                .group("swift"),
                ThreadState(
                    thread: Sample.message.id, isFollowed: true, readSeq: 9, unread: 3, mentions: 1, userRev: 14))),
        event("peer-read", .peerRead(.direct("bob"), "bob", 9)),
        event("delivered", .delivered(.group("swift"), "bob", 9)),
        event("conversation", .conversation(.group("swift"), isDeleted: false)),
        event("conversation-deleted", .conversation(.group("swift"), isDeleted: true)),
        event("member", .member(.group("swift"), "bob", .moderator)),
        event("member-left", .member(.group("swift"), "bob", nil)),
        event("typing", .typing(.direct("bob"), "bob", isTyping: true)),
        event("user", .user(Sample.profile)),
        event("resync", .resync(nil)),
        event("resync-one", .resync(.group("swift"))),
    ]

    static let values: [Golden] = [
        value("message", Sample.message, { $1.write(to: &$0) }, { (r) throws(ChatError) in try Message(from: &r) }),
        value(
            "message-full", Sample.fullMessage, { $1.write(to: &$0) },
            { (r) throws(ChatError) in try Message(from: &r) }),
        value(
            "message-deleted", Sample.deletedMessage, { $1.write(to: &$0) },
            { (r) throws(ChatError) in try Message(from: &r) }),
        value(
            "submission", Sample.submission, { writer, value in writer.object { value.writeMembers(to: &$0) } },
            { (r) throws(ChatError) in try Submission(from: SubmissionFields(from: &r), limits: .standard) }),
        value(
            "page", Sample.page, { writer, value in writer.object { value.writeMembers(to: &$0) } },
            { (r) throws(ChatError) in try LogPage(from: &r) }),
        value(
            "page-filtered", Sample.filteredPage, { writer, value in writer.object { value.writeMembers(to: &$0) } },
            { (r) throws(ChatError) in try LogPage(from: &r) }),
        value("head", Sample.head, { $1.write(to: &$0) }, { (r) throws(ChatError) in try ConversationHead(from: &r) }),
        value(
            "head-frozen", Sample.frozenHead, { $1.write(to: &$0) },
            { (r) throws(ChatError) in try ConversationHead(from: &r) }),
        value(
            "message-high", Sample.highMessage, { $1.write(to: &$0) },
            { (r) throws(ChatError) in try Message(from: &r) }),
        value(
            "position", Sample.positions[0], { $1.write(to: &$0) },
            { (r) throws(ChatError) in try LogPosition(from: &r) }),
        value(
            "log-sync", LogSyncResult(conversation: .direct("bob"), result: .success(Sample.logSync)),
            { $1.write(to: &$0) }, { (r) throws(ChatError) in try LogSyncResult(from: &r) }),
        value(
            "log-sync-refused", LogSyncResult(conversation: .direct("bob"), result: .failure(Sample.problem)),
            { $1.write(to: &$0) }, { (r) throws(ChatError) in try LogSyncResult(from: &r) }),
        value("profile", Sample.profile, { $1.write(to: &$0) }, { (r) throws(ChatError) in try UserProfile(from: &r) }),
        value(
            "problem", Sample.problem, { $1.writeProblem(to: &$0) },
            { (r) throws(ChatError) in try ChatError(problem: &r) }),
    ]
}
