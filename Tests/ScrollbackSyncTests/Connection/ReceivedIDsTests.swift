import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Transient messages")
struct ReceivedIDsTests {
    @Test("A repeated message ID is ignored for ten minutes and accepted afterwards")
    func repeatedMessageIDIsIgnored() {
        var receivedIDs = ReceivedIDs()
        let ids = (1...500).map { MessageID(high: 0x7000, low: $0) }
        var answers: [Bool] = []
        for (second, id) in ids.enumerated() {
            answers.append(receivedIDs.isNew(id, now: noon + TimeInterval(second)))
            answers.append(!receivedIDs.isNew(id, now: noon + TimeInterval(second)))
        }
        #expect(!answers.contains(false))
        let firstAgain = [600, 601].map { receivedIDs.isNew(ids[0], now: noon + $0) }
        #expect(firstAgain == [false, true])
        let lastAgain = receivedIDs.isNew(ids[499], now: noon + 1099)
        #expect(!lastAgain)
    }
}
