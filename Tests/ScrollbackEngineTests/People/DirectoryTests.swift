import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Directory")
struct DirectoryTests {
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        for (user, name) in [
            ("alice", "Alice Liddell"), ("bob", "Bob Ånström"), ("carol", "Carol"), ("dave", nil), ("bea", "Anna Lid"),
        ] as [(UserID, String?)] {
            try harness.perform(
                PutUser(user: user, ProfileChange(name: name ?? "", isInvitationOnly: false)), by: Caller(user: user))
        }
        try harness.make(.group("g"), members: ["alice", "bob"])
        try harness.set { $0.people.directory = .everyone }
    }

    private func found(
        _ text: String, by user: UserID = "erin", limit: Int = 100, isAdmin: Bool = false
    ) throws -> [UserID] {
        var found: [UserID] = []
        var next: String?
        repeat {
            let page = try harness.engine.users(
                matching: text, cursor: next, limit: limit, by: Caller(user: user, isAdmin: isAdmin))
            found += page.elements.map(\.id)
            next = page.cursor
        } while next != nil
        return found
    }

    @Test("Words of the text match the beginnings of words of names and IDs, without case and diacritics")
    func matches() throws {
        #expect(try found("lid") == ["alice", "bea"])
        #expect(try found("LID a") == ["alice", "bea"] && found("alice lid") == ["alice"])
        #expect(try found("anstrom") == ["bob"] && found("dav") == ["dave"] && found("b") == ["bea", "bob"])
        #expect(try found("iddell").isEmpty && found("zoe").isEmpty)
        #expect(try found("lid", limit: 1) == ["alice", "bea"])
        #expect(try found("lid", by: "alice") == ["bea"], "The caller is left out.")
        #expect(refusal { _ = try found("…") }?.parameter == "text")
        #expect(refusal { _ = try found("a", limit: 101) }?.parameter == "limit")
    }

    @Test("The setting decides who is found, and administrators find everyone")
    func setting() throws {
        #expect(ServerSettings().people.directory == .nobody)
        try harness.set { $0.people.directory = .sharedConversations }
        #expect(try found("b", by: "alice") == ["bob"] && found("lid", by: "bob") == ["alice"])
        #expect(try found("b", by: "erin").isEmpty)
        // A user who left shares no conversation any longer.
        try harness.leave(.group("g"), "bob")
        #expect(try found("b", by: "alice").isEmpty)
        try harness.set { $0.people.directory = .nobody }
        let off = refusal { _ = try found("b", by: "alice") }
        #expect(off?.code == .featureOff && off?.message.contains("directory") == true)
        #expect(try found("b", by: "root", isAdmin: true) == ["bea", "bob"])
    }

    @Test("Blocked, banned, deactivated and erased users are left out")
    func leftOut() async throws {
        try harness.perform(BlockUser(user: "bob"), by: Caller(user: "alice"))
        #expect(try found("b", by: "alice") == ["bea"] && found("lid", by: "bob") == ["bea"])
        #expect(try found("b", by: "carol") == ["bea", "bob"])
        try harness.perform(PutUserState(user: "bea", isActive: false), by: EngineHarness.admin)
        #expect(try found("b", by: "carol") == ["bob"])
        try harness.perform(BanFromServer(user: "bob"), by: EngineHarness.admin)
        #expect(try found("b", by: "carol").isEmpty)
        _ = try await harness.engine.erase("dave", messages: .erase, by: EngineHarness.admin)
        #expect(try found("dav", by: "carol").isEmpty)
    }

    @Test("A cursor reveals no user, and an altered cursor is refused")
    func cursors() throws {
        let key = Checkpoints.makeKey()
        let harness = try EngineHarness(store: harness.store, checkpointKey: key)
        try harness.set { $0.people.directory = .sharedConversations }
        // The caller must not find the last user that the page examined.
        let hidden = try (0...Engine.maximumUsersChecked).map { try UserID("hidden-\(1_000 + $0)") }
        for user in hidden {
            try harness.perform(PutUser(user: user, ProfileChange(isInvitationOnly: false)), by: Caller(user: user))
        }
        func page(
            _ text: String, after cursor: String? = nil, in harness: EngineHarness
        ) throws -> ListPage<UserProfile> {
            try harness.engine.users(matching: text, cursor: cursor, limit: 1, by: Caller(user: "alice"))
        }
        let cursor = try #require(try page("hidden", in: harness).cursor)
        let bytes = try #require(Data(base64URL: cursor))
        for text in [Data(cursor.utf8), bytes] {
            #expect(hidden.allSatisfy { text.range(of: Data($0.text.utf8)) == nil })
        }
        #expect(try page("b", in: harness).cursor?.count == cursor.count, "The length does not depend on the ID.")

        #expect(try page("hidden", after: cursor, in: harness).cursor == nil)
        #expect(try page("bob", after: cursor, in: harness).elements.isEmpty, "The cursor is after the ID of bob.")
        let restarted = try EngineHarness(store: harness.store, checkpointKey: key)
        #expect(try page("hidden", after: cursor, in: restarted).cursor == nil, "A restart keeps cursors valid.")
        let other = try EngineHarness(store: harness.store)
        var altered = bytes
        altered[altered.count - 1] ^= 1
        for (cursor, harness) in [("bob", harness), (altered.base64URL, harness), (cursor, other)] {
            #expect(refusal { _ = try page("b", after: cursor, in: harness) }?.parameter == "cursor")
        }
    }
}
