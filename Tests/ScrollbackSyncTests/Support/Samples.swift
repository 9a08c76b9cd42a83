import Foundation
import ScrollbackModel
import ScrollbackSync

let swift: ConversationID = .group("swift")
let me: UserID = "alice"
let noon = Date(timeIntervalSince1970: 1_800_000_000)

/// A log up to `head` in which every message counts.
func log(
    _ head: Seq, firstSeq: Seq = 1, countedIndex: Int64? = nil, rev: Int64 = 0, view: Int64 = 1, epoch: UInt64 = 7
) -> LogHead {
    LogHead(
        epoch: Epoch(rawValue: epoch), view: view, head: head, firstSeq: firstSeq, countedIndex: countedIndex ?? head,
        rev: rev)
}

func message(
    _ seq: Seq, _ text: String? = "hello", rev: Int64 = 0, countedIndex: Int64? = nil, sender: UserID = "bob",
    mentions: Mentions? = nil, epoch: UInt64 = 7
) -> Message {
    Message(
        conversation: swift, seq: seq, countedIndex: countedIndex ?? seq, id: MessageID(high: 0x7000, low: UInt64(seq)),
        timetoken: Timetoken(rawValue: UInt64(seq)), epoch: Epoch(rawValue: epoch), sender: sender, type: .text,
        content: text.map(MessageContent.text), rev: rev, attributes: MessageAttributes(mentions: mentions))
}

func messages(_ seqs: SeqRange, epoch: UInt64 = 7) -> [Message] { seqs.map { message($0, epoch: epoch) } }

/// A page that covers all sequence numbers in `covered`.
func page(
    _ covered: SeqRange?, _ messages: [Message], deletedRanges: [SeqRange] = [], of state: LogHead
) -> LogPage {
    let coverage =
        covered.map { Coverage(lower: $0.lowerBound, upper: $0.upperBound, deletedRanges: SeqRangeSet(deletedRanges)) }
        ?? .empty(above: state.head)
    return LogPage(
        messages: messages, coverage: coverage, isFiltered: false, older: nil, newer: nil, state: state)
}

/// A filtered page that scanned the sequence numbers in `scanned`.
func filteredPage(_ scanned: SeqRange, _ messages: [Message], deletedRanges: [SeqRange] = [], of state: LogHead)
    -> LogPage
{
    var page = page(scanned, messages, deletedRanges: deletedRanges, of: state)
    page.isFiltered = true
    return page
}

func sync(_ page: LogPage, _ changes: [LogChange] = [], through rev: Int64, mustRefetch: Bool = false) -> LogSync {
    LogSync(page: page, changes: changes, changedThrough: rev, mustRefetch: mustRefetch)
}

extension LogCopy {
    /// A log whose newest sequence numbers are loaded, and that has received all changes.
    init(_ head: LogHead, read places: SeqRange? = nil) {
        self.init(adopting: head)
        let places = places ?? head.firstSeq...head.head
        apply(page: page(places, messages(places, epoch: head.epoch.rawValue), of: head))
        state.replayed = head.head
    }

    var gaps: [SeqRange] { state.gaps.ranges }
    var deletedRanges: [SeqRange] { state.deletedRanges.ranges }
    var places: [Seq] { rows.keys.sorted() }
    var position: LogPosition { state.position(in: swift) }
}
