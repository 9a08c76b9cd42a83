import GRDB
package import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// The device's push registration, and conversations that pushes announced but the server has not confirmed.
extension LocalReader {
    /// Returns the wanted registration, or `nil`, and whether the server has confirmed it.
    package func pushDevice() throws -> (wanted: PushDevice?, isAcknowledged: Bool) {
        let isAcknowledged = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'pushTold'") != "no"
        guard let text = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'push'") else {
            return (nil, isAcknowledged)
        }
        var reader = JSONReader(text)
        // A registration that another version wrote and this one can't decode is written again when the app starts.
        return ((try? PushDevice(from: &reader)), isAcknowledged)
    }

    /// Returns the conversations for which a push announced something that this device doesn't have.
    package func pushedConversations() throws -> [ConversationID] {
        try String.fetchAll(
            db,
            sql: "SELECT substr(key, length(?1) + 1) FROM meta WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key",
            arguments: [LocalWriter.pushedKey]
        ).map { try ConversationID($0) }
    }

    /// Returns whether this device already has what a push announced.
    ///
    /// For a different epoch the answer is `false`, because it is unknown which of the two is newer.
    private func has(_ message: PushMessage) throws -> Bool {
        guard let seq = message.target.seq else { return true }
        guard let number = try number(of: message.target.conversation.logID), let log = try log(number),
            log.epoch == message.target.epoch
        else { return false }
        guard message.kind == .recall else { return log.head >= seq }
        guard log.head >= seq, !log.gaps.contains(seq) else { return false }
        // A message that is neither stored nor in a gap is deleted.
        return try self.message(at: seq, number: number, in: message.target.conversation.logID, epoch: log.epoch)?
            .isDeleted ?? true
    }

    fileprivate func isNew(_ message: PushMessage) throws -> Bool {
        let id = message.target.conversation
        // Fetching a room's head would enter the room.
        guard id.kind.traits.membership != .subscribers else { return false }
        return try !has(message)
    }
}

extension LocalWriter {
    fileprivate static let pushedKey = "pushed:"

    package func savePushDevice(_ device: PushDevice?, isAcknowledged: Bool) throws {
        if let device {
            var writer = JSONWriter()
            device.write(to: &writer)
            try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('push', ?)", arguments: [writer.text])
        } else {
            try db.execute(sql: "DELETE FROM meta WHERE key = 'push'")
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO meta VALUES ('pushTold', ?)", arguments: [isAcknowledged ? "yes" : "no"])
    }

    /// Records the conversations for which pushes announced something new, until the server has been asked about them.
    ///
    /// Pushes have no other effect on the store: they arrive in any order or not at all, and don't contain the
    /// messages.
    ///
    /// - Returns: The recorded conversations.
    package func recordPushed(_ messages: [PushMessage]) throws -> Set<ConversationID> {
        let ids = Set(try messages.filter { try reader.isNew($0) }.map(\.target.conversation.logID))
        for id in ids {
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO meta VALUES (?, '')")
                .execute(arguments: [Self.pushedKey + id.description])
        }
        return ids
    }

    /// Deletes the records of conversations that the server has reported on.
    func deletePushedRecords(_ ids: some Sequence<ConversationID>) throws {
        for id in ids {
            try db.cachedStatement(sql: "DELETE FROM meta WHERE key = ?")
                .execute(arguments: [Self.pushedKey + id.description])
        }
    }
}
