import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@Suite("Banned words")
struct FilterTests {
    private let group = ConversationID.group("g")

    private func harness(filter: (any ContentFilter)? = nil) throws -> EngineHarness {
        let harness = try EngineHarness(filter: filter)
        try harness.make(group, members: ["alice", "bob"])
        return harness
    }

    @Test("A message or an edit with a banned word is refused", .rows(88))
    func reject() throws {
        let harness = try harness()
        let message = harness.submission("fine")
        try harness.send(message, to: group, by: "alice")
        try harness.ban(["spam"], .reject)
        let error = refusal { try harness.send("buy SPAM now", to: group, by: "alice") }
        #expect(error?.code == .contentRejected && error?.status == 422 && error?.isTemporary == false)
        #expect(
            refusal { try harness.edit(message.id, in: group, "spam", by: Caller(user: "alice")) }?.code
                == .contentRejected)
        #expect(try harness.page(of: group, by: "bob").texts == ["fine"])
        try harness.send("spammer", to: group, by: "alice")
    }

    @Test(
        "Replaced words are masked for all readers, the sender gets the new content, and a retry is a duplicate",
        .rows(88))
    func replace() throws {
        let harness = try harness()
        try harness.ban(["spam", "坏话"], .replace)
        let sessions = SessionHarness(harness)
        let bob = sessions.device("bob")
        let message = harness.submission("no spam, 说坏话吗")
        let result = try harness.send(message, to: group, by: "alice")
        let masked = #"{"text":"no ****, 说**吗"}"#
        #expect(result.content?.text == masked)
        #expect(try harness.page(of: group, by: "bob").messages.map(\.content?.json.text) == [masked])
        #expect(try bob.messages.map(\.content?.json.text) == [masked])
        let again = try harness.send(message, to: group, by: "alice")
        #expect(again.outcome == .duplicate && again.content?.text == masked)
        // Also after the list of words has changed.
        try harness.ban(["no"], .reject)
        #expect(try harness.send(message, to: group, by: "alice").outcome == .duplicate)
        #expect(
            refusal { try harness.send(harness.submission("other", id: message.id), to: group, by: "alice") }?.code
                == .conflict)
    }

    @Test("Masked content stays valid JSON, whatever the names of its members")
    func maskedContentStaysValid() throws {
        let harness = try harness()
        try harness.ban(["spam"], .replace)
        let content = try MessageContent(type: .text, json: RawJSON(#"{"text":"spam","a\",\"b\\":{"\n":1}}"#))
        let result = try harness.send(Submission(id: harness.newID(), content: content), to: group, by: "alice")
        #expect(result.content?.text == #"{"text":"****","a\",\"b\\":{"\n":1}}"#)
        #expect(throws: Never.self) { try RawJSON(result.content?.text ?? "") }
    }

    @Test("A retried edit gets the same masked result")
    func maskedEdit() throws {
        let harness = try harness()
        let message = harness.submission("fine")
        try harness.send(message, to: group, by: "alice")
        try harness.ban(["spam"], .replace)
        let operation = harness.newID()
        for _ in 0..<2 {
            let edited = try harness.edit(
                message.id, in: group, "a spam", operation: operation, by: Caller(user: "alice"))
            #expect(edited.text == "a ****" && edited.rev == 1)
        }
    }

    @Test("Banned words are found in texts, in quotes, and in the names of locations")
    func bannedWordsAreFoundInAllTexts() throws {
        let harness = try harness()
        try harness.ban(["spam"], .replace)
        let quoted = harness.submission("before")
        try harness.send(quoted, to: group, by: "alice")
        let quote = MessageContent.reference(
            Quote("about spam", id: quoted.id, sender: "alice", content: .text("spam, \u{1F600} he said")))
        let place = try MessageContent.location(Location(latitude: 1, longitude: 2, name: "spam street"))
        let own = try MessageContent(
            type: .appPoll, json: RawJSON(known: #"{ "n" : 1.0, "text" : "spam" , "x":"spam"}"#))
        var stored: [String?] = []
        for content in [quote, place, own] {
            let submission = Submission(id: harness.newID(), content: content)
            stored.append(try harness.send(submission, to: group, by: "alice").content?.text)
        }
        #expect(stored[0]?.contains(#""text":"about ****""#) == true && stored[0]?.contains("spam") == false)
        #expect(stored[1]?.contains(#""name":"**** street""#) == true)
        #expect(stored[2] == #"{"n":1.0,"text":"****","x":"spam"}"#)
    }

    @Test("Banned words are found in captions and in quotes of quotes")
    func captionsAndNestedQuotes() throws {
        let harness = try harness()
        let picture = Submission(
            id: harness.newID(), content: try MessageContent(type: .image, json: RawJSON(#"{"url":"https://a/b"}"#)))
        let quote =
            #"{"text":"ok","message":{"id":"\#(picture.id)","sender":"bob","type":"image","content":"#
            + #"{"url":"https://a/b"}}}"#
        let reference = Submission(
            id: harness.newID(), content: try MessageContent(type: .reference, json: RawJSON(quote)))
        for submission in [picture, reference] { try harness.send(submission, to: group, by: "bob") }
        let inner =
            #"{"text":"ok","message":{"id":"\#(picture.id)","sender":"bob","type":"image","content":"#
            + #"{"url":"https://a/b","caption":"spam here"}}}"#
        let outer =
            #"{"text":"ok","message":{"id":"\#(reference.id)","sender":"bob","type":"reference","content":\#(inner)}}"#
        let contents = [
            try MessageContent(type: .image, json: RawJSON(#"{"url":"https://a/b","caption":"spam here"}"#)),
            try MessageContent(type: .reference, json: RawJSON(inner)),
            try MessageContent(type: .reference, json: RawJSON(outer)),
        ]
        try harness.ban(["spam"], .reject)
        for content in contents {
            let submission = Submission(id: harness.newID(), content: content)
            #expect(refusal { try harness.send(submission, to: group, by: "alice") }?.code == .contentRejected)
        }
        try harness.ban(["spam"], .replace)
        for content in contents {
            let submission = Submission(id: harness.newID(), content: content)
            let stored = try harness.send(submission, to: group, by: "alice").content?.text
            #expect(stored == content.json.text.replacingOccurrences(of: "spam", with: "****"))
        }
    }

    @Test("Reactions and the names of users and groups with a banned word are refused", arguments: [true, false])
    func namesAndReactions(_ rejects: Bool) throws {
        let harness = try harness()
        let alice = Caller(user: "alice")
        let message = harness.submission("fine")
        try harness.send(message, to: group, by: "alice")
        try harness.ban(["spam"], rejects ? .reject : .replace)
        func act(_ value: String) throws {
            _ = try harness.done {
                harness.engine.addAction(
                    to: message.id, in: group, type: "reaction", value: value, by: alice, completion: $0)
            }
        }
        func rename(_ name: String) throws {
            _ = try harness.done {
                harness.engine.putUser("alice", ProfileChange(name: name), by: alice, completion: $0)
            }
        }
        for (error, parameter) in [
            (refusal { try act("SPAM") }, "value"), (refusal { try rename("Spam seller") }, "name"),
            (refusal { try harness.put(group, .init(name: "no spam")) }, "name"),
            (refusal { try harness.put(.group("new"), .init(name: "spam"), by: alice) }, "name"),
        ] {
            #expect(error?.code == .contentRejected && error?.parameter == parameter)
        }
        try act("👍")
        try rename("Alice")
        try harness.put(group, .init(name: "Sailing"))
    }

    @Test("Imports are not filtered, and a refused message creates no conversation")
    func imports() throws {
        let harness = try harness()
        try harness.ban(["spam"], .reject)
        let report = try harness.importHistory(
            [harness.importedMessage("spam", by: "bob", at: harness.clock.now)], into: group)
        #expect(report.imported == 1)
        #expect(refusal { try harness.send("spam", to: .direct("bob"), by: "alice") }?.code == .contentRejected)
        #expect(try harness.store.read { try $0.conversation(.direct(between: "alice", and: "bob")) } == nil)
    }

    @Test("Banned words survive a restart and can be removed")
    func settings() throws {
        let harness = try harness()
        try harness.ban(["spam"], .reject)
        let after = try EngineHarness(store: harness.store)
        #expect(refusal { try after.send("spam", to: group, by: "alice") }?.code == .contentRejected)
        try after.set { $0.moderation.bannedWords = .init() }
        try after.send("spam", to: group, by: "alice")
    }

    @Test("An application that embeds the engine can provide another content filter")
    func customContentFilter() throws {
        struct Shouting: ContentFilter {
            func evaluate(_ filterRequest: FilterRequest) -> FilterResult {
                guard let text = filterRequest.content.text else { return .allowed }
                return filterRequest.sender == "bob"
                    ? .rejected("Bob may not write here.") : .replaced(MessageContent.text(text.uppercased()).json)
            }
        }
        let harness = try harness(filter: Shouting())
        try harness.ban(["hi"], .reject)
        #expect(
            try harness.send(harness.submission("hi"), to: group, by: "alice").content == MessageContent.text("HI").json
        )
        #expect(refusal { try harness.send("hi", to: group, by: "bob") }?.message == "Bob may not write here.")
    }

    @Test("Push texts are filtered, and the content of commands is not")
    func commandsAndPushes() throws {
        let harness = try harness()
        func submission(_ push: String, _ mention: String) -> Submission {
            Submission(
                id: harness.newID(), content: .text("fine"),
                attributes: .init(
                    mentions: .users(["bob"], pushText: mention),
                    push: RawJSON(known: #"{"title":"\#(push)","data":"spam"}"#)))
        }
        try harness.ban(["spam"], .replace)
        let command = Submission(id: harness.newID(), content: try .command("spam"))
        #expect(try harness.send(command, to: group, by: "alice").content == nil)
        let result = try harness.send(submission("spam!", "more spam"), to: group, by: "alice")
        #expect(result.content == nil)
        let stored = try harness.page(of: group, by: "bob").messages[0]
        #expect(stored.attributes.push?.text == #"{"title":"****!","data":"spam"}"#)
        #expect(stored.attributes.mentions?.pushText == "more ****")
        let edit = MessageEdit(.text("fine"), mentions: .set(.users(["bob"], pushText: "spam")))
        let edited: Message = try harness.done {
            harness.engine.edit(stored.id, in: group, edit, by: Caller(user: "alice"), completion: $0)
        }
        #expect(edited.attributes.mentions?.pushText == "****")
        try harness.ban(["spam"], .reject)
        for (push, mention) in [("spam", "fine"), ("fine", "spam")] {
            let error = refusal { try harness.send(submission(push, mention), to: group, by: "alice") }
            #expect(error?.code == .contentRejected)
        }
    }

    @Test("Long content is filtered on another thread, and no later message overtakes it")
    func longContents() async throws {
        final class Watching: ContentFilter {
            let lengths = Mutex<[Int]>([])
            let gate = DispatchSemaphore(value: 0)
            func evaluate(_ filterRequest: FilterRequest) -> FilterResult {
                let text = filterRequest.content.text ?? ""
                if text.count > 4096 { gate.wait() }
                lengths.withLock { $0.append(text.count) }
                return .allowed
            }
        }
        let filter = Watching()
        let harness = try harness(filter: filter)
        let alice = SessionHarness(harness).device("alice")
        let long = String(repeating: "x", count: 5000)
        for text in [long, "short"] {
            alice.request(SendMessage(conversation: group, submission: harness.submission(text)))
        }
        // The calls that accepted both messages have returned.
        #expect(filter.lengths.withLock { $0 } == [5])
        filter.gate.signal()
        try await harness.settled()
        #expect(try harness.page(of: group, by: "bob").texts == ["short", long])
    }

    @Test("A change of the banned words keeps the members that it omits")
    func partialChangeKeepsOmittedMembers() throws {
        var settings = ServerSettings()
        settings.moderation.bannedWords = .init(words: ["spam"], action: .replace)
        for (json, words, action) in [
            (#"{"action":"reject"}"#, ["spam"], BannedWordsSetting.Action.reject),
            (#"{"words":["x"]}"#, ["x"], .reject), ("null", [], .reject),
        ] {
            var reader = JSONReader(json)
            #expect(try settings.read("bannedWords", &reader, unknown: .skip))
            #expect(settings.moderation.bannedWords == .init(words: words, action: action))
        }
    }
}
