import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteWriter {
    func update(_ message: MessageRow, in conversation: Int64) throws {
        try connection.run(
            .updateMessage,
            bind: {
                $0.add(stateOf: message, in: conversation)
                $0.add(conversation)
                $0.add(message.seq)
            })
        guard connection.changes == 1 else {
            throw ChatError(.internalError, "Message \(message.seq) does not exist in conversation \(conversation).")
        }
    }

    func removeMessages(_ places: SeqRange, in conversation: Int64) throws {
        for part: Query in [.removeMessages, .removeActionsOf] {
            try connection.run(
                part,
                bind: {
                    $0.add(conversation)
                    $0.add(places.lowerBound)
                    $0.add(places.upperBound)
                })
        }
    }

    func insert(_ key: KeyRow, in conversation: Int64) throws {
        try connection.run(
            .insertRetired,
            bind: {
                $0.add(key)
                $0.add(conversation)
            })
    }

    func dropKeys(before time: Timetoken, limit: Int) throws -> Int {
        try connection.run(
            .dropRetired,
            bind: {
                $0.add(bits: time.rawValue)
                $0.add(Int64(limit))
            })
        return connection.changes
    }

    func insert(_ change: ChangeRow, in conversation: Int64) throws {
        try connection.run(
            .insertChange,
            bind: {
                $0.add(change)
                $0.add(conversation)
            })
    }

    func dropChanges(in conversation: Int64, through rev: Int64) throws {
        try connection.run(
            .dropChanges,
            bind: {
                $0.add(conversation)
                $0.add(rev)
            })
    }

    func insert(_ action: ActionRow, in conversation: Int64) throws {
        try connection.run(
            .insertAction,
            bind: {
                $0.add(action, in: conversation)
                $0.add(conversation)
            })
    }

    func removeAction(at timetoken: Timetoken, in conversation: Int64) throws {
        try connection.run(
            .removeAction,
            bind: {
                $0.add(conversation)
                $0.add(bits: timetoken.rawValue)
            })
    }

    func removeActions(at seq: Seq, in conversation: Int64) throws {
        try connection.run(
            .removeActions,
            bind: {
                $0.add(conversation)
                $0.add(seq)
            })
    }
}
