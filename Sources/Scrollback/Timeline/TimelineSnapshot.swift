import Foundation
import ScrollbackModel
import ScrollbackSync

/// A window of a log, read from one snapshot of the store: messages, gaps, and queued messages.
struct TimelineSnapshot: Sendable {
    private var rows: [Message] = []
    private var gaps: [SeqRange] = []
    private var pending: [PendingMessage] = []
    private var firstUnread: MessageID?
    private(set) var people = LocalProfiles()
    private var isAtNewest = true
    private var hasOlder = false
    private var userState = LocalUserState()
    /// The window after the read: a point that was located becomes a range of sequence numbers.
    private(set) var window: TimelineWindow
    /// The sequence numbers that are shown.
    private(set) var shown: SeqRange?
    /// The gap in the window that is nearest to the visible messages.
    private(set) var wanted: GapRequest?

    /// - Parameters:
    ///   - size: The requested number of messages; the window holds up to twice as many.
    ///   - visible: The visible range of sequence numbers.
    ///   - headAtEntry: The newest sequence number of a room when the client entered it.
    ///   - time: Profiles that were fetched before this time are fetched again.
    init(
        _ window: TimelineWindow, size: Int, visible: SeqRange?, headAtEntry: Seq?, peopleSince time: Date,
        of id: ConversationID, _ user: UserID, _ reader: LocalReader
    ) throws {
        self.window = window
        pending = try reader.pending(in: id)
        userState = try reader.userState(in: id)
        guard let local = try reader.localLog(of: id), case let log = local.state, let range = log.range else { return }
        if case .seeking(let point) = window, let place = try reader.place(point, in: local) {
            self.window = TimelineWindow(around: place, count: size, in: log)
        }
        var places = self.window.places(in: log, visible: visible, size: size)
        if places == nil {
            // The window's log no longer exists.
            self.window = .newest(count: size)
            places = self.window.places(in: log, visible: nil, size: size)
        }
        guard let shown = places else { return }
        self.shown = shown
        let changes = try reader.pendingChanges(in: id)
        rows = try reader.asStored.messages(in: local, shown, newestFirst: false, limit: .max, filter: .all)
            .map { reader.decrypted(changes.isEmpty ? $0 : $0.applying(changes, by: user)) }
        // A message that the server lost and that is queued again may still have its old row.
        if !pending.isEmpty {
            let known = Set(rows.map(\.id))
            pending.removeAll { known.contains($0.id) }
        }
        people = try reader.profiles(Set(rows.map(\.sender)), fetchedSince: time)
        gaps = log.gaps.clipped(to: shown).ranges
        isAtNewest = shown.upperBound == range.upperBound
        hasOlder = shown.lowerBound > range.lowerBound
        if let read = try reader.readState(local.number), read.unread > 0 {
            firstUnread = rows.first { $0.seq > read.position && $0.sender != user && $0.countsUnread }?.id
        }
        guard !gaps.isEmpty else { return }
        let focus = visible?.upperBound ?? self.window.focus ?? shown.upperBound
        let request = log.gapToFill(nearest: min(max(focus, shown.lowerBound), shown.upperBound))
        if let request, request.gap.overlaps(shown) { wanted = request }
        if id.kind.traits.streamsUnderLoadByPriority, !self.window.isScrolledAway(from: visible, in: shown, size: size)
        {
            wanted = log.gapToFill(below: headAtEntry ?? .max, in: shown)
        }
    }

    /// Returns the sequence numbers from one item to another, both included; `nil` if the window does not contain them.
    func places(from first: Timeline.Item.ID, to last: Timeline.Item.ID) -> SeqRange? {
        guard let first = places(of: first), let last = places(of: last), first.lowerBound <= last.upperBound else {
            return nil
        }
        return first.lowerBound...last.upperBound
    }

    private func places(of item: Timeline.Item.ID) -> SeqRange? {
        if let gap = gaps.first(where: { Timeline.Item.gap($0, .waiting).id == item }) { return gap }
        guard let id = try? MessageID(item) else { return nil }
        if let row = rows.first(where: { $0.id == id }) { return row.seq...row.seq }
        // Queued messages are at the newest end.
        guard let shown, pending.contains(where: { $0.id == id }) else { return nil }
        return shown.upperBound...shown.upperBound
    }

    /// - Parameter fraction: Returns the uploaded fraction of a message's files.
    func view(loading: SeqRange?, uploaded fraction: (MessageID) -> Double) -> Timeline.View {
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
                        createdAt: message.createdAt,
                        state: SendHandle.State(message.state, uploaded: { fraction(message.id) }),
                        decryptionError: message.decryptionError))
            }
        }
        return Timeline.View(
            items: items, profiles: people.profiles, firstUnread: firstUnread, isAtNewest: isAtNewest,
            hasOlder: hasOlder,
            peerReadSeq: userState.peerReadSeq, peerDeliveredSeq: userState.peerDeliveredSeq,
            isFrozen: userState.isFrozen, mute: userState.mute)
    }

    private static func item(_ gap: SeqRange, _ loading: SeqRange?) -> Timeline.Item {
        .gap(gap, loading.map { $0.overlaps(gap) } ?? false ? .loading : .waiting)
    }
}

extension SendHandle.State {
    init(_ state: PendingMessage.State, uploaded fraction: () -> Double) {
        self =
            switch state {
            case .queued: .stored
            case .uploading: .uploading(fraction())
            case .sending: .sending
            case .waiting(let until): .waiting(until: until)
            case .failed(let failure): .failed(failure.error)
            }
    }
}
