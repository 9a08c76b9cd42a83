package import Foundation
package import ScrollbackEngine
import ScrollbackModel

extension Honor {
    /// What a message is for: marketing is shown silently, and a few times a day at most.
    package enum Importance: String, CaseIterable, Sendable {
        case low, normal
    }

    /// What an operator says of every push.
    package struct Setup: Hashable, Sendable {
        /// The activity that the launcher starts: without it there is no badge.
        package var badgeClass: String?
        /// Honor itself takes for marketing what does not say.
        package var importance = Importance.normal
        /// The title of a push that has none.
        package var title: String?

        /// All of it set one by one.
        package init() {}
    }

    /// The most bytes of a request: nobody says that its token is not counted.
    static let payloadLimit = 4096
    /// For how many seconds a push is kept for a device that is away.
    private static let life = 1...1_296_000

    /// What a push looks like to Honor Push: `Documentation/push-services/honor.md`.
    ///
    /// - Returns: nil where it does not fit into a request.
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
                    writer.field("ttl", "\(notification.life(from: now, in: life))s")
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
        writer.field("title", notification.title(or: setup.title).fitting(256))
        writer.field("body", text.visible)
        writer.field("importance", importance.uppercased())
        // Marketing with a picture is refused.
        if importance != Importance.low.rawValue { writer.field("image", honor?.imageURL?.picture) }
        // A later push of the same message takes the place of this one.
        writer.field("notifyId", notification.number)
        writer.key("clickAction")
        // It opens the app, which finds the place in the data.
        writer.object { $0.field("type", 3) }
        guard let badgeClass = setup.badgeClass else { return }
        writer.key("badge")
        writer.object { writer in
            writer.field("badgeClass", badgeClass)
            writer.field("setNum", notification.smallBadge)
        }
    }
}
