import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension PushUserRow: StoredRow, Bindable {
    static let columns = "userID, \(updatedColumns)"
    static let updatedColumns =
        "language, showsDetail, level, quietFrom, quietTo, quietZone, quietAllowsMentions, deviceCount"

    init(_ columns: inout Columns) throws {
        let user = columns.userID()
        var preferences = PushPreferences(
            language: columns.optionalText(), showsDetail: columns.flag(),
            level: columns.optionalText().flatMap { NotificationLevel(rawValue: $0) })
        let (from, to, zone) = (columns.optionalText(), columns.optionalText(), columns.optionalText())
        let allowsMentions = columns.flag()
        if let from, let to, let zone {
            // A time zone can be unknown on this system and known on the one that stored it.
            preferences.quietHours = try? QuietHours(
                from: .init(from), to: .init(to), timeZone: zone, allowsMentions: allowsMentions)
        }
        self.init(user: user, preferences: preferences, deviceCount: columns.integer())
    }

    func bind(to parameters: inout Parameters) {
        let quiet = preferences.quietHours
        parameters.add(user, preferences.language, preferences.showsDetail, preferences.level?.rawValue)
        parameters.add(quiet?.start.description, quiet?.end.description, quiet?.timeZone)
        parameters.add(quiet?.allowsMentions ?? false, deviceCount)
    }
}

extension PushDeviceRow: StoredRow, Bindable {
    static let columns = "userID, device, service, token, topic, language, isDevelopment, p256dh, auth, registeredAt"

    init(_ columns: inout Columns) throws {
        let (user, id) = (columns.userID(), Identifier(known: columns.text()))
        var device = PushDevice(
            id: id, service: try columns.enumValue("service"), token: columns.text(), topic: columns.optionalText(),
            language: columns.optionalText(), isDevelopment: columns.flag())
        let encryptedRow = EncryptedRow.pushDevice(user, id)
        let p256dh = try columns.optionalText("p256dh", of: encryptedRow)
        let auth = try columns.optionalText("auth", of: encryptedRow)
        if let p256dh, let auth { device.keys = WebPushKeys(p256dh: p256dh, auth: auth) }
        self.init(user: user, device: device, registeredAt: columns.optionalDate() ?? .distantPast)
    }

    func bind(to parameters: inout Parameters) {
        let encryptedRow = EncryptedRow.pushDevice(user, device.id)
        parameters.add(user, device.id, device.service.rawValue, device.token)
        parameters.add(device.topic, device.language, device.isDevelopment)
        parameters.add(device.keys?.p256dh, "p256dh", of: encryptedRow)
        parameters.add(device.keys?.auth, "auth", of: encryptedRow)
        parameters.add(registeredAt)
    }
}

extension PushRow: StoredRow {
    static let columns = "number, conversation, kind, seq, body"

    init(_ columns: inout Columns) throws {
        try self.init(&columns) { .push($0.conversation, $0.kind, $0.seq) }
    }

    /// Reads a queued push.
    ///
    /// - Parameter encryptedRow: Returns the row whose text the push's body is.
    fileprivate init(_ columns: inout Columns, in encryptedRow: (PushRow) -> EncryptedRow) throws {
        self.init(
            number: columns.integer(), conversation: columns.integer(), kind: try columns.enumValue("kind"),
            seq: columns.integer())
        body = try columns.json("body", of: encryptedRow(self))
    }
}

extension PushRetryRow: StoredRow, Bindable {
    static let columns = "number, \(insertedColumns)"
    /// All columns except the number.
    static let insertedColumns =
        "userID, device, push, conversation, kind, seq, body, attempts, notBefore, firstTriedAt"

    init(_ columns: inout Columns) throws {
        let (number, user, device) = (columns.integer(), columns.userID(), Identifier(known: columns.text()))
        self.init(
            number: number, user: user, device: device,
            push: try PushRow(&columns) { .pushRetry(user, device, $0.number) }, attempts: columns.integer(),
            notBefore: columns.optionalDate() ?? .distantPast, firstTriedAt: columns.optionalDate() ?? .distantPast)
    }

    /// Binds ``insertedColumns``.
    func bind(to parameters: inout Parameters) {
        parameters.add(user, device, push.number)
        parameters.add(push.conversation, push.kind.rawValue, push.seq)
        parameters.add(push.body?.text, "body", of: .pushRetry(user, device, push.number))
        parameters.add(attempts, notBefore, firstTriedAt)
    }
}

extension NotificationLevel {
    /// The level as stored in `pushLevel`.
    var stored: Int64 { self == .all ? 2 : self == .mentions ? 1 : 0 }
}
