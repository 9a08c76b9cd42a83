import ContractRows
import ScrollbackModel
import Testing

@Suite("What a notification says")
struct NotificationTextTests {
    @Test("To who is mentioned the mention's text, before every other; to others the push's", .rows(118))
    func precedence() throws {
        let push = try RawJSON(#"{"text":"for everybody"}"#)
        func texts(_ mentions: Mentions?, _ push: RawJSON?) -> [String?] {
            let attributes = MessageAttributes(mentions: mentions, push: push)
            return ["bob", "carol"].map { attributes.notificationText(for: $0) }
        }
        let bob = Mentions.users(["bob"], pushText: "for bob")
        #expect(texts(bob, push) == ["for bob", "for everybody"])
        #expect(texts(bob, nil) == ["for bob", nil])
        #expect(texts(.everyone(pushText: "for all"), push) == ["for all", "for all"])
        // A mention without a text changes nothing.
        #expect(texts(.users(["bob"]), push) == ["for everybody", "for everybody"])
        #expect(texts(nil, push) == ["for everybody", "for everybody"])
        #expect(texts(.everyone(), nil) == [nil, nil])
    }
}
