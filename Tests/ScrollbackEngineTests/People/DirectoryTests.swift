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
        var next: UserID?
        repeat {
            let page = try harness.engine.users(
                matching: text, after: next, limit: limit, by: Caller(user: user, isAdmin: isAdmin))
            found += page.elements.map(\.id)
            next = try page.after()
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
}
