import ScrollbackModel
import ScrollbackSync
import Testing

@testable import Scrollback

@Suite("Events about the list of recents")
struct RecentsEventTests {
    private let group = ConversationID.group("swift")

    private func head(userRev: Int64, isMember: Bool = true, isMuted: Bool = false) -> ConversationHead {
        let epoch = Epoch(rawValue: 7)
        return ConversationHead(
            conversation: group,
            state: LogHead(epoch: epoch, view: 0, head: 4, firstSeq: 1, countedIndex: 4, rev: 0), mentions: 1,
            readSeq: 3, isMuted: isMuted, recentTime: Timetoken(rawValue: 4), isMember: isMember, userRev: userRev)
    }

    @Test("The end of a membership whose only unread count is a mention sends an event with the shown counts")
    func mentionsEndWithMembership() async throws {
        let store = try LocalStore(directory: nil, user: "alice")
        let heads = [
            head(userRev: 5), head(userRev: 6, isMember: false), head(userRev: 7, isMember: false, isMuted: true),
        ]
        let stored = try await store.write { try $0.apply([.head(heads[0])]) }
        #expect(stored.count == 1)
        let before = try await store.read { [group] in try $0.recent(group) }
        #expect(before?.mentions == 1 && before?.unread == 0)
        var events = store.recentsEvents.events().makeAsyncIterator()
        for head in heads[1...] { _ = try await store.write { try $0.apply([.head(head)]) } }
        var mutes: [Bool] = []
        while mutes.count < 2, let event = await events.next() {
            guard case .updated(let entry, _) = event else { continue }
            #expect(entry.mentions == 0)
            mutes.append(entry.isMuted)
            if entry.isMuted { break }
        }
        #expect(mutes == [false, true])
    }
}
