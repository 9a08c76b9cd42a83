import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteReader {
    func key(_ id: MessageID, in conversation: Int64) throws -> KeyRow? {
        try connection.first(
            .retired,
            bind: {
                $0.add(id.uuid)
                $0.add(conversation)
            }, row: { try $0.key() })
    }

    func changes(in conversation: Int64, after rev: Int64, limit: Int) throws -> [ChangeRow] {
        try connection.all(
            .changes, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(rev)
            }, row: { try $0.change() })
    }

    func change(_ operation: MessageID, in conversation: Int64) throws -> ChangeRow? {
        try connection.first(
            .changeByOperation,
            bind: {
                $0.add(operation.uuid)
                $0.add(conversation)
            }, row: { try $0.change() })
    }

    func actions(at seq: Seq?, in conversation: Int64, after: Timetoken?, limit: Int) throws -> [ActionRow] {
        try connection.all(
            seq == nil ? .actions : .actionsAt, limit: limit,
            bind: {
                $0.add(conversation)
                if let seq { $0.add(seq) }
                $0.add(bits: after?.rawValue ?? 0)
            }, row: { try $0.action(in: conversation) })
    }

    func action(
        at seq: Seq, _ sender: UserID, type: String, value: String, in conversation: Int64
    ) throws -> ActionRow? {
        func bind(_ parameters: inout Parameters) {
            parameters.add(conversation)
            parameters.add(seq)
            parameters.add(sender.text)
            parameters.add(type)
        }
        guard connection.cipher != nil else {
            return try connection.first(
                .actionByValue,
                bind: {
                    bind(&$0)
                    $0.add(value)
                }, row: { try $0.action(in: conversation) })
        }
        // Encrypted values can be compared only after decryption; a user has few actions on one message.
        var found: ActionRow?
        try connection.run(
            .actionsOfSender, bind: bind,
            row: { columns in
                let row = try columns.action(in: conversation)
                if row.value == value { found = row }
                return found == nil
            })
        return found
    }

    func action(at timetoken: Timetoken, in conversation: Int64) throws -> ActionRow? {
        try connection.first(
            .actionByTime,
            bind: {
                $0.add(conversation)
                $0.add(bits: timetoken.rawValue)
            }, row: { try $0.action(in: conversation) })
    }

    func lastAction(in conversation: Int64) throws -> Timetoken? {
        try connection.first(
            .lastAction, bind: { $0.add(conversation) }, row: { Timetoken(rawValue: $0.bits()) })
    }
}
