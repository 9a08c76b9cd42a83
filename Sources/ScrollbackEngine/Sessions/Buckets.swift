import Foundation
import ScrollbackModel

/// A measure that fills up again by itself.
protocol Bucket {
    /// Whether it will have filled up by a time, and so needs no remembering.
    func isFull(at now: Date) -> Bool
}

extension TokenBucket: Bucket {}

/// A bucket for each key; those that are full again are forgotten once there are many.
struct Buckets<Key: Hashable, Kind: Bucket> {
    private var buckets: [Key: Kind] = [:]
    private var prunedAt = Date.distantPast
    private let most: Int

    init(most: Int) {
        self.most = most
    }

    mutating func change<Answer>(
        _ key: Key, orNew new: @autoclosure () -> Kind, now: Date, _ body: (inout Kind) -> Answer
    ) -> Answer {
        // Once a second, and not every time: all may be in use.
        if buckets.count > most, abs(now.timeIntervalSince(prunedAt)) >= 1 {
            buckets = buckets.filter { !$0.value.isFull(at: now) }
            prunedAt = now
        }
        return body(&buckets[key, default: new()])
    }

    mutating func forget() { buckets = [:] }
}
