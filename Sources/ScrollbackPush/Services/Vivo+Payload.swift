package import Foundation
package import ScrollbackEngine
package import ScrollbackModel

extension Vivo {
    /// What an operator says of every push.
    package struct Setup: Hashable, Sendable {
        /// The app's id, which is a number.
        package var appID: Int
        /// What a push is for where a message does not say.
        package var purpose = PushOptions.Android.Vivo(type: .system, category: "IM")
        /// Whether each push adds one to the badge, to which vivo gives the right: a number can't be set.
        package var addsBadge = false
        /// The title of a push that has none.
        package var title: String?

        package init(appID: Int) {
            self.appID = appID
        }
    }

    /// The most characters of each, where one that is not ASCII counts as two.
    ///
    /// So vivo's own program counts; its newer pages count each as one.
    private static let titleLimit = 40
    private static let textLimit = 100
    /// The most characters of all names and values for the app.
    private static let fieldsLimit = 1024
    /// For how many seconds a push is kept for a device that is away.
    ///
    /// Of vivo's own program it may be a week, of its newer pages a day.
    private static let life = 60...86_400

    /// What a push looks like to vivo Push: `Documentation/push-services/vivo.md`.
    ///
    /// - Returns: nil where it does not fit.
    package static func body(for notification: PushNotification, _ setup: Setup, now: Date) -> [UInt8]? {
        let fields: [String: String]? = PushFields.fitting(notification) { omitsData in
            let texts = PushFields.texts(notification, omitsData: omitsData)
            let length = texts.reduce(0) { $0 + $1.key.utf16.count + $1.value.utf16.count }
            return length <= fieldsLimit ? texts : nil
        }
        guard let fields else { return nil }
        let purpose = notification.options.android?.vivo ?? setup.purpose
        let classification: Int = purpose.type == .system ? 1 : 0
        // By sound and by vibration; that something was taken back is no reason to do either.
        let notice: Int = notification.replaces ? 1 : 4
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            writer.field("appId", setup.appID)
            writer.field("regId", notification.device.token)
            writer.field("requestId", notification.id.uuidString.lowercased())
            writer.field("title", fitting(notification.title(or: setup.title), titleLimit))
            writer.field("content", fitting(notification.text.body.visible, textLimit))
            writer.field("classification", classification)
            writer.field("category", purpose.category)
            writer.field("notifyType", notice)
            // A later push of the same message takes the place of this one.
            writer.field("notifyId", notification.number)
            writer.field("timeToLive", notification.life(from: now, in: life))
            // It opens the app, which finds the place in the map.
            writer.field("skipType", 1)
            writer.key("clientCustomMap")
            writer.splice(encoded: Array(jsonObject(fields).utf8))
            if setup.addsBadge, !notification.replaces { writer.field("addBadge", true) }
        }
        return writer.bytes
    }

    private static func fitting(_ text: String, _ limit: Int) -> String {
        text.fitting(units: limit) { character in
            character.utf16.reduce(0) { $0 + ($1 < 0x80 ? 1 : 2) }
        }
    }
}
