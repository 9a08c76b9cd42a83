package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension Xiaomi {
    /// A text that Xiaomi knows, with places: a channel for private messages takes no other.
    package struct Template: Hashable, Sendable {
        package var id: String
        /// What stands where, by the template's own names.
        package var parameters: [String: PushTemplateField]

        package init(id: String, parameters: [String: PushTemplateField] = [:]) {
            self.id = id
            self.parameters = parameters
        }
    }

    /// What an operator says of every push.
    package struct Setup: Hashable, Sendable {
        /// The app, by its package's name.
        package var app: String
        package var channel: String?
        /// It goes with ``channel``: a message that names another one goes without.
        package var template: Template?
        /// The title of a push that has none.
        package var title: String?

        package init(app: String) {
            self.app = app
        }
    }

    /// The most characters of each, less one: they must be shorter.
    private static let titleLimit = 49
    private static let textLimit = 127
    private static let payloadLimit = 4095
    private static let parameterLimit = 128
    static let mostParameters = 9
    /// For how many seconds a push is kept for a device that is away: by a template, which a private channel's has, ten
    /// days, else one.
    private static let privateLife = 1...864_000
    private static let publicLife = 1...86_400

    /// What a push looks like to Mi Push: `Documentation/push-services/xiaomi.md`.
    ///
    /// - Returns: nil where it does not fit.
    package static func form(
        for notification: PushNotification, _ setup: Setup, now: Date
    ) -> [String: String]? {
        guard let payload = Self.payload(of: notification) else { return nil }
        let channel = notification.options.android?.xiaomi?.channel ?? setup.channel
        let template = channel == setup.channel ? setup.template : nil
        let life = notification.life(from: now, in: template == nil ? publicLife : privateLife)
        var form: [String: String] = [
            "registration_id": notification.device.token, "restricted_package_name": setup.app,
            "pass_through": "0", "payload": payload,
            "title": notification.title(or: setup.title).fitting(units: titleLimit),
            "description": notification.text.body.visible.fitting(units: textLimit),
            // Of what was taken back no more than the light is seen.
            "notify_type": notification.replaces ? "4" : "-1",
            // A later push of the same message takes the place of this one; without it every push would of the last.
            "notify_id": String(notification.number), "time_to_live": String(life * 1000),
            // It opens the app, which finds the place in the payload.
            "extra.notify_effect": "1",
        ]
        form["extra.channel_id"] = channel
        if let template {
            form["extra.template_id"] = template.id
            form["extra.template_param"] = jsonObject(
                template.parameters.mapValues { parameter(notification.value($0)) })
        }
        return form
    }

    /// What takes a message's notification back: `Documentation/push-services/xiaomi.md`, 34 to 36.
    package static func revocation(of notification: PushNotification, _ setup: Setup) -> [String: String] {
        [
            "registration_ids": notification.device.token, "restricted_package_name": setup.app,
            "notify_id": String(notification.number),
        ]
    }

    /// It must be encoded before the form encodes it once more.
    private static func payload(of notification: PushNotification) -> String? {
        PushFields.fitting(notification) { omitsData in
            let text = PushFields.json(notification, omitsData: omitsData).percentEncoded
            return text.utf8.count <= payloadLimit ? text : nil
        }
    }

    /// What a template takes: no emoji and other pictures, nothing blank, and not much of it.
    private static func parameter(_ text: String) -> String {
        let plain = text.filter { character in character.unicodeScalars.allSatisfy { !isPicture($0) } }
        return plain.visible.fitting(units: parameterLimit)
    }

    private static func isPicture(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .otherSymbol, .unassigned: true
        // Digits can become emoji too, by the mark that makes them keys.
        default: scalar.value == 0x20E3 || scalar.value == 0xFE0F || scalar.properties.isEmoji && !scalar.isASCII
        }
    }
}
