import Foundation
import ScrollbackModel

/// The secrets of the server's own tokens, and which of them signs.
///
/// With several nodes, the secrets are in the database, and each node reads them again and again. ``SecretRotator`` has
/// the rules for the time from which a new secret signs.
struct TokenSecrets: Sendable {
    private(set) var keys: SigningKeys
    private let isShared: Bool
    /// When the last reading of the database began.
    private var readAt: ContinuousClock.Instant?
    /// When this node first read each secret that was stored while it read the secrets without a break.
    private var newKeys: [String: ContinuousClock.Instant] = [:]
    /// The secrets that were accepted at the last check, and those that have retired recently.
    private var accepted: Set<String> = []
    private var retired: [String: Date] = [:]

    /// How long after its retirement a secret is reported, in seconds.
    ///
    /// A connection whose token was verified before the retirement can open a moment after it.
    private static let retirementReports: TimeInterval = 60

    /// - Parameter isShared: Whether other nodes use the secrets. Then they can't be used before ``read(_:at:)``.
    init(_ keys: SigningKeys, isShared: Bool) {
        self.keys = keys
        self.isShared = isShared
    }

    /// Uses the secrets of a changed file.
    mutating func replace(by keys: SigningKeys) { self.keys = keys }

    /// Uses the secrets that were read from the database.
    ///
    /// - Parameter start: When the reading began.
    mutating func read(_ keys: SigningKeys, at start: ContinuousClock.Instant) {
        let known = Set(self.keys.keys.map(\.kid))
        // After the start or a long break, the node does not know since when other nodes know a secret. Then only the
        // time of the secret decides.
        if let readAt, readAt.duration(to: start) < SecretRotator.lifetime {
            for key in keys.keys where !known.contains(key.kid) { newKeys[key.kid] = start }
        }
        newKeys = newKeys.filter { kid, _ in keys.keys.contains { $0.kid == kid } }
        self.keys = keys
        readAt = start
    }

    /// Checks that no other node can sign with a secret that this node does not know.
    ///
    /// - Throws: `overloaded` if this node could not read the secrets for some time.
    func checkAreCurrent(uptime: ContinuousClock.Instant) throws(ChatError) {
        guard isShared else { return }
        if let readAt, readAt.duration(to: uptime) < SecretRotator.lifetime { return }
        throw ChatError(
            .overloaded, "This node can't read the secrets of tokens from the database. Try again.", retryAfter: 1)
    }

    /// Returns the secret that signs.
    ///
    /// - Throws: `overloaded` if this node could not read the secrets for some time.
    func signingKey(at now: Date, uptime: ContinuousClock.Instant) throws(ChatError) -> SigningKeys.Key {
        try checkAreCurrent(uptime: uptime)
        let keys = keys.keys.filter { $0.maySign(at: now) }
        let known = keys.last { key in
            newKeys[key.kid].map { $0.duration(to: uptime) >= SecretRotator.maturity } ?? true
        }
        guard let key = known ?? keys.last else {
            throw ChatError(.internalError, "secrets.json has no active signing key.")
        }
        return key
    }

    /// Returns the IDs of the secrets that have retired within the last minute.
    ///
    /// Call this every few seconds.
    mutating func retiredKeys(at now: Date) -> Set<String> {
        let current = Set(keys.keys.filter { $0.isAccepted(at: now) }.map(\.kid))
        for kid in accepted.subtracting(current) { retired[kid] = now }
        accepted = current
        retired = retired.filter { now.timeIntervalSince($0.value) < Self.retirementReports }
        return Set(retired.keys)
    }
}
