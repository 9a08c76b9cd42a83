import Foundation
import GRDB
package import ScrollbackModel
import ScrollbackSync

/// The conversation's state for this user: the peer's positions, and whether the user may write.
package struct LocalUserState: Hashable, Sendable {
    package var peerReadSeq: Seq = 0
    package var peerDeliveredSeq: Seq = 0
    package var isFrozen = false
    package var mute: Mute?

    package init(peerReadSeq: Seq = 0, peerDeliveredSeq: Seq = 0, isFrozen: Bool = false, mute: Mute? = nil) {
        self.peerReadSeq = peerReadSeq
        self.peerDeliveredSeq = peerDeliveredSeq
        self.isFrozen = isFrozen
        self.mute = mute
    }
}

extension LocalReader {
    package func userState(in id: ConversationID) throws -> LocalUserState {
        let statement = try db.cachedStatement(
            sql: "SELECT peerReadSeq, peerDeliveredSeq, isFrozen, mutedUntil FROM conversation WHERE id = ?")
        guard let row = try Row.fetchOne(statement, arguments: [id.description]) else { return LocalUserState() }
        return LocalUserState(
            peerReadSeq: row[0], peerDeliveredSeq: row[1], isFrozen: row[2], mute: Mute(stored: row[3]))
    }
}

extension LocalWriter {
    /// Stores the peer's read position in a direct conversation; a lower one has no effect.
    package func savePeerRead(_ seq: Seq, in id: ConversationID) throws {
        var entry = try entry(of: id)
        entry.value.advancePeerRead(to: seq)
        try save(entry)
    }
}

extension Mute {
    /// The end of the mute in seconds since 1970; infinite for a permanent mute.
    var stored: Double {
        switch self {
        case .until(let date): date.timeIntervalSince1970
        case .forever: .infinity
        }
    }

    init?(stored: Double?) {
        guard let stored else { return nil }
        self = stored.isInfinite ? .forever : .until(Date(timeIntervalSince1970: stored))
    }
}
