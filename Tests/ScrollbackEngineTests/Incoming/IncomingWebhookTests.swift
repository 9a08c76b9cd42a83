import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Incoming webhooks")
struct IncomingWebhookTests {
    private let harness: EngineHarness
    private let group = ConversationID.group("ops")
    private let admin = EngineHarness.admin

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["bot", "alice"])
    }

    private func create(_ hook: Identifier = "alerts", to id: ConversationID? = nil, as user: UserID = "bot") throws
        -> PutIncomingWebhook.Answer
    {
        try harness.perform(PutIncomingWebhook(hook: hook, conversation: id ?? group, user: user), by: admin)
    }

    private func token(_ path: String?) throws -> IncomingWebhookToken {
        let path = try #require(path)
        return try #require(IncomingWebhookToken(String(path.dropFirst("/v1/hooks/".count))))
    }

    private func webhook(_ path: String?) throws -> IncomingWebhookRow {
        guard case .found(let row) = try harness.engine.incomingWebhook(try token(path)) else {
            throw ChatError(.internalError, "The webhook is not found.")
        }
        return row
    }

    private func post(_ text: String, _ row: IncomingWebhookRow, since count: Int? = nil) throws {
        _ = try harness.done { completion in
            harness.engine.post(
                text, through: row, since: count ?? harness.engine.erasureCount, completion: completion)
        }
    }

    private func list(_ user: UserID? = nil) throws -> [IncomingWebhookRow] {
        try harness.perform(ListIncomingWebhooks(user: user, page: Paging(limit: 100)), by: admin).hooks
    }

    @Test("A post is a message of the webhook's user that counts as unread and mentions no users")
    func posting() throws {
        let row = try webhook(try create().url)
        try post("disk full on @alice", row)
        try post("and again", row)
        let messages = try harness.page(of: group, by: "alice").messages
        #expect(messages.map(\.text) == ["and again", "disk full on @alice"])
        #expect(messages.allSatisfy { $0.sender == "bot" && $0.attributes.mentions == nil })
        #expect(Set(messages.map(\.id)).count == 2)
        #expect(try harness.unread(group, "alice").unread == 2)
    }

    @Test("Only the stored hash of a secret opens a webhook, and a replaced or changed webhook keeps or loses its URL")
    func secrets() throws {
        let first = try create()
        #expect(first.status == 201)
        let row = try webhook(first.url)
        let secret = try token(first.url).secret
        #expect(row.secretHash.count == 32 && !String(describing: row).contains(secret))
        let changed = try create(as: "alice")
        #expect(changed.status == 200 && changed.url == nil)
        let known = try webhook(first.url)
        #expect(known.user == "alice" && known.createdAt == row.createdAt)
        let second = try harness.perform(ReplaceIncomingWebhookSecret(hook: "alerts"), by: admin)
        #expect(try harness.engine.incomingWebhook(try token(first.url)) == .wrongSecret)
        #expect(try webhook(second.url).id == "alerts")
        let other = try create("other")
        let otherSecret = try token(other.url).secret
        let swapped = try #require(IncomingWebhookToken("alerts.\(otherSecret)"))
        #expect(try harness.engine.incomingWebhook(swapped) == .wrongSecret)
        try harness.perform(DeleteIncomingWebhook(hook: "alerts"), by: admin)
        try harness.perform(DeleteIncomingWebhook(hook: "alerts"), by: admin)
        #expect(try harness.engine.incomingWebhook(try token(second.url)) == .unknown)
        #expect(try list().map(\.id) == ["other"])
    }

    @Test(
        "Segments of a URL that are no ID and secret name no webhook",
        arguments: ["", "alerts", "alerts.", ".secret", "Alerts.secret", "a.b.c", "é.secret"])
    func tokens(segment: String) {
        #expect(IncomingWebhookToken(segment) == nil)
    }

    @Test("A webhook needs a valid ID, and a user who may send to an existing conversation")
    func creation() throws {
        func refused(_ body: () throws -> Void) -> String? {
            refusal(body).map { "\($0.code) \($0.parameter ?? "")" }
        }
        for id in ["Alerts", "a b", "ä", String(repeating: "a", count: 33)] {
            #expect(refused { _ = try create(Identifier(id)) } == "invalid-parameter hook", "\(id)")
        }
        #expect(refused { _ = try create(to: .group("none")) } == "unknown-conversation ")
        #expect(refused { _ = try create(as: "stranger") } == "invalid-parameter user")
        #expect(refused { _ = try create(to: .system(to: "alice", from: "bot")) } == "invalid-parameter user")
        let erased = try UserID("deleted-\(UUID().uuidString.lowercased())")
        #expect(refused { _ = try create(as: erased) } == "unknown-user user")
        #expect(
            refused { _ = try harness.perform(ReplaceIncomingWebhookSecret(hook: "none"), by: admin) }
                == "invalid-parameter hook")
        for caller in [Caller(user: "bot"), Caller(user: "alice")] {
            let operation = PutIncomingWebhook(hook: "x", conversation: group, user: "bot")
            #expect(refused { _ = try harness.perform(operation, by: caller) } == "forbidden ")
        }
        try harness.mute("bot", .forever, in: group)
        let muted = refusal { _ = try create() }
        #expect(
            muted?.parameter == "user"
                && muted?.message.hasSuffix("Lift the restriction first, or choose another user") == true)
        #expect(try list().isEmpty)
    }

    @Test("A post to a direct conversation begins it")
    func direct() throws {
        let row = try webhook(try create(to: .direct("alice")).url)
        #expect(row.conversation == .direct("alice"))
        try post("hi", row)
        #expect(try harness.page(of: .direct(between: "alice", and: "bot"), by: "alice").texts == ["hi"])
    }

    @Test("The rules for the webhook's user apply to its posts")
    func rules() throws {
        let row = try webhook(try create().url)
        func code() -> ChatError.Code? { refusal { try post("hi", row) }?.code }
        try harness.mute("bot", .forever, in: group)
        #expect(code() == .muted)
        try harness.mute("bot", nil, in: group)
        #expect(code() == nil)
        try harness.ban("bot", from: group)
        #expect(code() == .banned)
        let long = String(repeating: "x", count: Limits.standard.contentBytes)
        let error = refusal { try post(long, row) }
        #expect(error?.code == .tooLarge && error?.parameter == "text")
        #expect(try harness.page(of: group, by: "alice").texts == ["hi"])
    }

    @Test("Deleting a conversation deletes its webhooks, so that a new one of the same name gets no posts")
    func deletedConversations() throws {
        let url = try create().url
        _ = try create("other", to: .direct("alice"))
        try harness.delete(group)
        #expect(try list().map(\.id) == ["other"])
        try harness.make(group, members: ["bot", "mallory"])
        #expect(try harness.engine.incomingWebhook(try token(url)) == .unknown)
        let town = ConversationID.community("town")
        try harness.make(town, members: ["bot"])
        _ = try create("town", to: town)
        try harness.delete(town)
        #expect(try list().map(\.id) == ["other"])
    }

    @Test("Erasing a user deletes the webhooks that post as the user or to the user")
    func erasure() async throws {
        let row = try webhook(try create().url)
        _ = try create("to-bot", to: .direct("bot"), as: "alice")
        _ = try create("as-alice", as: "alice")
        let count = harness.engine.erasureCount
        var lines: [String] = []
        var data = PersonalData(of: "bot")
        while case let next = try data.next(harness.engine), let records = next.records {
            lines += records.map { record in
                var writer = JSONWriter()
                writer.object { record.writeMembers(to: &$0, link: nil) }
                return writer.text
            }
            data = next.data
        }
        let exported = lines.filter { $0.hasPrefix(#"{"record":"hook","hook":"alerts","conversation":"group:ops""#) }
        #expect(exported.count == 1 && !lines.joined().contains("secret"), "\(lines)")
        try await harness.erase("bot", .keep)
        #expect(try list().map(\.id) == ["as-alice"])
        #expect(refusal { try post("late", row, since: count) } != nil)
    }

    @Test("The audit log has who created, changed and deleted a webhook, without its secret")
    func audit() throws {
        let url = try create().url
        try harness.perform(ReplaceIncomingWebhookSecret(hook: "alerts"), by: admin)
        try harness.perform(DeleteIncomingWebhook(hook: "alerts"), by: admin)
        let acts = try harness.perform(ListAudit(conversation: group, page: Paging(limit: 100)), by: admin).acts
        #expect(acts.prefix(3).map(\.row.action) == ["delete-hook", "replace-hook-secret", "put-hook"])
        #expect(acts.prefix(3).allSatisfy { $0.row.user == "bot" && $0.row.detail == "alerts" })
        let secret = try token(url).secret
        #expect(!acts.contains { ($0.row.detail ?? "").contains(secret) })
    }
}
