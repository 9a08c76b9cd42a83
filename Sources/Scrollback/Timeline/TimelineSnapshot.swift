import ScrollbackModel
import ScrollbackSync

/// A window of a log, read from one snapshot: rows, gaps, and what is to be sent.
struct TimelineSnapshot: Sendable {
    private var rows: [Message] = []
    private var gaps: [SeqRange] = []
    private var pending: [PendingMessage] = []
    private var firstUnread: MessageID?
    private var isAtNewest = true
    private var hasOlder = false
    /// The gap of the window that is nearest to where somebody looks.
    var wanted: GapRequest?

    init(
        of id: ConversationID, around center: HistoryPoint, older: Int, newer: Int, visible: SeqRange?, _ user: UserID,
        _ reader: LocalReader
    ) throws {
        pending = try reader.pending(in: id)
        guard let local = try reader.localLog(of: id), case let log = local.state, let range = log.range else { return }
        let place = try reader.place(center, in: local)?.oldestNewer ?? log.head + 1
        // Places are dense, so a window of places is a window of messages; voids and gaps make it shorter, never longer.
        let lower = max(range.lowerBound, place - Int64(older))
        let upper = center == .latest ? range.upperBound : min(range.upperBound, place + Int64(newer) - 1)
        guard lower <= upper else { return }
        let window = lower...upper
        rows = try reader.messages(in: local, window, newestFirst: false, limit: .max, filter: .all)
        gaps = log.gaps.clipped(to: window).ranges
        isAtNewest = upper == range.upperBound
        hasOlder = lower > range.lowerBound
        if let read = try reader.readState(local.number) {
            firstUnread =
                rows.first { $0.seq > read.readSeq && $0.sender != user && read.unread > 0 }?.id
        }
        guard !gaps.isEmpty else { return }
        let eye = visible?.upperBound ?? min(place, upper)
        if let request = log.gapToFill(nearest: min(max(eye, lower), upper)), request.gap.overlaps(window) {
            wanted = request
        }
    }

    func view(loading: SeqRange?) -> Timeline.View {
        var items: [Timeline.Item] = []
        var gaps = gaps[...]
        for row in rows {
            while let gap = gaps.first, gap.upperBound < row.seq {
                items.append(Self.item(gap, loading))
                gaps.removeFirst()
            }
            items.append(.message(row))
        }
        items += gaps.map { Self.item($0, loading) }
        if isAtNewest {
            items += pending.map { message in
                .pending(
                    Timeline.Pending(
                        id: message.id, content: message.submission.content, attributes: message.submission.attributes,
                        createdAt: message.createdAt, state: Sending.State(message.state)))
            }
        }
        return Timeline.View(items: items, firstUnread: firstUnread, isAtNewest: isAtNewest, hasOlder: hasOlder)
    }

    private static func item(_ gap: SeqRange, _ loading: SeqRange?) -> Timeline.Item {
        .gap(gap, loading.map { $0.overlaps(gap) } ?? false ? .loading : .waiting)
    }
}

extension Sending.State {
    init(_ state: PendingMessage.State) {
        self =
            switch state {
            case .queued: .stored
            case .sending: .sending
            case .waiting(let until): .waiting(until: until)
            case .failed(let failure): .failed(failure.error)
            }
    }
}
