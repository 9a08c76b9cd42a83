import ScrollbackModel
import ScrollbackSync

extension TimelineWindow {
    /// Whether the user has scrolled away from a room's newest messages.
    ///
    /// If so, the timeline fetches messages that the room did not stream. A small distance does not count, because a
    /// busy room moves on before the screen is drawn.
    func isScrolledAway(from visible: SeqRange?, in shown: SeqRange, size: Int) -> Bool {
        if case .places = self { return true }
        guard let visible else { return false }
        return shown.upperBound - visible.upperBound > Int64(max(10, size / 4))
    }
}

extension LogState {
    /// Returns the newest gap of a room that already existed when the client entered it.
    func gapToFill(below headAtEntry: Seq, in shown: SeqRange) -> GapRequest? {
        guard let gap = gaps.clipped(to: shown).ranges.last(where: { $0.lowerBound <= headAtEntry }) else { return nil }
        return gapToFill(nearest: min(gap.upperBound, shown.upperBound))
    }
}
