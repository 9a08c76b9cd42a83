package import Foundation
package import ScrollbackModel

/// A push to one device, before it takes the form of a service.
package struct PushNotification: Hashable, Sendable {
    /// The same through every retry, so that who gets it twice can tell.
    package var id: UUID
    package var device: PushDevice
    package var text: PushText
    /// How many messages the receiver has not read, in all their conversations.
    package var badge: Int64
    package var place: PushPlace
    /// What the sender handed over to the receiving app.
    package var data: String?
    /// Where the app is to open, by the operator's pattern.
    package var link: String?
    package var options: PushOptions
    /// Whether it takes the place of one that told of the same message.
    package var replaces: Bool
    /// When it is worth nothing any more.
    package var expiresAt: Date

    package init(
        id: UUID, device: PushDevice, text: PushText, badge: Int64, place: PushPlace, data: String? = nil,
        link: String? = nil, options: PushOptions = .init(), replaces: Bool = false, expiresAt: Date
    ) {
        self.id = id
        self.device = device
        self.text = text
        self.badge = badge
        self.place = place
        self.data = data
        self.link = link
        self.options = options
        self.replaces = replaces
        self.expiresAt = expiresAt
    }
}

/// What came of handing a push to a service.
package enum PushOutcome: Hashable, Sendable {
    /// The service took it; whether it is shown nobody says.
    case sent
    /// The service no longer knows the device.
    ///
    /// - Parameter since: what was registered later is another one.
    case gone(since: Date?)
    /// The service can't take it now.
    ///
    /// - Parameter after: the seconds it asked for.
    case later(after: Double?, String)
    /// The service will never take it, by its own word.
    case refused(String)
}

/// Hands pushes to the services.
package protocol PushGateway: Sendable {
    /// Looks at what an operator set for a service.
    ///
    /// - Throws: `invalid-parameter` naming what is missing or wrong.
    func check(_ credentials: RawJSON, for service: PushService) throws(ChatError)

    /// Hands over one push; never throws.
    ///
    /// A request takes half a minute at most; it may have to wait for its turn, to ask for a token first, or to ask again.
    func send(_ notification: PushNotification, with credentials: RawJSON) async -> PushOutcome
}
