import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension PushFields {
    /// Returns all fields as the text of a JSON object.
    static func json(_ notification: PushNotification, omitsData: Bool) -> String {
        var writer = JSONWriter()
        writer.object { write(notification, omitsData: omitsData, to: &$0) }
        return writer.text
    }

    /// Returns all fields as strings, for services that support only string values.
    static func texts(_ notification: PushNotification, omitsData: Bool) -> [String: String] {
        var writer = JSONWriter()
        writer.object { notification.message(omitsData: omitsData).writeMembers(to: &$0) }
        var texts = [PushMessage.key: writer.text]
        if !omitsData { texts[PushMessage.dataKey] = notification.data }
        return texts
    }

    /// Returns the form with the sender's data, or without it if the complete form does not fit.
    static func omittingDataIfNeeded<Form>(_ notification: PushNotification, make: (_ omitsData: Bool) -> Form?)
        -> Form?
    {
        if let whole = make(false) { return whole }
        return notification.data == nil ? nil : make(true)
    }
}

extension PushNotification {
    /// The numeric ID of the message's notification.
    ///
    /// A newer notification with the same ID replaces it.
    ///
    /// A number that the sender chose is used as it is. Other texts are hashed to 1...2147483647, the range that all
    /// services support.
    var numericID: Int {
        let name = options.android?.notificationID ?? "\(target.message)"
        if let number = Int32(name), number > 0 { return Int(number) }
        let hash = SHA256.hash(data: Data(name.utf8)).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        return max(1, hash & Int(Int32.max))
    }

    /// Whether the push is a recall whose notification ID belongs only to the recalled message.
    ///
    /// Another message may use an ID that the sender chose. Its notification must not be withdrawn.
    var canBeWithdrawn: Bool { replaces && options.android?.notificationID == nil }

    /// Returns the remaining lifetime in seconds, clamped to the range that a service supports.
    func lifetime(from now: Date, in range: ClosedRange<Int>) -> Int {
        let seconds = expiresAt.timeIntervalSince(now)
        return Int(min(Double(range.upperBound), max(Double(range.lowerBound), seconds)))
    }

    /// The title for services that require one: the title of the push, or `name`, or the text.
    func title(or name: String?) -> String { (text.title ?? name ?? text.body).nonBlank }

    /// The badge, limited to the range that launchers display, 0...99.
    var clampedBadge: Int64 { min(99, max(0, badge)) }
}

/// The fields that an operator's template for a service can contain.
package enum PushTemplateField: String, CaseIterable, Sendable {
    case title, text, count
}

extension PushNotification {
    /// Returns the value of a template field.
    func value(_ field: PushTemplateField) -> String {
        switch field {
        case .title: text.title ?? text.body
        case .text: text.body
        case .count: String(badge)
        }
    }
}

extension String {
    /// The string, or an ellipsis if it is blank.
    ///
    /// All services reject blank texts.
    var nonBlank: String { allSatisfy(\.isWhitespace) ? "…" : self }

    /// Returns the string truncated to at most `units` units, with an ellipsis, without splitting characters.
    ///
    /// - Parameter count: Returns the units of a character. The default counts UTF-16 code units.
    func truncated(units: Int, counting count: (Character) -> Int = { $0.utf16.count }) -> String {
        guard reduce(0, { $0 + count($1) }) > units else { return self }
        let ellipsis: Character = "…"
        var room = units - count(ellipsis)
        var end = startIndex
        while end < endIndex {
            room -= count(self[end])
            if room < 0 { break }
            end = index(after: end)
        }
        return String(self[..<end]) + String(ellipsis)
    }
}

extension URL {
    /// The URL for a picture, or `nil` if the scheme is not https.
    ///
    /// Services reject the whole push for other schemes.
    var httpsString: String? { scheme?.lowercased() == "https" ? absoluteString : nil }
}
