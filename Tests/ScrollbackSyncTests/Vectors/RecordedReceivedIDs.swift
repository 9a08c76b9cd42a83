import Foundation
import ScrollbackModel
import ScrollbackSync

/// Random calls of the set of received IDs.
enum RecordedReceivedIDs {
    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var random = VectorRandom(seed: seed)
        var machine = ReceivedIDs()
        var history = VectorHistory("receivedIDs", seed: seed)
        for _ in 0..<30 {
            random.advance()
            if random.chance(20) { random.advance(to: random.now + random.pick([299, 600, 601])) }
            let id = MessageID(high: 0x7000, low: UInt64(random.below(6)))
            let isNew = machine.isNew(id, now: random.now)
            history.record("isNew", ["id": id.vector, "now": random.now.vector], returned: isNew.vector, state: [:])
        }
        return history
    }
}
