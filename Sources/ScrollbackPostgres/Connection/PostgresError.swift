import ScrollbackModel

/// A failure of a statement, or of the connection to PostgreSQL.
package enum PostgresError: Error, Hashable {
    /// PostgreSQL refused a statement and rolls back its transaction.
    case refused(state: String, message: String)
    /// The connection is closed.
    case connectionLost(String)
    /// PostgreSQL did not answer within the time limit. The connection is closed.
    case timedOut
    /// The connection was closed before PostgreSQL confirmed a commit, which may have succeeded.
    case commitUnconfirmed(String)

    var isUnconfirmedCommit: Bool { if case .commitUnconfirmed = self { true } else { false } }

    /// Converts the error for the engine.
    func chatError(_ message: String) -> ChatError {
        switch self {
        case .refused(let state, let reason):
            switch state.prefix(2) {
            case _ where state == "53100":
                ChatError(.storageFull, "The database's disk is full; nothing was stored.", retryAfter: 5, cause: self)
            case _ where state == "22012":
                // See `Statement.init(updating:_:key:)`.
                ChatError(.internalError, "A row that must be changed does not exist.", cause: self)
            case _ where state == "57014":
                ChatError(.internalError, "A statement of the database took too long.", cause: self)
            case _ where state == "25006":
                ChatError(.overloaded, "The database is read-only for now.", retryAfter: 1, cause: self)
            case "08", "40", "53", "57":
                ChatError(
                    .overloaded, "The database refused the request for now: \(reason)", retryAfter: 1, cause: self)
            default: ChatError(.internalError, message, cause: self)
            }
        case .connectionLost, .timedOut:
            ChatError(
                .overloaded, "The server can't reach its database; nothing was stored.", retryAfter: 1, cause: self)
        case .commitUnconfirmed:
            ChatError(
                .timeout, "The database did not confirm the commit, which may have succeeded. Repeat the request.",
                cause: self)
        }
    }
}
