/// A range of history to delete: from a point, included, to another, excluded; an absent one is the end of the log.
package struct DeleteRange: Hashable, Sendable {
    package var from: HistoryPoint?
    package var to: HistoryPoint?

    package init(from: HistoryPoint?, to: HistoryPoint?) {
        self.from = from
        self.to = to
    }

    /// Everything there is.
    package static let all = DeleteRange(from: nil, to: nil)
}
