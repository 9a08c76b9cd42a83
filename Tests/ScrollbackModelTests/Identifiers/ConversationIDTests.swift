import Foundation
import ScrollbackModel
import Testing

@Suite("ConversationID")
struct ConversationIDTests {
    @Test(
        "The text form decodes to the original ID",
        arguments: [
            (ConversationID.direct("bob"), "direct:bob"),
            (.group("swift"), "group:swift"),
            (.community("city", channel: "general"), "community:city/general"),
            (.community("city"), "community:city"),
            (.room("lobby"), "room:lobby"),
            (.system("billing"), "system:billing"),
            (.direct(between: "bob", and: "alice"), "direct:alice/bob"),
            (.direct(between: "alice", and: "alice"), "direct:alice/alice"),
            (.system(to: "zoe", from: "billing"), "system:zoe/billing"),
            (.group("a/b:c%d"), "group:a%2Fb%3Ac%25d"),
            (.community("%2F", channel: "/"), "community:%252F/%2F"),
            (.group("مرحبا😀"), "group:مرحبا😀"),
            (.group("a b?c#d&e"), "group:a b?c#d&e"),
            (.community("a", channel: "\u{301}b"), "community:a/\u{301}b"),
            (.group("\u{301}b"), "group:\u{301}b"),
            (.group("a%\u{301}"), "group:a%25\u{301}"),
        ])
    func roundTrip(_ id: ConversationID, _ text: String) throws {
        #expect(Array(id.description.utf8) == Array(text.utf8))
        #expect(try ConversationID(text) == id)
    }

    @Test("Any two valid names survive the text form")
    func randomRoundTrips() throws {
        var random = SplitMix64(seed: 11)
        let pieces = [
            "a", "%", "/", ":", "%2F", "%3A", "%25", "é", "\u{301}", "😀", "\u{200D}", " ", "?", "م", "%2", "2F",
        ]
        var tried = 0
        while tried < 2_000 {
            func name() -> Identifier? {
                try? Identifier((0...random.below(5)).map { _ in random.pick(pieces) }.joined())
            }
            guard let a = name(), let b = name() else { continue }
            tried += 1
            let users = (UserID(known: a.text), UserID(known: b.text))
            for id: ConversationID in [
                .group(a), .room(a), .community(a), .community(a, channel: b), .direct(users.0),
                .direct(between: users.0, and: users.1), .system(users.0), .system(to: users.0, from: users.1),
            ] {
                let back = try ConversationID(id.description)
                #expect(back == id)
                #expect(back.description == id.description)
            }
        }
    }

    @Test("Lower-case escapes are accepted, and unnecessary escapes are refused")
    func escapes() throws {
        #expect(try ConversationID("group:a%2fb%3ac") == .group("a/b:c"))
        for text in ["group:a%41", "group:a%", "group:a%2", "group:%%25", "group:a%2G", "group:%20"] {
            #expect(refusal(text) == "place has a % that is not %25, %2F or %3A; escape it as %25")
        }
    }

    @Test("Every fault gets its own error message")
    func faults() {
        let kinds = "place must begin with one of direct, group, community, room, system, followed by a colon"
        let faults: [(String, String)] = [
            ("", "place must be KIND:NAME, for example group:swift"),
            ("swift", "place must be KIND:NAME, for example group:swift"),
            ("team:swift", kinds), (":swift", kinds), ("Group:swift", kinds), (" group:swift", kinds),
            ("group:", "place must not be empty"),
            ("group:a:b", "place has a : inside a name; escape it as %3A"),
            ("group:a/b", "place has too many parts; escape a / inside a name as %2F"),
            ("room:a/b", "place has too many parts; escape a / inside a name as %2F"),
            ("community:a/b/c", "place has too many parts; escape a / inside a name as %2F"),
            ("community:a/", "place must not be empty"),
            ("community:/a", "place must not be empty"),
            ("direct:/", "place must not be empty"),
            ("group:a\u{0}", "place must not contain control characters (U+0000)"),
            ("group:cafe\u{301}", "place must be in Unicode normalization form C (composed characters)"),
            ("group:" + String(repeating: "a", count: 129), "place must be at most 128 bytes of UTF-8 but has 129"),
        ]
        for (text, message) in faults { #expect(refusal(text) == message, "\(text)") }
    }

    @Test("A relative ID converts to the absolute ID and back")
    func relativeNames() {
        let direct = ConversationID.direct("bob").absolute(for: "alice")
        #expect(direct == .direct(between: "alice", and: "bob"))
        #expect(direct == ConversationID.direct("alice").absolute(for: "bob"))
        #expect(direct.relative(to: "alice") == .direct("bob"))
        #expect(direct.relative(to: "bob") == .direct("alice"))
        #expect(direct.relative(to: "carol") == direct, "only participants have a relative name")
        #expect(direct.namedUsers == ["alice", "bob"])

        let notes = ConversationID.direct("alice").absolute(for: "alice")
        #expect(notes.description == "direct:alice/alice")
        #expect(notes.relative(to: "alice") == .direct("alice"))
        #expect(notes.namedUsers == ["alice"])

        let bill = ConversationID.system("billing").absolute(for: "alice")
        #expect(bill == .system(to: "alice", from: "billing"))
        #expect(bill.relative(to: "alice") == .system("billing"))
        #expect(bill.relative(to: "billing") == bill)
        #expect(bill.namedUsers == ["alice"])

        for id: ConversationID in [.group("a"), .room("a"), .community("a"), .community("a", channel: "b")] {
            #expect(id.isAbsolute)
            #expect(id.absolute(for: "alice") == id)
            #expect(id.relative(to: "alice") == id)
            #expect(id.namedUsers.isEmpty)
        }
        #expect(direct.absolute(for: "carol") == direct)
        #expect(!ConversationID.direct("bob").isAbsolute)
    }

    @Test("The participants of a direct conversation are sorted by bytes, not by letters")
    func byteOrder() {
        #expect(ConversationID.direct(between: "a", and: "B").description == "direct:B/a")
        #expect(ConversationID.direct(between: "😀", and: "\u{FFFD}").description == "direct:\u{FFFD}/😀")
    }

    @Test("`isCommunityItself` is true only without a channel, and the log of a community is its default channel")
    func communities() {
        let community = ConversationID.community("city")
        #expect(community.isCommunityRoot)
        #expect(community.logID == .community("city", channel: "default"))
        let channel = ConversationID.community("city", channel: "general")
        #expect(!channel.isCommunityRoot)
        #expect(channel.logID == channel)
        #expect(channel.community == community)
        #expect(ConversationID.group("city").community == nil)
        #expect(ConversationID.group("city").logID == .group("city"))
    }

    @Test("IDs are ordered by kind, then by their parts, and a community precedes its channels")
    func order() {
        let sorted: [ConversationID] = [
            .community("a"), .community("a", channel: "a"), .community("a", channel: "b"), .community("b"),
            .direct("a"), .group("a"), .room("a"), .system("a"),
        ]
        #expect(sorted.reversed().sorted() == sorted)
    }

    private func refusal(_ text: String) -> String? {
        do throws(ChatError) {
            _ = try ConversationID(text, parameter: "place")
            return nil
        } catch {
            #expect(error.code == .invalidParameter)
            #expect(error.parameter == "place")
            return error.message
        }
    }
}
