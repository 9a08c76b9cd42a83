import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Typing")
struct TypingTests {
    private let group = ConversationID.group("g")
    private let start = Date(timeIntervalSince1970: 1_795_255_200)

    @Test("The server is told at once, every three seconds while it goes on, and once that it ended")
    func own() {
        var typing = OwnTyping()
        var told: [Int] = []
        for second in 0..<10 where typing.typed(in: group, now: start + Double(second)) { told.append(second) }
        #expect(told == [0, 3, 6, 9])
        #expect(typing.next == start + 9 + 5)
        #expect(typing.tick(now: start + 13) == [])
        #expect(typing.tick(now: start + 14) == [group])
        #expect(typing.tick(now: start + 20) == [] && typing.next == nil)
        #expect(!typing.stopped(in: group))
    }

    @Test("Who stops is said to have stopped once; a message needs no word of it")
    func stopping() {
        var typing = OwnTyping()
        #expect(typing.typed(in: group, now: start))
        #expect(typing.stopped(in: group) && !typing.stopped(in: group))
        #expect(typing.typed(in: group, now: start + 1))
        typing.sent(to: group)
        #expect(!typing.stopped(in: group))
    }

    @Test("Somebody types until they stop, are not heard of for six seconds, or their message comes")
    func people() {
        var people = TypingPeople()
        #expect(people.heard("bob", in: group, isTyping: true, now: start))
        #expect(people.heard("carol", in: group, isTyping: true, now: start + 1))
        #expect(!people.heard("bob", in: group, isTyping: true, now: start + 3))
        #expect(people.users(in: group) == ["bob", "carol"])
        #expect(people.tick(now: start + 7) == [group] && people.users(in: group) == ["bob"])
        #expect(people.next == start + 9)
        #expect(people.said(by: "bob", in: group) && !people.said(by: "bob", in: group))
        #expect(people.next == nil)
        #expect(people.heard("bob", in: group, isTyping: true, now: start))
        #expect(people.heard("bob", in: group, isTyping: false, now: start))
        #expect(!people.heard("bob", in: group, isTyping: false, now: start))
        #expect(people.heard("bob", in: group, isTyping: true, now: start))
        #expect(people.disconnected() == [group] && people.users(in: group) == [])
    }
}
