import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension PushFields {
    /// All of it as the text of one JSON object.
    static func json(_ notification: PushNotification, omitsData: Bool) -> String {
        var writer = JSONWriter()
        writer.object { write(notification, omitsData: omitsData, to: &$0) }
        return writer.text
    }

    /// All of it as texts, for the services that hand over nothing else.
    static func texts(_ notification: PushNotification, omitsData: Bool) -> [String: String] {
        var writer = JSONWriter()
        writer.object { notification.message(omitsData: omitsData).writeMembers(to: &$0) }
        var texts = [PushMessage.key: writer.text]
        if !omitsData { texts[PushMessage.dataKey] = notification.data }
        return texts
    }

    /// The first form that fits: with the sender's data, else without.
    static func fitting<Form>(_ notification: PushNotification, make: (_ omitsData: Bool) -> Form?) -> Form? {
        if let whole = make(false) { return whole }
        return notification.data == nil ? nil : make(true)
    }
}

extension PushNotification {
    /// What the message's notification is called where that is a number; what comes under the same takes its place.
    ///
    /// A number the sender chose stays as it is. Any other text is hashed: 1...2147483647 is what every service takes.
    var number: Int {
        let name = options.android?.notificationID ?? "\(place.message)"
        if let number = Int32(name), number > 0 { return Int(number) }
        let hash = SHA256.hash(data: Data(name.utf8)).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        return max(1, hash & Int(Int32.max))
    }

    /// Whether it tells of a recall, and what goes under its number is that message's alone.
    ///
    /// Under one that a sender chose another message may stand by now, which is not to go without a word.
    var canBeWithdrawn: Bool { replaces && options.android?.notificationID == nil }

    /// How many seconds from now on it is worth something, within what a service takes.
    func life(from now: Date, in range: ClosedRange<Int>) -> Int {
        let seconds = expiresAt.timeIntervalSince(now)
        return Int(min(Double(range.upperBound), max(Double(range.lowerBound), seconds)))
    }

    /// The title where a service wants one in any case: if there is none the app's name, or what the push says.
    func title(or name: String?) -> String { (text.title ?? name ?? text.body).visible }

    /// The badge as far as launchers show it.
    var smallBadge: Int64 { min(99, max(0, badge)) }
}

/// What an operator's template for a service has places for.
package enum PushTemplateField: String, CaseIterable, Sendable {
    case title, text, count
}

extension PushNotification {
    /// What stands in a place of a template.
    func value(_ field: PushTemplateField) -> String {
        switch field {
        case .title: text.title ?? text.body
        case .text: text.body
        case .count: String(badge)
        }
    }
}

extension String {
    /// Itself, or an ellipsis where there is nothing to see: blank text is taken by none of them.
    var visible: String { allSatisfy(\.isWhitespace) ? "…" : self }

    /// Its beginning in at most so many units, cut between characters, with an ellipsis where it was cut.
    ///
    /// - Parameter count: how many units a character is; those of UTF-16, unless a service counts otherwise.
    func fitting(units: Int, counting count: (Character) -> Int = { $0.utf16.count }) -> String {
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
    /// As a service takes it for a picture: with any other than https it refuses the whole push.
    var picture: String? { scheme?.lowercased() == "https" ? absoluteString : nil }
}
