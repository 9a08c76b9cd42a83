package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension OPPO {
    /// A message template registered with OPPO.
    ///
    /// The chat category requires a template.
    package struct Template: Hashable, Sendable {
        package var id: String
        /// The fields of the title by the template's parameter names.
        package var title: [String: PushTemplateField]
        /// The fields of the text by the template's parameter names.
        package var text: [String: PushTemplateField]

        package init(
            id: String, title: [String: PushTemplateField] = [:], text: [String: PushTemplateField] = [:]
        ) {
            self.id = id
            self.title = title
            self.text = text
        }
    }

    /// The operator's settings for all pushes.
    package struct Setup: Hashable, Sendable {
        package var category: String?
        /// The notification channel.
        ///
        /// Android 9 and later display no notification without one.
        package var channel: String?
        package var template: Template?
        /// The title of pushes without a title.
        package var title: String?

        /// Creates default settings.
        package init() {}
    }

    /// The maximum lengths in UTF-16 code units.
    private static let titleLimit = 50
    private static let shortTextLimit = 50
    private static let longTextLimit = 128
    private static let parametersLimit = 4000
    /// The supported range of the lifetime in seconds.
    private static let lifetime = 1...864_000

    /// Creates the form field `message` for OPPO Push, see `Documentation/push-services/oppo.md`.
    ///
    /// - Returns: The JSON message, or `nil` if the notification does not fit.
    package static func message(
        for notification: PushNotification, _ setup: Setup = Setup(), now: Date
    ) -> [UInt8]? {
        let parameters: String? = PushFields.omittingDataIfNeeded(notification) { omitsData in
            let text = jsonObject(PushFields.texts(notification, omitsData: omitsData))
            return text.utf16.count <= parametersLimit ? text : nil
        }
        guard let parameters else { return nil }
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            // Addresses one device by its registration ID.
            writer.field("target_type", 2)
            writer.field("target_value", notification.device.token)
            writer.key("notification")
            writer.object { writer in
                // The service ignores a repeated push with the same message ID.
                writer.field("app_message_id", notification.id.uuidString.lowercased())
                // Opens the app, which reads the destination from the parameters.
                writer.field("click_action_type", 0)
                writer.field("action_parameters", parameters)
                writer.field("off_line", true)
                writer.field("off_line_ttl", notification.lifetime(from: now, in: lifetime))
                write(notification, setup, to: &writer)
            }
        }
        return writer.bytes
    }

    private static func write(_ notification: PushNotification, _ setup: Setup, to writer: inout JSONWriter) {
        let text = notification.text.body.nonBlank
        // Texts that exceed one line need the style for long texts.
        let style: Int = text.utf16.count > shortTextLimit ? 2 : 1
        writer.field("style", style)
        writer.field("title", notification.title(or: setup.title).truncated(units: titleLimit))
        writer.field("content", text.truncated(units: longTextLimit))
        writer.field("channel_id", notification.options.android?.oppo?.channel ?? setup.channel)
        if let category = setup.category {
            writer.field("category", category)
            // A recall makes no sound. The notification level requires a category.
            if notification.replaces { writer.field("notify_level", 1) }
        }
        if let template = setup.template {
            writer.field("private_msg_template_id", template.id)
            writer.field("private_title_parameters", parameters(template.title, of: notification, titleLimit))
            writer.field("private_content_parameters", parameters(template.text, of: notification, longTextLimit))
        }
        // A later push of the same message replaces this one.
        writer.field("notify_id", notification.numericID)
        // Sets the badge instead of adding to it.
        writer.field("badge_operation_type", 0)
        writer.field("badge_message_count", notification.clampedBadge)
    }

    /// Returns the template parameters as JSON, or `nil` if the template has none.
    private static func parameters(
        _ fields: [String: PushTemplateField], of notification: PushNotification, _ limit: Int
    ) -> String? {
        guard !fields.isEmpty else { return nil }
        return jsonObject(fields.mapValues { notification.value($0).nonBlank.truncated(units: limit) })
    }
}
