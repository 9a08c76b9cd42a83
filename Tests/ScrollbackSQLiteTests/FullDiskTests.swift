import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import TestSupport
import Testing

@Suite struct FullDiskTests {
    let folder: TemporaryFolder
    let store: SQLiteStore
    let engine: Engine

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(directory: folder.url)
        engine = try Engine(store: store, execution: .inline)
        engine.putConversation(.group("a"), ConversationSettings(members: ["alice"]), by: admin) { _ = $0 }
    }

    private let admin = Caller(user: "admin", isAdmin: true)

    /// Sends a message with a body of ten pages and returns the result.
    private func send(_ number: UInt64) -> Result<SendResult, ChatError>? {
        nonisolated(unsafe) var outcome: Result<SendResult, ChatError>?
        let content = MessageContent(
            known: .text, json: RawJSON(known: #"{"text":""# + String(repeating: "x", count: 40_000) + #""}"#))
        engine.send(
            Submission(id: MessageID(high: 1, low: number), content: content), to: .group("a"),
            by: Caller(user: "alice")
        ) { outcome = $0 }
        return outcome
    }

    @Test func `On a full disk, sends fail and reads continue, and sends succeed when there is space again`() throws {
        #expect(try send(1)?.get().position?.seq == 1)
        try store.checkpoint()
        let pages = store.sizes().database / 4096
        #expect(try store.setMaximumPages(pages + 15) == pages + 15)

        var sent: UInt64 = 1
        var refusal: ChatError?
        for number in 2...9 as ClosedRange<UInt64> {
            switch send(number) {
            case .success: sent = number
            case .failure(let error): refusal = error
            case nil: Issue.record("The send got no result.")
            }
            if refusal != nil { break }
        }
        #expect(refusal == ChatError(.storageFull, "The server's disk is full; nothing was stored.", retryAfter: 5))
        #expect(refusal?.isTemporary == true)

        let lastCommit = store.lastCommit
        for number in sent + 1...sent + 3 {
            #expect(throws: ChatError.self) { try send(number)?.get() }
        }
        #expect(store.lastCommit == lastCommit)
        let page = try engine.history(of: .group("a"), HistoryQuery(limit: 20), by: Caller(user: "alice"))
        #expect(page.messages.map(\.seq) == (1...Seq(sent)).reversed())
        #expect(page.state.head == Seq(sent))
        #expect(try store.verify { _ in } == [])

        try store.setMaximumPages(nil)
        #expect(try send(sent + 1)?.get().position?.seq == Seq(sent) + 1)
        #expect(store.lastCommit == lastCommit + 1)
        #expect(try store.verify { _ in } == [])
    }

    @Test func `A large transaction that fills the disk leaves nothing behind`() throws {
        try store.checkpoint()
        try store.setMaximumPages(store.sizes().database / 4096 + 200)
        let before = try store.read { try $0.conversation(.group("a")) }
        let row = try #require(before)
        let error = #expect(throws: ChatError.self) {
            try store.write { store, commit in
                var row = row
                var generator = SplitMix64(seed: 1)
                for _ in 0..<2000 {
                    row.head += 1
                    row.countedIndex += 1
                    row.lastCommit = commit
                    let message = MessageRow(
                        seq: row.head, countedIndex: row.countedIndex, timetoken: Timetoken(rawValue: UInt64(row.head)),
                        id: MessageID(at: Date(), using: &generator), sender: "alice", type: .text,
                        content: RawJSON(known: String(repeating: "x", count: 3000)), attributes: .init(), digest: 0)
                    do {
                        try store.insert(message, in: row.number)
                    } catch {
                        // A writer that ignores the error changes nothing outside of the transaction.
                    }
                }
                try store.put(&row)
            }
        }
        #expect(error?.code == .storageFull)
        #expect(try store.read { try $0.conversation(.group("a")) } == before)
        #expect(try store.read { try $0.message(atOrBelow: .max, in: row.number) } == nil)
        #expect(try store.verify { _ in } == [])
        try store.setMaximumPages(nil)
        #expect(try send(1)?.get().position?.seq == 1)
    }
}
