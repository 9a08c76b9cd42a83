package import Foundation
import ScrollbackModel
import Synchronization

/// A replacement of the secret that signs the server's own tokens.
package struct SecretRotation: Hashable, Sendable {
    /// The ID of the new secret.
    package var key: String
    /// How many seconds after the rotation servers sign with the new secret.
    package var delay: TimeInterval
    /// When servers sign with the new secret.
    package var signsAt: Date
    /// When servers refuse the tokens of the secret that signed until now.
    package var retiresAt: Date

    package init(key: String, delay: TimeInterval, signsAt: Date, retiresAt: Date) {
        self.key = key
        self.delay = delay
        self.signsAt = signsAt
        self.retiresAt = retiresAt
    }
}

extension Engine {
    /// Sets what replaces the secret that signs tokens.
    ///
    /// - Parameter rotate: Takes for how many seconds tokens of the earlier secrets stay valid. It may block.
    package func onSecretRotation(_ rotate: @escaping @Sendable (_ overlap: TimeInterval) throws -> SecretRotation) {
        secretRotation.withLock { $0 = rotate }
    }

    /// Replaces the secret that signs tokens.
    ///
    /// - Parameter overlap: For how many seconds tokens of the earlier secrets stay valid.
    /// - Throws: `conflict` if another rotation has just begun, or the server does not sign tokens.
    func rotateSecret(overlap: TimeInterval, by caller: Caller) throws -> SecretRotation {
        guard let rotate = secretRotation.withLock({ $0 }) else {
            throw ChatError(.conflict, "This server does not sign tokens.")
        }
        let rotation = try rotate(overlap)
        auditInBackground(.rotateSecret, by: caller, detail: rotation.key)
        return rotation
    }

    /// Closes the connections to this server whose tokens are of retired secrets.
    ///
    /// - Parameter keys: The IDs of the secrets.
    package func closeConnections(ofRetired keys: Set<String>) {
        hub.closeAll(.badToken, "The token's key is retired. Get a new token.") { connection in
            (connection as? Session)?.tokenKey.map(keys.contains) ?? false
        }
    }
}
