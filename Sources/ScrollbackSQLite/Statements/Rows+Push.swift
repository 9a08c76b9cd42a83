import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension Columns {
    mutating func pushUser() throws -> PushUserRow {
        let user = UserID(known: text())
        var preferences = PushPreferences(
            language: optionalText(), showsDetail: flag(),
            level: optionalText().flatMap { NotificationLevel(rawValue: $0) })
        let (from, to, zone, allowsMentions) = (optionalText(), optionalText(), optionalText(), flag())
        if let from, let to, let zone {
            // A time zone can be unknown on this system and known on the one that stored it.
            preferences.quietHours = try? QuietHours(
                from: .init(from), to: .init(to), timeZone: zone, allowsMentions: allowsMentions)
        }
        return PushUserRow(user: user, preferences: preferences, deviceCount: integer())
    }

    mutating func pushDevice() throws -> PushDeviceRow {
        let user = UserID(known: text())
        let id = Identifier(known: text())
        guard let service = PushService(rawValue: text()) else { throw Self.unreadable("service") }
        var device = PushDevice(
            id: id, service: service, token: text(), topic: optionalText(), language: optionalText(),
            isDevelopment: flag())
        let encryptedRow = EncryptedRow.pushDevice(user, id)
        let (p256dh, auth) = (try optionalText("p256dh", of: encryptedRow), try optionalText("auth", of: encryptedRow))
        if let p256dh, let auth { device.keys = WebPushKeys(p256dh: p256dh, auth: auth) }
        let registeredAt = optionalDate() ?? .distantPast
        return PushDeviceRow(user: user, device: device, registeredAt: registeredAt)
    }

    /// Reads a queued push.
    ///
    /// - Parameter row: Returns the row that contains the push if it is embedded in another row.
    mutating func push(in row: ((_ number: Int64) -> EncryptedRow)? = nil) throws -> PushRow {
        let number = integer()
        let conversation = integer()
        guard let kind = PushRow.Kind(rawValue: integer()) else { throw Self.unreadable("kind") }
        let seq = integer()
        return PushRow(
            number: number, conversation: conversation, kind: kind, seq: seq,
            body: try json("body", of: row?(number) ?? .push(conversation, kind, seq)))
    }

    mutating func pushRetry() throws -> PushRetryRow {
        let number = integer()
        let user = UserID(known: text())
        let device = Identifier(known: text())
        return PushRetryRow(
            number: number, user: user, device: device, push: try push { .pushRetry(user, device, $0) },
            attempts: integer(),
            notBefore: optionalDate() ?? .distantPast, firstTriedAt: optionalDate() ?? .distantPast)
    }
}

extension Parameters {
    mutating func add(_ row: PushUserRow) {
        let quiet = row.preferences.quietHours
        add(row.user.text)
        add(row.preferences.language)
        add(row.preferences.showsDetail)
        add(row.preferences.level?.rawValue)
        add(quiet?.start.description)
        add(quiet?.end.description)
        add(quiet?.timeZone)
        add(quiet?.allowsMentions ?? false)
        add(row.deviceCount)
    }

    mutating func add(_ row: PushDeviceRow) {
        add(row.user.text)
        add(row.device.id.text)
        add(row.device.service.rawValue)
        add(row.device.token)
        add(row.device.topic)
        add(row.device.language)
        add(row.device.isDevelopment)
        add(row.device.keys?.p256dh, "p256dh", of: .pushDevice(row.user, row.device.id))
        add(row.device.keys?.auth, "auth", of: .pushDevice(row.user, row.device.id))
        add(row.registeredAt)
    }
}

extension NotificationLevel {
    /// The level as stored in `pushReach`.
    var stored: Int64 { self == .all ? 2 : self == .mentions ? 1 : 0 }
}
