import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

/// Compares the recents of real users, each on two devices of a real server, with the log files.
///
/// The environment variable `SCROLLBACK_PEOPLE` sets the number of users. The default is 50, and all users in a long
/// run. The user with the most conversations is always included.
@Suite("Recents of real logs")
struct RecentsLogTests {
    @Test(
        "Each user's list has all of the user's sessions, newest first, and the messages of others are unread",
        .rows(182, 185, 204, 205, 209), .needs(.chatLog("chitchat-p2p.jsonl")),
        .needs(.chatLog("gitter-freecodecamp.jsonl")), .needs(.chatLog("irc-ubuntu.jsonl")))
    func listHasAllSessionsOfTheUser() async throws {
        let log = try ChatLog.find("chitchat-p2p.jsonl")
        let community = try ChatLog.find("gitter-freecodecamp.jsonl")
        let groups = try ChatLog.find("irc-ubuntu.jsonl")
        var generator = SplitMix64(printingSeedFor: "people of \(log.file.lastPathComponent)")
        let server = try await RunningServer.start()
        var reference = RecentsReference()
        try reference.addGroups(try log.everyLine())
        #expect(reference.people.count == 1_252)
        let people = Self.choose(from: reference, &generator)
        let part = try Self.part(of: log, with: people, for: server) { reference.conversations(of: $0) }
        try await server.importLog(part, ["--kind", "group", "--counts-unread"])

        // Conversations of other users, which the users above must not see, and a few of those other users.
        let (channel, group) = Run.isLong ? (nil, nil) : ("Warsaw", "ubuntu-meeting")
        try await server.importLog(
            community, ["--kind", "community", "--target", "fcc", "--counts-unread"] + Self.only(channel))
        try await server.importLog(groups, ["--kind", "group", "--counts-unread"] + Self.only(group))
        var others = RecentsReference()
        try others.addCommunity("fcc", try community.lines(of: channel).values.flatMap { $0 })
        try others.addGroups(try groups.lines(of: group).values.flatMap { $0 })
        try await check(people, of: reference, on: server)
        try await check(
            others.busiest(1) + [others.people.randomElement(using: &generator) ?? ""], of: others, on: server)
        try await server.terminate()
        let verdict = try await RunningServer.command(["verify", server.data.path], within: 600)
        #expect(verdict.code == 0, "\(verdict.output)")
    }

    @Test(
        "Sessions of the same two users are one direct conversation by time, unread for the respective recipient",
        .rows(182, 204, 205, 209), .needs(.chatLog("chitchat-p2p.jsonl")))
    func pairSessionsFormOneDirectConversation() async throws {
        let log = try ChatLog.find("chitchat-p2p.jsonl")
        var generator = SplitMix64(printingSeedFor: "pairs of \(log.file.lastPathComponent)")
        let server = try await RunningServer.start()
        var whole = RecentsReference()
        let leftOut = try whole.addPairs(try log.everyLine())
        #expect(leftOut.channels == 7_167 - 3_033)
        let people = Self.choose(from: whole, &generator)
        var sessions = RecentsReference()
        try sessions.addGroups(try log.everyLine())
        let part = try Self.part(of: log, with: people, for: server) { sessions.conversations(of: $0) }
        var reference = RecentsReference()
        let expected = try reference.addPairs(try part.everyLine())
        let report = try await server.importReport(part, ["--kind", "direct", "--counts-unread"])
        #expect(report.int("imported") == reference.messages)
        #expect(report.int("channelsLeftOut") == expected.channels)
        #expect(report.int("messagesLeftOut") == expected.messages)
        try await check(people, of: reference, on: server)

        // A repeated import succeeds and changes no list.
        let again = try await server.importReport(part, ["--kind", "direct", "--counts-unread"])
        #expect(again.int("imported") == 0)
        #expect(again.int("skipped") == reference.messages)
        try await server.terminate()
        let verdict = try await RunningServer.command(["verify", server.data.path], within: 600)
        #expect(verdict.code == 0, "\(verdict.output)")
    }

    private static func only(_ channel: String?) -> [String] { channel.map { ["--channel", $0] } ?? [] }

    // MARK: Users

    /// Returns the user with the most conversations, and some others.
    static func choose(
        from reference: RecentsReference, _ generator: inout SplitMix64
    ) -> [String] {
        let allPeople = reference.people
        let peopleCount = ProcessInfo.processInfo.environment["SCROLLBACK_PEOPLE"].flatMap(Int.init)
        let count = peopleCount ?? (Run.isLong ? allPeople.count : 50)
        let busiest = reference.busiest(1)
        return busiest
            + allPeople.filter { !busiest.contains($0) }.shuffled(using: &generator).prefix(max(0, count - 1))
    }

    /// Returns the log or, in a short run, its channels in which the given users wrote.
    static func part(
        of log: ChatLog, with people: [String], for server: RunningServer,
        conversations: (String) -> Set<ConversationID>
    ) throws -> ChatLog {
        guard !Run.isLong else { return log }
        let channels = people.reduce(into: Set<String>()) { $0.formUnion(conversations($1).map(\.target.text)) }
        return try log.extract(channels, into: server.folder)
    }

    // MARK: Lists on devices

    private func check(_ people: [String], of reference: RecentsReference, on server: RunningServer) async throws {
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            var rest = people[...]
            func addNext() {
                guard let person = rest.popFirst() else { return }
                group.addTask { try await check(person, reference, server) }
            }
            for _ in 0..<4 { addNext() }
            while try await group.next() != nil { addNext() }
        }
        print("\(people.count) users on two devices: \((ContinuousClock.now - start) / .seconds(1)) s")
    }

    private func check(_ person: String, _ reference: RecentsReference, _ server: RunningServer) async throws {
        var reference = reference
        let user = try UserID(person)
        let phone = try await Device.open(server, user)
        let laptop = try await Device.open(server, user)
        for device in [phone, laptop] { try await device.shows(reference.list(of: person), of: user) }
        try await expectByHTTP(reference.list(of: person), user, server)

        try await readSome(on: phone, user, &reference)
        for device in [laptop, phone] { try await device.shows(reference.list(of: person), of: user) }
        await phone.waitForOutbox()
        try await expectByHTTP(reference.list(of: person), user, server)
        for device in [phone, laptop] {
            #expect(try await device.verifyIntegrity() == [])
            await device.close()
        }
    }

    /// Marks every third conversation of the list read to its end, and others up to their second message.
    ///
    /// It covers the first sixty conversations, and the first three hundred in a long run.
    private func readSome(on phone: ChatClient, _ user: UserID, _ reference: inout RecentsReference) async throws {
        let shown = try await phone.recents.view(limit: Run.isLong ? 300 : 60).conversations
        for (place, recent) in shown.enumerated() {
            let id = recent.id.absolute(for: user)
            let conversation = phone.conversation(recent.id)
            switch place % 3 {
            case 0:
                try await conversation.markRead()
                reference.markRead(id, upTo: Int.max, by: user.text)
            case 1 where place < 30:
                let first = try await conversation.history(.earliest, limit: 2, sort: .oldestFirst).messages
                let last = try #require(first.last)
                try await conversation.markRead(upTo: last.id)
                reference.markRead(id, upTo: Int(last.seq), by: user.text)
            default: break
            }
        }
    }

    /// Compares the server's list, page by page, with the expected list.
    func expectByHTTP(
        _ expected: [ConversationID: RecentsReference.Entry], _ user: UserID, _ server: RunningServer
    ) async throws {
        let api = try await server.api(user)
        var shown: [(id: ConversationID, entry: RecentsReference.Entry)] = []
        var cursor = ""
        var pages = 0
        repeat {
            let page = try await api.call("GET", "/v1/conversations?limit=100\(cursor)").json
            pages += 1
            for entry in page.objects("conversations") {
                let name = try #require(entry["conversation"] as? String)
                let last = try #require(entry["lastMessage"] as? [String: Any])
                let content = last["content"] as? [String: Any]
                #expect(entry["mentions"] as? Int == 0)
                shown.append(
                    (
                        try ConversationID(name).absolute(for: user),
                        RecentsReference.Entry(
                            count: try #require(entry["head"] as? Int),
                            last: Utterance(
                                text: content?["text"] as? String ?? "", sender: last["sender"] as? String ?? "",
                                time: last["sentAt"] as? String ?? ""),
                            unread: try #require(entry["unread"] as? Int))
                    ))
            }
            cursor = page.string("cursor").map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
        #expect(pages >= (expected.count + 99) / 100, "A page has more than a hundred entries.")
        let total = shown.map(\.entry.unread).reduce(0, +)
        let difference = RecentsReference.difference(shown, totalUnread: total, from: expected)
        #expect(difference == nil, "The server's list of \(user) is wrong.")
    }
}

extension ChatClient {
    /// Waits until the whole list equals the expected list.
    func shows(_ expected: [ConversationID: RecentsReference.Entry], of user: UserID) async throws {
        let total = Int64(expected.values.map(\.unread).reduce(0, +))
        let end = ContinuousClock.now + .seconds(120)
        while true {
            // The total is compared first, because reading a list of a thousand conversations takes long.
            let sum = try await recents.view(limit: 1).totalUnread
            var difference: String? = "\(sum) unread in total, expected \(total)"
            if sum == total || ContinuousClock.now > end {
                difference = RecentsReference.difference(
                    try await shown(for: user), totalUnread: Int(sum), from: expected)
            }
            if difference == nil { break }
            guard ContinuousClock.now < end else {
                Issue.record("\(user)'s device: \(difference ?? "")")
                return
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        // A page is the start of the list. Only places are compared, because other users can read in between.
        let page = try await recents.view(limit: 100)
        let whole = try await recents.view(limit: max(1, expected.count))
        #expect(page.conversations.map(\.place) == whole.conversations.prefix(100).map(\.place))
        #expect(page.totalUnread == total)
    }

    private func shown(for user: UserID) async throws -> [(id: ConversationID, entry: RecentsReference.Entry)] {
        try await recents.view(limit: 100_000).conversations.map { recent in
            (
                recent.id.absolute(for: user),
                RecentsReference.Entry(
                    count: Int(recent.lastMessage?.seq ?? 0),
                    last: Utterance(
                        text: recent.lastMessage?.text ?? "", sender: recent.lastMessage?.sender.text ?? "",
                        time: recent.lastMessage?.sentAt.iso8601 ?? ""),
                    unread: Int(recent.unread))
            )
        }
    }
}
