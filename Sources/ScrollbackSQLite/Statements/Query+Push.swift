extension Query {
    /// The SQL of push preferences, devices, queued pushes and retries; `nil` for other statements.
    var pushSQL: String? {
        switch self {
        case .pushUser:
            """
            SELECT user, language, showsDetail, level, quietFrom, quietTo, quietZone, quietAllowsMentions, deviceCount
            FROM pushPerson WHERE user = ?
            """
        case .pushDevices: "SELECT \(Self.pushDeviceColumns) FROM pushDevice WHERE user = ? ORDER BY device"
        case .pushDevice: "SELECT \(Self.pushDeviceColumns) FROM pushDevice WHERE service = ? AND token = ?"
        case .pushRecipients:
            "SELECT user FROM pushReach WHERE conversation = ? AND level = ? AND user > ? ORDER BY user"
        case .pushConversation:
            "SELECT conversation FROM push WHERE conversation > ? ORDER BY conversation LIMIT 1"
        case .pushes:
            "SELECT number, conversation, kind, seq, body FROM push WHERE conversation = ? ORDER BY number"
        case .pushWalk: "SELECT through, after FROM pushWalk WHERE conversation = ?"
        case .pushRetries:
            "SELECT \(Self.pushRetryColumns) FROM pushRetry WHERE notBefore <= ? ORDER BY notBefore, number"
        case .nextPushRetry: "SELECT notBefore FROM pushRetry WHERE notBefore > -9e999 ORDER BY notBefore LIMIT 1"
        case .pushCount: "SELECT count(*) FROM push WHERE number > 0"
        case .pushRetryCount: "SELECT count(*) FROM pushRetry WHERE number > 0"
        case .putPushUser:
            """
            INSERT INTO pushPerson
                (user, language, showsDetail, level, quietFrom, quietTo, quietZone, quietAllowsMentions, deviceCount)
            VALUES (\(Self.places(9)))
            ON CONFLICT (user) DO UPDATE SET language = excluded.language, showsDetail = excluded.showsDetail,
                level = excluded.level, quietFrom = excluded.quietFrom, quietTo = excluded.quietTo,
                quietZone = excluded.quietZone, quietAllowsMentions = excluded.quietAllowsMentions,
                deviceCount = excluded.deviceCount
            """
        case .dropPushToken: "DELETE FROM pushDevice WHERE service = ? AND token = ?"
        case .putPushDevice: "INSERT OR REPLACE INTO pushDevice (\(Self.pushDeviceColumns)) VALUES (\(Self.places(10)))"
        case .dropPushDevice: "DELETE FROM pushDevice WHERE user = ? AND device = ?"
        case .putPushLevel: "INSERT OR IGNORE INTO pushReach (conversation, user, level) VALUES (?, ?, ?)"
        case .dropPushLevel: "DELETE FROM pushReach WHERE conversation = ? AND user = ?"
        case .insertPush: "INSERT INTO push (conversation, kind, seq, body) VALUES (?, ?, ?, ?)"
        case .dropPushesOf: "DELETE FROM push WHERE conversation = ? AND number <= ?"
        case .dropPushes: "DELETE FROM push"
        case .putPushWalk:
            """
            INSERT INTO pushWalk (conversation, through, after) VALUES (?, ?, ?)
            ON CONFLICT (conversation) DO UPDATE SET through = excluded.through, after = excluded.after
            """
        case .dropPushWalk: "DELETE FROM pushWalk WHERE conversation = ?"
        case .dropPushWalks: "DELETE FROM pushWalk"
        case .insertPushRetry:
            """
            INSERT INTO pushRetry (user, device, push, conversation, kind, seq, body, attempts, notBefore, firstTriedAt)
            VALUES (\(Self.places(10))) RETURNING number
            """
        case .updatePushRetry: "UPDATE pushRetry SET attempts = ?, notBefore = ? WHERE number = ?"
        case .dropPushRetry: "DELETE FROM pushRetry WHERE number = ?"
        case .dropPushRetries: "DELETE FROM pushRetry"
        case .erasePushes: "DELETE FROM push WHERE conversation = ?"
        case .eraseReach: "DELETE FROM pushReach WHERE conversation = ?"
        case .erasePushRetries: "DELETE FROM pushRetry WHERE conversation = ?"
        case .forgetPushUser: "DELETE FROM pushPerson WHERE user = ?"
        case .forgetPushDevices: "DELETE FROM pushDevice WHERE user = ?"
        case .forgetPushLevel: "DELETE FROM pushReach WHERE user = ?"
        case .forgetPushRetries: "DELETE FROM pushRetry WHERE user = ?"
        default: nil
        }
    }

    private static let pushDeviceColumns = """
        user, device, service, token, topic, language, isDevelopment, p256dh, auth, registeredAt
        """
    private static let pushRetryColumns = """
        number, user, device, push, conversation, kind, seq, body, attempts, notBefore, firstTriedAt
        """
}
