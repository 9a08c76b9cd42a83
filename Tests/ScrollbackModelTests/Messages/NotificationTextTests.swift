import ContractRows
import ScrollbackModel
import Testing

@Suite("The text of a notification")
struct NotificationTextTests {
    @Test("A mentioned user gets the mention's text first, and other users get the push text", .rows(118))
    func precedence() throws {
        let push = try RawJSON(#"{"text":"for all members"}"#)
        func texts(_ mentions: Mentions?, _ push: RawJSON?) -> [String?] {
            let attributes = MessageAttributes(mentions: mentions, push: push)
            return ["bob", "carol"].map { attributes.notificationText(for: $0) }
        }
        let bob = Mentions.users(["bob"], pushText: "for bob")
        #expect(texts(bob, push) == ["for bob", "for all members"])
        #expect(texts(bob, nil) == ["for bob", nil])
        #expect(texts(.everyone(pushText: "for all"), push) == ["for all", "for all"])
        // A mention without a text has no effect.
        #expect(texts(.users(["bob"]), push) == ["for all members", "for all members"])
        #expect(texts(nil, push) == ["for all members", "for all members"])
        #expect(texts(.everyone(), nil) == [nil, nil])
    }
}
