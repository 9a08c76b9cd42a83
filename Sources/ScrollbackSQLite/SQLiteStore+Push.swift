import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let pushUser = Statement<PushUserRow>("SELECT \(PushUserRow.columns) FROM pushUser WHERE userID = ?")

    func pushUser(_ user: UserID) throws -> PushUserRow? {
        try connection.first(Self.pushUser) { $0.add(user) }
    }

    private static let pushDevices = Statement<PushDeviceRow>(
        "SELECT \(PushDeviceRow.columns) FROM pushDevice WHERE userID = ? ORDER BY device")

    func pushDevices(of user: UserID) throws -> [PushDeviceRow] {
        try connection.all(Self.pushDevices) { $0.add(user) }
    }

    private static let pushDeviceByToken = Statement<PushDeviceRow>(
        "SELECT \(PushDeviceRow.columns) FROM pushDevice WHERE service = ? AND token = ?")

    func pushDevice(service: PushService, token: String) throws -> PushDeviceRow? {
        try connection.first(Self.pushDeviceByToken) { $0.add(service.rawValue, token) }
    }

    private static let pushRecipients = Statement(
        "SELECT userID FROM pushLevel WHERE conversation = ? AND level = ? AND userID > ? ORDER BY userID"
    ) { $0.userID() }

    func pushRecipients(
        at level: NotificationLevel, in conversation: Int64, after: UserID?, limit: Int
    ) throws -> [UserID] {
        try connection.all(Self.pushRecipients, limit: limit) {
            $0.add(conversation, level.stored, after?.text ?? "")
        }
    }

    private static let nextPushConversation = Statement(
        "SELECT conversation FROM push WHERE conversation > ? ORDER BY conversation LIMIT 1"
    ) { $0.integer() }

    func conversationsWithPushes(after conversation: Int64, limit: Int) throws -> [Int64] {
        // Uses one seek per conversation; a scan would read all queued pushes.
        try seek(Self.nextPushConversation, after: conversation, limit: limit)
    }

    private static let pushes = Statement<PushRow>(
        "SELECT \(PushRow.columns) FROM push WHERE conversation = ? ORDER BY number")

    func pushes(of conversation: Int64, limit: Int) throws -> [PushRow] {
        try connection.all(Self.pushes, limit: limit) { $0.add(conversation) }
    }

    private static let pushWalk = Statement("SELECT through, after FROM pushWalk WHERE conversation = ?") {
        PushWalkRow(through: $0.integer(), after: $0.optionalUserID())
    }

    func pushWalk(of conversation: Int64) throws -> PushWalkRow? {
        try connection.first(Self.pushWalk) { $0.add(conversation) }
    }

    private static let pushRetries = Statement<PushRetryRow>(
        "SELECT \(PushRetryRow.columns) FROM pushRetry WHERE notBefore <= ? ORDER BY notBefore, number")

    func pushRetries(dueBy time: Date, limit: Int) throws -> [PushRetryRow] {
        try connection.all(Self.pushRetries, limit: limit) { $0.add(time) }
    }

    private static let nextPushRetry = Statement(
        "SELECT notBefore FROM pushRetry WHERE notBefore > -9e999 ORDER BY notBefore LIMIT 1"
    ) { $0.optionalDate() }

    func nextPushRetry() throws -> Date? {
        try connection.first(Self.nextPushRetry) ?? nil
    }

    private static let pushCount = Statement("SELECT count(*) FROM push WHERE number > 0") { $0.integer() }
    private static let pushRetryCount = Statement("SELECT count(*) FROM pushRetry WHERE number > 0") { $0.integer() }

    func pushCounts() throws -> (waiting: Int64, retries: Int64) {
        (try connection.first(Self.pushCount) ?? 0, try connection.first(Self.pushRetryCount) ?? 0)
    }
}

extension SQLiteWriter {
    private static let putPushUser = Statement(
        """
        INSERT INTO pushUser (\(PushUserRow.columns)) VALUES (\(placeholders(PushUserRow.columns)))
        ON CONFLICT (userID) DO UPDATE SET (\(PushUserRow.updatedColumns)) = (\(excluded(PushUserRow.updatedColumns)))
        """)

    func put(_ person: PushUserRow) throws {
        try connection.run(Self.putPushUser) { $0.add(person) }
    }

    private static let dropPushToken = Statement("DELETE FROM pushDevice WHERE service = ? AND token = ?")
    private static let putPushDevice = Statement(
        """
        INSERT OR REPLACE INTO pushDevice (\(PushDeviceRow.columns)) VALUES (\(placeholders(PushDeviceRow.columns)))
        """)

    func put(_ device: PushDeviceRow) throws {
        try connection.run(Self.dropPushToken) { $0.add(device.device.service.rawValue, device.device.token) }
        try connection.run(Self.putPushDevice) { $0.add(device) }
    }

    private static let dropPushDevice = Statement("DELETE FROM pushDevice WHERE userID = ? AND device = ?")

    func dropPushDevice(_ device: Identifier, of user: UserID) throws {
        try connection.run(Self.dropPushDevice) { $0.add(user, device) }
    }

    private static let dropPushLevel = Statement("DELETE FROM pushLevel WHERE conversation = ? AND userID = ?")
    private static let putPushLevel = Statement(
        "INSERT OR IGNORE INTO pushLevel (conversation, userID, level) VALUES (?, ?, ?)")

    func putPushLevel(_ level: NotificationLevel, of user: UserID, in conversation: Int64) throws {
        try connection.run(Self.dropPushLevel) { $0.add(conversation, user) }
        guard level != .none else { return }
        try connection.run(Self.putPushLevel) { $0.add(conversation, user, level.stored) }
    }

    private static let insertPush = Statement("INSERT INTO push (conversation, kind, seq, body) VALUES (?, ?, ?, ?)")

    func insertPush(_ kind: PushRow.Kind, at seq: Seq, of conversation: Int64, body: RawJSON?) throws {
        try connection.run(Self.insertPush) {
            $0.add(conversation, kind.rawValue, seq)
            $0.add(body?.text, "body", of: .push(conversation, kind, seq))
        }
    }

    private static let dropPushesThrough = Statement("DELETE FROM push WHERE conversation = ? AND number <= ?")

    func dropPushes(of conversation: Int64, through number: Int64) throws -> Int {
        try connection.run(Self.dropPushesThrough) { $0.add(conversation, number) }
        return connection.changes
    }

    private static let dropPushWalk = Statement("DELETE FROM pushWalk WHERE conversation = ?")
    private static let putPushWalk = Statement(
        """
        INSERT INTO pushWalk (conversation, through, after) VALUES (?, ?, ?)
        ON CONFLICT (conversation) DO UPDATE SET through = excluded.through, after = excluded.after
        """)

    func put(_ walk: PushWalkRow?, of conversation: Int64) throws {
        guard let walk else { return try connection.run(Self.dropPushWalk) { $0.add(conversation) } }
        try connection.run(Self.putPushWalk) { $0.add(conversation, walk.through, walk.after) }
    }

    private static let insertPushRetry = Statement(
        """
        INSERT INTO pushRetry (\(PushRetryRow.insertedColumns))
        VALUES (\(placeholders(PushRetryRow.insertedColumns))) RETURNING number
        """
    ) { $0.integer() }
    private static let updatePushRetry = Statement("UPDATE pushRetry SET attempts = ?, notBefore = ? WHERE number = ?")

    func put(_ retry: inout PushRetryRow) throws {
        let row = retry
        if row.number == 0 {
            retry.number = try connection.first(Self.insertPushRetry) { $0.add(row) } ?? 0
        } else {
            try connection.run(Self.updatePushRetry) { $0.add(row.attempts, row.notBefore, row.number) }
        }
    }

    private static let dropPushRetry = Statement("DELETE FROM pushRetry WHERE number = ?")

    func dropPushRetry(_ number: Int64) throws {
        try connection.run(Self.dropPushRetry) { $0.add(number) }
    }

    private static let dropPushes: [Statement<Void>] = ["push", "pushWalk", "pushRetry"].map {
        Statement("DELETE FROM \($0)")
    }

    func dropPushes() throws {
        for statement in Self.dropPushes { try connection.run(statement) }
    }
}
