import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

/// Tests the heads of channels without a subscription, which community members get a few times per second.
@Suite("Channel heads")
struct ChannelNewsTests {
    private let city = ConversationID.community("city")
    private let channel = ConversationID.community("city", channel: "default")

    private func news(_ device: Device) throws -> [LogNews] {
        try device.events.compactMap { event in
            if case .head(channel, let news) = event { return news }
            return nil
        }
    }

    @Test("A new member gets a channel's head without messages from before the join, and with later ones")
    func lateJoiner() throws {
        let world = try World()
        try world.make(city, members: ["alice", "bob"])
        let doors = Doors(world)
        let (bob, carol) = (doors.device("bob"), doors.device("carol"))
        let plain = world.submission("before")
        try world.send(plain, to: channel, by: "alice")
        let edited = world.submission("secret", mentions: .users(["alice"]))
        try world.send(edited, to: channel, by: "bob")
        try world.join(city, "carol")
        // A change to an older message does not reveal it.
        try world.edit(edited.id, in: channel, "still secret", by: Caller(user: "bob"))
        world.engine.hub.announceMovedChannels()
        #expect(try news(bob).map { $0.last?.text } == ["still secret"])
        #expect(try news(carol) == [try #require(try news(bob).first).bare])
        #expect(try carol.messages.isEmpty)

        try world.send("after", to: channel, by: "alice")
        world.engine.hub.announceMovedChannels()
        for device in [bob, carol] { #expect(try news(device).map { $0.last?.text }.last == "after") }
    }

    @Test("The flag `altersCounts` covers all changes since the last head, not only the newest change")
    func altered() throws {
        let world = try World()
        try world.make(city, members: ["alice", "bob"])
        let bob = Doors(world).device("bob")
        let alice = Caller(user: "alice")
        let sent = (0..<4).map { _ in world.submission(mentions: .users(["bob"])) }
        for submission in sent { try world.send(submission, to: channel, by: "alice") }
        world.engine.hub.announceMovedChannels()
        let changes: [(String, Bool, () throws -> Void)] = [
            ("more", false, {}),
            (
                "a reaction to a plain message", false,
                { try world.react("x", to: plain(world), in: channel, by: alice) }
            ),
            ("a recall", true, { try world.delete(sent[0].id, in: channel, by: alice) }),
            (
                "a mention that goes", true,
                { try world.edit(sent[1].id, in: channel, "y", mentions: .remove, by: alice) }
            ),
            ("a range", true, { try world.delete(.init(from: .seq(3), to: .seq(4)), of: channel) }),
        ]
        for (name, alters, change) in changes {
            try change()
            try world.send("and more", to: channel, by: "alice")
            world.engine.hub.announceMovedChannels()
            #expect(try news(bob).last?.altersCounts == alters, "\(name)")
        }
    }

    /// Sends a message without mentions and returns its ID.
    private func plain(_ world: World) throws -> MessageID {
        let submission = world.submission()
        try world.send(submission, to: channel, by: "alice")
        return submission.id
    }
}

extension LogNews {
    /// The same news without the last message.
    fileprivate var bare: LogNews {
        var bare = self
        bare.last = nil
        return bare
    }
}
