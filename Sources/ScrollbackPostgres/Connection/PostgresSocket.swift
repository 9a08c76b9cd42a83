import CPostgreSQL
import Foundation
import ScrollbackModel

/// The non-blocking calls of libpq on one connection, with a time limit for each wait.
final class PostgresSocket {
    let connection: OpaquePointer
    /// The time limit of each wait.
    var timeout: Duration
    /// Whether the connection can't be used any more.
    private(set) var isLost = false

    /// The oldest version of PostgreSQL that the store supports.
    private static let minimumVersion: CInt = 14

    /// Connects.
    ///
    /// - Throws: `PostgresError`; `invalid-parameter` if the server or database can't be used.
    init(_ url: PostgresURL, timeout: Duration) throws {
        self.timeout = timeout
        // The first entry can be a URL. Later entries replace its values.
        let options = [
            ("dbname", url.text), ("client_encoding", "UTF8"), ("fallback_application_name", "scrollback"),
            // For each host of the URL. libpq supports whole seconds from 2 on.
            ("connect_timeout", String(max(2, timeout.components.seconds))),
        ]
        let keys = options.map { strdup($0.0) } + [nil]
        let values = options.map { strdup($0.1) } + [nil]
        defer { for pointer in keys + values { free(pointer) } }
        let opened = keys.map { UnsafePointer($0) }.withUnsafeBufferPointer { keys in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                // Only the blocking function tries the next host after one that does not answer.
                PQconnectdbParams(keys.baseAddress, values.baseAddress, 1)
            }
        }
        guard let opened else { throw PostgresError.connectionLost("There is not enough memory.") }
        connection = opened
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        guard PQstatus(connection) == CONNECTION_OK else { throw openingError }
        try check()
        PQsetnonblocking(connection, 1)
        PQenterPipelineMode(connection)
    }

    deinit { PQfinish(connection) }

    private var openingError: any Error {
        if PQconnectionNeedsPassword(connection) != 0 {
            return ChatError.invalidParameter(
                "store", "needs a password: add it to the URL, or set the environment variable PGPASSWORD")
        }
        let reason = trimmed(PQerrorMessage(connection))
        return reason.contains("timeout expired") ? PostgresError.timedOut : PostgresError.connectionLost(reason)
    }

    private func check() throws {
        let version = PQserverVersion(connection) / 10_000
        guard version >= Self.minimumVersion else {
            throw ChatError.invalidParameter(
                "store", "names a PostgreSQL \(version) server; use version \(Self.minimumVersion) or newer")
        }
        let encoding = parameter("server_encoding")
        guard encoding == "UTF8" else {
            throw ChatError.invalidParameter(
                "store", "names a database with the encoding \(encoding); create one with ENCODING 'UTF8'")
        }
        guard parameter("in_hot_standby") != "on" else {
            throw ChatError.invalidParameter(
                "store",
                "names a standby, which is read-only; name the primary, or list all servers and add "
                    + "?target_session_attrs=read-write")
        }
    }

    private func parameter(_ name: String) -> String {
        PQparameterStatus(connection, name).map { String(cString: $0) } ?? ""
    }

    /// Calls a function of libpq that returns 1 if it succeeds.
    func send(_ body: () -> CInt) throws {
        guard !isLost, body() == 1 else { throw lost() }
    }

    /// Sends everything that libpq has buffered.
    func flush() throws {
        let end = ContinuousClock.now + timeout
        while true {
            switch PQflush(connection) {
            case 0: return
            case 1:
                // The server may not read on before the client has read its results.
                let events = try wait(for: POLLOUT | POLLIN, until: end)
                if events & POLLIN != 0 { try consumeInput() }
            default: throw lost()
            }
        }
    }

    /// Waits for the next result of libpq; `nil` separates the results of commands.
    func nextResult() throws -> OpaquePointer? {
        let end = ContinuousClock.now + timeout
        while PQisBusy(connection) == 1 {
            try wait(for: POLLIN, until: end)
            try consumeInput()
        }
        let result = PQgetResult(connection)
        if PQstatus(connection) == CONNECTION_BAD {
            PQclear(result)
            throw lost()
        }
        return result
    }

    private func consumeInput() throws {
        guard PQconsumeInput(connection) == 1 else { throw lost() }
    }

    @discardableResult
    private func wait(for events: some BinaryInteger, until end: ContinuousClock.Instant) throws -> Int32 {
        while true {
            var entry = pollfd(fd: PQsocket(connection), events: Int16(events), revents: 0)
            // Round up, so that the wait does not end early.
            let rest = max(0, ContinuousClock.now.duration(to: end).wholeMilliseconds + 1)
            let count = poll(&entry, 1, CInt(clamping: rest))
            if count > 0 { return Int32(entry.revents) }
            if count < 0, errno != EINTR { throw lost() }
            if ContinuousClock.now >= end {
                isLost = true
                throw PostgresError.timedOut
            }
        }
    }

    /// Marks the connection as lost and returns the error.
    private func lost() -> PostgresError {
        isLost = true
        return .connectionLost(trimmed(PQerrorMessage(connection)))
    }

    /// Makes all later calls fail.
    func close() { isLost = true }

    func error(of result: OpaquePointer?) -> PostgresError {
        func field(_ code: Character) -> String? {
            PQresultErrorField(result, CInt(code.asciiValue ?? 0)).map { String(cString: $0) }
        }
        // The fields are letters of the protocol: C for the SQLSTATE, M for the primary message, V for the severity.
        let (state, message) = (field("C") ?? "", field("M") ?? trimmed(PQresultErrorMessage(result)))
        // PostgreSQL ends the session after a fatal error.
        guard field("V") == "ERROR" else {
            isLost = true
            return .connectionLost(message)
        }
        return .refused(state: state, message: message)
    }
}
