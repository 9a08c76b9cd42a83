import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Typing")
struct TypingTests {
    private let group = ConversationID.group("g")
    private let start = Date(timeIntervalSince1970: 1_795_255_200)

    @Test("Typing is reported at once, every three seconds while it continues, and once when it ends")
    func own() {
        var typing = OwnTyping()
        var reported: [Int] = []
        for second in 0..<10 where typing.typed(in: group, now: start + Double(second)) { reported.append(second) }
        #expect(reported == [0, 3, 6, 9])
        #expect(typing.next == start + 9 + 5)
        let quiet = [13.0, 14, 20].map { typing.tick(now: start + $0) }
        #expect(quiet == [[], [group], []] && typing.next == nil)
        let shouldNotifyAgain = typing.stopped(in: group)
        #expect(!shouldNotifyAgain)
    }

    @Test("Stopping is reported once, and not after a message was sent")
    func stopping() {
        var typing = OwnTyping()
        let reported = [
            typing.typed(in: group, now: start), typing.stopped(in: group), typing.stopped(in: group),
            typing.typed(in: group, now: start + 1),
        ]
        #expect(reported == [true, true, false, true])
        typing.sent(to: group)
        let shouldNotify = typing.stopped(in: group)
        #expect(!shouldNotify)
    }

    @Test("A user is shown as typing until they stop, send a message, or are silent for six seconds")
    func people() {
        var people = TypingUsers()
        func receiveTyping(_ user: UserID, _ isTyping: Bool, _ seconds: Double) -> Bool {
            people.received(user, in: group, isTyping: isTyping, now: start + seconds)
        }
        #expect(
            [receiveTyping("bob", true, 0), receiveTyping("carol", true, 1), receiveTyping("bob", true, 3)] == [
                true, true, false,
            ])
        #expect(people.users(in: group) == ["bob", "carol"])
        let quiet = people.tick(now: start + 7)
        #expect(quiet == [group] && people.users(in: group) == ["bob"])
        #expect(people.next == start + 9)
        let results = [people.messageReceived(from: "bob", in: group), people.messageReceived(from: "bob", in: group)]
        #expect(results == [true, false] && people.next == nil)
        #expect(
            [receiveTyping("bob", true, 9), receiveTyping("bob", false, 9), receiveTyping("bob", false, 9)] == [
                true, true, false,
            ])
        _ = receiveTyping("bob", true, 9)
        let gone = people.disconnected()
        #expect(gone == [group] && people.users(in: group) == [])
    }
}
