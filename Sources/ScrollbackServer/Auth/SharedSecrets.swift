package import Foundation
package import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import Synchronization

/// The place of the secrets that all servers of a database use, in the format of `secrets.json`.
package protocol SecretsStore: Sendable {
    /// Returns the secrets, and stores `own` if there are none yet.
    func secrets(orStore own: [UInt8]) throws -> [UInt8]

    /// Replaces the secrets if they are still `old`.
    ///
    /// - Returns: Whether they were replaced.
    func replaceSecrets(_ old: [UInt8], by new: [UInt8]) throws -> Bool
}

extension PostgresStore: SecretsStore {}

/// The secrets of a server without other nodes, in its data directory.
package final class SecretsFile: SecretsStore {
    private let directory: URL
    private let lock = Mutex(())

    package init(in directory: URL) {
        self.directory = directory
    }

    private var file: URL { directory.appending(path: "secrets.json") }

    package func secrets(orStore own: [UInt8]) throws -> [UInt8] {
        try lock.withLock { _ in
            if !FileManager.default.fileExists(atPath: file.path) { try PrivateFile.write(Data(own), to: file) }
            return Array(try Data(contentsOf: file))
        }
    }

    package func replaceSecrets(_ old: [UInt8], by new: [UInt8]) throws -> Bool {
        try lock.withLock { _ in
            guard try Array(Data(contentsOf: file)) == old else { return false }
            try PrivateFile.write(Data(new), to: file)
            return true
        }
    }
}

/// Replaces the secret that signs tokens while servers run.
///
/// A node must accept a secret before another one signs with it. So the new secret is first stored as one that is only
/// accepted. Nodes read the secrets every two seconds, and sign with the new one after a delay.
///
/// A node signs no tokens if it has not read the secrets for ``lifetime``. When the delay has passed, such a node
/// therefore knows the new secret, or it signs nothing.
package struct SecretRotator: Sendable {
    /// For how many days tokens of the earlier secret can stay valid, and do so by default.
    package static let overlapDays = RotateSecret.overlaps
    package static let standardOverlapDays = RotateSecret.standardOverlap

    /// How often a node reads the secrets.
    package static let interval = Duration.seconds(2)
    /// How long a node may use the secrets that it has read.
    package static let lifetime = Duration.seconds(10)
    /// How long a node must know a secret before it signs with it, if it read the secrets without a break: longer than
    /// ``lifetime``.
    ///
    /// It only matters if the database confirmed the new secret late, for example because it waited for a standby.
    package static let maturity = Duration.seconds(12)
    /// How many seconds after a rotation nodes sign with the new secret.
    ///
    /// It is longer than ``lifetime``, also if the clocks of the nodes differ by a few seconds.
    package static let delay: TimeInterval = 20
    /// How many seconds longer than the overlap the earlier secret is accepted, for nodes that begin to sign with the
    /// new one a little later.
    package static let grace: TimeInterval = 10
    /// The delay of a single server, which reads a changed file every two seconds.
    package static let delayOfOneServer: TimeInterval = 5

    private let store: any SecretsStore
    private let isShared: Bool
    private let clock: @Sendable () -> Date

    /// - Parameter isShared: Whether other nodes use the secrets.
    package init(_ store: any SecretsStore, isShared: Bool, clock: @escaping @Sendable () -> Date = { Date() }) {
        self.store = store
        self.isShared = isShared
        self.clock = clock
    }

    /// Stores a new secret.
    ///
    /// - Parameters:
    ///   - own: The secrets of this server, which are stored if there are none.
    ///   - overlap: For how many seconds tokens of the earlier secret stay valid, once the new one signs.
    /// - Throws: `conflict` if another rotation has just begun.
    package func rotate(own: [UInt8], overlap: TimeInterval) throws -> SecretRotation {
        let stored = try store.secrets(orStore: own)
        var keys = try SigningKeys(decoding: stored)
        let now = clock()
        let delay = isShared ? Self.delay : Self.delayOfOneServer
        // The format has no fractions of seconds.
        let start = Date(timeIntervalSince1970: (now.timeIntervalSince1970 + delay).rounded(.up))
        let retirement = start.addingTimeInterval(overlap + (isShared ? Self.grace : 0))
        let key = try keys.add(signingAt: start, retiringOthersAt: retirement, now: now)
        guard try store.replaceSecrets(stored, by: keys.encoded()) else {
            throw ChatError(
                .conflict,
                "Another request replaced the secret at the same time. To replace it again, repeat the request in "
                    + "\(Int(delay)) seconds.")
        }
        return SecretRotation(key: key, delay: delay, signsAt: start, retiresAt: retirement)
    }
}
