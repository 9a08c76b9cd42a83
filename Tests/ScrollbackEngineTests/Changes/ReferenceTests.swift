import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

/// Replies and quotes refer to messages that exist and that their sender can see.
@Suite("Replies and quotes")
struct ReferenceTests {
    private let group = ConversationID.group("g")
    private let alice = Caller(user: "alice")

    private func quote(_ id: MessageID, _ sender: UserID = "alice", _ content: MessageContent = .text("old"))
        -> MessageContent
    {
        .reference(Quote("see", id: id, sender: sender, content: content))
    }

    private func submission(
        _ content: MessageContent, replyTo: MessageID? = nil, _ harness: EngineHarness
    ) -> Submission {
        Submission(id: harness.newID(), content: content, attributes: .init(replyTo: replyTo))
    }

    @Test("A reply to or a quote of an unknown or invisible message is refused and creates nothing")
    func unknownMessages() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        try harness.make(.group("other"), members: ["alice"])
        let (hidden, elsewhere) = (harness.submission("old"), harness.submission("old"))
        try harness.send(hidden, to: group, by: "alice")
        try harness.send(elsewhere, to: .group("other"), by: "alice")
        try harness.join(group, "bob")
        for id in [hidden.id, elsewhere.id, harness.newID()] {
            for (content, replyTo, parameter) in [
                (.text("a reply"), id, "replyTo"), (quote(id), nil, "message.id"), (quote(id), id, "replyTo"),
            ] as [(MessageContent, MessageID?, String)] {
                let error = refusal {
                    try harness.send(submission(content, replyTo: replyTo, harness), to: group, by: "bob")
                }
                #expect(error?.code == .unknownMessage && error?.parameter == parameter)
                // The first message of a direct conversation can't refer to another one.
                #expect(
                    refusal {
                        try harness.send(
                            submission(content, replyTo: replyTo, harness), to: .direct("carol"), by: "bob")
                    }?
                    .code == .unknownMessage)
            }
        }
        #expect(refusal { _ = try harness.head(.direct("carol"), "bob") }?.code == .unknownConversation)
        #expect(try harness.head(group, "alice").state.head == 1)
        // Users without permission to send learn nothing about messages.
        #expect(
            refusal { try harness.send(submission(quote(hidden.id), harness), to: group, by: "dora") }?.code
                == .unknownConversation)
    }

    @Test("A quote can be of a visible message in another conversation, and a reply can't")
    func otherConversations() throws {
        let harness = try EngineHarness()
        for id in [group, .group("other")] { try harness.make(id, members: ["alice", "bob"]) }
        let old = harness.submission("old")
        try harness.send(old, to: group, by: "alice")
        let other = ConversationID.group("other")
        try harness.send(submission(quote(old.id), harness), to: other, by: "bob")
        #expect(
            refusal { try harness.send(submission(.text("no"), replyTo: old.id, harness), to: other, by: "bob") }?
                .parameter == "replyTo")
        #expect(
            refusal { try harness.send(submission(quote(old.id, "bob"), harness), to: other, by: "bob") }?.parameter
                == "message.sender")
    }

    @Test("A quote names the sender and type of the quoted message")
    func forgedQuotes() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let old = harness.submission("old")
        try harness.send(old, to: group, by: "alice")
        for (content, parameter) in [
            (quote(old.id, "bob"), "message.sender"),
            (
                quote(old.id, "alice", MessageContent(known: "app:poll", json: RawJSON(known: "{}"))), "message.type"
            ),
        ] {
            let error = refusal { try harness.send(submission(content, harness), to: group, by: "bob") }
            #expect(error?.code == .invalidParameter && error?.parameter == parameter)
        }
        let first = submission(quote(old.id), replyTo: old.id, harness)
        try harness.send(first, to: group, by: "bob")
        // A quote of a quote copies its text.
        try harness.send(submission(quote(first.id, "bob"), harness), to: group, by: "alice")
        // A message that was recalled while the sender wrote is still referred to.
        try harness.delete(old.id, in: group, by: alice)
        try harness.send(submission(quote(old.id), replyTo: old.id, harness), to: group, by: "bob")
    }

    @Test("A quote inside of a quote is the one of the quoted message, at any depth")
    func nestedQuotes() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        try harness.make(.group("other"), members: ["alice"])
        let (old, hidden) = (harness.submission("old"), harness.submission("old"))
        try harness.send(old, to: group, by: "alice")
        try harness.send(hidden, to: .group("other"), by: "alice")
        // Bob can copy a quote of a message that he can't see.
        let first = submission(quote(hidden.id), harness)
        try harness.send(first, to: group, by: "alice")
        let second = submission(quote(first.id, "alice", first.content), harness)
        try harness.send(second, to: group, by: "bob")
        try harness.send(submission(quote(second.id, "bob", second.content), harness), to: group, by: "bob")

        func parameter(_ content: MessageContent) -> String? {
            let error = refusal { try harness.send(submission(content, harness), to: group, by: "bob") }
            #expect(error?.code == .invalidParameter)
            return error?.parameter
        }
        let inner = "message.content.message"
        #expect(parameter(quote(first.id, "alice", quote(hidden.id, "bob"))) == "\(inner).sender")
        #expect(parameter(quote(first.id, "alice", quote(old.id))) == "\(inner).id")
        let picture = MessageContent(known: .image, json: RawJSON(known: #"{"url":"https://example.com/a.jpg"}"#))
        #expect(parameter(quote(first.id, "alice", quote(hidden.id, "alice", picture))) == "\(inner).type")
        let deeper = quote(first.id, "alice", quote(hidden.id, "bob"))
        #expect(parameter(quote(second.id, "bob", deeper)) == "\(inner).content.message.sender")
        // A message that quotes nothing, or whose quote is gone, has no quote to copy.
        #expect(parameter(quote(old.id, "alice", quote(hidden.id))) == "message.type")
        try harness.delete(first.id, in: group, by: alice)
        #expect(parameter(quote(first.id, "alice", first.content)) == "\(inner).id")
        #expect(try harness.head(group, "alice").state.head == 4)
    }

    @Test("A former member can't copy a quote that was edited into a message later")
    func nestedQuoteOfFormerMember() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        try harness.make(.group("other"), members: ["bob"])
        let (old, new) = (harness.submission("old"), harness.submission("new"))
        for message in [old, new] { try harness.send(message, to: group, by: "alice") }
        let first = submission(quote(old.id), harness)
        try harness.send(first, to: group, by: "alice")
        try harness.leave(group, "bob")
        _ = try harness.done {
            harness.engine.edit(first.id, in: group, MessageEdit(quote(new.id)), by: alice, completion: $0)
        }
        let copy = submission(quote(first.id, "alice", quote(new.id)), harness)
        let error = refusal { try harness.send(copy, to: .group("other"), by: "bob") }
        #expect(error?.parameter == "message.content.message.id")
    }

    @Test("An edit can't put a made up sender into a quote whose message stays the same")
    func forgedEdits() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let old = harness.submission("old")
        try harness.send(old, to: group, by: "alice")
        let mine = submission(quote(old.id), harness)
        try harness.send(mine, to: group, by: "bob")
        func edit(_ content: MessageContent) throws {
            _ = try harness.done {
                harness.engine.edit(
                    mine.id, in: group, MessageEdit(content), by: Caller(user: "bob"), completion: $0)
            }
        }
        #expect(refusal { try edit(quote(old.id, "bob")) }?.parameter == "message.sender")
        #expect(refusal { try edit(quote(old.id, "alice", quote(mine.id, "bob"))) }?.parameter == "message.type")
        try edit(quote(old.id, "alice", .text("edited")))
        // The quoted message is gone, and the quote stays as it was.
        try harness.delete(DeleteRange(from: nil, to: .seq(2)), of: group)
        try edit(quote(old.id, "alice", .text("edited again")))
        #expect(refusal { try edit(quote(old.id, "bob")) }?.code == .unknownMessage)
    }

    @Test("An edit can change the text of a quote, and the quoted message only to a visible one")
    func edits() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let (old, new) = (harness.submission("old"), harness.submission("old"))
        try harness.send(old, to: group, by: "alice")
        let mine = submission(quote(old.id), harness)
        try harness.send(mine, to: group, by: "bob")
        try harness.send(new, to: group, by: "alice")
        func edit(_ content: MessageContent) throws {
            _ = try harness.done {
                harness.engine.edit(
                    mine.id, in: group, MessageEdit(content), by: Caller(user: "bob"), completion: $0)
            }
        }
        #expect(refusal { try edit(quote(harness.newID())) }?.code == .unknownMessage)
        try edit(quote(new.id))
        try harness.delete(.all, of: group)
        #expect(refusal { try edit(quote(new.id)) }?.code == .unknownMessage)
    }

    @Test("Imported messages may refer to messages that are not imported")
    func imports() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        var message = harness.importedMessage("reply", by: "alice", at: harness.clock.now - 60)
        message.submission.attributes.replyTo = harness.newID()
        #expect(try harness.importHistory([message], into: group).imported == 1)
    }

    // MARK: Mentions of everyone

    @Test("Mentioning everyone requires its permission, also in an edit")
    func mentionPermission() throws {
        var permissions = Permissions.standard
        permissions[.mentionEveryone, .group] = .moderator
        let harness = try EngineHarness(permissions: permissions)
        try harness.make(group, members: ["alice"])
        let own = harness.submission("mine")
        try harness.send(own, to: group, by: "alice")
        let everyone = harness.submission("all", mentions: .everyone())
        for attempt in [
            { _ = try harness.send(everyone, to: group, by: "alice") },
            { _ = try harness.edit(own.id, in: group, "all", mentions: .set(.everyone()), by: alice) },
        ] {
            let error = refusal(attempt)
            #expect(error?.code == .forbidden && error?.parameter == "mentions")
        }
        try harness.join(group, "alice", as: .moderator)
        try harness.send(everyone, to: group, by: "alice")
        try harness.edit(own.id, in: group, "all", mentions: .set(.everyone()), by: alice)
    }

    @Test("The first message of a direct conversation can mention everyone after the other user changed settings there")
    func mentionInEmptyDirectConversation() throws {
        let harness = try EngineHarness()
        let mute = StateChange.settings(isMuted: true, isPinned: nil)
        _ = try harness.done { harness.engine.change(.direct("bob"), mute, by: alice, completion: $0) }
        var submission = harness.submission("hi", mentions: .everyone())
        submission.attributes.priority = .high
        try harness.send(submission, to: .direct("alice"), by: "bob")
    }

    @Test("Mentions of everyone have a rate limit for each user and conversation")
    func mentionRate() throws {
        let limiter = MentionLimiter(perHour: 60, burst: 2)
        let harness = try EngineHarness(mentionLimiter: limiter)
        try harness.make(group, members: ["alice", "bob"])
        try harness.make(.group("other"), members: ["alice"])
        func mention(_ user: UserID = "alice", in id: ConversationID? = nil) throws {
            try harness.send(harness.submission(mentions: .everyone()), to: id ?? group, by: user)
        }
        let sent = harness.submission(mentions: .everyone())
        try harness.send(sent, to: group, by: "alice")
        // A retry, an edit that keeps the mention, and a named mention are not counted.
        for _ in 0..<3 { try harness.send(sent, to: group, by: "alice") }
        try harness.edit(sent.id, in: group, "again", by: alice)
        try harness.send(harness.submission(mentions: .users(["bob"])), to: group, by: "alice")
        try mention()
        let error = refusal { try mention() }
        #expect(error?.code == .rateLimited && error?.limit == 60 && error?.parameter == "mentions")
        #expect(abs((error?.retryAfter ?? 0) - 60) < 1)
        let plain = harness.submission("plain")
        try harness.send(plain, to: group, by: "alice")
        #expect(
            refusal { _ = try harness.edit(plain.id, in: group, "all", mentions: .set(.everyone()), by: alice) }?.code
                == .rateLimited)
        try mention("bob")
        try mention(in: .group("other"))
        for _ in 0..<5 {
            try harness.send(harness.submission(mentions: .everyone()), to: group, by: EngineHarness.admin)
        }
        harness.clock.advance(by: 61)
        try mention()
        #expect(refusal { try mention() }?.code == .rateLimited)
        #expect(limiter.refusals == 3)
    }
}
