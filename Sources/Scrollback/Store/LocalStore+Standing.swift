import Foundation
import GRDB
package import ScrollbackModel

/// How this user stands with a conversation: what the other person has read, and whether one may write.
package struct LocalStanding: Hashable, Sendable {
    package var peerReadSeq: Seq = 0
    package var isFrozen = false
    package var mute: Mute?

    package init(peerReadSeq: Seq = 0, isFrozen: Bool = false, mute: Mute? = nil) {
        self.peerReadSeq = peerReadSeq
        self.isFrozen = isFrozen
        self.mute = mute
    }
}

extension LocalReader {
    package func standing(in id: ConversationID) throws -> LocalStanding {
        let statement = try db.cachedStatement(
            sql: "SELECT peerReadSeq, isFrozen, mutedUntil FROM conversation WHERE id = ?")
        guard let row = try Row.fetchOne(statement, arguments: [id.description]) else { return LocalStanding() }
        return LocalStanding(peerReadSeq: row[0], isFrozen: row[1], mute: Mute(stored: row[2]))
    }
}

extension LocalWriter {
    /// Keeps how far the other person of a direct conversation has read; an older word of it changes nothing.
    package func notePeerRead(_ seq: Seq, in id: ConversationID) throws {
        try db.cachedStatement(sql: "UPDATE conversation SET peerReadSeq = max(peerReadSeq, ?) WHERE number = ?")
            .execute(arguments: [seq, try number(of: id)])
    }
}

extension Mute {
    /// As a time since 1970, an infinite one for good.
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
