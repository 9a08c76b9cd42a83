import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@testable import Scrollback

/// Random scenarios in which Alice on two devices and Bob on one vote, pin, rename, write drafts, use threads and
/// change profiles, with lost connections, lost answers and restarts. Each change must be made once and in order.
@Suite("Pins, votes, threads, drafts, names and profiles from several devices")
struct SharedChangeScenarioTests {
    @Test("After activity stops, every device shows the server's state, and each change was made once and in order")
    func devicesAgree() async throws {
        try await Seeds.each(upTo: 2_000, per: 25, Self.failure)
    }

    private static func failure(of seed: UInt64) async throws -> String? {
        var scenario = try await SharedChangeScenario(seed: seed)
        for _ in 0..<50 { try await scenario.step() }
        let wrong = try await scenario.disagreement()
        await scenario.server.close()
        guard let wrong else { return nil }
        return """
            \(wrong)
            replay with SCROLLBACK_SEED=\(seed) swift test --filter SharedChangeScenarioTests
            \(scenario.steps.joined(separator: "\n"))
            """
    }
}

private struct SharedChangeScenario {
    let server: TestServer
    private(set) var steps: [String] = []
    private var random: SplitMix64
    /// Alice's phone and her laptop, and Bob's only device.
    private var devices: [ChatClient]
    /// The folders of the devices that restart.
    private let folders: [Int: TemporaryFolder]
    private var offline: Set<UserID> = []
    private let texts: [MessageID]
    private let polls: [MessageID]
    /// Whether each device of Alice changes something else, so that the results of all changes are known.
    private let isSeparate: Bool
    /// The known results of the changes: what the server has to store for each subject.
    private var expected: [Subject: String] = [:]

    /// A subject of changes. Some depend on the user.
    private enum Subject: Hashable {
        case vote(UserID, poll: Int, option: Int)
        case pin(MessageID)
        case name
        case profile(UserID)
        case draft(UserID, ConversationID)
        case follows(UserID, MessageID)
    }

    private static let group = ConversationID.group("swift")
    /// The other conversation with a draft.
    private static let direct = ConversationID.direct("bob")
    private static let options = 3

    init(seed: UInt64) async throws {
        random = SplitMix64(seed: seed)
        isSeparate = Bool.random(using: &random)
        folders = [0: try TemporaryFolder(), 2: try TemporaryFolder()]
        server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        devices = [
            try await Self.open("alice", folders[0], server), try await server.client("alice"),
            try await Self.open("bob", folders[2], server),
        ]
        for device in devices { try await device.ready() }
        let chat = devices[2].conversation(Self.group)
        texts = try await devices[2].sendMessages(1...3, in: Self.group).map(\.id)
        var polls: [MessageID] = []
        for isSeveral in [false, true] {
            let poll = Poll(question: "Which?", options: ["a", "b", "c"], allowsSeveralVotes: isSeveral)
            polls.append(try await chat.send(.poll(poll)).waitUntilSent().id)
        }
        self.polls = polls
        for text in texts { expected[.follows("bob", text)] = "true" }
        var last: MessageID?
        for text in texts { last = try await chat.send(.text("reply"), replyingTo: text).waitUntilSent().id }
        for device in devices {
            _ = try await eventually { try await device.recents[Self.group]?.lastMessage?.id == last }
        }
    }

    /// Opens a device whose connection is lost with every fourth answer to a change.
    private static func open(
        _ user: UserID, _ folder: TemporaryFolder?, _ server: TestServer
    ) async throws -> ChatClient {
        let transport = LossyTransport(every: 4)
        return try await server.client(user, store: .directory(#require(folder).url), configure: transport.use)
    }

    /// Notes what the server has to store in the end, if only this device changes the subject.
    private mutating func expect(_ value: String, of subject: Subject, _ number: Int, isPersonal: Bool = true) {
        if isSeparate || isPersonal && number == 2 { expected[subject] = value }
    }

    mutating func step() async throws {
        let number = Int.random(in: 0...2, using: &random)
        let chat = devices[number].conversation(Self.group)
        let user: UserID = number == 2 ? "bob" : "alice"
        // The text, poll and option of the change.
        let text = texts[isSeparate ? number : Int.random(in: 0..<texts.count, using: &random)]
        let poll = isSeparate && number < 2 ? 1 : Int.random(in: 0...1, using: &random)
        let option = isSeparate ? number : Int.random(in: 0..<Self.options, using: &random)
        var what: String
        switch Int.random(in: 0...23, using: &random) {
        case 0...4:
            what = "votes for \(option) in poll \(poll)"
            try await chat.vote(for: option, in: polls[poll])
            if poll == 0 { expectNoVotes(of: user, number) }
            expect("true", of: .vote(user, poll: poll, option: option), number)
        case 5, 6:
            what = "withdraws \(option) in poll \(poll)"
            try await chat.withdrawVote(for: option, in: polls[poll])
            expect("false", of: .vote(user, poll: poll, option: option), number)
        case 7, 8:
            what = "pins \(text)"
            try await chat.pin(text)
            expect("true", of: .pin(text), number, isPersonal: false)
        case 9, 10:
            what = "unpins \(text)"
            try await chat.unpin(text)
            expect("false", of: .pin(text), number, isPersonal: false)
        case 11:
            guard !isSeparate || number == 0 else { return }
            what = "renames the group"
            let name = "Name \(steps.count)"
            try await chat.update(ConversationSettings(name: name))
            expect(name, of: .name, number, isPersonal: false)
        case 12:
            guard !isSeparate || number != 0 else { return }
            what = "changes the profile"
            let name = "\(user) \(steps.count)"
            try await devices[number].updateProfile(name: name)
            expect(name, of: .profile(user), number)
        case 13, 14:
            what = "goes offline"
            offline.insert(user)
            server.goOffline(user)
        case 15:
            what = "goes online"
            offline.remove(user)
            server.goOnline(user)
        case 16:
            what = "replies to \(text)"
            _ = try await chat.send(.text("reply \(steps.count)"), replyingTo: text)
            expect("true", of: .follows(user, text), number)
        case 17:
            what = "follows the thread of \(text)"
            try await chat.followThread(of: text)
            expect("true", of: .follows(user, text), number)
        case 18:
            what = "stops following the thread of \(text)"
            try await chat.unfollowThread(of: text)
            expect("false", of: .follows(user, text), number)
        case 19:
            what = "reads the thread of \(text)"
            try await chat.markThreadRead(of: text)
        case 20, 21:
            let id = isSeparate && number == 1 ? Self.direct : Self.group
            let new = Bool.random(using: &random) ? "draft \(steps.count)" : nil
            what = "stores the draft \(new ?? "nil") in \(id)"
            try await devices[number].conversation(id).setDraft(new.map { Draft($0) })
            expect(new ?? "nil", of: .draft(user, id), number)
        default:
            let restarted = number == 2 ? 2 : 0
            what = "restarts device \(restarted)"
            await devices[restarted].close()
            devices[restarted] = try await Self.open(user, folders[restarted], server)
        }
        steps.append("device \(number) \(what)")
        if Bool.random(using: &random) { try await Task.sleep(for: .milliseconds(2)) }
    }

    /// A vote in a poll with one vote replaces the earlier one.
    private mutating func expectNoVotes(of user: UserID, _ number: Int) {
        for option in 0..<Self.options { expect("false", of: .vote(user, poll: 0, option: option), number) }
    }

    /// Returns what the server has stored for a subject.
    private func stored(_ subject: Subject) throws -> String {
        let engine = server.engine
        let caller = Caller(user: "bob")
        switch subject {
        case .vote(let user, let poll, let option):
            let actions = try engine.actions(on: polls[poll], in: Self.group, after: nil, limit: 100, by: caller)
            return "\(actions.actions.contains { $0.sender == user && $0.value == String(option) })"
        case .pin(let text):
            return "\(try engine.message(text, in: Self.group, by: caller).isPinned)"
        case .name:
            return try engine.head(of: Self.group, by: caller).name ?? "nil"
        case .profile(let user):
            return try engine.user(user).name ?? "nil"
        case .draft(let user, let id):
            let drafts = try engine.drafts(since: nil, by: Caller(user: user)).drafts
            return try drafts.first { $0.conversation == id }?.draft.map { try Draft(stored: $0.text).text } ?? "nil"
        case .follows(let user, let text):
            let threads = try engine.threads(of: Self.group, limit: 100, by: Caller(user: user)).threads
            return "\(threads.first { $0.id == text }?.state.isFollowed == true)"
        }
    }

    /// Returns what differs after all devices have sent their changes.
    func disagreement() async throws -> String? {
        for user in ["alice", "bob"] as [UserID] { server.goOnline(user) }
        for device in devices {
            guard try await eventually({ try await device.pendingCount() == 0 }) else { return "a change is not sent" }
            guard try await eventually({ try await device.core.store.read { try $0.nextPendingDraft() } == nil }) else {
                return "a draft is not sent"
            }
        }
        for (subject, value) in expected {
            let stored = try stored(subject)
            guard stored == value else { return "\(subject) is \(stored), not \(value)" }
        }
        let (engine, caller) = (server.engine, Caller(user: "bob"))
        for (index, poll) in polls.enumerated() {
            let actions = try engine.actions(on: poll, in: Self.group, after: nil, limit: 100, by: caller).actions
            let message = try engine.message(poll, in: Self.group, by: caller)
            for result in message.pollResults ?? [] {
                let votes = actions.filter { $0.value == String(result.id) }
                guard result.votes == Int64(votes.count) else { return "poll \(index) counts \(result), not \(votes)" }
            }
            let hers = actions.filter { $0.sender == "alice" }
            guard index == 1 || hers.count <= 1 else { return "alice has the votes \(hers) in the poll with one vote" }
            for (number, device) in devices.enumerated() {
                let chat = device.conversation(Self.group)
                guard try await eventually({ try await chat.message(poll).pollResults == message.pollResults }) else {
                    return "device \(number) shows other votes than \(message.pollResults ?? [])"
                }
            }
        }
        let pins = try engine.pinnedMessages(of: Self.group, below: nil, limit: 100, by: caller).messages.map(\.id)
        let head = try engine.head(of: Self.group, by: caller)
        let profiles = try engine.users(["alice", "bob"])
        for (number, device) in devices.enumerated() {
            let chat = device.conversation(Self.group)
            guard try await eventually({ try await chat.pinnedMessages().messages.map(\.id) == pins }) else {
                return "device \(number) shows other pins than \(pins)"
            }
            for text in texts {
                guard try await eventually({ try await chat.message(text).isPinned == pins.contains(text) }) else {
                    return "device \(number) shows \(text) wrongly as \(pins.contains(text) ? "un" : "")pinned"
                }
            }
            guard try await eventually({ try await device.recents[Self.group]?.name == head.name }) else {
                return "device \(number) shows another name than \(head.name ?? "")"
            }
            guard try await eventually({ try await device.profile() == profiles[number == 2 ? 1 : 0] }) else {
                return "device \(number) shows another profile than \(profiles)"
            }
            let violations = try await device.verifyIntegrity()
            guard violations.isEmpty else { return "device \(number): \(violations)" }
            if let wrong = try await disagreement(of: chat, onDevice: number) { return wrong }
        }
        return nil
    }

    /// Returns what a device shows differently in its threads and drafts.
    private func disagreement(of chat: Conversation, onDevice number: Int) async throws -> String? {
        let (engine, caller) = (server.engine, Caller(user: chat.core.user))
        for id in [Self.group, Self.direct] where id == Self.group || caller.user == "alice" {
            let draft = try stored(.draft(caller.user, id))
            let shows = try await eventually {
                try await devices[number].conversation(id).draft()?.text ?? "nil" == draft
            }
            guard shows else { return "device \(number) shows another draft in \(id) than \(draft)" }
        }
        let threads = try engine.threads(of: Self.group, limit: 100, by: caller).threads
        guard Set(threads.map(\.id)) == Set(texts) else { return "the threads are \(threads.map(\.id))" }
        let log = try engine.history(of: Self.group, HistoryQuery(limit: 100), by: caller).messages
        for thread in threads {
            let state = thread.state
            let unread = log.count {
                $0.thread == thread.id && $0.seq > state.readSeq && $0.sender != caller.user
            }
            guard state.unread == Int64(unread) else { return "\(state) has \(unread) unread replies" }
        }
        func shown(_ threads: [MessageThread]) -> [String] {
            threads.map { "\($0.id) \($0.state.isFollowed) \($0.state.unread) \($0.state.mentions)" }
        }
        let wanted = shown(threads)
        let listed = shown(try await chat.threads().threads)
        guard listed == wanted else { return "device \(number) lists \(listed), not \(wanted)" }
        guard
            try await eventually({
                shown(try await chat.current([], followedAfter: nil, through: nil, limit: 100)) == wanted
            })
        else { return "device \(number) has other threads than \(wanted) without the server" }
        return nil
    }
}
