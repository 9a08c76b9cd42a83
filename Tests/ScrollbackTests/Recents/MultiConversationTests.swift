import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

/// Tests requests about several conversations, message counts, refresh, pagers, and local lookups by ID or time.
@Suite("Requests for several conversations")
struct MultiConversationTests {
    private let group = ConversationID.group("swift")

    /// Creates a server with Alice, Bob and these groups. Each group has the given number of messages from Alice.
    private func server(_ groups: [Identifier: Int]) async throws -> (server: TestServer, alice: ChatClient) {
        let server = try TestServer()
        let alice = try await server.client("alice")
        for (name, count) in groups.sorted(by: { $0.key < $1.key }) {
            try await server.makeGroup(name, members: ["alice", "bob"])
            for number in 0..<count {
                _ = try await alice.conversation(.group(name)).send(.text("\(name) \(number + 1)"))
            }
        }
        await alice.waitForOutbox()
        return (server, alice)
    }

    // MARK: Pagers

    @Test(
        "A pager runs one call at a time and loads the same page again after an error", .contract("check 6"),
        .rows(151, 152, 153, 154, 156, 157, 167))
    func pager() async throws {
        let (server, alice) = try await server(["swift": 45])
        let pager = alice.conversation(group).pager(limit: 20, source: .remote)
        #expect(pager.hasNext && !pager.isLoading)
        async let first = pager.next()
        async let second = pager.next()
        let outcomes = [try? await first, try? await second]
        let page = try #require(outcomes.compactMap { $0 }.first)
        // If the two calls ran one after the other, both return a page.
        if outcomes.contains(where: { $0 == nil }) {
            #expect(page.map(\.seq) == Array(26...45), "The first page has the newest messages, oldest first.")
        }
        let fresh = alice.conversation(group).pager(limit: 20, source: .remote)
        #expect(try await fresh.next().map(\.seq) == Array(26...45), "Pagers share no state.")

        server.goOffline("alice")
        #expect(
            try await eventually {
                do { _ = try await fresh.next() } catch let error as ChatError { return error.isTemporary }
                return false
            })
        #expect(fresh.hasNext && !fresh.isLoading)
        server.goOnline("alice")
        var again: [Message] = []
        #expect(
            try await eventually {
                again = (try? await fresh.next()) ?? []
                return !again.isEmpty
            })
        #expect(again.map(\.seq) == Array(6...25), "The failed page is loaded again.")
        #expect(try await fresh.next().map(\.seq) == Array(1...5))
        #expect(!fresh.hasNext)
        #expect(try await fresh.next().isEmpty, "After the end, a page is empty.")
        await server.close()
    }

    @Test("A pager is loading while a page is under way, and refuses another call", .rows(156, 168))
    func pagerIsLoading() async throws {
        let held = HeldTransport(answersTo: { $0.type == GetHistory.endpoint.frame })
        let (server, _) = try await server(["swift": 5])
        let alice = try await server.client("alice", configure: held.use)
        let pager = alice.conversation(group).pager(limit: 2, source: .remote)
        #expect(!pager.isLoading)
        held.hold()
        async let page = pager.next()
        #expect(try await eventually { held.heldCount == 1 })
        #expect(pager.isLoading)
        let refusal = await #expect(throws: ChatError.self) { try await pager.next() }
        #expect(refusal?.code == .queryInProgress)
        #expect(pager.isLoading, "A refused call doesn't end the other one.")
        held.release()
        #expect(try await page.map(\.seq) == [4, 5])
        #expect(!pager.isLoading)
        await server.close()
    }

    @Test("Without a connection, a merged pager returns the stored messages, and continues when it is online")
    func mergedPagerOffline() async throws {
        let (server, _) = try await server(["swift": 150])
        let bob = try await server.client("bob")
        // The newest message is known. A page that meets the gap below it fills up to 100 messages.
        _ = try await bob.conversation(group).history(.latest, limit: 8)
        server.goOffline("bob")
        for await state in bob.connection { if case .waiting = state { break } }
        let pager = bob.conversation(group).pager(limit: 60)
        let forward = bob.conversation(group).pager(from: .after(.seq(100)), limit: 60)
        await #expect(throws: ChatError.self) { try await forward.next() }
        #expect(forward.hasNext, "Only the server knows whether newer messages exist.")
        #expect(try await pager.next().map(\.seq) == Array(91...150))
        #expect(try await pager.next().map(\.seq) == Array(50...90))
        #expect(pager.hasNext)
        let error = await #expect(throws: ChatError.self) { try await pager.next() }
        #expect(error?.isTemporary == true)
        server.goOnline("bob")
        var page: [Message] = []
        #expect(
            try await eventually {
                page = (try? await pager.next()) ?? []
                return !page.isEmpty
            })
        #expect(page.map(\.seq) == Array(1...49))
        #expect(!pager.hasNext)
        await server.close()
    }

    @Test("A pager keeps the arguments it was created with for all of its pages", .rows(169))
    func pagerArguments() async throws {
        let (server, alice) = try await server(["swift": 9])
        let bob = try await server.client("bob")
        _ = try await bob.conversation(group).send(.text("from bob")).waitUntilSent()
        _ = try await alice.conversation(group).send(.text("from alice")).waitUntilSent()
        for source in [HistorySource.remote, .merged] {
            var (limit, sort, filter) = (4, Sort.newestFirst, MessageFilter.senders(["alice"]))
            let pager = alice.conversation(group).pager(limit: limit, sort: sort, matching: filter, source: source)
            var pages = [try await pager.next().map(\.seq)]
            // The variables may change afterwards.
            (limit, sort, filter) = (1, .oldestFirst, .senders(["bob"]))
            while pager.hasNext { pages.append(try await pager.next().map(\.seq)) }
            #expect(pages.filter { !$0.isEmpty } == [[11, 9, 8, 7], [6, 5, 4, 3], [2, 1]], "\(source)")
            #expect(limit == 1 && sort == .oldestFirst && filter == .senders(["bob"]))
        }
        await server.close()
    }

    @Test("A pager refuses a concurrent call with `queryInProgress`", .rows(156))
    func concurrentPagerCallIsRefused() async throws {
        let (server, alice) = try await server(["swift": 5])
        let pager = alice.conversation(group).pager(limit: 1, source: .remote)
        let codes: [ChatError.Code?] = await withTaskGroup(of: ChatError.Code?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do {
                        _ = try await pager.next()
                        return nil
                    } catch {
                        return (error as? ChatError)?.code
                    }
                }
            }
            var codes: [ChatError.Code?] = []
            for await code in group { codes.append(code) }
            return codes
        }
        #expect(Set(codes.compactMap { $0 }) == Set([ChatError.Code.queryInProgress]))
        await server.close()
    }

    @Test("A pager works in a room as in a group", .rows(150))
    func pagerWorksInARoom() async throws {
        let server = try TestServer()
        let room = ConversationID.room("lobby")
        server.engine.putConversation(room, ConversationSettings(), by: Caller(user: "admin", isAdmin: true)) { _ in }
        let alice = try await server.client("alice")
        for number in 1...5 { _ = try await alice.conversation(room).send(.text("\(number)")).waitUntilSent() }
        let pager = alice.conversation(room).pager(limit: 3)
        #expect(try await pager.next().map(\.text) == ["3", "4", "5"])
        #expect(try await pager.next().map(\.text) == ["1", "2"])
        await server.close()
    }

    // MARK: Local messages

    @Test("Local messages are found by 1 to 20 IDs and returned oldest first", .rows(43, 225, 226))
    func byID() async throws {
        let (server, alice) = try await server(["swift": 5])
        let chat = alice.conversation(group)
        let all = try await chat.history(.earliest, limit: 10, sort: .oldestFirst, from: .local).messages
        let missing = MessageID(UUID())
        let answer = try await chat.localMessages([all[3].id, missing, all[1].id, all[3].id])
        #expect(answer.found.map(\.seq) == [2, 4])
        #expect(answer.missing == [missing])
        for count in [0, 21] {
            let ids = (0..<count).map { _ in MessageID(UUID()) }
            #expect(await #expect(throws: ChatError.self) { try await chat.localMessages(ids) }?.parameter == "ids")
        }
        let page = try await chat.history(.before(.id(all[3].id)), limit: 2, sort: .oldestFirst, from: .local)
        #expect(page.messages.map(\.seq) == [2, 3], "The page has the messages before the anchor in ascending order.")
        await server.close()
    }

    @Test(
        "Messages that are stored on this device are counted from an inclusive to an exclusive time",
        .rows(62, 63, 64, 65))
    func localCounts() async throws {
        let server = try TestServer()
        try await server.makeCommunity("city", channels: ["a", "b"], members: ["alice"])
        let alice = try await server.client("alice")
        let channels = ["a", "b"].map { ConversationID.community("city", channel: $0) }
        var times: [Timetoken] = []
        for channel in channels {
            for number in 1...4 {
                times.append(try await alice.conversation(channel).send(.text("\(number)")).waitUntilSent().timetoken)
            }
        }
        let everything = times[0]..<Timetoken(rawValue: .max)
        #expect(
            try await alice.localMessageCount(in: [.community("city")], everything) == 8,
            "A community includes all of its channels.")
        #expect(try await alice.localMessageCount(in: [channels[1]], everything) == 4)
        #expect(try await alice.localMessageCount(in: channels, times[1]..<times[3]) == 2)
        #expect(try await alice.localMessageCount(in: [.group("unknown")], everything) == 0)
        let error = await #expect(throws: ChatError.self) {
            try await alice.localMessageCount(in: channels, times[3]..<times[3])
        }
        #expect(error?.parameter == "range")
        // Another device has only the last message of each channel until it loads more, and asks no server.
        let phone = try await server.client("alice")
        #expect(
            try await eventually { try await phone.localMessageCount(in: [.community("city")], everything) == 2 })
        _ = try await phone.conversation(channels[0]).history(limit: 3, from: .remote)
        server.goOffline("alice")
        #expect(try await phone.localMessageCount(in: [.community("city")], everything) == 4)
        #expect(try await phone.localMessageCount(in: [channels[0]], everything) == 3)
        #expect(try await phone.localMessageCount(in: channels, times[0]..<times[2]) == 1)
        await server.close()
    }

    @Test("Local messages before a time are deleted on one device only, and load again from the server", .rows(68))
    func deletesLocalMessages() async throws {
        let server = try TestServer()
        try await server.makeCommunity("city", channels: ["a", "b"], members: ["alice"])
        let devices = [try await server.client("alice"), try await server.client("alice")]
        let channels = ["a", "b"].map { ConversationID.community("city", channel: $0) }
        var times: [Timetoken] = []
        for channel in channels {
            for number in 1...4 {
                let sent = try await devices[0].conversation(channel).send(.text("\(number)")).waitUntilSent()
                times.append(sent.timetoken)
            }
        }
        func local(_ device: ChatClient, _ channel: ConversationID) async throws -> [Int64] {
            let history = device.conversation(channel)
            return try await history.history(.latest, sort: .oldestFirst, from: .local).messages.map(\.seq)
        }
        for channel in channels {
            #expect(try await eventually { try await devices[1].recents[channel]?.lastMessage?.seq == 4 })
            _ = try await devices[1].conversation(channel).history(.earliest)
        }

        #expect(try await devices[0].deleteLocalMessages(in: [channels[0]], before: times[2]) == 2)
        #expect(try await local(devices[0], channels[0]) == [3, 4], "A message with exactly this time stays.")
        #expect(try await local(devices[0], channels[1]) == [1, 2, 3, 4])
        #expect(try await devices[0].deleteLocalMessages(in: [channels[0]], before: times[2]) == 0)
        let all: [ConversationID] = [.community("city"), .group("unknown")]
        #expect(
            try await devices[0].deleteLocalMessages(in: all, before: times[5]) == 3,
            "A community includes all of its channels.")
        #expect(try await local(devices[0], channels[0]) == [])
        #expect(try await local(devices[0], channels[1]) == [2, 3, 4])
        for channel in channels {
            #expect(try await local(devices[1], channel) == [1, 2, 3, 4], "The other device keeps its messages.")
            #expect(try await devices[0].conversation(channel).recent()?.unread == 0)
            let merged = try await devices[0].conversation(channel).history(.earliest, sort: .oldestFirst)
            #expect(merged.messages.map(\.text) == ["1", "2", "3", "4"], "The server still has them.")
        }
        #expect(try await devices[0].verifyIntegrity() == [])
        await server.close()
    }

    @Test("Refreshed messages match the server, and missing ones carry an error", .rows(59, 60, 61))
    func refresh() async throws {
        let (server, alice) = try await server(["swift": 5, "other": 1])
        let messages = try server.messages(in: group)
        let other = try server.messages(in: .group("other"))[0]
        let gone = try await alice.conversation(group).recall(messages[1].id).waitUntilSent()
        let unknown = MessageID(UUID())
        let result = try await alice.refresh([
            MessageReference(messages[0].id, in: group), MessageReference(messages[0].id, in: group),
            MessageReference(other.id, in: .group("other")), MessageReference(gone.id, in: group),
            MessageReference(unknown, in: group), MessageReference(messages[0].id, in: .group("nowhere")),
        ])
        #expect(result.matched.map(\.id) == [messages[0].id, other.id], "Each message is returned once.")
        #expect(result.notMatched.map(\.reference.id) == [gone.id, unknown, messages[0].id])
        #expect(result.notMatched.map(\.error.code) == [.unknownMessage, .unknownMessage, .unknownConversation])
        for count in [0, 21] {
            let references = (0..<count).map { _ in MessageReference(MessageID(UUID()), in: group) }
            #expect(
                await #expect(throws: ChatError.self) { try await alice.refresh(references) }?.parameter == "messages")
        }
        await server.close()
    }

    @Test("A refresh replaces a local copy that has missed an edit, a recall or a reaction", .rows(58))
    func refreshReplacesLocalCopies() async throws {
        let server = try TestServer()
        try await server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let channel = ConversationID.community("city", channel: "open")
        let bob = try await server.client("bob")
        let (phone, laptop) = (try await server.client("alice"), try await server.client("alice"))
        var ids: [MessageID] = []
        for text in ["old", "to be recalled", "plain"] {
            ids.append(try await bob.conversation(channel).send(.text(text)).waitUntilSent().id)
        }
        for device in [phone, laptop] {
            #expect(try await eventually { try await device.recents[channel]?.lastMessage?.seq == 3 })
            _ = try await device.conversation(channel).history(.earliest)
        }
        // Without a subscription, a channel delivers no changes of its messages.
        _ = try await bob.conversation(channel).edit(ids[0], to: .text("new")).waitUntilSent()
        _ = try await bob.conversation(channel).recall(ids[1]).waitUntilSent()
        _ = try await bob.conversation(channel).react("👍", to: ids[2]).waitUntilSent()
        func local(_ device: ChatClient) async throws -> [Message] {
            let chat = device.conversation(channel)
            return try await chat.history(.earliest, sort: .oldestFirst, from: .local).messages
        }
        for device in [phone, laptop] {
            let stale = try await local(device)
            #expect(stale.map(\.text) == ["old", "to be recalled", "plain"])
        }
        let result = try await phone.refresh([ids[0], ids[2]].map { MessageReference($0, in: channel) })
        #expect(result.matched.map(\.id) == [ids[0], ids[2]])
        let messages = try await local(phone)
        #expect(messages.first?.text == "new")
        #expect(messages.first { $0.id == ids[2] }?.actions.isEmpty == false)
        // A recalled message is not matched, and its tombstone replaces the copy.
        let recalled = try await laptop.refresh([MessageReference(ids[1], in: channel)])
        #expect(recalled.matched.isEmpty && recalled.notMatched.map(\.reference.id) == [ids[1]])
        let copies = try await local(laptop)
        #expect(copies.map(\.id) == ids)
        #expect(copies.first { $0.id == ids[1] }?.isDeleted == true)
        await server.close()
    }

    // MARK: Several conversations

    @Test(
        "All pages of a busy and a quiet conversation together have every message once", .contract("check 3"),
        .rows(233, 238, 241, 242, 249, 250, 251, 252, 254))
    func pagesTogetherHaveEveryMessageOnce() async throws {
        // The messages of the quiet conversation are older than all of the busy one.
        let (server, alice) = try await server(["archive": 3, "silent": 0])
        try await server.makeGroup("busy", members: ["alice"])
        for number in 1...1_000 {
            try await server.perform {
                $0.send(
                    Submission(id: MessageID(UUID()), content: .text("\(number)")), to: .group("busy"),
                    by: Caller(user: "alice"), completion: $1)
            }
        }
        let (quiet, busy) = (ConversationID.group("archive"), ConversationID.group("busy"))
        let silent = ConversationID.group("silent")
        let newest = try #require(try server.messages(in: quiet).last)
        #expect(try server.messages(in: busy).allSatisfy { $0.timetoken > newest.timetoken })
        var batch = try await alice.fetchHistory(in: [busy, quiet, silent], limit: 25)
        #expect(batch.messages[quiet]?.map(\.seq) == [1, 2, 3], "Messages are returned oldest first.")
        #expect(batch.messages[busy]?.map(\.seq) == Array(976...1_000))
        #expect(batch.messages[silent]?.isEmpty == true)
        #expect(Set(batch.next.keys) == [busy], "A conversation without more messages has no next anchor.")
        var seen = batch.messages.values.flatMap { $0 }.map(\.id)
        while !batch.next.isEmpty {
            batch = try await alice.fetchHistory(after: batch)
            seen += batch.messages.values.flatMap { $0 }.map(\.id)
        }
        #expect(seen.count == 1_003)
        #expect(Set(seen).count == 1_003)
        await server.close()
    }

    @Test("The following pages of several conversations keep the limit, the end, the order and the filter", .rows(251))
    func followingPages() async throws {
        let (server, alice) = try await server(["busy": 30, "quiet": 12, "silent": 0])
        let (busy, quiet) = (ConversationID.group("busy"), ConversationID.group("quiet"))
        let bob = try await server.client("bob")
        _ = try await bob.conversation(busy).send(.text("from bob")).waitUntilSent()
        // From the newest message down to the eighth.
        var batch = try await alice.fetchHistory(
            in: [busy, quiet, .group("silent")], .backward(from: .latest, downTo: .seq(8)), limit: 4,
            sort: .newestFirst, matching: .senders(["alice"]))
        var pages: [ConversationID: [[Seq]]] = [:]
        while true {
            for (id, messages) in batch.messages { pages[id, default: []].append(messages.map(\.seq)) }
            // A conversation is left out once it is read to its end, and the others continue where they are.
            if batch.next.isEmpty { break }
            batch = try await alice.fetchHistory(after: batch)
        }
        let places = Array((8...30).reversed()).map { Seq($0) }
        #expect(pages[busy]?.flatMap { $0 } == places)
        #expect(pages[busy]?.map(\.count) == [4, 4, 4, 4, 4, 3])
        #expect(pages[quiet]?.flatMap { $0 } == [12, 11, 10, 9, 8])
        #expect(pages[.group("silent")] == [[]])
        let end = await #expect(throws: ChatError.self) { try await alice.fetchHistory(after: batch) }
        #expect(end?.parameter == "conversations", "Nothing is left to read.")
        await server.close()
    }

    @Test(
        "One conversation returns up to 100 messages and several up to 25 each, and higher limits are refused",
        .rows(234, 240, 253))
    func limitsAreEnforced() async throws {
        let (server, alice) = try await server(["busy": 120, "quiet": 3])
        #expect(try await alice.fetchHistory(in: [.group("busy")]).messages[.group("busy")]?.count == 100)
        #expect(
            try await alice.fetchHistory(in: [.group("busy")], limit: 1).messages[.group("busy")]?.map(\.seq) == [120])
        let both: [ConversationID] = [.group("busy"), .group("quiet")]
        #expect(try await alice.fetchHistory(in: both).messages[.group("busy")]?.count == 25)
        let many = (0...500).map { ConversationID.group(Identifier(known: "g\($0)")) }
        let refused: [([ConversationID], Int?, String)] = [
            (both, 26, "limit"), ([.group("busy")], 101, "limit"), ([], nil, "conversations"),
            (many, nil, "conversations"),
        ]
        for (ids, limit, parameter) in refused {
            let error = await #expect(throws: ChatError.self) { try await alice.fetchHistory(in: ids, limit: limit) }
            #expect(error?.parameter == parameter)
        }
        await server.close()
    }

    @Test(
        "Time bounds exclude the start and include the end, and crossing bounds return no messages",
        .rows(235, 236, 237, 239))
    func bounds() async throws {
        let (server, alice) = try await server(["swift": 9])
        let times = try server.messages(in: group).map(\.timetoken)
        func seqs(_ anchor: Anchor) async throws -> [Int64]? {
            try await alice.fetchHistory(in: [group], anchor, limit: 4).messages[group]?.map(\.seq)
        }
        #expect(try await seqs(.before(.timetoken(times[6]))) == [3, 4, 5, 6], "The start alone is exclusive.")
        #expect(
            try await seqs(.backward(from: .latest, downTo: .timetoken(times[6]))) == [7, 8, 9],
            "The end alone is inclusive.")
        #expect(
            try await seqs(.backward(from: .latest, downTo: .earliest)) == [6, 7, 8, 9],
            "The page is read backward from the newest message.")
        #expect(try await seqs(.backward(from: .timetoken(times[6]), downTo: .timetoken(times[3]))) == [4, 5, 6])
        #expect(try await seqs(.backward(from: .timetoken(times[3]), downTo: .timetoken(times[3]))) == [])
        #expect(try await seqs(.backward(from: .timetoken(times[2]), downTo: .timetoken(times[6]))) == [])
        await server.close()
    }

    @Test("Actions can be requested with the messages of one conversation, and not of several", .rows(243))
    func withActions() async throws {
        let (server, alice) = try await server(["swift": 3, "other": 1])
        let id = try server.messages(in: group)[1].id
        _ = try await alice.conversation(group).react("👍", to: id).waitUntilSent()
        let batch = try await alice.fetchHistory(in: [group], includingActions: true)
        #expect(batch.actions.map(\.message) == [id])
        #expect(try await alice.fetchHistory(in: [group]).actions.isEmpty)
        let error = await #expect(throws: ChatError.self) {
            try await alice.fetchHistory(in: [group, .group("other")], includingActions: true)
        }
        #expect(error?.parameter == "conversations")
        await server.close()
    }

    @Test(
        "Message counts include the message at the given time, unread counts exclude the last read one",
        .contract("check 4"),
        .rows(267, 268, 269, 271, 272))
    func counts() async throws {
        let (server, alice) = try await server(["swift": 5, "quiet": 0])
        let bob = try await server.client("bob")
        let messages = try server.messages(in: group)
        #expect(try await eventually { try await bob.conversation(group).recent()?.unread == 5 })
        _ = try await bob.conversation(group).history(.latest, limit: 10)
        #expect(
            try await bob.messageCounts(since: [group: messages[2].timetoken]) == [group: 3], "The time is inclusive.")
        try await bob.conversation(group).markRead(upTo: messages[2].id)
        #expect(try await bob.conversation(group).recent()?.unread == 2)
        let beginning = Timetoken(rawValue: 1)
        #expect(
            try await bob.messageCounts(since: [group: beginning, .group("quiet"): beginning, .group("x"): beginning])
                == [group: 5, .group("quiet"): 0], "A conversation that the user can't see has no count.")
        _ = try await alice.conversation(group).recall(messages[4].id).waitUntilSent()
        #expect(try await bob.messageCounts(since: [group: messages[2].timetoken]) == [group: 2])
        #expect(await #expect(throws: ChatError.self) { try await bob.messageCounts(since: [:]) }?.parameter == "since")
        await server.close()
    }

    @Test("Message counts reach back 30 days by default when retention is unlimited", .rows(270))
    func countWindow() async throws {
        let (server, alice) = try await server(["swift": 2])
        server.advance(by: 40 * 86_400)
        _ = try await alice.conversation(group).send(.text("later")).waitUntilSent()
        let beginning = Timetoken(rawValue: 1)
        #expect(try await alice.messageCounts(since: [group: beginning]) == [group: 1])
        server.engine.putSettings(by: Caller(user: "admin", isAdmin: true), completion: { _ in }) {
            $0.countWindowDays = nil
        }
        #expect(try await eventually { try await alice.messageCounts(since: [group: beginning]) == [group: 3] })
        await server.close()
    }

    // MARK: Actions and deletes

    @Test("Actions have their own time, are listed in pages and can be removed", .rows(274, 275, 277, 278))
    func actions() async throws {
        let (server, alice) = try await server(["swift": 2])
        let bob = try await server.client("bob")
        let messages = try server.messages(in: group)
        #expect(try await eventually { try await bob.conversation(group).recent() != nil })
        for value in ["👍", "🎉", "👀"] {
            _ = try await bob.conversation(group).react(value, to: messages[0].id).waitUntilSent()
        }
        _ = try await alice.conversation(group).addAction(type: "vote", value: "yes", to: messages[1].id)
            .waitUntilSent()
        let again = try await bob.conversation(group).react("👍", to: messages[0].id)
        #expect(await #expect(throws: ChatError.self) { try await again.waitUntilSent() }?.code == .conflict)
        let (first, next) = try await alice.conversation(group).actions(on: messages[0].id, limit: 2)
        #expect(first.map(\.value) == ["👍", "🎉"])
        #expect(first.allSatisfy { $0.type == "reaction" && $0.sender == "bob" && $0.message == messages[0].id })
        // Each action has a time of its own, which is later than its message and the same for every reader.
        let all = try await alice.conversation(group).actions().actions
        let times = all.map(\.timetoken)
        #expect(times == times.sorted() && Set(times).count == 4)
        #expect(all.allSatisfy { $0.timetoken > messages[1].timetoken })
        #expect(try await bob.conversation(group).actions().actions == all)
        #expect(all.last.map { [$0.type, $0.value, $0.sender.text] } == ["vote", "yes", "alice"])
        let (rest, end) = try await alice.conversation(group).actions(on: messages[0].id, after: next, limit: 2)
        #expect(rest.map(\.value) == ["👀"])
        #expect(end == nil)
        #expect(try await alice.conversation(group).actions().actions.map(\.value) == ["👍", "🎉", "👀", "yes"])
        _ = try await bob.conversation(group).unreact("🎉", from: messages[0].id).waitUntilSent()
        #expect(try await alice.conversation(group).actions().actions.map(\.value) == ["👍", "👀", "yes"])
        // An action that does not exist, or that another user added.
        for (client, value) in [(bob, "🎉"), (bob, "🙈"), (alice, "👍")] {
            let removal = try await client.conversation(group).unreact(value, from: messages[0].id)
            let error = await #expect(throws: ChatError.self) { try await removal.waitForCompletion() }
            #expect(error?.code == .unknownMessage && error?.parameter == "action", "\(value)")
            try await removal.cancel()
        }
        // The server also removes an action by its message and time.
        func remove(_ time: Timetoken, from message: Message) async throws {
            try await server.perform { [group] in
                $0.removeAction(from: message.id, .at(time), in: group, by: Caller(user: "bob"), completion: $1)
            }
        }
        for (time, message) in [(all[1].timetoken, messages[0]), (all[0].timetoken, messages[1])] {
            let error = await #expect(throws: ChatError.self) { try await remove(time, from: message) }
            #expect(error?.code == .unknownMessage && error?.parameter == "timetoken")
        }
        try await remove(all[0].timetoken, from: messages[0])
        #expect(try await alice.conversation(group).actions().actions == [all[2], all[3]])
        await server.close()
    }

    @Test("Deleting by ID affects everyone, and clearing up to a message affects only the user", .rows(70, 262))
    func deletes() async throws {
        let (server, alice) = try await server(["swift": 6])
        let bob = try await server.client("bob")
        let messages = try server.messages(in: group)
        #expect(try await eventually { try await bob.conversation(group).history(.latest).messages.count == 6 })
        _ = try await alice.conversation(group).delete([messages[1].id, messages[3].id], for: .everyone).waitUntilSent()
        #expect(try await eventually { try await bob.texts(in: group).count == 4 })
        _ = try await bob.conversation(group).clear(through: messages[2].id)
        #expect(try await bob.texts(in: group) == ["swift 5", "swift 6"])
        #expect(try await alice.texts(in: group).count == 4)
        for count in [0, 101] {
            let ids = (0..<count).map { _ in MessageID(UUID()) }
            let error = await #expect(throws: ChatError.self) {
                try await bob.conversation(group).delete(ids, for: .everyone)
            }
            #expect(error?.parameter == "ids")
        }
        await server.close()
    }

    @Test(
        "Range deletions are half-open, return the deleted count, and delete nothing for equal bounds",
        .contract("check 1", "check 2"),
        .rows(257, 258, 259, 260, 261, 263, 264, 265, 266))
    func ranges() async throws {
        let (server, alice) = try await server(["swift": 9])
        let times = try server.messages(in: group).map(\.timetoken)
        let admin = Caller(user: "admin", isAdmin: true)
        func delete(
            _ from: HistoryPoint?, _ to: HistoryPoint?, by caller: Caller
        ) async throws -> Int64 {
            try await server.perform {
                $0.delete(DeleteRange(from: from, to: to), of: group, by: caller, completion: $1)
            }
        }
        #expect(try await delete(.timetoken(times[4]), .timetoken(times[4]), by: admin) == 0)
        let crossed: [(HistoryPoint, HistoryPoint)] = [
            (.timetoken(times[5]), .timetoken(times[4])), (.seq(6), .seq(5)), (.seq(6), .timetoken(times[4])),
            (.latest, .seq(5)), (.timetoken(Timetoken(rawValue: times[4].rawValue + 1)), .timetoken(times[4])),
        ]
        for (from, to) in crossed {
            let error = await #expect(throws: ChatError.self) { try await delete(from, to, by: admin) }
            #expect(error?.code == .invalidParameter && error?.parameter == "from")
        }
        #expect(try await delete(.timetoken(times[4]), .timetoken(times[5]), by: admin) == 1, "The start is included.")
        #expect(try server.messages(in: group).map(\.seq) == [1, 2, 3, 4, 6, 7, 8, 9], "The end is excluded.")
        #expect(
            try await delete(nil, .timetoken(times[2]), by: admin) == 2,
            "The range covers all messages before the time.")
        #expect(
            try await delete(.timetoken(times[7]), nil, by: admin) == 2,
            "The range covers all messages from the time on.")
        #expect(
            try await eventually { try await alice.texts(in: group) == ["swift 3", "swift 4", "swift 6", "swift 7"] })
        let refused = await #expect(throws: ChatError.self) { try await delete(nil, nil, by: Caller(user: "alice")) }
        #expect(refused?.code == .forbidden)
        server.engine.putSettings(by: admin, completion: { _ in }) { $0.allowsHistoryDelete = false }
        #expect(try await eventually { !server.engine.settings.allowsHistoryDelete })
        let off = await #expect(throws: ChatError.self) { try await delete(nil, nil, by: admin) }
        #expect(off?.code == .forbidden)
        server.engine.putSettings(by: admin, completion: { _ in }) { $0.allowsHistoryDelete = true }
        #expect(try await eventually { server.engine.settings.allowsHistoryDelete })
        #expect(try await delete(nil, nil, by: admin) == 4, "The range covers all messages.")
        #expect(try server.messages(in: group).isEmpty)
        await server.close()
    }

    @Test(
        "A range can include the newer or the older of the two messages at its ends", .contract("check 2"),
        .rows(260, 261))
    func rangesOfTwoMessages() async throws {
        let (server, _) = try await server(["swift": 4])
        let admin = try await server.client("admin")
        let chat = admin.conversation(group)
        #expect(try await eventually { (try? await chat.history(from: .remote)) != nil })
        let times = try server.messages(in: group).map(\.timetoken)
        func after(_ time: Timetoken) -> Timetoken { Timetoken(rawValue: time.rawValue + 1) }
        // As PubNub documents it, from the newer to the older point: the newer one is included.
        func delete(start: Timetoken, end: Timetoken) async throws -> Int64 {
            try await chat.deleteHistory(from: .timetoken(after(end)), to: .timetoken(after(start)))
        }
        #expect(try await delete(start: times[2], end: times[1]) == 1)
        #expect(try server.messages(in: group).map(\.seq) == [1, 2, 4])
        #expect(try await delete(start: times[1], end: times[1]) == 0)
        // As newer documentation has it: the older one is included.
        #expect(try await chat.deleteHistory(from: .timetoken(times[1]), to: .timetoken(times[3])) == 1)
        #expect(try server.messages(in: group).map(\.seq) == [1, 4])
        await server.close()
    }

    @Test("Each failure of a request has a code, and a message that can be shown to users", .rows(172, 273))
    func errors() async throws {
        let (server, alice) = try await server(["swift": 1])
        let mallory = try await server.client("mallory")
        let error = await #expect(throws: ChatError.self) {
            try await mallory.conversation(group).history(from: .remote)
        }
        #expect(error?.code == .unknownConversation)
        #expect((error as (any Error)?)?.localizedDescription == error?.message)
        func code(_ body: () async throws -> Void) async -> ChatError.Code? {
            let error = await #expect(throws: ChatError.self) { try await body() }
            #expect(error?.message.isEmpty == false)
            return error?.code
        }
        // No call of connect(), no network, and a kind of conversation that the call is not for.
        let idle = try await server.disconnectedClient("alice")
        #expect(await code { _ = try await idle.conversation(group).history(from: .remote) } == .unreachable)
        #expect(await code { _ = try await alice.recents.add(.room("lobby")) } == .invalidParameter)
        #expect(
            await code { _ = try await alice.conversation(.group("nowhere")).history(from: .remote) }
                == .unknownConversation)
        try await server.setMember("alice", of: group, false)
        #expect(
            await code { _ = try await alice.conversation(group).send(.text("hi")).waitUntilSent() } == .notMember)
        server.goOffline("alice")
        #expect(
            try await eventually {
                await code { _ = try await alice.conversation(group).history(from: .remote) } == .unreachable
            })
        await server.close()
    }

    @Test("A request above the rate limit of the server fails with the time to wait", .rows(172))
    func rateLimited() async throws {
        let limiter = RateLimiter([.search: RateLimiter.Rate(perSecond: 0.01, burst: 3)])
        let server = try TestServer(store: MemoryStore(generation: 1), limiter: limiter)
        let alice = try await server.client("alice")
        var error: ChatError?
        for _ in 0..<4 where error == nil {
            do throws(ChatError) {
                _ = try await alice.search("word", from: .remote)
            } catch let refusal {
                error = refusal
            }
        }
        #expect(error?.code == .rateLimited && error?.isTemporary == true)
        #expect(error?.retryAfter.map { $0 > 0 } == true)
        await server.close()
    }
}
