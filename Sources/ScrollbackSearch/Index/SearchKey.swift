package import ScrollbackModel
import TextAnalysis

/// The key of a message's row: the conversation number, then the sequence number.
///
/// Each conversation is thus a contiguous range of keys.
package enum SearchKey {
    /// 36 bits for the sequence number leave 27 for the conversation: 69 billion messages in each of 134 million.
    private static let bits: Int64 = 36
    package static let lastSeq = SearchScope.lastSeq
    static let lastConversation: Int64 = 1 << (63 - bits) - 1

    static func key(_ conversation: Int64, _ seq: Seq) -> Int64 {
        min(max(conversation, 0), lastConversation) << bits | min(max(seq, 0), lastSeq)
    }

    static func keys(_ scope: SearchScope) -> ClosedRange<Int64> {
        key(scope.conversation, scope.range.lowerBound)...key(scope.conversation, scope.range.upperBound)
    }

    static func conversation(_ key: Int64) -> Int64 { key >> bits }
    static func seq(_ key: Int64) -> Seq { key & lastSeq }

    /// Converts an unsigned timetoken so that a signed column has the same order.
    static func column(_ time: Timetoken) -> Int64 { Int64(bitPattern: time.rawValue ^ 1 << 63) }
    static func time(_ column: Int64) -> Timetoken { Timetoken(rawValue: UInt64(bitPattern: column) ^ 1 << 63) }
}
