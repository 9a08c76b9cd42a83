import Foundation
import ScrollbackModel
import Testing

@Suite("Content, mentions and filters")
struct MessageContentTests {
    @Test("Text content is an object with a text, and any string survives it")
    func text() throws {
        for text in ["hi", "", "\"\\\n\u{0}", "مرحبا 👨‍👩‍👧"] {
            let content = MessageContent.text(text)
            #expect(content.text == text)
            #expect(try MessageContent(type: .text, json: RawJSON(content.json.text)) == content)
        }
    }

    @Test("Content must be an object", arguments: ["[]", "1", #""x""#, "null"])
    func notAnObject(_ json: String) {
        let error = #expect(throws: ChatError.self) { try MessageContent(type: .examplePoll, json: RawJSON(json)) }
        #expect(error?.parameter == "content")
    }

    @Test(
        "Text content requires a string in `text`, and custom types don't",
        arguments: ["{}", #"{"text":1}"#, #"{"Text":"a"}"#])
    func textWithoutText(_ json: String) throws {
        let error = #expect(throws: ChatError.self) { try MessageContent(type: .text, json: RawJSON(json)) }
        #expect(error?.parameter == "content")
        #expect(try MessageContent(type: .examplePoll, json: RawJSON(json)).json.text == json)
    }

    @Test("The name of a type has 1 to 64 letters, digits, colons, periods, hyphens or underscores")
    func types() throws {
        for name in ["text", "app:poll", "com.example.poll", "a", String(repeating: "x", count: 64), "A-b_9"] {
            #expect(try MessageType(name).rawValue == name)
        }
        for name in ["", String(repeating: "x", count: 65), "a b", "é", "a/b", "a\n", "😀"] {
            let error = #expect(throws: ChatError.self) { try MessageType(name, parameter: "types") }
            #expect(error?.parameter == "types")
        }
    }

    @Test("A sender can switch a type's traits off, and never on")
    func traits() {
        let id = MessageID(high: 1, low: 1)
        func traits(_ type: MessageType, _ off: MessageTraits) -> MessageTraits {
            Submission(
                id: id, content: MessageContent(known: type, json: RawJSON(known: "{}")), attributes: .init(traits: off)
            ).traits
        }
        #expect(traits(.text, .init()) == MessageTraits())
        #expect(traits(.text, .init(countsUnread: false)) == MessageTraits(countsUnread: false))
        #expect(traits(.notice, .init()) == MessageTraits(countsUnread: false, notifies: false))
        #expect(!traits(.command, .init()).isStored)
        // A message that is not stored can't count as unread or update recents.
        let unstored = traits(.text, .init(isStored: false))
        #expect(!unstored.countsUnread && !unstored.updatesRecents && unstored.notifies)
        for bits in 0..<Int64(16) { #expect(MessageTraits(bits: bits).bits == bits) }
    }

    @Test("Mentions name 1 to 100 users or everyone")
    func mentions() throws {
        #expect(Mentions.everyone().includes("zoe"))
        #expect(Mentions.users(["bob"]).includes("bob"))
        #expect(!Mentions.users(["bob"]).includes("zoe"))
        #expect(try Mentions.everyone().validated() == .everyone())
        #expect(throws: ChatError.self) { try Mentions.users([]).validated() }
        let many = (0...100).map { UserID(known: "u\($0)") }
        #expect(try Mentions.users(Array(many.prefix(100))).validated().users.count == 100)
        let error = #expect(throws: ChatError.self) { try Mentions.users(many).validated() }
        #expect(error?.parameter == "mentions")
        #expect(error?.limit == 100)
    }

    @Test("A filter matches a message only if all of its conditions match")
    func filters() {
        func message(
            _ type: MessageType, _ sender: UserID = "alice", customType: String? = nil, mentions: Mentions? = nil
        ) -> Message {
            Message(
                conversation: .group("g"), seq: 1, countedIndex: 1, id: MessageID(high: 1, low: 1),
                timetoken: Timetoken(rawValue: 1),
                epoch: Epoch(rawValue: 1), sender: sender, type: type,
                content: MessageContent(known: type, json: RawJSON(known: "{}")),
                attributes: .init(mentions: mentions, customType: customType))
        }
        #expect(MessageFilter.all.matches(message(.image), reader: "bob"))
        #expect(MessageFilter.types([.image]).matches(message(.image), reader: "bob"))
        #expect(!MessageFilter.types([.image]).matches(message(.text), reader: "bob"))
        #expect(!MessageFilter(excludedTypes: [.image]).matches(message(.image), reader: "bob"))
        #expect(!MessageFilter(types: [.image], excludedTypes: [.image]).matches(message(.image), reader: "bob"))
        #expect(MessageFilter.customTypes([nil]).matches(message(.text), reader: "bob"))
        #expect(!MessageFilter.customTypes([nil]).matches(message(.text, customType: "a"), reader: "bob"))
        #expect(MessageFilter.customTypes([nil, "a"]).matches(message(.text, customType: "a"), reader: "bob"))
        #expect(MessageFilter.senders(["alice"]).matches(message(.text), reader: "bob"))
        #expect(!MessageFilter(types: [.text], senders: ["zoe"]).matches(message(.text), reader: "bob"))
        #expect(MessageFilter.mentionsMe.matches(message(.text, mentions: .users(["bob"])), reader: "bob"))
        #expect(MessageFilter.mentionsMe.matches(message(.text, mentions: .everyone()), reader: "bob"))
        #expect(!MessageFilter.mentionsMe.matches(message(.text, mentions: .users(["zoe"])), reader: "bob"))
    }

    @Test("The error for a filter that matches nothing names the empty condition")
    func emptyFilters() throws {
        for (filter, name) in [
            (MessageFilter(types: []), "types"), (MessageFilter(excludedTypes: []), "excludedTypes"),
            (MessageFilter(customTypes: []), "customTypes"), (MessageFilter(senders: []), "senders"),
            (MessageFilter(senders: Set((0...100).map { UserID(known: "u\($0)") })), "senders"),
        ] {
            let error = #expect(throws: ChatError.self) { try filter.validated() }
            #expect(error?.parameter == name)
        }
        #expect(try MessageFilter.all.validated() == .all)
    }

    @Test("Conversation kinds have consistent traits, error codes have a status, and roles are ordered")
    func tables() {
        for kind in ConversationKind.allCases {
            #expect(kind.traits.replaysMissed == (kind.traits.streamsToMembers))
            #expect(kind.traits.hasRecents == (kind != .room))
        }
        #expect(ChatError(.conflict, "").status == 409)
        #expect(ChatError(.rateLimited, "").isTemporary)
        #expect(ChatError(.init(rawValue: "newer"), "").status == 500)
        #expect(Role.owner > .moderator && Role.moderator > .member)
    }
}

extension MessageType {
    fileprivate static let image = MessageType(rawValue: "image")
    fileprivate static let examplePoll = MessageType(rawValue: "com.example.poll")
}
