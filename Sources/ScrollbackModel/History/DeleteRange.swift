/// A range of history to delete, from a point (inclusive) to another (exclusive).
///
/// `nil` is the end of the log.
package struct DeleteRange: Hashable, Sendable {
    package var from: HistoryPoint?
    package var to: HistoryPoint?

    package init(from: HistoryPoint?, to: HistoryPoint?) {
        self.from = from
        self.to = to
    }

    /// The whole history.
    package static let all = DeleteRange(from: nil, to: nil)
}
