import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Push notifications to this device, and the user's notification preferences.
public struct Push: Sendable {
    let core: ClientCore

    /// The state of this device's push registration.
    public enum State: Equatable, Sendable {
        /// The device is not registered, and the server has confirmed it.
        case off
        /// The last change is stored on the device and will be sent to the server when there is a connection.
        case waiting
        /// The device is registered.
        case registered
        /// The server rejected the registration.
        ///
        /// The client tries again on the next connection.
        case refused(ChatError)
    }

    /// The state of this device's push registration and its changes.
    public var states: StateSequence<State> { core.push.sequence }

    /// Registers this device for push notifications to this user.
    ///
    /// Returns once the registration is stored on the device, with or without a connection. The client then sends it to
    /// the server, and again whenever the server has lost it; ``states`` reports the progress. Call the method at each
    /// launch of the app with the current token, because tokens change. A token belongs to the last user who registered
    /// it.
    ///
    /// - Parameters:
    ///   - address: The device's address at the push service.
    ///   - language: The device's language as a BCP 47 tag, for users without ``PushPreferences/language``. The default
    ///     is the system's first preferred language.
    /// - Throws: `invalid-parameter` naming the invalid argument, or `local-storage` if the registration can't be
    ///   stored.
    public func register(_ address: PushAddress, language: String? = nil) async throws(ChatError) {
        let device = try address.device(
            Identifier(core.device, parameter: "device"), language: language ?? Self.deviceLanguage
        ).validated()
        try await core.ask { .setPush(device, $0) }
    }

    /// Ends push notifications to this device as soon as the server receives the change.
    ///
    /// Signing out does this automatically.
    ///
    /// - Throws: `local-storage` if the change can't be stored.
    public func unregister() async throws(ChatError) {
        try await core.ask { .setPush(nil, $0) }
    }

    /// Returns the user's notification preferences, which apply to all of their devices.
    ///
    /// - Throws: `unreachable` or `timeout`.
    public func preferences() async throws(ChatError) -> PushPreferences {
        try await core.perform(GetPushPreferences()).preferences
    }

    /// Replaces the user's notification preferences, which apply to all of their devices.
    ///
    /// All preferences are replaced together, so that changes from two devices never mix.
    ///
    /// - Returns: The preferences that the server has stored.
    /// - Throws: `invalid-parameter` for an invalid language, `unreachable` or `timeout`.
    @discardableResult
    public func setPreferences(_ preferences: PushPreferences) async throws(ChatError) -> PushPreferences {
        if let language = preferences.language { try PushLanguage.check(language, "language") }
        return try await core.perform(SetPushPreferences(PushPreferencesChange(to: preferences))).preferences
    }

    /// Processes the pushes that a notification extension stored in ``ChatClient/Configuration/pushInbox``.
    ///
    /// The client does this automatically when it is opened and when the app comes to the foreground.
    ///
    /// - Returns: The contents of the inbox; empty without an inbox.
    /// - Throws: `local-storage` if the inbox can't be read or its pushes can't be stored.
    @discardableResult
    public func readInbox() async throws(ChatError) -> PushInbox.Contents {
        try await core.readPushInbox()
    }

    /// The system's first preferred language; `nil` if it is not a valid tag.
    private static var deviceLanguage: String? {
        guard let tag = Locale.preferredLanguages.first, (try? PushLanguage.check(tag, "language")) != nil else {
            return nil
        }
        return tag
    }
}

extension ChatClient {
    /// Push notifications to this device, and the user's notification preferences.
    public var push: Push { Push(core: core) }
}

extension PushRegistration {
    var state: Push.State {
        if let refusal { return .refused(refusal) }
        guard isAcknowledged else { return .waiting }
        return wanted == nil ? .off : .registered
    }
}
