import Foundation
import ScrollbackModel
import ScrollbackSync
import TestSupport
import Testing

@Suite("Subscriptions to channels and rooms")
struct SubscriptionSetTests {
    private let lobby: ConversationID = .room("lobby")
    private let stage: ConversationID = .room("stage")
    private let now = Date(timeIntervalSince1970: 1_000)
    private let busy = ChatError(.overloaded, "The server is busy.", retryAfter: 10)
    private let full = ChatError(.roomFull, "The room is full.", retryAfter: 10)
    private let denied = ChatError(.forbidden, "You need the member role.")
    private var random = SplitMix64(seed: 1)

    private func connected(_ ids: [ConversationID] = []) -> SubscriptionSet {
        var set = SubscriptionSet(limit: 2)
        _ = set.add(ids)
        _ = set.connected()
        return set
    }

    @Test("Several subscriptions of the app are one of the server, which ends with the last one")
    func countsSubscriptions() {
        var set = connected()
        #expect(set.add([lobby]) == [.subscribe([lobby])])
        #expect(set.add([lobby]) == [])
        #expect(set.remove([lobby]) == [] && set.contains(lobby))
        #expect(set.remove([lobby]) == [.show(.waiting, lobby), .unsubscribe(lobby)] && !set.contains(lobby))
        #expect(set.remove([lobby]) == [] && set.ids == [])
    }

    @Test("Without a connection nothing is requested, and each connection requests all subscriptions in parts")
    func requestsAfterConnecting() {
        var set = SubscriptionSet(limit: 2)
        let third = ConversationID.room("third")
        #expect(set.add([stage, lobby, third]) == [])
        #expect(set.connected() == [.subscribe([lobby, stage]), .subscribe([third])])
        #expect(set.disconnected() == [lobby, stage, third].map { .show(.waiting, $0) })
        #expect(set.remove([third]) == [.show(.waiting, third)])
        #expect(set.connected() == [.subscribe([lobby, stage])])
    }

    @Test("A busy server is asked again after its delay, and the app keeps waiting")
    mutating func retriesWhenBusy() throws {
        var set = connected([lobby, stage])
        let actions = set.answered([lobby, stage], .failure(busy), now: now, using: &random)
        guard case .wake(let date) = actions.first, actions.count == 1 else {
            return #expect(Bool(false), "\(actions)")
        }
        #expect((10...15).contains(date.timeIntervalSince(now)))
        #expect(set.tick(now: date - 0.1) == [])
        #expect(set.tick(now: date) == [.subscribe([lobby, stage])])
        #expect(set.tick(now: date + 60) == [], "it is requested once")
        #expect(
            set.answered([lobby, stage], .success(()), now: date, using: &random) == [
                .show(.live, lobby), .show(.live, stage),
            ])
    }

    @Test("A refusal of several is asked for each one, and a refusal of one is shown")
    mutating func findsTheRefusedOne() {
        var set = connected([lobby, stage])
        #expect(
            set.answered([lobby, stage], .failure(denied), now: now, using: &random)
                == [.subscribe([lobby]), .subscribe([stage])])
        #expect(set.answered([lobby], .success(()), now: now, using: &random) == [.show(.live, lobby)])
        #expect(set.answered([stage], .failure(denied), now: now, using: &random) == [.show(.refused(denied), stage)])
        #expect(set.tick(now: now + 3_600) == [], "a permanent refusal is not requested again")
    }

    @Test("A full room is shown as refused and requested again, unless the app leaves or the connection ends")
    mutating func retriesFullRooms() {
        for event in 0..<3 {
            var set = connected([lobby])
            let actions = set.answered([lobby], .failure(full), now: now, using: &random)
            #expect(actions.first == .show(.refused(full), lobby) && actions.count == 2)
            switch event {
            case 0: #expect(set.tick(now: now + 15) == [.subscribe([lobby])])
            case 1:
                #expect(set.remove([lobby]) == [.show(.waiting, lobby), .unsubscribe(lobby)])
                #expect(set.tick(now: now + 15) == [])
            default:
                _ = set.disconnected()
                #expect(set.tick(now: now + 15) == [])
            }
        }
    }

    @Test("The answer for a conversation that the app has left shows nothing")
    mutating func ignoresLeftConversations() {
        for result in [.success(()), .failure(full), .failure(busy)] as [Result<Void, ChatError>] {
            var set = connected([lobby])
            _ = set.remove([lobby])
            #expect(set.answered([lobby], result, now: now, using: &random) == [])
        }
    }
}
