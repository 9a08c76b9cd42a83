package import ScrollbackModel

/// The rule for the callers of an operation.
///
/// The server checks the token's scope before it carries out a request: over HTTP before it reads the parameters, over
/// the WebSocket after. Of ``Callers``, it checks only ``Callers/administrator``, by the scope. Permissions in a
/// conversation depend on the conversation's rows, so the operation checks them itself.
package struct AccessRule: Hashable, Sendable {
    /// The users who may call an operation.
    package enum Callers: Hashable, Sendable {
        /// Everyone, without a token.
        case everyone
        /// Every signed-in user. The operation limits the answer to what the user may see.
        case anyUser
        /// Users for themselves, administrators for every user.
        case selfOrAdministrator
        /// Callers with one of these permissions in the conversation. The first is the usual one.
        case permission([Permission])
        case administrator
    }

    /// The scope that the caller's token needs, or `nil` where no token is needed.
    package let scope: Scope?
    package let callers: Callers

    package init(_ scope: Scope?, _ callers: Callers) {
        self.scope = scope
        self.callers = callers
    }

    package static let administrator = AccessRule(.admin, .administrator)
}
