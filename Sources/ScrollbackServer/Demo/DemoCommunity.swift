import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// Sample data for demonstrations: a harbour community with channels, a group, and two weeks of generated messages.
///
/// The content is deterministic, because it is generated from a fixed seed.
struct DemoCommunity {
    private let engine: Engine
    private let now: Date
    private var generator = SplitMix64(seed: 1869)

    static let name: Identifier = "harbour"
    private static let admin = Caller(user: "admin", isAdmin: true)

    init(engine: Engine, now: Date) {
        self.engine = engine
        self.now = now
    }

    /// Creates the sample data unless the community already exists.
    mutating func make() async throws(ChatError) {
        let id = ConversationID.community(Self.name)
        let exists = (try? engine.head(of: id, by: Self.admin)) != nil
        guard !exists else { return }
        for person in Self.people {
            let change = ProfileChange(name: person.name)
            _ = try await commit { $0.putUser(person.id, change, by: Self.admin, completion: $1) }
        }
        let members = ConversationSettings(name: "Harbour", visibility: .everything, members: Self.people.map(\.id))
        let creation = PutConversation(conversation: id, settings: members)
        _ = try await commit { $0.execute(creation, by: Self.admin, completion: $1) }
        for channel in Self.channels {
            let settings = ConversationSettings(name: channel.name.text, visibility: .everything)
            let log = ConversationID.community(Self.name, channel: channel.name)
            _ = try await commit {
                $0.execute(PutConversation(conversation: log, settings: settings), by: Self.admin, completion: $1)
            }
            try await talk(in: log, about: channel.topics, messages: channel.messages, speakers: Self.people.map(\.id))
        }
        let crew: [UserID] = ["alice", "bob", "mei"]
        let settings = ConversationSettings(name: "Crew of the Albatross", visibility: .everything, members: crew)
        let group = PutConversation(conversation: .group("albatross"), settings: settings)
        _ = try await commit { $0.execute(group, by: Self.admin, completion: $1) }
        try await talk(in: .group("albatross"), about: Self.boatTopics, messages: 60, speakers: crew)
        // These messages stay unread.
        try await say("Welcome aboard! Tide is at 06:40, see you at the quay.", in: .group("albatross"), by: "bob")
        try await say("Could you look at the ferry's timetable before noon?", in: .direct("alice"), by: "bob")
    }

    private mutating func talk(
        in id: ConversationID, about topics: [String], messages count: Int, speakers: [UserID]
    ) async throws(ChatError) {
        var messages: [ImportedMessage] = []
        var time = now.addingTimeInterval(-14 * 86_400)
        let step = 13.5 * 86_400 / Double(count)
        for _ in 0..<count {
            time.addTimeInterval(Double.random(in: 0.2...1.8, using: &generator) * step)
            let speaker = speakers.randomElement(using: &generator) ?? "alice"
            messages.append(
                ImportedMessage(
                    sender: speaker, sentAt: min(time, now.addingTimeInterval(-60)),
                    submission: Submission(
                        id: MessageID(at: time, using: &generator), content: .text(sentence(about: topics)))))
        }
        for start in stride(from: 0, to: messages.count, by: 500) {
            let batch = Array(messages[start..<min(start + 500, messages.count)])
            _ = try await commit { $0.importHistory(batch, into: id, by: Self.admin, completion: $1) }
        }
    }

    private mutating func sentence(about topics: [String]) -> String {
        let topic = topics.randomElement(using: &generator) ?? "the tide"
        let frame = Self.frames.randomElement(using: &generator) ?? "%"
        return frame.replacing("%", with: topic)
    }

    private mutating func say(_ text: String, in id: ConversationID, by speaker: UserID) async throws(ChatError) {
        let submission = Submission(id: MessageID(at: now, using: &generator), content: .text(text))
        _ = try await commit { $0.send(submission, to: id, by: Caller(user: speaker), completion: $1) }
    }

    private func commit<Answer: Sendable>(
        _ body: (Engine, @escaping Engine.Completion<Answer>) -> Void
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            body(engine) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    // MARK: Content

    private static let people: [(id: UserID, name: String)] = [
        ("alice", "Alice Marlow"), ("bob", "Bob Tern"), ("mei", "Mei 梅"), ("omar", "عمر"), ("ines", "Inês Vaz"),
        ("sven", "Sven Åkesson"), ("yuki", "雪"), ("dora", "Dora K. ⚓️"),
    ]

    private static let channels: [(name: Identifier, messages: Int, topics: [String])] = [
        (
            "general", 1200,
            ["the regatta", "the new crane", "the fish market", "the harbour lights", "the 07:15 ferry"]
        ),
        ("weather", 500, ["the front from the west", "the swell", "tomorrow's fog", "the barometer", "6 Beaufort"]),
        ("berths", 300, ["berth 12", "the visitors' pontoon", "the shore power", "the fuel dock", "the slipway"]),
    ]

    private static let boatTopics = [
        "the mainsail", "the galley", "the bilge pump", "the new lines", "the passage plan",
    ]

    private static let frames = [
        "Has anybody looked at %?", "I'll take care of % after lunch.", "% again 🙈", "Thanks for sorting out %!",
        "What do we do about %?", "Good news about %: done.", "Someone from the office asked about %.",
        "Can we talk about % at nine?", "% looks fine to me 👍", "No idea about %, ask Sven.",
        "Photos of % are on the board.", "I wrote down what we know about %. Corrections welcome.",
    ]
}
