import GRDB
package import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Whether this device is to be reached by push, and what pushes said that the server has yet to confirm.
extension LocalReader {
    /// The device as the server is to have it, or nil; and whether it has taken that.
    package func pushDevice() throws -> (wanted: PushDevice?, isTold: Bool) {
        let isTold = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'pushTold'") != "no"
        guard let text = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'push'") else {
            return (nil, isTold)
        }
        var reader = JSONReader(text)
        // What can't be read, by another version's rules, is registered anew when the app starts.
        return ((try? PushDevice(from: &reader)), isTold)
    }

    /// Where a push told of something that this device has not.
    package func pushedConversations() throws -> [ConversationID] {
        try String.fetchAll(
            db,
            sql: "SELECT substr(key, length(?1) + 1) FROM meta WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key",
            arguments: [LocalWriter.pushedKey]
        ).map { try ConversationID($0) }
    }

    /// Whether what a push told of is here.
    ///
    /// Of another log than the one here nothing is known, whichever is the later.
    private func has(_ message: PushMessage) throws -> Bool {
        guard let seq = message.place.seq else { return true }
        guard let number = try number(of: message.place.conversation.log), let log = try log(number),
            log.epoch == message.place.epoch
        else { return false }
        guard message.kind == .recall else { return log.head >= seq }
        guard log.head >= seq, !log.gaps.contains(seq) else { return false }
        // What is not here and missed by nobody is gone.
        return try self.message(at: seq, number: number, in: message.place.conversation.log, epoch: log.epoch)?
            .isDeleted ?? true
    }

    fileprivate func isNews(_ message: PushMessage) throws -> Bool {
        let id = message.place.conversation
        // Whoever looks at a room enters it.
        guard id.kind.traits.membership != .subscribers else { return false }
        return try !has(message)
    }
}

extension LocalWriter {
    fileprivate static let pushedKey = "pushed:"

    package func savePushDevice(_ device: PushDevice?, isTold: Bool) throws {
        if let device {
            var writer = JSONWriter()
            device.write(to: &writer)
            try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES ('push', ?)", arguments: [writer.text])
        } else {
            try db.execute(sql: "DELETE FROM meta WHERE key = 'push'")
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO meta VALUES ('pushTold', ?)", arguments: [isTold ? "yes" : "no"])
    }

    /// Remembers where pushes told of something that this device has not, until the server was asked about it.
    ///
    /// Nothing else is made of them: they come in any order, some never, and say neither what was said nor how much.
    ///
    /// - Returns: where.
    package func note(_ messages: [PushMessage]) throws -> Set<ConversationID> {
        let ids = Set(try messages.filter { try reader.isNews($0) }.map(\.place.conversation.log))
        for id in ids {
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO meta VALUES (?, '')")
                .execute(arguments: [Self.pushedKey + id.description])
        }
        return ids
    }

    /// The server has said how these stand.
    func forgetPushed(_ ids: some Sequence<ConversationID>) throws {
        for id in ids {
            try db.cachedStatement(sql: "DELETE FROM meta WHERE key = ?")
                .execute(arguments: [Self.pushedKey + id.description])
        }
    }
}
