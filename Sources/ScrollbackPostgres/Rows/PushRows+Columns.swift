import Foundation
import ScrollbackEngine
import ScrollbackModel

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
            id: id, service: try columns.enumValue("service"), token: try columns.utf8("token"),
            topic: try columns.optionalUTF8("topic"), language: columns.optionalText(), isDevelopment: columns.flag())
        let p256dh = try columns.optionalUTF8("p256dh")
        let auth = try columns.optionalUTF8("auth")
        if let p256dh, let auth { device.keys = WebPushKeys(p256dh: p256dh, auth: auth) }
        self.init(user: user, device: device, registeredAt: columns.optionalDate() ?? .distantPast)
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(user, device.id, device.service.rawValue)
        parameters.add(utf8: device.token)
        parameters.add(utf8: device.topic)
        parameters.add(device.language, device.isDevelopment)
        parameters.add(utf8: device.keys?.p256dh)
        parameters.add(utf8: device.keys?.auth)
        parameters.add(registeredAt)
    }
}

extension PushRow: StoredRow {
    static let columns = "number, conversation, kind, seq, body"

    init(_ columns: inout Columns) throws {
        self.init(
            number: columns.integer(), conversation: columns.integer(), kind: try columns.enumValue("kind"),
            seq: columns.integer())
        body = try columns.json("body")
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
            number: number, user: user, device: device, push: try PushRow(&columns), attempts: columns.integer(),
            notBefore: columns.optionalDate() ?? .distantPast, firstTriedAt: columns.optionalDate() ?? .distantPast)
    }

    /// Binds ``insertedColumns``.
    func bind(to parameters: inout Parameters) {
        parameters.add(user, device, push.number)
        parameters.add(push.conversation, push.kind.rawValue, push.seq)
        parameters.add(utf8: push.body?.text)
        parameters.add(attempts, notBefore, firstTriedAt)
    }
}

extension NotificationLevel {
    /// The level as stored in `pushLevel`.
    var stored: Int64 { self == .all ? 2 : self == .mentions ? 1 : 0 }
}
