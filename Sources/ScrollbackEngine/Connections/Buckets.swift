import Foundation
import ScrollbackModel

/// A rate limit that refills over time.
protocol Bucket {
    /// Returns whether the bucket is full at a time, so that it can be discarded.
    func isFull(at now: Date) -> Bool
}

extension TokenBucket: Bucket {}

/// A bucket for each key; when there are many, full buckets are discarded.
struct Buckets<Key: Hashable, Kind: Bucket> {
    private var buckets: [Key: Kind] = [:]
    private var prunedAt = Date.distantPast
    private let pruningThreshold: Int

    init(pruningThreshold: Int) {
        self.pruningThreshold = pruningThreshold
    }

    mutating func change<Answer>(
        _ key: Key, default new: @autoclosure () -> Kind, now: Date, _ body: (inout Kind) -> Answer
    ) -> Answer {
        // At most once per second, because all buckets may be in use.
        if buckets.count > pruningThreshold, abs(now.timeIntervalSince(prunedAt)) >= 1 {
            buckets = buckets.filter { !$0.value.isFull(at: now) }
            prunedAt = now
        }
        return body(&buckets[key, default: new()])
    }

    mutating func removeAll() { buckets = [:] }
}
