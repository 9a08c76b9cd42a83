import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import TestSupport

/// One random scenario: Bob has three clients. Alice and Carol send in a channel, two groups and a direct conversation.
/// A reference model of each conversation provides the expected counts.
struct UnreadCountScenario {
    let server: TestServer
    private(set) var steps: [String] = []
    private var random: SplitMix64
    private var devices: [ChatClient] = []
    private var offline: Set<Int> = []
    private var models: [ConversationID: ReferenceConversation] = [:]
    private var isMuted: Set<ConversationID> = []
    private var isDelayed = false
    private var count = 0

    static let places: [ConversationID] = [
        .group("one"), .group("two"), .direct("alice"), .community("city", channel: "general"),
    ]
    private static let bob: UserID = "bob"

    init(seed: UInt64) async throws {
        random = SplitMix64(seed: seed)
        server = try TestServer(users: ["alice", "bob", "carol"])
        try await server.makeGroup("one", members: ["alice", "bob", "carol"])
        try await server.makeGroup("two", members: ["carol", "alice"])
        try await server.makeCommunity("city", channels: ["general"], members: ["alice", "bob", "carol"])
        for place in Self.places {
            models[place] = ReferenceConversation()
            for user in ["alice", "bob", "carol"] as [UserID] { models[place]?.spans[user] = [(0, nil)] }
        }
        models[.group("two")]?.spans["bob"] = []
        models[.direct("alice")]?.seesEverything = true
        for _ in 0..<3 { devices.append(try await server.client("bob")) }
    }

    // MARK: Choices

    private mutating func chance(_ one: UInt64) -> Bool { random.next() % one == 0 }
    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    private mutating func place() -> ConversationID { Self.places[number(0...Self.places.count - 1)] }
    private mutating func device() -> Int { number(0...2) }

    private mutating func other(in place: ConversationID) -> UserID {
        place == .direct("alice") || chance(2) ? "alice" : "carol"
    }

    /// An entry that Bob may see, optionally of one sender.
    private mutating func entry(in place: ConversationID, of sender: UserID? = nil) -> Int? {
        guard let model = models[place] else { return nil }
        return model.visible(to: Self.bob).filter { index in
            !model.entries[index].isTombstone && (sender.map { model.entries[index].sender == $0 } ?? true)
        }.randomElement(using: &random)
    }

    private mutating func newID() -> MessageID { MessageID(at: server.now, using: &random) }

    private func name(_ place: ConversationID) -> ConversationID { place.absolute(for: Self.bob) }

    // MARK: Steps

    mutating func step() async throws {
        let place = place()
        switch number(0...25) {
        case 0...7: try await sendFromOthers(in: place)
        case 8, 9: try await sendOwn(in: place)
        case 10: try await edit(in: place)
        case 11, 12: try await recall(in: place)
        case 13: try await deleteForMe(in: place)
        case 14: try await deleteRange(in: place)
        case 15: try await expire(in: place)
        case 16: try await joinOrLeave()
        case 17: try await read(in: place)
        case 18: try await readAll()
        case 19: try await clear(in: place)
        case 20: try await set(in: place)
        case 21:
            if offline.isEmpty {
                steps.append("the devices go offline")
                server.goOffline(Self.bob)
                offline = [0, 1, 2]
            } else {
                await reconnectClients()
            }
        case 22:
            isDelayed.toggle()
            steps.append(isDelayed ? "answers are delayed" : "answers are immediate")
            server.setDelayed(isDelayed, Self.bob)
        case 23:
            steps.append("an acknowledgement is lost")
            server.loseNextAcknowledgement(of: Self.bob)
        case 24: try await deleteLocalMessages(in: place)
        default: try await sendFromOthers(in: place)
        }
    }

    private mutating func submission() throws -> (Submission, MessageType, Mentions?) {
        count += 1
        let type: MessageType = [.text, .text, .text, .notice].randomElement(using: &random) ?? .text
        let mentions: Mentions? =
            ([nil, nil, .users(["bob"]), .everyone()] as [Mentions?])
            .randomElement(using: &random) ?? nil
        let content = try MessageContent(type: type, json: RawJSON(known: #"{"text":"\#(count)"}"#))
        return (
            Submission(id: newID(), content: content, attributes: MessageAttributes(mentions: mentions)), type,
            mentions
        )
    }

    /// A message that is in the log.
    private struct SentMessage {
        var id: MessageID
        var seq: Seq
        var timetoken: Timetoken
        var sender: UserID
        var type: MessageType
        var mentions: Mentions?
    }

    private mutating func write(_ sent: SentMessage, in place: ConversationID) {
        let entry = ReferenceConversation.Entry(
            id: sent.id, sender: sent.sender, text: "", type: sent.type, mentions: sent.mentions,
            timetoken: sent.timetoken)
        models[place]?.entries.append(entry)
        steps.append(
            "\(place) \(sent.seq): \(sent.sender) \(sent.type.rawValue)\(sent.mentions == nil ? "" : " @")")
    }

    private mutating func sendMessage(in place: ConversationID) async throws -> SentMessage? {
        let sender = other(in: place)
        let (submission, type, mentions) = try submission()
        let result = try await server.perform {
            $0.send(submission, to: name(place), by: Caller(user: sender), completion: $1)
        }
        guard let seq = result.position?.seq else { return nil }
        return SentMessage(
            id: submission.id, seq: seq, timetoken: result.timetoken, sender: sender, type: type, mentions: mentions)
    }

    private mutating func sendFromOthers(in place: ConversationID) async throws {
        for _ in 0..<number(1...4) {
            if let sent = try await sendMessage(in: place) { write(sent, in: place) }
        }
    }

    /// Sends a message from one of Bob's clients while other users send before and after it.
    ///
    /// If Bob's clients are offline, they reconnect first.
    private mutating func sendOwn(in place: ConversationID) async throws {
        guard models[place]?.isMember(Self.bob) == true else { return }
        if !offline.isEmpty { await reconnectClients() }
        let (submission, type, mentions) = try submission()
        let sending = try await devices[device()].conversation(place).send(submission.content, mentioning: mentions)
        var all: [SentMessage] = []
        for _ in 0..<number(0...6) {
            if let sent = try await sendMessage(in: place) { all.append(sent) }
        }
        let own = try await sending.waitUntilSent()
        let mine = SentMessage(
            id: own.id, seq: own.seq, timetoken: own.timetoken, sender: own.sender, type: type, mentions: mentions)
        for sent in (all + [mine]).sorted(by: { $0.seq < $1.seq }) { write(sent, in: place) }
    }

    private mutating func edit(in place: ConversationID) async throws {
        let sender = other(in: place)
        guard let index = entry(in: place, of: sender), let old = models[place]?.entries[index], old.type == .text
        else { return }
        let mentions: MessageEdit.Change<Mentions> = chance(2) ? .remove : .set(.users(["bob"]))
        let edit = MessageEdit(.text("edited"), mentions: mentions)
        let operation = newID()
        _ = try await server.perform {
            $0.edit(old.id, in: name(place), edit, operation: operation, by: Caller(user: sender), completion: $1)
        }
        if case .set(let new) = mentions {
            models[place]?.entries[index].mentions = new
        } else {
            models[place]?.entries[index].mentions = nil
        }
        steps.append("\(place): \(sender) edits \(index + 1), \(mentions)")
    }

    private mutating func recall(in place: ConversationID) async throws {
        guard let index = entry(in: place), let entry = models[place]?.entries[index],
            models[place]?.isMember(entry.sender) == true
        else { return }
        let count = try await server.perform {
            $0.delete([entry.id], in: name(place), by: Caller(user: entry.sender), completion: $1)
        }
        if count > 0 { models[place]?.entries[index].isTombstone = true }
        steps.append("\(place): \(entry.sender) recalls \(index + 1)")
    }

    private mutating func deleteForMe(in place: ConversationID) async throws {
        guard let index = entry(in: place), let id = models[place]?.entries[index].id else { return }
        _ = try await server.perform { $0.hide([id], in: name(place), by: Caller(user: Self.bob), completion: $1) }
        models[place]?.entries[index].hiddenFor.insert(Self.bob)
        steps.append("\(place): bob hides \(index + 1)")
    }

    private mutating func deleteRange(in place: ConversationID) async throws {
        guard let total = models[place]?.entries.count, total > 0, chance(2) else { return }
        let from = number(1...total)
        let to = number(from...min(total + 1, from + 5))
        let range = DeleteRange(from: .seq(Seq(from)), to: .seq(Seq(to)))
        let operation = newID()
        _ = try await server.perform {
            $0.delete(
                range, of: name(place), operation: operation, by: Caller(user: "root", isAdmin: true), completion: $1)
        }
        for index in from - 1..<to - 1 { models[place]?.entries[index].isGone = true }
        steps.append("\(place): \(from)..<\(to) are deleted")
    }

    private mutating func expire(in place: ConversationID) async throws {
        guard place != .direct("alice"), chance(2) else { return }
        let admin = Caller(user: "root", isAdmin: true)
        _ = try await server.perform {
            $0.putConversation(
                name(place), ConversationSettings(retention: .set(.days(1))), by: admin, completion: $1)
        }
        server.advance(by: Double(number(1...30)) * 3600)
        // Expiry works in whole hours, so the hour must not change between the two clock readings.
        if server.now.timeIntervalSince1970.truncatingRemainder(dividingBy: 3600) > 3580 { server.advance(by: 30) }
        let cutoff = Timetoken(
            Date(timeIntervalSince1970: ((server.now.timeIntervalSince1970 - 86_400) / 3600).rounded(.down) * 3600))
        try await server.engine.expire()
        var model = models[place] ?? ReferenceConversation()
        for index in model.entries.indices where model.entries[index].timetoken < cutoff {
            model.entries[index].isGone = true
        }
        models[place] = model
        _ = try await server.perform {
            $0.putConversation(
                name(place), ConversationSettings(retention: .set(.forever)), by: admin, completion: $1)
        }
        steps.append("\(place): old ones are gone")
    }

    private mutating func joinOrLeave() async throws {
        let place: ConversationID = chance(3) ? Self.places[3] : chance(2) ? Self.places[1] : Self.places[0]
        let isMember = models[place]?.isMember(Self.bob) ?? false
        try await server.setMember(Self.bob, of: place.kind == .community ? .community("city") : place, !isMember)
        let head = models[place]?.entries.count ?? 0
        var spans = models[place]?.spans[Self.bob] ?? []
        if isMember { spans = spans.map { ($0.joined, $0.left ?? head) } } else { spans.append((head, nil)) }
        models[place]?.spans[Self.bob] = spans
        steps.append("bob \(isMember ? "leaves" : "joins") \(place)")
    }

    // MARK: Bob's own state

    private mutating func read(in place: ConversationID) async throws {
        guard let index = entry(in: place), let id = models[place]?.entries[index].id else { return }
        let device = devices[device()]
        guard try await device.conversation(place).localMessages([id]).missing.isEmpty else { return }
        try await device.conversation(place).markRead(upTo: id)
        read(place, through: index + 1)
        steps.append("bob reads \(place) to \(index + 1)")
    }

    private mutating func read(_ place: ConversationID, through seq: Int) {
        let before = models[place]?.readSeq[Self.bob] ?? 0
        models[place]?.readSeq[Self.bob] = max(before, seq)
    }

    /// Marks all conversations as read. It first waits until the clients are up to date, so that "all" is well defined.
    private mutating func readAll() async throws {
        guard chance(3) else { return }
        let wrong = try await violations()
        guard wrong.isEmpty else { throw Violations(wrong: wrong) }
        let kind: ConversationKind? = [nil, .group, .community].randomElement(using: &random) ?? nil
        try await devices[device()].recents.markAllRead(of: kind)
        for place in Self.places where kind == nil || place.kind == kind {
            read(place, through: models[place]?.entries.count ?? 0)
        }
        steps.append("bob reads \(kind?.rawValue ?? "all")")
    }

    /// Deletes messages from one of Bob's clients, except the last message of the list's entry.
    private mutating func deleteLocalMessages(in place: ConversationID) async throws {
        let number = device()
        let last = try await devices[number].recents[place]?.lastMessage?.timetoken
        guard let last, let index = entry(in: place), let time = models[place]?.entries[index].timetoken else { return }
        let deleted = try await devices[number].deleteLocalMessages(in: [place], before: min(time, last))
        steps.append("device \(number) deletes \(deleted) local messages of \(place), before \(index + 1)")
    }

    private mutating func clear(in place: ConversationID) async throws {
        guard chance(3), models[place]?.isMember(Self.bob) == true, let total = models[place]?.entries.count, total > 0
        else { return }
        let head = try server.engine.head(of: place, by: Caller(user: Self.bob))
        let seq = Seq(number(1...total))
        guard seq <= head.head else { return }
        _ = try await server.perform {
            $0.clear(place, through: seq, epoch: head.state.epoch, by: Caller(user: Self.bob), completion: $1)
        }
        let before = models[place]?.clearSeq[Self.bob] ?? 0
        models[place]?.clearSeq[Self.bob] = max(before, Int(seq))
        steps.append("bob clears \(place) to \(seq)")
    }

    private mutating func set(in place: ConversationID) async throws {
        guard models[place]?.isMember(Self.bob) == true else { return }
        let chat = devices[device()].conversation(place)
        switch number(0...3) {
        case 0:
            // Setting a value back on a client that did not receive the last change would be no change there.
            for device in devices {
                guard try await device.recents[place]?.isMuted == isMuted.contains(place) else { return }
            }
            try await chat.setMuted(!isMuted.contains(place))
            isMuted.formSymmetricDifference([place])
            steps.append("bob mutes or unmutes \(place)")
        case 1:
            try await chat.setPinned(chance(2))
            steps.append("bob pins \(place)")
        default:
            try await chat.markUnread()
            steps.append("bob marks \(place)")
        }
    }

    private mutating func reconnectClients() async {
        steps.append("the devices come online")
        offline = []
        server.goOnline(Self.bob)
    }

    // MARK: At rest

    /// The differences after activity stops, between a client and the model or between two clients.
    mutating func violations() async throws -> [String] {
        if !offline.isEmpty { await reconnectClients() }
        server.setDelayed(false, Self.bob)
        isDelayed = false
        var wrong: [String] = []
        _ = try await eventually {
            for device in devices { await device.waitForOutbox() }
            wrong = try await differences()
            return wrong.isEmpty
        }
        return wrong
    }

    /// The differences that were found in the middle of a scenario.
    private struct Violations: Error, CustomStringConvertible {
        let wrong: [String]
        var description: String { wrong.joined(separator: "\n") }
    }

    private func differences() async throws -> [String] {
        var wrong: [String] = []
        var shown: [[RecentConversation]] = []
        for (index, device) in devices.enumerated() {
            let view = try await device.recents.view(limit: 100)
            shown.append(view.conversations)
            var totals: (unmuted: Int64, muted: Int64) = (0, 0)
            for place in Self.places {
                guard let model = models[place] else { continue }
                let isMember = model.isMember(Self.bob)
                let unread = isMember ? Int64(model.unread(of: Self.bob)) : 0
                let mentions = isMember ? Int64(model.mentions(of: Self.bob)) : 0
                let entry = view.conversations.first { $0.id == place }
                if entry?.unread ?? 0 != unread || entry?.mentions ?? 0 != mentions {
                    wrong.append(
                        "device \(index), \(place): \(entry?.unread ?? 0)/\(entry?.mentions ?? 0), not \(unread)/"
                            + "\(mentions); server: \(serversCounts(of: place))\n\(try await device.counts(of: place))"
                    )
                }
                if isMuted.contains(place) { totals.muted += unread } else { totals.unmuted += unread }
                let (last, serversLast) = (entry?.lastMessage?.seq, serversHead(of: place)?.lastMessage?.seq)
                if isMember, entry != nil, last != serversLast {
                    wrong.append(
                        "device \(index), \(place): shows \(last ?? 0), the server \(serversLast ?? 0)\n"
                            + "\(try await device.counts(of: place))")
                }
                // Counts can be correct before the messages arrive. Marking all as read on this client would then not
                // cover them.
                let received = try await device.core.store.read { try $0.log(of: place)?.head }
                if isMember, let received, received < model.entries.count {
                    wrong.append("device \(index), \(place): knows \(received) of \(model.entries.count)")
                }
            }
            if view.totals.unread(muted: true) != totals.muted || view.totals.unread(muted: false) != totals.unmuted {
                wrong.append("device \(index): \(view.totals) in total, not \(totals)")
            }
        }
        for (index, list) in shown.enumerated().dropFirst() where facts(list) != facts(shown[0]) {
            var states = ""
            for entry in list where !facts(shown[0]).contains(facts([entry]).first ?? "") {
                for device in [devices[0], devices[index]] {
                    states += "\n\(try await device.counts(of: entry.id))"
                }
            }
            wrong.append("device \(index) shows\n\(facts(list))\nand the first\n\(facts(shown[0]))\(states)")
        }
        return wrong
    }

    private func serversHead(of place: ConversationID) -> ConversationHead? {
        try? server.engine.head(of: place, by: Caller(user: Self.bob))
    }

    private func serversCounts(of place: ConversationID) -> String {
        guard let head = serversHead(of: place) else { return "nothing" }
        return "\(head.unread) and \(head.mentions), read to \(head.readSeq) of \(head.head)"
    }

    /// The properties that must be equal on all clients: the entries, their order and their settings. The order of
    /// entries without a message does not matter.
    private func facts(_ list: [RecentConversation]) -> [String] {
        // A former member receives no changes of the messages they kept.
        let list = list.filter { models[$0.id]?.isMember(Self.bob) == true }
        let shown = list.filter { $0.lastMessage != nil }
        let rest = list.filter { $0.lastMessage == nil }.sorted { $0.id < $1.id }
        return (shown + rest).map { entry in
            "\(entry.id) \(entry.unread) \(entry.mentions) \(entry.isMuted) \(entry.isPinned) \(entry.isMarkedUnread) "
                + "\(entry.lastMessage.map { "\($0.seq)" } ?? "-")"
        }
    }
}
