package import ScrollbackModel

/// What is said of a range to delete, whichever door it came by: everything only where that is said.
package struct DeleteRangeFields: Sendable {
    package var from: String?
    package var to: String?
    package var isAll = false

    package init() {}

    package func range() throws(ChatError) -> DeleteRange {
        guard !isAll || from == nil && to == nil else { throw .invalidParameter("all", "does not go with from or to") }
        guard isAll || from != nil || to != nil else {
            throw .invalidParameter("all", "is missing: give from, to or both, or all=true to delete everything")
        }
        return DeleteRange(
            from: try from.map { (text) throws(ChatError) in try HistoryParameters.point(text, "from") },
            to: try to.map { (text) throws(ChatError) in try HistoryParameters.point(text, "to") })
    }
}
