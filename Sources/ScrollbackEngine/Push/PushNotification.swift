package import Foundation
package import ScrollbackModel

/// A push to one device, independent of the push service.
package struct PushNotification: Hashable, Sendable {
    /// An ID that is the same for each attempt, so that recipients can detect duplicates.
    package var id: UUID
    package var device: PushDevice
    package var text: PushText
    /// The recipient's number of unread messages in all conversations.
    package var badge: Int64
    package var target: PushTarget
    /// Data from the sender to the receiving app.
    package var data: String?
    /// The link that the app opens, built from the administrator's pattern.
    package var link: String?
    package var options: PushOptions
    /// Whether the push replaces an earlier notification about the same message.
    package var replaces: Bool
    /// When the push becomes useless and is discarded.
    package var expiresAt: Date

    package init(
        id: UUID, device: PushDevice, text: PushText, badge: Int64, target: PushTarget, data: String? = nil,
        link: String? = nil, options: PushOptions = .init(), replaces: Bool = false, expiresAt: Date
    ) {
        self.id = id
        self.device = device
        self.text = text
        self.badge = badge
        self.target = target
        self.data = data
        self.link = link
        self.options = options
        self.replaces = replaces
        self.expiresAt = expiresAt
    }
}

/// The result of sending a push to a push service.
package enum PushOutcome: Hashable, Sendable {
    /// The push service accepted the push; services don't report whether it is displayed.
    case sent
    /// The push service no longer knows the device.
    ///
    /// - Parameter since: The time since when it is unknown; later registrations are not affected.
    case gone(since: Date?)
    /// The push service can't accept the push now.
    ///
    /// - Parameter after: The delay in seconds that the service requested.
    case later(after: Double?, String)
    /// The push service refused the push permanently, for the reason it gave.
    case refused(String)
}

/// Sends pushes to the push services.
package protocol PushGateway: Sendable {
    /// Validates the credentials of a push service.
    ///
    /// - Throws: `invalid-parameter` with the name of what is missing or invalid.
    func check(_ credentials: RawJSON, for service: PushService) throws(ChatError)

    /// Sends one push; never throws.
    ///
    /// A request takes at most 30 seconds. In addition, the push may wait for its turn, for an access token, or for a
    /// retry.
    func send(_ notification: PushNotification, with credentials: RawJSON) async -> PushOutcome
}
