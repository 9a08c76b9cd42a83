import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import Synchronization
import TestSupport
import Testing

@Suite struct UnreadCostTests {
    private let group = ConversationID.group("a")
    /// The number of messages. `SCROLLBACK_LONG` raises it to the 100,000 of the full run.
    private let count = ProcessInfo.processInfo.environment["SCROLLBACK_LONG"] == nil ? 5_000 : 100_000

    /// Sends messages by alice and bob in turn, with many in flight.
    private func talk(_ numbers: ClosedRange<Int>, in engine: Engine) {
        let done = DispatchGroup()
        let inFlight = DispatchSemaphore(value: 1_000)
        for number in numbers {
            inFlight.wait()
            done.enter()
            let submission = Submission(id: MessageID(high: 1, low: UInt64(number)), content: .text("hello"))
            let sender: UserID = number.isMultiple(of: 2) ? "alice" : "bob"
            engine.send(submission, to: group, by: Caller(user: sender)) { result in
                if case .failure(let error) = result { Issue.record(error) }
                inFlight.signal()
                done.leave()
            }
        }
        done.wait()
    }

    /// Runs a query and counts its steps in SQLite's virtual machine, which are the same on every machine.
    private func cost<Answer>(
        _ store: SQLiteStore, _ question: () throws -> Answer
    ) rethrows -> (answer: Answer, steps: Int) {
        let before = store.steps
        let answer = try question()
        return (answer, store.steps - before)
    }

    @Test(.history(24))
    func `Unread counts take a few steps per thousand messages, regardless of own and recalled messages`()
        throws
    {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url)
        let engine = try Engine(store: store)
        engine.putConversation(
            group, ConversationSettings(members: ["alice", "bob"]), by: Caller(user: "admin", isAdmin: true)
        ) { _ = $0 }
        let alice = Caller(user: "alice")
        let firstUnread = HistoryQuery(.around(.firstUnread, before: 0, after: 0), limit: 1)

        talk(1...20, in: engine)
        #expect(try engine.head(of: group, by: alice).unread == 10)
        let perBlock = 8
        let few = try cost(store) { try engine.head(of: group, by: alice) }.steps
        #expect(few > 0)

        talk(21...count, in: engine)
        let log = try store.read { reader in
            let row = try #require(try reader.conversation(group))
            return try reader.messages(
                in: row.number, 1...Seq.max, newestFirst: false, limit: .max, filter: .all, reader: "alice")
        }
        let recount = Int64(log.count { $0.sender != "alice" })
        #expect(recount == Int64(count / 2))
        for _ in 0..<50 {
            let (head, many) = try cost(store) { try engine.head(of: group, by: alice) }
            #expect(head.unread == recount)
            #expect(many - few <= perBlock * (count / 1024 + 1))
        }
        // Finding the first unread message is a binary search over sequence numbers.
        let (page, search) = try cost(store) { try engine.history(of: group, firstUnread, by: alice) }
        #expect(page.messages.map(\.seq) == [1])
        #expect(search < 20 * few)

        // Reading half of the messages drops half of the recorded runs. The count of the rest stays exact.
        let half = Seq(count / 2) + 1
        let epoch = try engine.head(of: group, by: alice).state.epoch
        engine.read(group, seq: half, epoch: epoch, by: alice) { _ = $0 }
        talk(count + 1...count + 2, in: engine)
        let rest = Int64(log.count { $0.sender != "alice" && $0.seq > half } + 1)
        let (head, after) = try cost(store) { try engine.head(of: group, by: alice) }
        #expect(head.unread == rest)
        #expect(after <= few + perBlock * (count / 1024 + 1))

        // Bob recalls all of his messages, a hundred at a time. The count is zero then, and costs no more.
        let bobs = try store.read { reader in
            let row = try #require(try reader.conversation(group))
            return try reader.messages(
                in: row.number, 1...Seq.max, newestFirst: false, limit: .max, filter: .all, reader: "alice"
            ).filter { $0.sender == "bob" }.map(\.id)
        }
        let done = DispatchGroup()
        for start in stride(from: 0, to: bobs.count, by: 100) {
            done.enter()
            engine.delete(Array(bobs[start..<min(start + 100, bobs.count)]), in: group, by: Caller(user: "bob")) {
                if case .failure(let error) = $0 { Issue.record(error) }
                done.leave()
            }
        }
        done.wait()
        let (recalled, last) = try cost(store) { try engine.head(of: group, by: alice) }
        #expect(recalled.unread == 0)
        #expect(last <= few + 3 * perBlock * (count / 1024 + 1))
        #expect(try store.verify { _ in } == [])
    }

    @Test func `The prefilters of recents leave out conversations and blocks without anything unread`() throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url)
        // 3,000 messages, of which one in each block of 1,024 is deleted and one mentions alice.
        func make(_ name: String, read: Seq, removed: Seq = 0) throws -> Int64 {
            try store.write { store, _ in
                var row = ConversationRow(
                    id: .group(Identifier(known: name)), salt: 7, createdAt: Date(timeIntervalSinceReferenceDate: 0))
                (row.head, row.countedIndex) = (3000, 3000)
                try store.put(&row)
                var member = MemberRow(conversation: row.number, user: "alice", standing: .member)
                (member.readSeq, member.readCountedIndex, member.removedSeq) = (read, read, removed)
                try store.put(member)
                for number: Int64 in [1, 1100, 2100] {
                    try store.insert(number...number, into: .removed, of: row.number)
                }
                try store.insertMention(of: "alice", by: "bob", at: 2000, in: row.number)
                return row.number
            }
        }
        let (unread, partlyRead) = (try make("unread", read: 0), try make("partly read", read: 2500))
        let read = try make("read", read: 3000)
        _ = try make("removed", read: 3000, removed: 3000)
        try store.read { store in
            let adjustments = try store.unreadAdjustments(of: "alice")
            #expect(Set(adjustments.keys) == [unread, partlyRead])
            #expect(adjustments[unread]?.mayBeMentioned == true)
            #expect(adjustments[unread]?.uncounted(among: 1...3000) == 3)
            #expect(adjustments[partlyRead]?.mayBeMentioned == false)
            #expect(adjustments[partlyRead]?.uncounted(among: 1...3000) == 1)
            func candidates(_ filter: RecentsListFilter) throws -> Set<Int64> {
                Set(try store.recentsCandidates(of: "alice", filter).map(\.position.number))
            }
            #expect(try candidates(.init()) == [unread, partlyRead, read])
            #expect(try candidates(.init(isUnread: true)) == [unread, partlyRead])
            #expect(try candidates(.init(isMuted: true)).isEmpty)
        }
    }
}
