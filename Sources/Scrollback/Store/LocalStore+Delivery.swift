import GRDB
package import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import SQLiteSupport

extension LocalReader {
    /// Returns the positions that this device must report, at most as many as fit in one request.
    ///
    /// A read that is still to be sent reports the messages that it covers.
    package func dueDeliveries() throws -> [DeliveryMark] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT id, deliverySeq, epoch FROM conversation
                WHERE deliverySeq > deliveredSeq AND hasDeliveries AND isMember AND epoch IS NOT NULL
                    AND deliverySeq > ifnull(pendingReadSeq, 0)
                LIMIT ?
                """, arguments: [DeliveryMark.maximum]
        ).map { row in
            let place = EpochPosition(seq: row[1], epoch: Epoch(rawValue: UInt64(bitPattern: row[2])))
            return DeliveryMark(conversation: try ConversationID(row[0] as String), position: place)
        }
    }

    /// Returns the newest stored message of another user in a range.
    func newestOfOthers(in places: SeqRange, _ number: Int64) throws -> Seq? {
        try first(
            """
            SELECT seq FROM message WHERE conversation = ? AND seq BETWEEN ? AND ? AND sender <> ?
            ORDER BY seq DESC LIMIT 1
            """
        ) {
            $0.add(number)
            $0.add(places.lowerBound)
            $0.add(places.upperBound)
            $0.add(user.text)
        } read: {
            $0.integer()
        }
    }
}

extension LocalWriter {
    /// Records that the server knows a position of this device, as a delivery or as a read.
    package func saveReported(_ mark: DeliveryMark) throws {
        guard let number = try reader.number(of: mark.conversation),
            try reader.log(number)?.epoch == mark.position.epoch
        else { return }
        var entry = try reader.entry(of: mark.conversation, numbered: number)
        entry.value.delivery.reported(through: mark.position.seq)
        try save(entry)
    }

    /// Stores the sequence number through which the peer of a direct conversation has received the messages.
    ///
    /// A lower one than the stored one has no effect.
    package func savePeerDelivered(_ seq: Seq, in id: ConversationID) throws {
        var entry = try entry(of: id)
        entry.value.delivery.advancePeer(to: seq)
        try save(entry)
    }
}
