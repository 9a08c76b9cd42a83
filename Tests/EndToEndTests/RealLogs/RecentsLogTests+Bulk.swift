import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

extension RecentsLogTests {
    @Test(
        "Recents are loaded once on each device, and reads and removals in bulk reach every device",
        .contract("check 15"), .rows(184, 185, 186, 205, 206, 213, 214, 215, 218, 220, 221),
        .needs(.chatLog("chitchat-p2p.jsonl")))
    func bulkReadsAndRemovalsReachEveryDevice() async throws {
        let log = try ChatLog.find("chitchat-p2p.jsonl")
        var generator = SplitMix64(printingSeedFor: "bulk of \(log.file.lastPathComponent)")
        let server = try await RunningServer.start()
        var whole = RecentsReference()
        try whole.addGroups(try log.everyLine())
        let count = Run.isLong ? 25 : 2
        let others = whole.people.filter { whole.conversations(of: $0).count >= 8 }.shuffled(using: &generator)
        let people = Array((whole.busiest(1) + others).prefix(count))
        let part = try Self.part(of: log, with: people, for: server) { whole.conversations(of: $0) }
        // Each session is a group, and the sessions of the same two users are also imported as a direct conversation.
        var reference = RecentsReference()
        try reference.addGroups(try part.everyLine())
        _ = try reference.addPairs(try part.everyLine())
        for kind in ["group", "direct"] { try await server.importLog(part, ["--kind", kind, "--counts-unread"]) }
        for person in people { try await checkBulkOperations(person, reference, server) }
        try await server.terminate()
        let verdict = try await RunningServer.command(["verify", server.data.path], within: 600)
        #expect(verdict.code == 0, "\(verdict.output)")
    }

    private func checkBulkOperations(_ person: String, _ reference: RecentsReference, _ server: RunningServer)
        async throws
    {
        var reference = reference
        let user = try UserID(person)
        var devices: [ChatClient] = []
        var eventCounters: [RecentsEventCounter] = []
        func open() async throws {
            let device = try await Device.disconnected(server, user)
            let events = RecentsEventCounter()
            Task { for await event in device.recents.events { await events.note(event) } }
            device.connect()
            devices.append(device)
            eventCounters.append(events)
        }
        func expectAll(_ what: String) async throws {
            let wanted = reference.list(of: person)
            for device in devices { try await device.shows(wanted, of: user) }
            try await expectByHTTP(wanted, user, server)
            let totals = wanted.reduce(into: [ConversationKind: Int64]()) {
                $0[$1.key.kind, default: 0] += Int64($1.value.unread)
            }
            for device in devices {
                let shown = try await device.recents.totals()
                for kind in [.group, .direct] as [ConversationKind] {
                    #expect(shown.unread(of: kind) == totals[kind] ?? 0, "\(what): \(kind)")
                }
            }
            for events in eventCounters {
                let total = Int64(wanted.values.map(\.unread).reduce(0, +))
                try await eventually("events report \(total) unread messages, \(what)") {
                    await events.total ?? total == total ? true : nil
                }
            }
        }
        func ids() async throws -> [ConversationID] {
            try await devices[0].recents.view(limit: 100_000).conversations.map(\.id)
        }
        for _ in 0..<2 { try await open() }
        try await expectAll("signed in")

        // Mark up to five hundred conversations read in one request. The other device gets a single event.
        let several = try await ids().enumerated().filter { $0.offset % 3 == 0 }.map(\.element).prefix(500)
        let unread = try await devices[0].recents.view(limit: 100_000, matching: .init(isUnread: true)).conversations
        let toRead = Set(unread.map(\.id)).intersection(several)
        #expect(try await devices[0].recents.markRead(several + [.group("nowhere")]) == [.group("nowhere")])
        for id in several { reference.markRead(id.absolute(for: user), upTo: Int.max, by: person) }
        try await expectAll("several read")
        // Without unread messages in these conversations nothing has changed.
        for (index, events) in eventCounters.enumerated() where !toRead.isEmpty {
            try await eventually("the read event arrives") { await events.reads.isEmpty ? nil : true }
            let scopes = await events.takeReads()
            #expect(scopes.count == 1)
            let reportedIDs: [ConversationID]
            switch scopes.first {
            case .many(let ids): reportedIDs = ids
            case .one(let id): reportedIDs = [id]
            default:
                Issue.record("Device \(index) received events for \(scopes).")
                continue
            }
            // The requesting device's event names the requested conversations, other devices' events those that
            // changed.
            #expect(
                Set(reportedIDs)
                    == (index == 0 ? Set(several + [.group("nowhere")]) : Set(reportedIDs).intersection(several)))
            #expect(toRead.isSubset(of: reportedIDs))
        }

        // Mark conversations read over HTTP, with a result for each.
        try await readByHTTP(try await ids().enumerated().filter { $0.offset % 5 == 1 }.map(\.element), user, server)
        for (place, id) in try await ids().enumerated() where place % 5 == 1 {
            reference.markRead(id.absolute(for: user), upTo: Int.max, by: person)
        }
        try await expectAll("several read by HTTP")

        // Remove several conversations from the list, with and without marking them read.
        for (place, marksRead) in [(2, true), (6, false)] {
            let out = try await ids().enumerated().filter { $0.offset % 7 == place }.map(\.element)
            let taken = try await devices[1].recents.remove(out, options: .init(marksRead: marksRead))
            #expect(taken == out.count)
            for id in out {
                reference.remove(id.absolute(for: user), by: person)
                if marksRead { reference.markRead(id.absolute(for: user), upTo: Int.max, by: person) }
            }
            try await expectAll("several out, read: \(marksRead)")
            for events in eventCounters {
                try await eventually("the removal events arrive") {
                    await events.removed.count >= out.count ? true : nil
                }
                let reportedIDs = await events.takeRemoved()
                #expect(reportedIDs.count == out.count && Set(reportedIDs) == Set(out))
            }
        }

        // Mark a kind read, then all conversations.
        for kind in [.direct, nil] as [ConversationKind?] {
            for events in eventCounters { _ = await events.takeReads() }
            let unread = reference.list(of: person).filter { kind == nil || $0.key.kind == kind }.map(\.value.unread)
            try await devices[1].recents.markAllRead(of: kind)
            for id in reference.conversations(of: person) where kind == nil || id.kind == kind {
                reference.markRead(id, upTo: Int.max, by: person)
            }
            try await expectAll("\(kind?.rawValue ?? "all") read")
            let wanted: RecentsEvent.ReadScope = kind.map { .kind($0) } ?? .all
            guard unread.contains(where: { $0 > 0 }) else { continue }
            try await eventually("the event for reading \(wanted) arrives") {
                await eventCounters[1].reads.isEmpty ? nil : true
            }
            #expect(await eventCounters[1].takeReads() == [wanted])
        }
        try await open()
        try await expectAll("on a new device")
        for (index, events) in eventCounters.enumerated() {
            try await eventually("the list is loaded") { await events.loaded > 0 ? true : nil }
            #expect(await events.loaded == 1, "device \(index)")
        }
        for device in devices {
            #expect(try await device.verifyIntegrity() == [])
            await device.close()
        }
    }

    /// Marks conversations read up to their heads, and a conversation that does not exist.
    private func readByHTTP(_ ids: [ConversationID], _ user: UserID, _ server: RunningServer) async throws {
        let api = try await server.api(user)
        var heads: [String: (head: Int, epoch: String)] = [:]
        var cursor = ""
        repeat {
            let page = try await api.call("GET", "/v1/conversations?limit=100\(cursor)").json
            for entry in page.objects("conversations") {
                let name = try #require(entry["conversation"] as? String)
                heads[name] = (
                    try #require(entry["head"] as? Int), "\(try #require(entry["epoch"]))"
                )
            }
            cursor = page.string("cursor").map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
        for first in stride(from: 0, to: ids.count, by: 499) {
            let some = ids[first..<min(first + 499, ids.count)]
            var marks = try some.map { id in
                let head = try #require(heads[id.description])
                return ["conversation": id.description, "seq": head.head, "epoch": head.epoch] as [String: Any]
            }
            marks.append(["conversation": "group:nowhere", "seq": 1, "epoch": "1"])
            let body = try JSONSerialization.data(withJSONObject: ["conversations": marks])
            let answer = try await api.call("POST", "/v1/read", bytes: Array(body))
            #expect(answer.status == 200, "\(answer)")
            let results = answer.json.objects("reads")
            #expect(results.map { $0["conversation"] as? String } == some.map(\.description) + ["group:nowhere"])
            #expect(results.dropLast().allSatisfy { $0["unread"] as? Int == 0 })
            let error = results.last?["error"] as? [String: Any]
            #expect(error?["code"] as? String == "unknown-conversation")
        }
    }
}

/// Records the recents events of a device.
private actor RecentsEventCounter {
    private(set) var loaded = 0
    /// The total number of unread messages in the last event, or `nil` if no event contained it.
    private(set) var total: Int64?
    private(set) var reads: [RecentsEvent.ReadScope] = []
    private(set) var removed: [ConversationID] = []

    func note(_ event: RecentsEvent) {
        switch event {
        case .loadedAll: loaded += 1
        case .added(_, let total), .updated(_, let total): self.total = total
        case .removed(let id, let total):
            removed.append(id)
            self.total = total
        case .read(let scope, let total):
            reads.append(scope)
            self.total = total
        case .unreadByKind: break
        case .missed(let count): Issue.record("\(count) events were missed")
        }
    }

    func takeReads() -> [RecentsEvent.ReadScope] {
        defer { reads = [] }
        return reads
    }

    func takeRemoved() -> [ConversationID] {
        defer { removed = [] }
        return removed
    }
}
