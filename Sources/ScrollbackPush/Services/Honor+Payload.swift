package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension Honor {
    /// The importance of a message.
    ///
    /// The service displays low-importance messages silently and only a few times a day.
    package enum Importance: String, CaseIterable, Sendable {
        case low, normal
    }

    /// The operator's settings for all pushes.
    package struct Setup: Hashable, Sendable {
        /// The launcher activity.
        ///
        /// Without it, pushes set no badge.
        package var badgeClass: String?
        /// The default importance.
        ///
        /// The service treats pushes without an importance as marketing.
        package var importance = Importance.normal
        /// The title of pushes without a title.
        package var title: String?

        /// Creates default settings.
        package init() {}
    }

    /// The maximum size of a request in bytes.
    ///
    /// The documentation does not exclude the token.
    static let payloadLimit = 4096
    /// The supported range of the lifetime in seconds.
    private static let lifetime = 1...1_296_000

    /// Creates the request body for Honor Push, see `Documentation/push-services/honor.md`.
    ///
    /// - Returns: The body, or `nil` if the notification does not fit.
    package static func body(
        for notification: PushNotification, _ setup: Setup = Setup(), now: Date
    ) -> [UInt8]? {
        fittingPayload(payloadLimit, text: notification.text.body, hasData: notification.data != nil) {
            text, omitsData in
            var writer = JSONWriter(reserving: 1024)
            writer.object { writer in
                writer.key("token")
                writer.array([notification.device.token]) { $0.value($1) }
                writer.field("data", PushFields.json(notification, omitsData: omitsData))
                writer.key("android")
                writer.object { writer in
                    writer.field("ttl", "\(notification.lifetime(from: now, in: lifetime))s")
                    writer.key("notification")
                    writer.object { write(notification, setup, text: text, to: &$0) }
                }
            }
            return writer.bytes
        }
    }

    private static func write(
        _ notification: PushNotification, _ setup: Setup, text: String, to writer: inout JSONWriter
    ) {
        let honor = notification.options.android?.honor
        let importance = honor?.importance?.rawValue ?? setup.importance.rawValue
        writer.field("title", notification.title(or: setup.title).truncated(256))
        writer.field("body", text.nonBlank)
        writer.field("importance", importance.uppercased())
        // The service refuses marketing messages with a picture.
        if importance != Importance.low.rawValue { writer.field("image", honor?.imageURL?.httpsString) }
        // A later push of the same message replaces this one.
        writer.field("notifyId", notification.numericID)
        writer.key("clickAction")
        // Opens the app, which reads the destination from the data.
        writer.object { $0.field("type", 3) }
        guard let badgeClass = setup.badgeClass else { return }
        writer.key("badge")
        writer.object { writer in
            writer.field("badgeClass", badgeClass)
            writer.field("setNum", notification.clampedBadge)
        }
    }
}
