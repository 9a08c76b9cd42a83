import ScrollbackModel
import ScrollbackSync

extension TimelineWindow {
    /// Whether somebody has gone away from a room's newest messages, to look at what was said before: then what the room did
    /// not stream is asked for.
    ///
    /// Who follows a busy room is a few messages behind before the screen is drawn.
    func isAway(from visible: SeqRange?, in shown: SeqRange, size: Int) -> Bool {
        if case .places = self { return true }
        guard let visible else { return false }
        return shown.upperBound - visible.upperBound > Int64(max(10, size / 4))
    }
}

extension LogState {
    /// The newest gap of a room that was there when it was entered.
    func gapToFill(below entrance: Seq, in shown: SeqRange) -> GapRequest? {
        guard let gap = gaps.clipped(to: shown).ranges.last(where: { $0.lowerBound <= entrance }) else { return nil }
        return gapToFill(nearest: min(gap.upperBound, shown.upperBound))
    }
}
