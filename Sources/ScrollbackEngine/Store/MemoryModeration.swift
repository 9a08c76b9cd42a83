import ScrollbackModel

/// The blocks, mutes, bans and reports of a memory store.
///
/// This is a value type, so that a rollback restores the old value.
struct MemoryModeration {
    struct BanKey: Hashable {
        var conversation: Int64
        var user: UserID
    }

    private var blocks: [UserID: Set<UserID>] = [:]
    private var blockers: [UserID: Set<UserID>] = [:]
    private var mutes: [Int64: [UserID: Mute]] = [:]
    var bans: [BanKey: BanRow] = [:]
    var reports: [Int64: ReportRow] = [:]

    func hasBlocked(_ user: UserID, _ other: UserID) -> Bool { blocks[user]?.contains(other) ?? false }

    func blocked(by user: UserID, after: UserID?, limit: Int) -> [UserID] {
        let all = (blocks[user] ?? []).filter { name in after.map { $0 < name } ?? true }
        return Array(all.sorted().prefix(limit))
    }

    func blockers(of user: UserID, limit: Int) -> [UserID] {
        Array((blockers[user] ?? []).sorted().prefix(limit))
    }

    mutating func putBlock(of other: UserID, by user: UserID, isOn: Bool) {
        if isOn {
            blocks[user, default: []].insert(other)
            blockers[other, default: []].insert(user)
        } else {
            blocks[user]?.remove(other)
            blockers[other]?.remove(user)
        }
    }

    func mute(of user: UserID, in conversation: Int64) -> Mute? { mutes[conversation]?[user] }

    mutating func put(_ mute: Mute?, of user: UserID, in conversation: Int64) {
        mutes[conversation, default: [:]][user] = mute
    }

    /// Deletes the mutes and bans of a conversation.
    mutating func erase(_ conversation: Int64) {
        mutes[conversation] = nil
        bans = bans.filter { $0.key.conversation != conversation }
    }
}
