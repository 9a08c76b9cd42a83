package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension OPPO {
    /// A text that OPPO knows, with places: its class for chats wants one.
    package struct Template: Hashable, Sendable {
        package var id: String
        /// What stands where in its title, by the template's own names.
        package var title: [String: PushTemplateField]
        /// What stands where in its text.
        package var text: [String: PushTemplateField]

        package init(
            id: String, title: [String: PushTemplateField] = [:], text: [String: PushTemplateField] = [:]
        ) {
            self.id = id
            self.title = title
            self.text = text
        }
    }

    /// What an operator says of every push.
    package struct Setup: Hashable, Sendable {
        package var category: String?
        /// Android 9 and later show nothing without one.
        package var channel: String?
        package var template: Template?
        /// The title of a push that has none.
        package var title: String?

        /// All of it set one by one.
        package init() {}
    }

    /// The most characters of each.
    private static let titleLimit = 50
    private static let shortTextLimit = 50
    private static let longTextLimit = 128
    private static let parametersLimit = 4000
    /// For how many seconds a push is kept for a device that is away.
    private static let life = 1...864_000

    /// What a push looks like to OPPO Push, the form's field `message`: `Documentation/push-services/oppo.md`.
    ///
    /// - Returns: nil where it does not fit.
    package static func message(
        for notification: PushNotification, _ setup: Setup = Setup(), now: Date
    ) -> [UInt8]? {
        let parameters: String? = PushFields.fitting(notification) { omitsData in
            let text = jsonObject(PushFields.texts(notification, omitsData: omitsData))
            return text.utf16.count <= parametersLimit ? text : nil
        }
        guard let parameters else { return nil }
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            // One device, by its registration.
            writer.field("target_type", 2)
            writer.field("target_value", notification.device.token)
            writer.key("notification")
            writer.object { writer in
                // The same again goes to the same device no second time.
                writer.field("app_message_id", notification.id.uuidString.lowercased())
                // It opens the app, which finds the place in the parameters.
                writer.field("click_action_type", 0)
                writer.field("action_parameters", parameters)
                writer.field("off_line", true)
                writer.field("off_line_ttl", notification.life(from: now, in: life))
                write(notification, setup, to: &writer)
            }
        }
        return writer.bytes
    }

    private static func write(_ notification: PushNotification, _ setup: Setup, to writer: inout JSONWriter) {
        let text = notification.text.body.visible
        // What is longer than a line takes is the style of long texts.
        let style: Int = text.utf16.count > shortTextLimit ? 2 : 1
        writer.field("style", style)
        writer.field("title", notification.title(or: setup.title).fitting(units: titleLimit))
        writer.field("content", text.fitting(units: longTextLimit))
        writer.field("channel_id", notification.options.android?.oppo?.channel ?? setup.channel)
        if let category = setup.category {
            writer.field("category", category)
            // That something was taken back is no reason to ring. A level goes with a category alone.
            if notification.replaces { writer.field("notify_level", 1) }
        }
        if let template = setup.template {
            writer.field("private_msg_template_id", template.id)
            writer.field("private_title_parameters", parameters(template.title, of: notification, titleLimit))
            writer.field("private_content_parameters", parameters(template.text, of: notification, longTextLimit))
        }
        // A later push of the same message takes the place of this one.
        writer.field("notify_id", notification.number)
        // It is set, not added to.
        writer.field("badge_operation_type", 0)
        writer.field("badge_message_count", notification.smallBadge)
    }

    /// Nothing where a template's part has no places.
    private static func parameters(
        _ fields: [String: PushTemplateField], of notification: PushNotification, _ limit: Int
    ) -> String? {
        guard !fields.isEmpty else { return nil }
        return jsonObject(fields.mapValues { notification.value($0).visible.fitting(units: limit) })
    }
}
