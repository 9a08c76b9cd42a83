import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

/// Tests the heads of channels without a subscription, which community members get a few times per second.
@Suite("Channel heads")
struct ChannelHeadTests {
    private let city = ConversationID.community("city")
    private let channel = ConversationID.community("city", channel: "default")

    private func headUpdates(_ device: Device) throws -> [HeadUpdate] {
        try device.events.compactMap { event in
            if case .head(channel, let headUpdates) = event { return headUpdates }
            return nil
        }
    }

    @Test("A new member gets a channel's head without messages from before the join, and with later ones")
    func newMemberGetsNoEarlierMessages() throws {
        let harness = try EngineHarness()
        try harness.make(city, members: ["alice", "bob"])
        let sessions = SessionHarness(harness)
        let (bob, carol) = (sessions.device("bob"), sessions.device("carol"))
        let plain = harness.submission("before")
        try harness.send(plain, to: channel, by: "alice")
        let edited = harness.submission("secret", mentions: .users(["alice"]))
        try harness.send(edited, to: channel, by: "bob")
        try harness.join(city, "carol")
        // A change to an older message does not reveal it.
        try harness.edit(edited.id, in: channel, "still secret", by: Caller(user: "bob"))
        harness.engine.hub.announceChannelHeads()
        #expect(try headUpdates(bob).map { $0.last?.text } == ["still secret"])
        #expect(try headUpdates(carol) == [try #require(try headUpdates(bob).first).bare])
        #expect(try carol.messages.isEmpty)

        try harness.send("after", to: channel, by: "alice")
        harness.engine.hub.announceChannelHeads()
        for device in [bob, carol] { #expect(try headUpdates(device).map { $0.last?.text }.last == "after") }
    }

    @Test("The flag `altersCounts` covers all changes since the last head, not only the newest change")
    func altersCountsCoversAllChanges() throws {
        let harness = try EngineHarness()
        try harness.make(city, members: ["alice", "bob"])
        let bob = SessionHarness(harness).device("bob")
        let alice = Caller(user: "alice")
        let sent = (0..<4).map { _ in harness.submission(mentions: .users(["bob"])) }
        for submission in sent { try harness.send(submission, to: channel, by: "alice") }
        harness.engine.hub.announceChannelHeads()
        let changes: [(String, Bool, () throws -> Void)] = [
            ("more", false, {}),
            (
                "a reaction to a plain message", false,
                { try harness.react("x", to: plain(harness), in: channel, by: alice) }
            ),
            ("a recall", true, { try harness.delete(sent[0].id, in: channel, by: alice) }),
            (
                "a mention that goes", true,
                { try harness.edit(sent[1].id, in: channel, "y", mentions: .remove, by: alice) }
            ),
            ("a range", true, { try harness.delete(.init(from: .seq(3), to: .seq(4)), of: channel) }),
        ]
        for (name, alters, change) in changes {
            try change()
            try harness.send("and more", to: channel, by: "alice")
            harness.engine.hub.announceChannelHeads()
            #expect(try headUpdates(bob).last?.altersCounts == alters, "\(name)")
        }
    }

    @Test("A head that is announced while a message is delivered comes after the message")
    func headComesAfterMessage() throws {
        let harness = try EngineHarness()
        try harness.make(city, members: ["alice", "bob"])
        let sessions = SessionHarness(harness)
        let devices = [sessions.device("alice"), sessions.device("bob")]
        for device in devices {
            device.request(Subscribe([channel]))
            device.transport.atFrame { harness.engine.hub.announceChannelHeads() }
        }
        try harness.send("hello", to: channel, by: "alice")
        harness.engine.hub.announceChannelHeads()
        for device in devices {
            let kinds = try device.events.compactMap { event in
                switch event {
                case .message: "message"
                case .head: "head"
                default: nil as String?
                }
            }
            #expect(kinds == ["message", "head"])
        }
    }

    /// Sends a message without mentions and returns its ID.
    private func plain(_ harness: EngineHarness) throws -> MessageID {
        let submission = harness.submission()
        try harness.send(submission, to: channel, by: "alice")
        return submission.id
    }
}

extension HeadUpdate {
    /// The same headUpdates without the last message.
    fileprivate var bare: HeadUpdate {
        var bare = self
        bare.last = nil
        return bare
    }
}
