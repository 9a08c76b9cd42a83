import ScrollbackModel
import ScrollbackSync

/// Random calls of a read state.
struct RecordedReadState {
    private var machine: ReadState
    private var random: VectorRandom
    private var history: VectorHistory

    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var recorded = RecordedReadState(seed: seed)
        for _ in 0..<30 { recorded.step() }
        return recorded.history
    }

    private init(seed: UInt64) {
        random = VectorRandom(seed: seed)
        let (seq, countedIndex) = (random.seq(8), random.seq(8))
        machine = ReadState(unknownIn: Epoch(rawValue: 7), countsAfter: seq, countedIndex: countedIndex)
        history = VectorHistory(
            "readState", seed: seed,
            start: ["epoch": "7", "seq": seq.vector, "countedIndex": countedIndex.vector, "reader": me.vector])
    }

    private mutating func record(_ call: String, _ arguments: VectorValue = [:], returned: VectorValue = nil) {
        history.record(call, arguments, returned: returned, state: machine.vector)
    }

    private mutating func step() {
        switch random.below(24) {
        case 0..<5: applySummary()
        case 5..<9: changeMessage()
        case 9:
            let (rev, previous) = (random.seq(6), random.seq(6))
            machine.advanceRevision(to: rev, after: previous)
            record("advanceRevision", ["rev": rev.vector, "previous": previous.vector])
        case 10..<12:
            let (range, rev) = (random.range(12), random.flag() ? random.seq(6) : nil)
            machine.erased(range, rev: rev)
            record("erased", ["range": range.vector, "rev": rev.vector])
        case 12:
            let seq = random.seq(14)
            machine.forgot(through: seq)
            record("forgot", ["seq": seq.vector])
        case 13..<15:
            let message = randomMessage()
            machine.gapFilled(message, reader: me)
            record("gapFilled", ["message": message.vector])
        case 15..<20: updateCounts()
        case 20..<22:
            let (seq, countedIndex) = (random.seq(14), random.flag() ? random.seq(14) : nil)
            machine.markRead(upTo: seq, countedIndex: countedIndex)
            record("markRead", ["seq": seq.vector, "countedIndex": countedIndex.vector])
        case 22:
            machine.dropPendingRead()
            record("dropPendingRead")
        default:
            guard random.chance(30) else { return }
            machine.viewChanged()
            record("viewChanged")
        }
    }

    private mutating func epoch() -> UInt64 { random.chance(95) ? 7 : 8 }

    private mutating func applySummary() {
        let seq = random.seq(14)
        let summary = ReadSummary(
            epoch: Epoch(rawValue: epoch()), readSeq: min(seq, random.seq(14)), unread: random.seq(5),
            mentions: random.seq(3), isMarkedUnread: random.chance(30), seq: seq,
            countedIndex: min(seq, random.seq(14)), rev: random.seq(6), userRev: random.seq(5))
        let answersRead = random.chance(20)
        machine.apply(summary, answersRead: answersRead)
        record("apply", ["summary": summary.vector, "answersRead": answersRead.vector])
    }

    private mutating func randomMessage(seq: Seq? = nil) -> Message {
        var message = message(
            seq ?? 1 + random.seq(13), rev: random.seq(7), sender: random.chance(20) ? me : "bob",
            mentions: random.pick([nil, .users([me]), .users(["carol"]), .everyone()]))
        message.attributes.traits.countsUnread = random.chance(70)
        return message
    }

    private mutating func changeMessage() {
        let new = randomMessage()
        let old = random.chance(70) ? randomMessage(seq: new.seq) : nil
        let mayHaveSentLater = random.chance(40)
        machine.changed(new, replacing: old, reader: me, mayHaveSentLater: mayHaveSentLater)
        record(
            "changed",
            ["message": new.vector, "old": old.vector, "mayHaveSentLater": mayHaveSentLater.vector])
    }

    private mutating func updateCounts() {
        let head = random.seq(14)
        var log = LogState(
            adopting: log(
                head, firstSeq: 1 + min(head, random.chance(80) ? 0 : random.seq(8)),
                countedIndex: min(head, random.seq(14)), rev: random.seq(6), epoch: epoch()))
        if random.chance(20) { log.latestRev += 1 }
        let receivesOwnMessages = random.chance(30)
        var counts: [VectorValue] = []
        // The closure can't use `self`, which `updateCounts` changes.
        var random = random
        machine.updateCounts(log, receivesOwnMessages: receivesOwnMessages) { range in
            var counted: ReadState.RangeCounts?
            if random.chance(90) {
                counted = ReadState.RangeCounts(
                    unread: random.seq(4), mentions: random.seq(2), own: random.seq(2),
                    isComplete: random.chance(60))
            }
            counts.append(["range": range.vector, "counts": counted.vector])
            return counted
        }
        self.random = random
        record(
            "updateCounts",
            [
                "log": log.vector, "receivesOwnMessages": receivesOwnMessages.vector,
                "counts": .list(counts),
            ])
    }
}

extension ReadState.RangeCounts: VectorEncodable {
    var vector: VectorValue {
        [
            "unread": unread.vector, "mentions": mentions.vector, "own": own.vector,
            "isComplete": isComplete.vector,
        ]
    }
}

extension ReadState: VectorEncodable {
    var vector: VectorValue {
        [
            "epoch": epoch.vector, "readSeq": readSeq.vector, "unread": unread.vector, "mentions": mentions.vector,
            "countedAt": [
                "seq": countedAt.seq.vector, "countedIndex": countedAt.countedIndex.vector,
                "rev": countedAt.rev.vector, "userRev": countedAt.userRev.vector,
            ],
            "knownThrough": knownThrough.vector, "lastCountChangeRev": lastCountChangeRev.vector,
            "certainty": .text(String(describing: certainty)), "pendingReadSeq": pendingReadSeq.vector,
            "pendingReadCountedIndex": pendingReadCountedIndex.vector,
        ]
    }
}
