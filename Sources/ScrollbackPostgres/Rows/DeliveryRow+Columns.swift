import ScrollbackEngine
import ScrollbackModel

extension DeliveryRow: StoredRow {
    static let columns =
        "number, webhook, conversation, event, seq, original, attempts, attemptedAt, error, isDelivered, body"

    init(_ columns: inout Columns) throws {
        let number = columns.integer()
        let (webhook, conversation) = (columns.text(), columns.integer())
        let (event, seq, original) = (columns.optionalText(), columns.optionalInteger(), columns.optionalInteger())
        let (attempts, attemptedAt) = (columns.integer(), columns.optionalDate())
        let (error, isDelivered) = (try columns.optionalUTF8("error"), columns.flag())
        self.init(
            event, to: webhook, of: conversation, seq: seq,
            body: RawJSON(known: try columns.utf8("body")))
        self.number = number
        self.original = original
        self.attempts = attempts
        self.attemptedAt = attemptedAt
        self.error = error
        self.isDelivered = isDelivered
    }
}
