import ScrollbackModel
import ScrollbackSync

/// A range of messages read from the device, and the gap that interrupts it, if any.
struct LocalRun: Sendable {
    private var messages: [Message]
    /// Whether the messages are in the order in which a run toward older messages reads them.
    private var isNewestFirst = false
    var gap: GapRequest?
    var older: Seq?
    var newer: Seq?
    /// A point whose position only the server knows.
    var unknownPoint: HistoryPoint?

    init(_ query: HistoryQuery, in id: ConversationID, _ reader: LocalReader) throws {
        messages = []
        let log = try reader.localLog(of: id)
        func place(_ point: HistoryPoint, _ unknown: inout HistoryPoint?) throws -> LocalPosition? {
            let place = try log.flatMap { try reader.place(point, in: $0) }
            if place == nil { unknown = unknown ?? point }
            return place
        }
        switch query.anchor {
        case .cursor: return
        case .before(let point):
            guard let log, let place = try place(point, &unknownPoint) else {
                unknownPoint = unknownPoint ?? point
                return
            }
            try readOlder(from: place.newestOlder, limit: query.limit, query.filter, log, reader)
        case .after(let point):
            guard let log, let place = try place(point, &unknownPoint) else {
                unknownPoint = unknownPoint ?? point
                return
            }
            try readNewer(from: place.oldestNewer, to: nil, limit: query.limit, query.filter, log, reader)
        case .backward(let from, let to):
            guard let log, let first = try place(from, &unknownPoint), let end = try place(to, &unknownPoint) else {
                unknownPoint = unknownPoint ?? from
                return
            }
            try readOlder(
                from: first.newestOlder, downTo: end.newestOlder + 1, limit: query.limit, query.filter, log, reader)
            newer = nil
        case .between(let from, let to):
            guard let log, let first = try place(from, &unknownPoint), let end = try place(to, &unknownPoint) else {
                unknownPoint = unknownPoint ?? from
                return
            }
            try readNewer(
                from: first.newestOlder + 1, to: end.newestOlder, limit: query.limit, query.filter, log, reader)
            older = nil
        case .around(let point, let before, let after):
            guard let log, var place = try place(point, &unknownPoint) else {
                unknownPoint = unknownPoint ?? point
                return
            }
            // If several messages have the same time, the point is the first one and the others are newer, as on the
            // server.
            place.oldestNewer = min(place.oldestNewer, place.newestOlder + 2)
            try readAround(place, before: before, after: after, query.filter, log, reader)
        }
    }

    private mutating func readOlder(
        from top: Seq, downTo end: Seq? = nil, limit: Int, _ filter: MessageFilter, _ log: LocalLog,
        _ reader: LocalReader
    ) throws {
        let page = try reader.older(from: top, downTo: end, limit: limit, filter: filter, in: log)
        if messages.isEmpty {
            messages = page.messages
            isNewestFirst = true
        } else {
            messages.insert(contentsOf: page.messages.reversed(), at: 0)
        }
        older = page.older
        newer = newer ?? page.newer
        gap = page.gap.map { Self.request(older: $0, from: top) } ?? gap
    }

    private mutating func readNewer(
        from bottom: Seq, to end: Seq?, limit: Int, _ filter: MessageFilter, _ log: LocalLog,
        _ reader: LocalReader
    ) throws {
        let page = try reader.newer(from: bottom, to: end, limit: limit, filter: filter, in: log)
        messages = messages.isEmpty ? page.messages : messages + page.messages
        newer = page.newer
        older = older ?? page.older
        gap = gap ?? page.gap.map { Self.request(newer: $0) }
    }

    private mutating func readAround(
        _ place: LocalPosition, before: Int, after: Int, _ filter: MessageFilter, _ log: LocalLog,
        _ reader: LocalReader
    ) throws {
        let state = log.state
        if let seq = place.seq, let range = state.range, range.contains(seq), !state.deletedRanges.contains(seq) {
            if state.gaps.contains(seq) {
                gap = GapRequest(gap: seq...seq, anchor: seq + 1, direction: .older, limit: 1)
            }
            messages = try reader.newer(from: seq, to: seq, limit: 1, filter: filter, in: log).messages
        }
        try readNewer(from: place.oldestNewer, to: nil, limit: after, filter, log, reader)
        let newerEnd = newer
        try readOlder(from: place.newestOlder, limit: before, filter, log, reader)
        newer = newerEnd
    }

    /// Requests the part of a gap below a sequence number, starting from its newer end.
    private static func request(older gap: SeqRange, from top: Seq) -> GapRequest {
        let upper = min(gap.upperBound, top)
        return GapRequest(
            gap: gap, anchor: upper + 1, direction: .older, limit: Int(min(100, upper - gap.lowerBound + 1)))
    }

    private static func request(newer gap: SeqRange) -> GapRequest {
        GapRequest(
            gap: gap, anchor: gap.lowerBound - 1, direction: .newer,
            limit: Int(min(100, gap.upperBound - gap.lowerBound + 1)))
    }

    consuming func page(_ query: HistoryQuery) -> HistoryPage {
        if isNewestFirst != (query.sort == .newestFirst) { messages.reverse() }
        return HistoryPage(
            messages: messages, older: older.map { Self.older(from: $0, query.anchor) },
            newer: newer.map { Self.newer(from: $0, query.anchor) },
            remoteError: nil, gap: gap?.gap)
    }

    /// Returns the anchor that continues at a sequence number, within the bounds of the original anchor.
    private static func older(from seq: Seq, _ anchor: Anchor) -> Anchor {
        if case .backward(_, let end) = anchor { return .backward(from: .seq(seq + 1), downTo: end) }
        return .before(.seq(seq + 1))
    }

    private static func newer(from seq: Seq, _ anchor: Anchor) -> Anchor {
        if case .between(_, let end) = anchor { return .between(.seq(seq), end) }
        return seq > 1 ? .after(.seq(seq - 1)) : .earliest
    }
}
