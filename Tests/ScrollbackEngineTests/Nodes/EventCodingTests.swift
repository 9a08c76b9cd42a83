import Foundation
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@testable import ScrollbackEngine

/// The JSON form of what a transaction changed, which the other nodes read.
@Suite("Notes of commits")
struct EventCodingTests {
    private static let group = ConversationID.group("g")
    private static let direct = ConversationID.direct(between: "alice", and: "bob")
    private static let epoch = Epoch(rawValue: .max)
    private static let time = Timetoken(rawValue: 17_951_234_567_890_123)
    private static let date = Date(timeIntervalSince1970: 1_795_123_456.789)

    private static let message = Message(
        conversation: direct, seq: 7, countedIndex: 6, id: MessageID(high: 1, low: 2), timetoken: time, epoch: epoch,
        sender: "alice", type: .text, content: .text("مرحبا 👋"), rev: 3,
        attributes: .init(mentions: Mentions(everyone: true, users: ["bob"], pushText: "look")), editedAt: date,
        thread: MessageID(high: 3, low: 4), replies: ReplySummary(count: 2, lastReplyAt: time),
        actions: [ActionSummary(type: "reaction", value: "👍", count: 1, senders: ["bob"])])
    private static let tombstone = Message(
        conversation: group, seq: 8, countedIndex: 7, id: MessageID(high: 1, low: 3), timetoken: time, epoch: epoch,
        sender: "alice", type: .text, content: nil, rev: 4)
    private static let head = HeadAnnouncement(epoch: epoch, seq: 9, countedIndex: 8, rev: 5, firstSeq: 2)
    private static let ownState = OwnStateChange(
        conversation: direct, user: "bob",
        summary: ReadSummary(
            epoch: epoch, readSeq: 7, unread: 1, mentions: 1, isMarkedUnread: true, isMuted: true,
            notifications: .mentions, isPinned: true, removedSeq: 2, seq: 9, countedIndex: 8, rev: 5, userRev: 11),
        receipt: 7)
    private static let incarnation = IncarnationRow(
        id: MessageID(high: 5, low: 6), generation: .max, firstCommit: 12, newest: time, lostAfter: time)

    /// One event of each kind, and variants.
    private static var events: [Event] {
        var error = ChatError(.banned, "You are banned.")
        error.until = date
        error.reason = "spam"
        var settings = ServerSettings(retention: .days(3))
        settings.replayDays = 2
        return [
            .message(message, notifiesCommunity: true, origin: nil),
            .message(tombstone, notifiesCommunity: false, origin: nil),
            .changed(direct, .message(message), head, notifiesCommunity: false),
            .changed(group, .removed(3...5, rev: 9), head, notifiesCommunity: true),
            .changed(group, .invisible(rev: 9), head, notifiesCommunity: true),
            .hidden([1...2, 5...5], ownState),
            .visibilityReduced(group, head: 4),
            .headChanged(group, head, notifiesCommunity: true),
            .transient(
                TransientMessage(
                    conversation: group, id: MessageID(high: 1, low: 2), timetoken: time, sender: "alice",
                    content: .text("hi"), attributes: .init()), origin: nil),
            .ownStateChanged(ownState), .ownStatesChanged([ownState, ownState]), .delivered(direct, "bob", 7),
            .thread(
                group, "bob",
                ThreadState(
                    thread: MessageID(high: 3, low: 4), isFollowed: true, readSeq: 1, unread: 2, mentions: 3,
                    userRev: 4)),
            .draft(SyncedDraft(conversation: .direct("bob"), draft: RawJSON(known: #"{"text":"x"}"#), rev: 4), "alice"),
            .draft(SyncedDraft(conversation: group, draft: nil, rev: 5), "alice"),
            .joined(group, "bob", .moderator, fullyVisibleAfter: 3), .left(group, "bob"),
            .joined(.community("city"), "bob", .member, fullyVisibleAfter: .max),
            .conversationChanged(group), .memberStateChanged(direct, "bob"), .conversationDeleted(direct),
            .madePrivate(.community("city", channel: "general"), members: ["bob": 3]),
            .userChanged(UserProfile(id: "bob", name: "Bob", metadata: RawJSON(known: "{}"))),
            .invited(
                Invitation(
                    conversation: group, user: "bob", by: "alice", at: date, expiresAt: date, name: "G", avatar: nil)),
            .invitationEnded(group, "bob"), .tokensRevoked("bob"), .accessRevoked("bob", error),
            .banned(.room("lobby"), "bob"), .incarnationBegan(incarnation, after: nil),
            .incarnationBegan(
                incarnation,
                after: Checkpoints.Rollback(
                    generation: .max, seenIncarnation: MessageID(high: 7, low: 8), seenCommit: 9, lastCommit: 8,
                    lostAfter: time)),
            .settingsChanged(settings), .scheduled(date), .erasureBegan("bob"), .erasureEnded("bob"),
        ]
    }

    @Test("Events are the same after they were written and read")
    func roundTrip() throws {
        let effects = CommitEffects(events: Self.events)
        let decoded = try CommitEffects(body: effects.body)
        #expect(decoded.events.count == Self.events.count)
        for (event, other) in zip(Self.events, decoded.events) {
            // Settings contain dictionaries, whose descriptions have no order.
            if case .settingsChanged = event { continue }
            #expect("\(event)" == "\(other)")
        }
        #expect(String(decoding: decoded.body, as: UTF8.self) == String(decoding: effects.body, as: UTF8.self))
    }

    @Test("Deliveries, pushes and quotas are part of a note")
    func summary() throws {
        var summary = OutboundSummary()
        summary.deliveries = -3
        summary.pushes = true
        summary.usage = UsageChange(
            day: 20_777, growth: ["alice": Growth(groups: 1, messageBytes: 70), "bob": Growth(fileBytes: 5)], saved: [])
        let decoded = try CommitEffects(body: CommitEffects(summary: summary).body).summary
        #expect(decoded.deliveries == -3)
        #expect(decoded.pushes)
        #expect(decoded.usage.day == 20_777)
        #expect(decoded.usage.growth == summary.usage.growth)
    }

    @Test("Events for webhooks only are not part of a note")
    func webhookEvents() throws {
        let events: [Event] = [.moderated(ModerationAct(.ban, of: "bob", by: "alice"))]
        #expect(try CommitEffects(body: CommitEffects(events: events).body).events.isEmpty)
    }

    @Test("What a newer version adds is ignored, and a broken note is an error")
    func unknown() throws {
        let body =
            #"{"events":[{"event":"teleported","user":"bob"},{"event":"left","conversation":"group:g","#
            + #""user":"bob","why":1}],"later":[1]}"#
        let events = try CommitEffects(body: Array(body.utf8)).events
        #expect(events.map { "\($0)" } == ["\(Event.left(Self.group, "bob"))"])
        #expect(throws: ChatError.self) { try CommitEffects(body: Array(#"{"events":[{"event":"left"}]}"#.utf8)) }
    }
}
