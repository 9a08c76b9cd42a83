package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension Xiaomi {
    /// A message template registered with Xiaomi.
    ///
    /// Channels for private messages require a template.
    package struct Template: Hashable, Sendable {
        package var id: String
        /// The fields by the template's parameter names.
        package var parameters: [String: PushTemplateField]

        package init(id: String, parameters: [String: PushTemplateField] = [:]) {
            self.id = id
            self.parameters = parameters
        }
    }

    /// The operator's settings for all pushes.
    package struct Setup: Hashable, Sendable {
        /// The package name of the app.
        package var app: String
        package var channel: String?
        /// The template of ``channel``.
        ///
        /// Messages for other channels don't use it.
        package var template: Template?
        /// The title of pushes without a title.
        package var title: String?

        package init(app: String) {
            self.app = app
        }
    }

    /// The maximum lengths in UTF-16 code units, one less than the service's exclusive limits.
    private static let titleLimit = 49
    private static let textLimit = 127
    private static let payloadLimit = 4095
    private static let parameterLimit = 128
    static let maximumParameters = 9
    /// The supported ranges of the lifetime in seconds: 10 days with a template (private channels), otherwise one day.
    private static let privateLifetime = 1...864_000
    private static let publicLifetime = 1...86_400

    /// Creates the request's form for Mi Push, see `Documentation/push-services/xiaomi.md`.
    ///
    /// - Returns: The form fields, or `nil` if the notification does not fit.
    package static func form(
        for notification: PushNotification, _ setup: Setup, now: Date
    ) -> [String: String]? {
        guard let payload = Self.payload(of: notification) else { return nil }
        let channel = notification.options.android?.xiaomi?.channel ?? setup.channel
        let template = channel == setup.channel ? setup.template : nil
        let lifetime = notification.lifetime(from: now, in: template == nil ? publicLifetime : privateLifetime)
        var form: [String: String] = [
            "registration_id": notification.device.token, "restricted_package_name": setup.app,
            "pass_through": "0", "payload": payload,
            "title": notification.title(or: setup.title).truncated(units: titleLimit),
            "description": notification.text.body.nonBlank.truncated(units: textLimit),
            // A recall only shows the notification light.
            "notify_type": notification.replaces ? "4" : "-1",
            // A later push of the same message replaces this one. Without an ID, every push would replace the previous
            // one.
            "notify_id": String(notification.numericID), "time_to_live": String(lifetime * 1000),
            // Opens the app, which reads the destination from the payload.
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

    /// Creates the form that withdraws a notification, see `Documentation/push-services/xiaomi.md`, items 34 to 36.
    package static func revocation(of notification: PushNotification, _ setup: Setup) -> [String: String] {
        [
            "registration_ids": notification.device.token, "restricted_package_name": setup.app,
            "notify_id": String(notification.numericID),
        ]
    }

    /// Returns the percent-encoded payload.
    ///
    /// The form encodes it a second time, as the service requires.
    private static func payload(of notification: PushNotification) -> String? {
        PushFields.omittingDataIfNeeded(notification) { omitsData in
            let text = PushFields.json(notification, omitsData: omitsData).percentEncoded
            return text.utf8.count <= payloadLimit ? text : nil
        }
    }

    /// Converts a text to a template parameter: removes emoji and other symbols, and truncates the text.
    ///
    /// Never blank.
    private static func parameter(_ text: String) -> String {
        let plain = text.filter { character in character.unicodeScalars.allSatisfy { !isEmoji($0) } }
        return plain.nonBlank.truncated(units: parameterLimit)
    }

    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .otherSymbol, .unassigned: true
        // Combining marks can turn digits into emoji.
        default: scalar.value == 0x20E3 || scalar.value == 0xFE0F || scalar.properties.isEmoji && !scalar.isASCII
        }
    }
}
