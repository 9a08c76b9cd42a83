import Foundation
import ScrollbackModel
import ScrollbackSync

/// Random calls of a conversation's entry in the list of recents.
struct RecordedRecentEntry {
    private static let levels: [NotificationLevel?] = [nil] + NotificationLevel.allCases

    private var machine: RecentEntry
    private var random: VectorRandom
    private var history: VectorHistory

    static func randomHistory(seed: UInt64) -> VectorHistory? {
        var recorded = RecordedRecentEntry(seed: seed)
        for _ in 0..<30 { recorded.step() }
        return recorded.history
    }

    private init(seed: UInt64) {
        random = VectorRandom(seed: seed)
        let kind = random.pick(ConversationKind.allCases)
        machine = RecentEntry(kind: kind)
        history = VectorHistory("recentEntry", seed: seed, start: ["kind": .text(kind.rawValue)])
    }

    private mutating func record(_ call: String, _ arguments: VectorValue = [:], returned: VectorValue = nil) {
        history.record(call, arguments, returned: returned, state: machine.vector)
    }

    private mutating func step() {
        switch random.below(24) {
        case 0..<5:
            let activity = RecentEntry.Activity(
                head: random.seq(9), unread: random.chance(30) ? 1 : 0, mentions: random.chance(20) ? 1 : 0)
            machine.updateListing(activity)
            record(
                "updateListing",
                [
                    "head": activity.head.vector, "unread": activity.unread.vector,
                    "mentions": activity.mentions.vector,
                ])
        case 5..<8:
            let (head, pending, isRead) = (randomHead(), randomPending(), random.chance(30))
            machine.apply(head, pending: pending, isRead: isRead)
            record("applyHead", ["head": head.vector, "pending": vector(pending), "isRead": isRead.vector])
        case 8..<10:
            let (summary, pending, isRead) = (ReadSummary(randomHead()), randomPending(), random.chance(30))
            machine.apply(settings: summary, pending: pending, isRead: isRead)
            record(
                "applySettings",
                ["summary": summary.vector, "pending": vector(pending), "isRead": isRead.vector])
        case 10..<14:
            let change = randomChange()
            let mustSend = machine.apply(change)
            record("applyChange", ["change": change.vector], returned: mustSend.vector)
        case 14:
            let (time, showsLast) = (random.flag() ? randomTime() : nil, random.flag())
            let mustSend = machine.add(at: time, showsLast: showsLast)
            record("add", ["time": time.vector, "showsLast": showsLast.vector], returned: mustSend.vector)
        case 15:
            machine.endUnreadMarker()
            record("endUnreadMarker")
        case 16..<20: updateLastMessage()
        case 20..<22: recordMissed()
        case 22 where random.flag():
            let profile = RecentEntry.Profile(name: random.flag() ? "Swift" : nil, avatar: nil)
            machine.rename(to: profile)
            record("rename", ["profile": ["name": profile.name.vector, "avatar": profile.avatar.vector]])
        case 22:
            let seq = random.seq(9)
            machine.advancePeerRead(to: seq)
            record("advancePeerRead", ["seq": seq.vector])
        default:
            guard random.chance(20) else { return }
            machine.reset()
            record("reset")
        }
    }

    /// A time with 1 to 20 digits.
    private mutating func randomTime() -> Timetoken {
        Timetoken(
            rawValue: random.pick([5, 17_000_000_000_000_000, 17_000_000_000_000_001, .max]) - UInt64(random.below(4)))
    }

    private mutating func randomHead() -> ConversationHead {
        ConversationHead(
            conversation: swift, name: random.flag() ? "Swift" : nil, state: log(random.seq(9), rev: random.seq(3)),
            readSeq: random.seq(9), isMuted: random.flag(), notifications: random.pick(Self.levels),
            isPinned: random.flag(), isMarkedUnread: random.chance(30),
            removedSeq: random.chance(30) ? random.seq(9) : 0,
            newDeviceFloor: random.seq(3), recentTime: random.chance(70) ? randomTime() : nil,
            isMember: random.chance(80), lastCommit: random.seq(5), userRev: random.seq(5),
            isFrozen: random.chance(20), mute: random.pick([nil, nil, .forever, .until(noon)]),
            peerReadSeq: random.seq(9))
    }

    private mutating func randomPending() -> Set<SettingKind> {
        Set(SettingKind.allCases.filter { _ in random.chance(20) })
    }

    private func vector(_ pending: Set<SettingKind>) -> VectorValue { pending.map(\.rawValue).sorted().vector }

    private mutating func randomChange() -> StateChange {
        let position = random.flag() ? EpochPosition(seq: random.seq(9), epoch: Epoch(rawValue: 7)) : nil
        return random.pick([
            .settings(isMuted: random.flag(), isPinned: nil), .settings(isMuted: nil, isPinned: random.flag()),
            .settings(isMuted: nil, isPinned: nil), .notifications(random.pick(Self.levels)),
            .markUnread, .removeRecent(at: position, excludesFromNewDevices: random.flag()), .addRecent,
            .excludeFromNewDevices(at: position), .read(seq: 3, epoch: Epoch(rawValue: 7), userRev: nil),
        ])
    }

    private mutating func updateLastMessage() {
        var seq = 100 + random.seq(9)
        var newest: [RecentEntry.StoredMessage] = []
        for _ in 0..<random.below(5) {
            newest.append(
                .init(seq: seq, rev: random.seq(3), time: randomTime(), skipsRecents: random.chance(50)))
            seq -= random.chance(80) ? 1 + random.seq(3) : 99 + random.seq(3)
            if seq < 1 { break }
        }
        let current: RecentEntry.StoredMessage? =
            random.chance(70)
            ? .init(seq: machine.lastSeq, rev: 0, time: randomTime(), skipsRecents: random.chance(40)) : nil
        let gaps = SeqRangeSet((0..<random.below(3)).map { _ in random.range(110) })
        let hadRow = random.flag()
        var rest = newest[...]
        let mustAsk = machine.updateLastMessage(
            gaps: gaps, hadRow: hadRow, nextNewest: { rest.popFirst() }, stored: { _ in current })
        record(
            "updateLastMessage",
            [
                "gaps": gaps.vector, "hadRow": hadRow.vector, "newest": newest.vector, "current": current.vector,
            ], returned: mustAsk.vector)
    }

    private mutating func randomLog() -> LogState {
        var state = LogState(adopting: log(random.seq(12), epoch: random.chance(90) ? 7 : 8))
        for _ in 0..<random.below(3) { state.gaps.remove(random.range(12)) }
        if random.flag() { state.replayed = min(state.head, random.seq(12)) }
        return state
    }

    private mutating func recordMissed() {
        let (before, after, isLive) = (random.chance(80) ? randomLog() : nil, randomLog(), random.flag())
        machine.recordMissed(before: before, after, isLive: isLive)
        record("recordMissed", ["before": before.vector, "log": after.vector, "isLive": isLive.vector])
    }
}

extension RecentEntry.StoredMessage: VectorEncodable {
    var vector: VectorValue {
        ["seq": seq.vector, "rev": rev.vector, "timetoken": time.vector, "skipsRecents": skipsRecents.vector]
    }
}

extension StateChange: VectorEncodable {
    var vector: VectorValue {
        switch self {
        case .read(let seq, let epoch, let userRev):
            ["type": "read", "seq": seq.vector, "epoch": epoch.vector, "userRev": userRev.vector]
        case .markUnread: ["type": "markUnread"]
        case .settings(let isMuted, let isPinned):
            ["type": "settings", "isMuted": isMuted.vector, "isPinned": isPinned.vector]
        case .notifications(let level): ["type": "notifications", "level": (level?.rawValue).vector]
        case .removeRecent(let position, let excludes):
            ["type": "removeRecent", "at": position.vector, "excludesFromNewDevices": excludes.vector]
        case .addRecent: ["type": "addRecent"]
        case .excludeFromNewDevices(let position): ["type": "excludeFromNewDevices", "at": position.vector]
        }
    }
}

extension EpochPosition: VectorEncodable {
    var vector: VectorValue { ["seq": seq.vector, "epoch": epoch.vector] }
}

extension RecentEntry: VectorEncodable {
    var vector: VectorValue {
        let profile: VectorValue? = newProfile.map { ["name": $0.name.vector, "avatar": $0.avatar.vector] }
        let mute: VectorValue? = mute.map { mute in
            switch mute {
            case .until(let date): date.iso8601.vector
            case .forever: "forever"
            }
        }
        return [
            "kind": .text(kind.rawValue), "lastCommit": lastCommit.vector, "newProfile": profile ?? nil,
            "recentTime": recentTime.vector, "isFrozen": isFrozen.vector, "mute": mute ?? nil,
            "newDeviceFloor": newDeviceFloor.vector, "peerReadSeq": peerReadSeq.vector, "isMember": isMember.vector,
            "membershipRev": membershipRev.vector, "settingsRev": settingsRev.vector, "isMuted": isMuted.vector,
            "notifications": (notifications?.rawValue).vector, "isPinned": isPinned.vector,
            "isMarkedUnread": isMarkedUnread.vector, "removedSeq": removedSeq.vector, "addedTime": addedTime.vector,
            "isListed": isListed.vector, "sortTime": sortTime.vector, "lastSeq": lastSeq.vector,
            "lastRev": lastRev.vector, "lastTime": lastTime.vector, "hidesLast": hidesLast.vector,
            "missedAfter": missedAfter.vector,
        ]
    }
}
