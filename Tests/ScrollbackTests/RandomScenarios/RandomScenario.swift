import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackTesting
import TestSupport
import Testing

/// One random scenario that runs on the SDK and on the reference model.
struct RandomScenario {
    static let group = ConversationID.group("plain")
    private static let people: [UserID] = ["alice", "bob", "carol"]
    private static let admin = Caller(user: "admin", isAdmin: true)

    private let seed: UInt64
    private var random: SplitMix64
    private let server: TestServer
    /// One client for each user that makes changes. Bob has a second client that only reads.
    private let devices: [UserID: ChatClient]
    private let laptop: ChatClient
    private var reference = ReferenceConversation()
    private var trace: [String] = []
    private var number = 0

    static func run(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url)
        var scenario = try await RandomScenario(seed, store)
        do {
            for _ in 0..<30 {
                try await scenario.change()
                if scenario.chance(3) { try await scenario.compare() }
            }
            try await scenario.compare()
            try await scenario.compareWhole()
            await scenario.server.close()
            let findings = try store.verify { _ in }
            if !findings.isEmpty { scenario.fail("verify: \(findings)") }
        } catch {
            scenario.fail("threw \(error)")
            await scenario.server.close()
        }
        try store.close()
    }

    private init(_ seed: UInt64, _ store: SQLiteStore) async throws {
        self.seed = seed
        random = SplitMix64(seed: seed)
        server = try TestServer(store: store)
        reference.seesEverything = random.next() % 2 == 0
        try await server.makeGroup("plain", members: ["alice", "bob"])
        try await server.setHistoryVisibility(reference.seesEverything ? .everything : .sinceJoin, of: Self.group)
        reference.spans = ["alice": [(0, nil)], "bob": [(0, nil)]]
        var devices: [UserID: ChatClient] = [:]
        for person in Self.people { devices[person] = try await server.client(person) }
        self.devices = devices
        laptop = try await server.client("bob")
    }

    private func fail(_ what: String) {
        Issue.record("seed \(seed): \(what)\n\(trace.suffix(40).joined(separator: "\n"))")
    }

    // MARK: Choices

    private mutating func chance(_ one: UInt64) -> Bool { random.next() % one == 0 }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    private mutating func member() -> UserID? {
        Self.people.filter { reference.isMember($0) }.randomElement(using: &random)
    }

    private mutating func entry(of sender: UserID? = nil, visibleTo user: UserID, isTombstone: Bool = false) -> Int? {
        reference.visible(to: user).filter { index in
            reference.entries[index].isTombstone == isTombstone
                && (sender.map { reference.entries[index].sender == $0 } ?? true)
        }.randomElement(using: &random)
    }

    private func chat(_ user: UserID) throws -> Conversation { try #require(devices[user]).conversation(Self.group) }

    // MARK: Changes

    private mutating func change() async throws {
        guard let user = member() else { return }
        switch number(0...15) {
        case 0...5: try await send(user)
        case 6: try await edit(user)
        case 7: try await recall(user)
        case 8: try await deleteForMe(user)
        case 9: try await react(user)
        case 10: try await moderate()
        case 11: try await deleteRange()
        case 12: try await expire()
        case 13: try await joinOrLeave()
        case 14: try await read(user)
        default: try await away(user)
        }
    }

    private mutating func send(_ user: UserID) async throws {
        for _ in 0..<number(1...3) { try await sendDraft(by: user, draft(user)) { $0 } }
    }

    private struct Draft {
        var content: MessageContent
        var text: String
        var mentions: Mentions?
        var replyTo: MessageID?
        var thread: MessageID?
        var customType: String?
    }

    /// The JSON of a text message, with the URL that an image needs.
    private static func json(_ text: String) -> RawJSON {
        RawJSON(known: #"{"text":"\#(text)","url":"https://example.com/a.jpg"}"#)
    }

    private mutating func draft(_ user: UserID) throws -> Draft {
        number += 1
        let text = "\(user) \(number)"
        let type: MessageType = [.text, .text, .text, .image, .notice].randomElement(using: &random) ?? .text
        let json = Self.json(text)
        let mentions: [Mentions?] = [nil, nil, nil, .users(["bob"]), .users(["carol", "alice"]), .everyone()]
        var draft = Draft(
            content: try MessageContent(type: type, json: json), text: text,
            mentions: mentions.randomElement(using: &random) ?? nil,
            customType: [nil, nil, "poll"].randomElement(using: &random) ?? nil)
        if chance(4), let index = entry(visibleTo: user) {
            draft.replyTo = reference.entries[index].id
            draft.thread = reference.entries[index].thread ?? reference.entries[index].id
        }
        return draft
    }

    private mutating func sendDraft(
        by user: UserID, _ draft: Draft, deliver: (SendHandle) async throws -> SendHandle
    ) async throws {
        let sending = try await chat(user).send(
            draft.content, mentioning: draft.mentions, replyingTo: draft.replyTo, customType: draft.customType)
        let message = try await deliver(sending).waitUntilSent()
        record(message, by: user, draft)
    }

    private mutating func record(_ message: Message, by user: UserID, _ draft: Draft) {
        trace.append("\(message.seq): \(draft.text) \(draft.content.type)")
        reference.entries.append(
            ReferenceConversation.Entry(
                id: message.id, sender: user, text: draft.text, type: draft.content.type, customType: draft.customType,
                mentions: draft.mentions, timetoken: message.timetoken, thread: draft.thread))
        if reference.entries.count != Int(message.seq) {
            fail("place \(message.seq) for entry \(reference.entries.count)")
        }
        reference.advanceReadMarker(by: user)
    }

    private mutating func edit(_ user: UserID) async throws {
        guard let index = entry(of: user, visibleTo: user) else { return }
        number += 1
        let text = "\(user) edited \(number)"
        let content = try MessageContent(type: reference.entries[index].type, json: Self.json(text))
        let mentions: MessageEdit.Change<Mentions> =
            [.keep, .remove, .set(.users(["bob"]))]
            .randomElement(using: &random) ?? .keep
        try await done(try await chat(user).edit(reference.entries[index].id, to: content, mentioning: mentions))
        reference.entries[index].text = text
        switch mentions {
        case .keep: break
        case .remove: reference.entries[index].mentions = nil
        case .set(let new): reference.entries[index].mentions = new
        }
        trace.append("edit \(index + 1)")
    }

    /// Waits until a change is applied. The change of a message that the client does not have ends as `gone`.
    private func done(_ change: SendHandle) async throws {
        for await state in change.states {
            switch state {
            case .sent, .gone: return
            case .failed(let error): throw error
            case .stored, .uploading, .sending, .waiting: continue
            }
        }
    }

    private mutating func recall(_ user: UserID) async throws {
        guard let index = entry(of: user, visibleTo: user) else { return }
        try await done(try await chat(user).recall(reference.entries[index].id))
        reference.entries[index].isTombstone = true
        reference.entries[index].reactions = []
        trace.append("recall \(index + 1)")
    }

    private mutating func deleteForMe(_ user: UserID) async throws {
        let indexes = Set((0..<number(1...3)).compactMap { _ in entry(visibleTo: user) })
        guard !indexes.isEmpty else { return }
        let sending = try await chat(user).delete(indexes.map { reference.entries[$0].id }, for: .me)
        try await done(sending)
        for index in indexes { reference.entries[index].hiddenFor.insert(user) }
        trace.append("\(user) hides \(indexes.map { $0 + 1 }.sorted())")
    }

    private mutating func react(_ user: UserID) async throws {
        guard let index = entry(visibleTo: user) else { return }
        let value = ["👍", "🎉"].randomElement(using: &random) ?? "👍"
        let entry = reference.entries[index]
        if let own = entry.reactions.firstIndex(where: { $0.user == user && $0.value == value }) {
            try await done(try await chat(user).unreact(value, from: entry.id))
            reference.entries[index].reactions.remove(at: own)
        } else {
            try await done(try await chat(user).react(value, to: entry.id))
            reference.entries[index].reactions.append((user, value))
        }
        trace.append("\(user) reacts to \(index + 1)")
    }

    /// The owner deletes a message of any member.
    private mutating func moderate() async throws {
        guard reference.isMember("alice"), let index = entry(visibleTo: "alice") else { return }
        try await done(try await chat("alice").delete(reference.entries[index].id, for: .everyone))
        reference.entries[index].isTombstone = true
        reference.entries[index].reactions = []
        trace.append("alice deletes \(index + 1)")
    }

    private mutating func deleteRange() async throws {
        guard !reference.entries.isEmpty, chance(2) else { return }
        let from = number(1...reference.entries.count)
        let to = number(from...min(reference.entries.count + 1, from + 6))
        let range = DeleteRange(from: .seq(Seq(from)), to: .seq(Seq(to)))
        let count = try await server.perform { $0.delete(range, of: Self.group, by: Self.admin, completion: $1) }
        let gone = (from..<to).map { $0 - 1 }.filter { !reference.entries[$0].isGone }
        if Int(count) != gone.count(where: { !reference.entries[$0].isTombstone }) {
            fail("deleted \(count) of \(gone)")
        }
        for index in gone { reference.entries[index].isGone = true }
        trace.append("range \(from)..<\(to)")
        // The sweep subtracts removed replies from the reply counts of their root messages.
        try await server.engine.sweep()
    }

    /// Lets up to 30 hours pass and then expires messages that are older than the retention of one to three days.
    private mutating func expire() async throws {
        guard chance(2) else { return }
        let keeps = number(1...3)
        _ = try await server.perform {
            $0.putConversation(
                Self.group, ConversationSettings(retention: .set(.days(keeps))), by: Self.admin, completion: $1)
        }
        server.advance(by: Double(number(1...30)) * 3600)
        // Expiry works in whole hours, so the hour must not change between the two clock readings.
        if server.now.timeIntervalSince1970.truncatingRemainder(dividingBy: 3600) > 3580 { server.advance(by: 30) }
        let now = server.now.timeIntervalSince1970
        try await server.engine.expire()
        let cutoff = Timetoken(
            Date(timeIntervalSince1970: ((now - Double(keeps) * 86_400) / 3600).rounded(.down) * 3600))
        for index in reference.entries.indices where reference.entries[index].timetoken < cutoff {
            reference.entries[index].isGone = true
        }
        if chance(2) { try await server.engine.sweep() }
        trace.append("expired, \(reference.entries.count { $0.isGone }) of \(reference.entries.count) are gone")
    }

    private mutating func joinOrLeave() async throws {
        let person = ["bob", "carol"].randomElement(using: &random) ?? "carol" as UserID
        let isMember = reference.isMember(person)
        try await server.setMember(person, of: Self.group, !isMember)
        if isMember {
            reference.spans[person] = reference.spans[person]?.map { ($0.joined, $0.left ?? reference.entries.count) }
        } else {
            reference.spans[person, default: []].append((reference.entries.count, nil))
        }
        trace.append("\(person) \(isMember ? "leaves" : "joins")")
    }

    private mutating func read(_ user: UserID) async throws {
        try await settle()
        guard let index = entry(visibleTo: user) else { return }
        let id = reference.entries[index].id
        guard try await chat(user).localMessages([id]).missing.isEmpty else { return }
        try await chat(user).markRead(upTo: id)
        reference.readSeq[user] = max(reference.readSeq[user] ?? 0, index + 1)
        trace.append("\(user) reads to \(index + 1)")
    }

    /// Takes a user offline for a while. Queued messages are sent, and missed changes arrive, when the user reconnects.
    private mutating func away(_ user: UserID) async throws {
        server.goOffline(user)
        trace.append("\(user) is away")
        for _ in 0..<number(0...3) {
            if let other = Self.people.filter({ $0 != user && reference.isMember($0) }).randomElement(using: &random) {
                switch number(0...2) {
                case 0: try await recall(other)
                case 1: try await edit(other)
                default: try await send(other)
                }
            }
        }
        var drafts: [(SendHandle, Draft)] = []
        for _ in 0..<number(0...2) {
            let draft = try draft(user)
            let sending = try await chat(user).send(
                draft.content, mentioning: draft.mentions, replyingTo: draft.replyTo, customType: draft.customType)
            drafts.append((sending, draft))
        }
        server.goOnline(user)
        for client in [devices[user], user == "bob" ? laptop : nil].compactMap({ $0 }) {
            _ = try await eventually {
                (try? await client.conversation(Self.group).history(.latest, limit: 1, from: .remote)) != nil
            }
        }
        for (sending, draft) in drafts { record(try await sending.waitUntilSent(), by: user, draft) }
        trace.append("\(user) is back")
    }

    // MARK: Comparisons

    /// Waits until every client is up to date.
    private func settle() async throws {
        for (user, client) in devices where reference.isMember(user) { try await settle(client, user) }
        if reference.isMember("bob") { try await settle(laptop, "bob") }
    }

    private func settle(_ client: ChatClient, _ user: UserID) async throws {
        await client.waitForOutbox()
        let wanted = reference.visible(to: user)
        let isThere = try await eventually {
            let recent = try await client.conversation(Self.group).recent()
            guard let recent else { return reference.entries.isEmpty || wanted.isEmpty }
            let last = try await client.conversation(Self.group).history(.latest, limit: 1, from: .local).messages
            guard try await isCurrent(client, wanted) else { return false }
            return recent.unread == Int64(reference.unread(of: user))
                && recent.mentions == Int64(reference.mentions(of: user))
                && last.first.map { shows($0, wanted.last) } ?? wanted.isEmpty
        }
        if !isThere {
            let recent = try await client.conversation(Self.group).recent()
            let serverState = try server.serverState(of: Self.group, for: user)
            fail(
                """
                \(client === laptop ? "laptop " : "")\
                (server \(serverState?.unread ?? -1), \(serverState?.mentions ?? -1); \
                model read \(reference.readSeq[user] ?? 0)) \(user) has unread \(recent?.unread ?? -1) \
                and mentions \(recent?.mentions ?? -1), not \(reference.unread(of: user)) \
                and \(reference.mentions(of: user)); newest \(wanted.last.map { $0 + 1 } ?? 0)
                """
            )
        }
    }

    /// Whether all messages that a client has of the group are up to date.
    private func isCurrent(_ client: ChatClient, _ wanted: [Int]) async throws -> Bool {
        for start in stride(from: 0, to: reference.entries.count, by: 20) {
            let indexes = start..<min(start + 20, reference.entries.count)
            let found = try await client.conversation(Self.group).localMessages(
                indexes.map { reference.entries[$0].id }
            )
            .found
            for message in found {
                guard let index = reference.index(of: message.id), wanted.contains(index), shows(message, index) else {
                    return false
                }
            }
        }
        return true
    }

    /// Whether a message equals an entry of the model in its current state.
    private func shows(_ message: Message, _ index: Int?) -> Bool {
        guard let index else { return false }
        let entry = reference.entries[index]
        return message.id == entry.id && message.seq == Seq(index + 1) && message.isDeleted == entry.isTombstone
            && (entry.isTombstone || message.text == entry.text) && message.thread == entry.thread
            && Set(message.actions.flatMap { summary in summary.senders.map { "\($0) \(summary.value)" } })
                == Set(entry.reactions.map { "\($0.user) \($0.value)" })
            && (entry.isTombstone || Int(message.replies?.count ?? 0) == reference.replies(to: entry.id))
    }

    private func describe(_ message: Message) -> String {
        let actions = message.actions.map { "\($0.value)\($0.senders)" }.joined()
        return "\(message.seq)@\(message.rev) \(message.text ?? "-") r\(message.replies?.count ?? 0) \(actions)"
            + (message.thread == nil ? "" : " in thread")
    }

    private func describe(_ index: Int) -> String {
        let entry = reference.entries[index]
        return "\(index + 1) \(entry.isTombstone ? "-" : entry.text) r\(reference.replies(to: entry.id)) "
            + entry.reactions.map { "\($0.value)\($0.user)" }.joined() + (entry.thread == nil ? "" : " in thread")
    }

    private mutating func filter() -> MessageFilter {
        switch number(0...10) {
        case 0: .types([.text])
        case 1: .types([.image, .notice])
        case 2: MessageFilter(excludedTypes: [.text])
        case 3: .customTypes(["poll"])
        case 4: .customTypes([nil])
        case 5: .senders(["alice"])
        case 6: .mentionsMe
        case 7: .hasMedia
        case 8: .noReplies
        case 9: reference.entries.randomElement(using: &random).map { .thread($0.thread ?? $0.id) } ?? .all
        default: .all
        }
    }

    private mutating func point(for user: UserID) -> HistoryPoint {
        let seq = number(1...max(1, reference.entries.count))
        return switch number(0...4) {
        case 0: .latest
        case 1: .earliest
        case 2: entry(visibleTo: user).map { .id(reference.entries[$0].id) } ?? .latest
        case 3: reference.entries.isEmpty ? .latest : .timetoken(reference.entries[seq - 1].timetoken)
        default: .seq(Seq(seq))
        }
    }

    private mutating func anchor(for user: UserID) -> Anchor {
        let point = point(for: user)
        return switch number(0...4) {
        case 0 where point != .latest: .after(point)
        case 1: .around(point, before: number(0...4), after: number(0...4))
        case 2: .between(point, self.point(for: user))
        case 3: .backward(from: point, downTo: self.point(for: user))
        case _ where point != .earliest: .before(point)
        default: .after(point)
        }
    }

    private mutating func compare() async throws {
        try await settle()
        for user in Self.people where reference.isMember(user) {
            let clients = user == "bob" ? [try #require(devices[user]), laptop] : [try #require(devices[user])]
            for client in clients {
                let (anchor, limit, filter) = (anchor(for: user), number(1...8), chance(2) ? .all : filter())
                let source: HistorySource = chance(2) ? .merged : .remote
                let page = try await client.conversation(Self.group)
                    .history(anchor, limit: limit, matching: filter, from: source)
                let wanted = reference.page(anchor, limit: limit, filter, for: user)
                let isSame =
                    page.messages.count == wanted.count && page.remoteError == nil
                    && zip(page.messages, wanted).allSatisfy { shows($0, $1) }
                if !isSame {
                    let device = client === laptop ? "laptop" : "device"
                    fail(
                        "\(user)'s \(device) asked \(source) for \(limit) of \(anchor), \(filter), and got "
                            + """
                            \(page.messages.map(describe)), not \(wanted.map(describe)), \
                            short of \(page.remoteError?.message ?? "nothing")
                            """
                    )
                }
            }
        }
    }

    /// Compares everything that each member sees: in both directions, with pages and with pagers. Then checks each
    /// local store.
    private mutating func compareWhole() async throws {
        for user in Self.people where reference.isMember(user) {
            let clients = user == "bob" ? [try #require(devices[user]), laptop] : [try #require(devices[user])]
            let wanted = reference.visible(to: user)
            for client in clients {
                var newest: [Message] = []
                let pager = client.conversation(Self.group).pager(limit: number(1...9), sort: .newestFirst)
                while pager.hasNext { newest += try await pager.next() }
                var oldest: [Message] = []
                for try await message in client.conversation(Self.group).messages(from: .earliest) {
                    oldest.append(message)
                }
                for (name, found) in [("pager", Array(newest.reversed())), ("sequence", oldest)]
                where found.count != wanted.count || !zip(found, wanted).allSatisfy({ shows($0, $1) }) {
                    fail(
                        "\(user)'s \(name) has \(found.map(describe)), not \(wanted.map(describe))")
                }
                let violations = try await client.verifyIntegrity()
                if !violations.isEmpty { fail("\(user): \(violations)") }
            }
        }
    }
}
