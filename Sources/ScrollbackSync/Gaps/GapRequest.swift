package import ScrollbackModel

/// A request for a page that fills a gap, starting at one of its ends or inside it.
package struct GapRequest: Hashable, Sendable {
    package enum Direction: Hashable, Sendable { case older, newer }

    package var gap: SeqRange
    /// The exclusive start of the page.
    package var anchor: Seq
    package var direction: Direction
    /// The maximum number of messages, at most 100.
    package var limit: Int

    package init(gap: SeqRange, anchor: Seq, direction: Direction, limit: Int) {
        self.gap = gap
        self.anchor = anchor
        self.direction = direction
        self.limit = limit
    }

    package var query: HistoryQuery {
        switch direction {
        case .older: HistoryQuery(.before(.seq(anchor)), limit: limit)
        // No sequence number exists before the first one.
        case .newer: HistoryQuery(anchor > 0 ? .after(.seq(anchor)) : .earliest, limit: limit)
        }
    }
}

extension LogState {
    /// Returns a request for the gap nearest to a sequence number, starting from the nearer end.
    ///
    /// At equal distance, older gaps come first.
    package func gapToFill(nearest place: Seq, limit: Int = Limits.standard.pageSize) -> GapRequest? {
        let older = gaps.last(atOrBelow: place)
        let newer = gaps.first(atOrAbove: place)
        switch (older, newer) {
        case (nil, nil): return nil
        case (let older?, nil): return Self.request(older: older, limit: limit)
        case (nil, let newer?): return Self.request(newer: newer, limit: limit)
        case (let older?, let newer?):
            return place - older.upperBound <= newer.lowerBound - place
                ? Self.request(older: older, limit: limit) : Self.request(newer: newer, limit: limit)
        }
    }

    private static func request(older gap: SeqRange, limit: Int) -> GapRequest {
        GapRequest(gap: gap, anchor: gap.upperBound + 1, direction: .older, limit: clamp(limit, to: gap))
    }

    private static func request(newer gap: SeqRange, limit: Int) -> GapRequest {
        GapRequest(gap: gap, anchor: gap.lowerBound - 1, direction: .newer, limit: clamp(limit, to: gap))
    }

    private static func clamp(_ limit: Int, to gap: SeqRange) -> Int {
        min(limit, Limits.standard.pageSize, gap.count)
    }
}
