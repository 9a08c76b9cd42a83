import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@testable import Scrollback

/// Random scenarios in which Alice on two devices and Bob on one vote, pin, rename, write drafts, use threads and
/// change profiles, with lost connections and restarts. Each change must be made once and in order.
@Suite("Pins, votes, threads, drafts, names and profiles from several devices")
struct SharedChangeScenarioTests {
    @Test("After activity stops, every device shows the server's state, and each vote counted once and in order")
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
    private let folder: TemporaryFolder
    /// Alice's phone, which restarts, and her laptop; Bob's only device.
    private var devices: [ChatClient]
    private var offline: Set<UserID> = []
    private let texts: [MessageID]
    private let polls: [MessageID]
    /// Bob's votes in each poll, as his requests in their order have to result in.
    private var expected: [Set<Int>] = [[], []]
    /// The last name that Bob's device set.
    private var name = "Bob"
    /// The text of the last draft that Bob's device stored.
    private var draft: String?
    /// The threads that Bob follows, by their first messages.
    private var followed: Set<MessageID>

    private static let group = ConversationID.group("swift")
    private static let options = 3

    init(seed: UInt64) async throws {
        random = SplitMix64(seed: seed)
        folder = try TemporaryFolder()
        server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        devices = [
            try await server.client("alice", store: .directory(folder.url)), try await server.client("alice"),
            try await server.client("bob"),
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
        followed = Set(texts)
        var last: MessageID?
        for text in texts { last = try await chat.send(.text("reply"), replyingTo: text).waitUntilSent().id }
        for device in devices {
            _ = try await eventually { try await device.recents[Self.group]?.lastMessage?.id == last }
        }
    }

    mutating func step() async throws {
        let number = Int.random(in: 0...2, using: &random)
        let chat = devices[number].conversation(Self.group)
        let (poll, option) = (Int.random(in: 0...1, using: &random), Int.random(in: 0..<Self.options, using: &random))
        let text = texts[Int.random(in: 0..<texts.count, using: &random)]
        let user: UserID = number == 2 ? "bob" : "alice"
        var what: String
        switch Int.random(in: 0...22, using: &random) {
        case 0...4:
            what = "votes for \(option) in poll \(poll)"
            try await chat.vote(for: option, in: polls[poll])
            guard number == 2 else { break }
            if poll == 0 { expected[0] = [option] } else { expected[1].insert(option) }
        case 5, 6:
            what = "withdraws \(option) in poll \(poll)"
            try await chat.withdrawVote(for: option, in: polls[poll])
            if number == 2 { expected[poll].remove(option) }
        case 7, 8:
            what = "pins \(text)"
            try await chat.pin(text)
        case 9:
            what = "unpins \(text)"
            try await chat.unpin(text)
        case 10:
            what = "renames the group"
            try await chat.update(ConversationSettings(name: "Name \(steps.count)"))
        case 11:
            what = "changes the profile"
            if number == 2 { name = "Bob \(steps.count)" }
            try await devices[number].updateProfile(name: number == 2 ? name : "Alice \(steps.count)")
        case 12, 13:
            what = "goes offline"
            offline.insert(user)
            server.goOffline(user)
        case 14:
            what = "goes online"
            offline.remove(user)
            server.goOnline(user)
        case 15:
            what = "replies to \(text)"
            _ = try await chat.send(.text("reply \(steps.count)"), replyingTo: text)
            if number == 2 { followed.insert(text) }
        case 16:
            what = "follows the thread of \(text)"
            try await chat.followThread(of: text)
            if number == 2 { followed.insert(text) }
        case 17:
            what = "stops following the thread of \(text)"
            try await chat.unfollowThread(of: text)
            if number == 2 { followed.remove(text) }
        case 18:
            what = "reads the thread of \(text)"
            try await chat.markThreadRead(of: text)
        case 19, 20:
            let new = Bool.random(using: &random) ? "draft \(steps.count)" : nil
            what = "stores the draft \(new ?? "nil")"
            try await chat.setDraft(new.map { Draft($0) })
            if number == 2 { draft = new }
        default:
            what = "restarts the phone"
            await devices[0].close()
            devices[0] = try await server.client("alice", store: .directory(folder.url))
        }
        steps.append("device \(number) \(what)")
        if Bool.random(using: &random) { try await Task.sleep(for: .milliseconds(2)) }
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
        let (engine, caller) = (server.engine, Caller(user: "bob"))
        for (index, poll) in polls.enumerated() {
            let actions = try engine.actions(on: poll, in: Self.group, after: nil, limit: 100, by: caller).actions
            let message = try engine.message(poll, in: Self.group, by: caller)
            for result in message.pollResults ?? [] {
                let votes = actions.filter { $0.value == String(result.id) }
                guard result.votes == Int64(votes.count) else { return "poll \(index) counts \(result), not \(votes)" }
            }
            let own = Set(actions.filter { $0.sender == "bob" }.compactMap { Int($0.value) })
            guard own == expected[index] else { return "bob voted \(own) in poll \(index), not \(expected[index])" }
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
        guard profiles[1].name == name else { return "bob is \(profiles[1].name ?? ""), not \(name)" }
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
        let draft = try engine.drafts(since: nil, by: caller).drafts.first?.draft
            .map { try Draft(stored: $0.text).text }
        guard number < 2 || draft == self.draft else {
            return "bob's draft is \(draft ?? "nil"), not \(self.draft ?? "nil")"
        }
        guard try await eventually({ try await chat.draft()?.text == draft }) else {
            return "device \(number) shows another draft than \(draft ?? "nil")"
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
            let follows = followed.contains(thread.id)
            guard number < 2 || state.isFollowed == follows else { return "bob follows \(thread.id): not \(follows)" }
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
