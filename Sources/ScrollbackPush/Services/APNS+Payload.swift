import Foundation
package import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension APNS {
    /// The maximum payload size in bytes, except for calls.
    static let payloadLimit = 4096

    /// Creates the request for the Apple Push Notification service, see `Documentation/push-services/apns.md`.
    ///
    /// - Returns: The request, or `nil` if the notification does not fit into a payload.
    package static func request(
        for notification: PushNotification, topic: String, endpoint: String, token: String
    ) -> PushRequest? {
        let ios = notification.options.ios
        let body = fittingPayload(
            payloadLimit, text: notification.text.body, hasData: notification.data != nil
        ) { text, omitsData in payload(of: notification, text: text, omitsData: omitsData) }
        guard let body else { return nil }
        return PushRequest(
            url: "\(endpoint)/3/device/\(notification.device.token)",
            headers: [
                "authorization": "bearer \(token)", "apns-topic": notification.device.topic ?? topic,
                "apns-push-type": "alert", "apns-priority": ios?.interruption == .passive ? "5" : "10",
                "apns-id": notification.id.uuidString.lowercased(),
                "apns-expiration": String(Int(notification.expiresAt.timeIntervalSince1970)),
                // A later push of the same message replaces this one.
                "apns-collapse-id": ios?.collapseID ?? "\(notification.target.message)",
                "content-type": "application/json",
            ], body: body)
    }

    private static func payload(of notification: PushNotification, text: String, omitsData: Bool) -> [UInt8] {
        let ios = notification.options.ios
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            writer.key("aps")
            writer.object { writer in
                writer.key("alert")
                writer.object { writer in
                    if notification.options.hidesTitle != true {
                        writer.field("title", notification.text.title?.truncated(256))
                    }
                    writer.field("body", text)
                }
                writer.field("badge", notification.badge)
                writeSound(ios?.interruption, isReplacement: notification.replaces, to: &writer)
                writer.field("thread-id", ios?.threadID ?? "\(notification.target.conversation)")
                writer.field("interruption-level", ios?.interruption?.rawValue)
                // Lets the app's extension process the push, which displays pictures and passes the push to the store.
                writer.field("mutable-content", 1)
            }
            writer.field("image", ios?.imageURL?.absoluteString)
            PushFields.write(notification, omitsData: omitsData, to: &writer)
        }
        return writer.bytes
    }

    private static func writeSound(
        _ interruption: PushOptions.IOS.Interruption?, isReplacement: Bool, to writer: inout JSONWriter
    ) {
        switch interruption {
        case .passive: break
        case .critical:
            writer.key("sound")
            writer.object { writer in
                writer.field("critical", 1)
                writer.field("name", "default")
                writer.field("volume", 1)
            }
        // A recall makes no sound.
        default: if !isReplacement { writer.field("sound", "default") }
        }
    }
}
