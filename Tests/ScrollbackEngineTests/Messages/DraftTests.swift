import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Drafts on the server")
struct DraftTests {
    private let harness: EngineHarness
    private let group = ConversationID.group("g")

    init() throws {
        harness = try EngineHarness()
    }

    private func body(_ text: String) -> RawJSON { RawJSON(known: #"{"text":"\#(text)"}"#) }

    @discardableResult
    private func put(_ text: String?, in id: ConversationID, by user: UserID = "alice") throws -> Int64 {
        try harness.perform(
            PutDraft(conversation: id, draft: text.map { body($0) }), by: Caller(user: user)
        ).rev
    }

    private func page(after cursor: String? = nil, by user: UserID = "alice") throws -> ListDrafts.Answer {
        try harness.perform(ListDrafts(cursor: cursor), by: Caller(user: user))
    }

    @Test("A list has the drafts that changed since the previous one, and only those of the caller")
    func list() throws {
        try put("one", in: group)
        try put("two", in: .direct("bob"))
        try put("hers", in: group, by: "carol")
        let first = try page()
        #expect(first.drafts.map(\.conversation) == [group, .direct("bob")] && first.isReset && !first.hasMore)
        #expect(first.drafts.map(\.draft) == [body("one"), body("two")])
        #expect(try page(after: first.cursor).drafts.isEmpty)
        let rev = try put("three", in: group)
        // The absolute name of a direct conversation is the same conversation.
        try put(nil, in: .direct(between: "bob", and: "alice"))
        let second = try page(after: first.cursor)
        #expect(second.drafts.map(\.conversation) == [group, .direct("bob")] && !second.isReset)
        #expect(second.drafts.map(\.draft) == [body("three"), nil] && second.drafts[0].rev == rev)
        // A repeated request changes nothing, and a new device gets no deleted drafts.
        #expect(try put("three", in: group) == rev && put(nil, in: .room("never")) == 0)
        #expect(try page(after: second.cursor).drafts.isEmpty && page().drafts.map(\.conversation) == [group])
        #expect(refusal { _ = try page(after: "x") }?.parameter == "cursor")
    }

    @Test("A list has about 512 KiB, and a user has at most 100 drafts of 128 KiB")
    func limits() throws {
        let long = String(repeating: "x", count: 100_000)
        for number in 1...100 { try put(number <= 8 ? long : "short", in: .group(try Identifier("\(number)"))) }
        let error = refusal { try put("one more", in: group) }
        #expect(error?.code == .conflict && error?.limit == 100)
        try put("changed", in: .group("7"))
        try put(nil, in: .group("9"))
        try put("one more", in: group)
        var found: [ConversationID] = []
        var cursor: String?
        var sizes: [Int] = []
        while true {
            let page = try self.page(after: cursor)
            sizes.append(page.drafts.count)
            found += page.drafts.filter { $0.draft != nil }.map(\.conversation)
            cursor = page.cursor
            if !page.hasMore { break }
        }
        #expect(found.count == 100 && Set(found).count == 100 && sizes.first == 6)
        let tooLong = refusal {
            var reader = JSONReader(#"{"conversation":"group:g","draft":{"text":"\#(long)\#(long)"}}"#)
            var request = RequestReader(frame: try JSONMembers(&reader), limits: .standard)
            _ = try PutDraft(from: &request)
        }
        #expect(tooLong?.code == .tooLarge && tooLong?.parameter == "draft")
    }

    @Test("The rows of a user's deleted drafts are bounded")
    func deleted() throws {
        for number in 1...1_050 {
            let id = ConversationID.group(try Identifier("\(number)"))
            try put("x", in: id)
            try put(nil, in: id)
        }
        let rows = try harness.store.read { try $0.drafts(of: "alice", after: 0, limit: 2_000) }
        #expect(rows.count == 1_000 && rows.last?.conversation == .group("1050"))
    }

    @Test("A changed draft goes to the user's devices, and the last sync window reports that drafts changed")
    func events() throws {
        let sessions = SessionHarness(harness)
        let (phone, other) = (sessions.device("alice"), sessions.device("bob"))
        let before = try harness.engine.syncWindow(cursor: nil, limit: 50, by: Caller(user: "alice"))
        #expect(!before.hasDrafts && before.isDone)
        let rev = try put("one", in: .direct("bob"))
        let drafts = try phone.events.compactMap { event -> SyncedDraft? in
            if case .draft(let draft) = event { draft } else { nil }
        }
        #expect(drafts == [SyncedDraft(conversation: .direct("bob"), draft: body("one"), rev: rev)])
        #expect(try other.events.isEmpty)
        let after = try harness.engine.syncWindow(cursor: before.cursor, limit: 50, by: Caller(user: "alice"))
        #expect(after.hasDrafts)
        #expect(try !harness.engine.syncWindow(cursor: after.cursor, limit: 50, by: Caller(user: "alice")).hasDrafts)
        #expect(try !harness.engine.syncWindow(cursor: nil, limit: 50, by: Caller(user: "bob")).hasDrafts)
    }
}
