import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

/// Random histories on several nodes.
@Suite("Scenarios of nodes")
struct NodeScenarioTests {
    private static let users: [UserID] = ["alice", "bob", "carol", "dave"]
    private static let conversations: [ConversationID] = [
        .group("g"), .community("c", channel: "x"), .direct(between: "alice", and: "bob"),
    ]

    @Test(
        "Devices of all nodes receive the same frames in the same order, whatever is lost between the nodes",
        arguments: Seeds.range(1_000, per: 20))
    func frames(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let nodes = try NodesHarness(3)
        try nodes[0].make(.group("g"), members: Self.users)
        try nodes[0].put(.community("c"), .init(members: Self.users))
        try nodes[0].put(.community("c", channel: "x"))
        try nodes[0].send(to: .direct(between: "alice", and: "bob"), by: "alice")
        try nodes.settle()
        let sessions = nodes.nodes.map { SessionHarness($0) }
        let devices = Self.users.map { user in sessions.map { $0.device(user.text, "phone") } }
        var messages: [(id: MessageID, conversation: ConversationID, sender: UserID)] = []
        for _ in 0..<60 {
            let node = try #require(nodes.nodes.randomElement(using: &generator))
            try step(on: node, &messages, using: &generator)
            for _ in 0..<Int.random(in: 0...3, using: &generator) { nodes.bus.deliverAny(using: &generator) }
            if Int.random(in: 0..<10, using: &generator) == 0 { try node.engine.node?.catchUp() }
        }
        try nodes.settle()
        for node in nodes.nodes { node.engine.hub.announceChannelHeads() }
        for (user, own) in zip(Self.users, devices) {
            let frames = own.map { $0.transport.bytes.map { String(decoding: $0, as: UTF8.self) } }
            try #require(frames[0].count > 5, "\(user) received too little")
            for other in 1..<frames.count where frames[other] != frames[0] {
                let index = zip(frames[0], frames[other]).enumerated().first { $1.0 != $1.1 }?.offset ?? -1
                Issue.record(
                    """
                    seed \(seed): \(user) received \(frames[0].count) frames from node 0 and \(frames[other].count) \
                    from node \(other). The first difference is frame \(index).
                    """)
            }
        }
    }

    /// Carries out a random operation, which may be refused.
    private func step(
        on node: EngineHarness, _ messages: inout [(id: MessageID, conversation: ConversationID, sender: UserID)],
        using generator: inout SplitMix64
    ) throws {
        let conversation = Self.conversations.randomElement(using: &generator) ?? .group("g")
        let user = Self.users.randomElement(using: &generator) ?? "alice"
        let known = messages.randomElement(using: &generator)
        _ = try? {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0:
                guard let known else { return }
                try node.edit(known.id, in: known.conversation, "edited", by: Caller(user: known.sender))
            case 1:
                guard let known else { return }
                try node.delete(known.id, in: known.conversation, by: Caller(user: known.sender))
            case 2:
                guard let known else { return }
                try node.react("👍", to: known.id, in: known.conversation, by: Caller(user: user))
            case 3: try node.read(conversation, to: try node.head(conversation, user).state.head, by: user)
            case 4: try node.leave(.group("g"), "dave")
            case 5: try node.join(.group("g"), "dave")
            case 6: try node.delete(DeleteRange(from: .seq(1), to: .seq(4)), of: .group("g"))
            default:
                let mentions = Mentions(everyone: false, users: [user], pushText: nil)
                let submission = node.submission(
                    "\(messages.count)", mentions: Bool.random(using: &generator) ? mentions : nil)
                try node.send(submission, to: conversation, by: user)
                messages.append((submission.id, conversation, user))
            }
        }()
    }
}
