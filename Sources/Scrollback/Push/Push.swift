import Foundation
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Pushes to this device, and how its user wants to be told.
public struct Push: Sendable {
    let core: ClientCore

    /// Whether this device is reached by push.
    public enum State: Equatable, Sendable {
        /// It is not, and the server knows.
        case off
        /// What was set last is kept, and told to the server as soon as there is a connection.
        case waiting
        /// The server has it.
        case registered
        /// The server will not have it, by its own word; with the next connection it is asked once more.
        case refused(ChatError)
    }

    /// Whether this device is reached by push.
    public var states: StateSequence<State> { core.push.sequence }

    /// Has this user's messages pushed to this device.
    ///
    /// It returns once that is kept on the device, whether or not there is a connection; the server is told when there is
    /// one, and again whenever it has lost it. ``states`` says how that goes. Call it at every start of the app, with what
    /// the system says then: tokens change, and the last user to register one has it.
    ///
    /// - Parameters:
    ///   - address: where the service reaches the device.
    ///   - language: the device's language, a BCP 47 tag, for users who have set none (``PushPreferences/language``); by
    ///     default the first of the system's.
    /// - Throws: `invalid-parameter` naming what is out of range; `local-storage` when it can't be kept.
    public func register(_ address: PushAddress, language: String? = nil) async throws(ChatError) {
        let device = try address.device(
            Identifier(core.device, parameter: "device"), language: language ?? Self.deviceLanguage
        ).validated()
        try await core.ask { .setPush(device, $0) }
    }

    /// Has nothing pushed to this device any more, as soon as the server hears of it.
    ///
    /// Signing out does so by itself.
    ///
    /// - Throws: `local-storage` when it can't be kept.
    public func unregister() async throws(ChatError) {
        try await core.ask { .setPush(nil, $0) }
    }

    /// How this user wants to be told, on all their devices.
    ///
    /// - Throws: `unreachable` or `timeout` when the server can't be asked.
    public func preferences() async throws(ChatError) -> PushPreferences {
        try Self.preferences(try await core.request(.push(.preferences)))
    }

    /// Sets how this user wants to be told, on all their devices; all of it, so that two devices never mix theirs.
    ///
    /// - Returns: what the server has now.
    /// - Throws: `invalid-parameter` for a language that is none; `unreachable` or `timeout` when the server can't be asked.
    @discardableResult
    public func setPreferences(_ preferences: PushPreferences) async throws(ChatError) -> PushPreferences {
        if let language = preferences.language { try PushLanguage.check(language, "language") }
        let change = PushPreferencesChange(to: preferences)
        return try Self.preferences(try await core.request(.push(.setPreferences(change))))
    }

    /// Takes up what a notification extension has put into ``ChatClient/Configuration/pushInbox``.
    ///
    /// The client does so by itself when it is opened, and whenever the app comes to the foreground.
    ///
    /// - Returns: what was there; nothing without an inbox.
    /// - Throws: `local-storage` when the inbox can't be read at all, or what it says can't be kept.
    @discardableResult
    public func readInbox() async throws(ChatError) -> PushInbox.Contents {
        try await core.readPushInbox()
    }

    private static func preferences(_ body: [UInt8]) throws(ChatError) -> PushPreferences {
        var preferences = PushPreferences()
        var reader = try JSONReader(body)
        try reader.object { (name, value) throws(ChatError) in
            guard name == "push" else { return try value.skip() }
            preferences = try PushPreferences(from: &value)
        }
        return preferences
    }

    /// Nothing where the system calls it by something that is no tag.
    private static var deviceLanguage: String? {
        guard let tag = Locale.preferredLanguages.first, (try? PushLanguage.check(tag, "language")) != nil else {
            return nil
        }
        return tag
    }
}

extension ChatClient {
    /// Pushes to this device, and how this user wants to be told.
    public var push: Push { Push(core: core) }
}

extension PushRegistration {
    var state: Push.State {
        if let refusal { return .refused(refusal) }
        guard isTold else { return .waiting }
        return wanted == nil ? .off : .registered
    }
}
