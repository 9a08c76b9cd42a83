import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteStore {
    /// Creates the tables of push preferences, devices, queued pushes and retries.
    static func createPushTables(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE member ADD COLUMN level TEXT;

                CREATE TABLE pushPerson (
                    user TEXT NOT NULL PRIMARY KEY,
                    language TEXT,
                    showsDetail INTEGER NOT NULL CHECK (showsDetail IN (0, 1)),
                    level TEXT,
                    quietFrom TEXT,
                    quietTo TEXT,
                    quietZone TEXT,
                    quietAllowsMentions INTEGER NOT NULL CHECK (quietAllowsMentions IN (0, 1)),
                    deviceCount INTEGER NOT NULL
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE pushDevice (
                    user TEXT NOT NULL,
                    device TEXT NOT NULL,
                    service TEXT NOT NULL,
                    token TEXT NOT NULL,
                    topic TEXT,
                    language TEXT,
                    isDevelopment INTEGER NOT NULL CHECK (isDevelopment IN (0, 1)),
                    p256dh TEXT,
                    auth TEXT,
                    registeredAt REAL NOT NULL,
                    PRIMARY KEY (user, device)
                ) WITHOUT ROWID, STRICT;
                CREATE UNIQUE INDEX pushDevice_token ON pushDevice (service, token);

                -- The users that a push of a level reaches. level 2: all messages; 1: mentions; users without pushes
                -- have no row.
                CREATE TABLE pushReach (
                    conversation INTEGER NOT NULL,
                    level INTEGER NOT NULL CHECK (level IN (1, 2)),
                    user TEXT NOT NULL,
                    PRIMARY KEY (conversation, level, user)
                ) WITHOUT ROWID, STRICT;
                CREATE INDEX pushReach_user ON pushReach (user, conversation);

                -- AUTOINCREMENT: numbers are never reused, because a walk stores the number at which it ends.
                CREATE TABLE push (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    conversation INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    body TEXT
                ) STRICT;
                CREATE INDEX push_conversation ON push (conversation, number);

                CREATE TABLE pushWalk (
                    conversation INTEGER NOT NULL PRIMARY KEY,
                    through INTEGER NOT NULL,
                    after TEXT
                ) WITHOUT ROWID, STRICT;

                CREATE TABLE pushRetry (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    user TEXT NOT NULL,
                    device TEXT NOT NULL,
                    push INTEGER NOT NULL,
                    conversation INTEGER NOT NULL,
                    kind INTEGER NOT NULL,
                    seq INTEGER NOT NULL,
                    body TEXT,
                    attempts INTEGER NOT NULL,
                    notBefore REAL NOT NULL,
                    firstTriedAt REAL NOT NULL
                ) STRICT;
                CREATE INDEX pushRetry_time ON pushRetry (notBefore, number);
                CREATE INDEX pushRetry_user ON pushRetry (user);
                CREATE INDEX pushRetry_conversation ON pushRetry (conversation);
                """)
    }
}

extension SQLiteReader {
    func pushUser(_ user: UserID) throws -> PushUserRow? {
        try connection.first(.pushUser, bind: { $0.add(user.text) }, row: { try $0.pushUser() })
    }

    func pushDevices(of user: UserID) throws -> [PushDeviceRow] {
        try connection.all(.pushDevices, bind: { $0.add(user.text) }, row: { try $0.pushDevice() })
    }

    func pushDevice(service: PushService, token: String) throws -> PushDeviceRow? {
        try connection.first(
            .pushDevice,
            bind: {
                $0.add(service.rawValue)
                $0.add(token)
            }, row: { try $0.pushDevice() })
    }

    func pushRecipients(
        at level: NotificationLevel, in conversation: Int64, after: UserID?, limit: Int
    ) throws -> [UserID] {
        try connection.all(
            .pushRecipients, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(level.stored)
                $0.add(after?.text ?? "")
            }, row: { UserID(known: $0.text()) })
    }

    func conversationsWithPushes(after conversation: Int64, limit: Int) throws -> [Int64] {
        var found: [Int64] = []
        // Uses one seek per conversation; a scan would read all queued pushes.
        while found.count < limit,
            let next = try connection.first(
                .pushConversation, bind: { $0.add(found.last ?? conversation) }, row: { $0.integer() })
        {
            found.append(next)
        }
        return found
    }

    func pushes(of conversation: Int64, limit: Int) throws -> [PushRow] {
        try connection.all(.pushes, limit: limit, bind: { $0.add(conversation) }, row: { try $0.push() })
    }

    func pushWalk(of conversation: Int64) throws -> PushWalkRow? {
        try connection.first(
            .pushWalk, bind: { $0.add(conversation) },
            row: { PushWalkRow(through: $0.integer(), after: $0.optionalText().map { UserID(known: $0) }) })
    }

    func pushRetries(dueBy time: Date, limit: Int) throws -> [PushRetryRow] {
        try connection.all(.pushRetries, limit: limit, bind: { $0.add(time) }, row: { try $0.pushRetry() })
    }

    func nextPushRetry() throws -> Date? {
        try connection.first(.nextPushRetry, bind: { _ in }, row: { $0.optionalDate() }) ?? nil
    }

    func pushCounts() throws -> (waiting: Int64, retries: Int64) {
        (
            try connection.first(.pushCount, bind: { _ in }, row: { $0.integer() }) ?? 0,
            try connection.first(.pushRetryCount, bind: { _ in }, row: { $0.integer() }) ?? 0
        )
    }
}

extension SQLiteWriter {
    func put(_ person: PushUserRow) throws {
        try connection.run(.putPushUser, bind: { $0.add(person) })
    }

    func put(_ device: PushDeviceRow) throws {
        try connection.run(
            .dropPushToken,
            bind: {
                $0.add(device.device.service.rawValue)
                $0.add(device.device.token)
            })
        try connection.run(.putPushDevice, bind: { $0.add(device) })
    }

    func dropPushDevice(_ device: Identifier, of user: UserID) throws {
        try connection.run(
            .dropPushDevice,
            bind: {
                $0.add(user.text)
                $0.add(device.text)
            })
    }

    func putPushLevel(_ level: NotificationLevel, of user: UserID, in conversation: Int64) throws {
        try connection.run(
            .dropPushLevel,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
            })
        guard level != .none else { return }
        try connection.run(
            .putPushLevel,
            bind: {
                $0.add(conversation)
                $0.add(user.text)
                $0.add(level.stored)
            })
    }

    func insertPush(_ kind: PushRow.Kind, at seq: Seq, of conversation: Int64, body: RawJSON?) throws {
        try connection.run(
            .insertPush,
            bind: {
                $0.add(conversation)
                $0.add(kind.rawValue)
                $0.add(seq)
                $0.add(body?.text, "body", of: .push(conversation, kind, seq))
            })
    }

    func dropPushes(of conversation: Int64, through number: Int64) throws -> Int {
        try connection.run(
            .dropPushesOf,
            bind: {
                $0.add(conversation)
                $0.add(number)
            })
        return connection.changes
    }

    func put(_ walk: PushWalkRow?, of conversation: Int64) throws {
        guard let walk else { return try connection.run(.dropPushWalk, bind: { $0.add(conversation) }) }
        try connection.run(
            .putPushWalk,
            bind: {
                $0.add(conversation)
                $0.add(walk.through)
                $0.add(walk.after?.text)
            })
    }

    func put(_ retry: inout PushRetryRow) throws {
        guard retry.number == 0 else {
            return try connection.run(
                .updatePushRetry,
                bind: { [retry] in
                    $0.add(retry.attempts)
                    $0.add(retry.notBefore)
                    $0.add(retry.number)
                })
        }
        let number = try connection.first(
            .insertPushRetry,
            bind: { [retry] in
                $0.add(retry.user.text)
                $0.add(retry.device.text)
                $0.add(retry.push.number)
                $0.add(retry.push.conversation)
                $0.add(retry.push.kind.rawValue)
                $0.add(retry.push.seq)
                $0.add(
                    retry.push.body?.text, "body", of: .pushRetry(retry.user, retry.device, retry.push.number))
                $0.add(retry.attempts)
                $0.add(retry.notBefore)
                $0.add(retry.firstTriedAt)
            }, row: { $0.integer() })
        retry.number = number ?? 0
    }

    func dropPushRetry(_ number: Int64) throws {
        try connection.run(.dropPushRetry, bind: { $0.add(number) })
    }

    func dropPushes() throws {
        for part: Query in [.dropPushes, .dropPushWalks, .dropPushRetries] {
            try connection.run(part, bind: { _ in })
        }
    }
}
