package import Foundation
package import ScrollbackModel

/// Read operations for push devices, preferences and pending pushes.
package protocol PushReader {
    /// Returns the push data of a user who has registered a device or set preferences.
    func pushUser(_ user: UserID) throws -> PushUserRow?
    /// Returns a user's devices, ordered by ID.
    func pushDevices(of user: UserID) throws -> [PushDeviceRow]
    /// Returns the device with a token of a push service.
    func pushDevice(service: PushService, token: String) throws -> PushDeviceRow?

    /// Returns users with a notification level in a conversation, ordered by ID.
    ///
    /// The result comes from the index that ``PushWriter/putPushLevel(_:of:in:)`` maintains.
    func pushRecipients(at level: NotificationLevel, in conversation: Int64, after: UserID?, limit: Int) throws
        -> [UserID]

    /// Returns conversations with pending pushes, ordered by number.
    func conversationsWithPushes(after conversation: Int64, limit: Int) throws -> [Int64]
    /// Returns a conversation's pending pushes, oldest first.
    func pushes(of conversation: Int64, limit: Int) throws -> [PushRow]
    /// Returns the progress of a conversation's push walk, or `nil` if none is in progress.
    func pushWalk(of conversation: Int64) throws -> PushWalkRow?
    /// Returns retries that are due, earliest first.
    func pushRetries(dueBy time: Date, limit: Int) throws -> [PushRetryRow]
    /// Returns when the next retry is due.
    func nextPushRetry() throws -> Date?
    /// Returns the number of pending pushes and of pending retries.
    func pushCounts() throws -> (waiting: Int64, retries: Int64)
}

/// Write operations for push devices, preferences and pending pushes.
package protocol PushWriter {
    func put(_ person: PushUserRow) throws
    /// Stores a device, and removes the token from any other device that has it.
    func put(_ device: PushDeviceRow) throws
    func dropPushDevice(_ device: Identifier, of user: UserID) throws
    /// Stores which messages of a conversation are pushed to a user: all, mentions or none.
    func putPushLevel(_ level: NotificationLevel, of user: UserID, in conversation: Int64) throws

    /// Adds a pending push with a number above all earlier numbers.
    ///
    /// - Parameter body: Data that the store does not have otherwise: a transient message, or attributes to find the
    ///   notification of a recalled message.
    func insertPush(_ kind: PushRow.Kind, at seq: Seq, of conversation: Int64, body: RawJSON?) throws
    /// Deletes a conversation's pending pushes up to a number, and returns how many.
    @discardableResult func dropPushes(of conversation: Int64, through number: Int64) throws -> Int
    /// Stores the progress of a conversation's push walk; `nil` ends the walk.
    func put(_ walk: PushWalkRow?, of conversation: Int64) throws
    /// Stores a retry, and assigns a number to a new one.
    func put(_ retry: inout PushRetryRow) throws
    func dropPushRetry(_ number: Int64) throws
    /// Deletes all pending pushes, walks and retries.
    func dropPushes() throws
}

/// The push data of a user.
package struct PushUserRow: Hashable, Sendable {
    package var user: UserID
    package var preferences: PushPreferences
    /// The number of the user's devices.
    package var deviceCount: Int64

    package init(user: UserID, preferences: PushPreferences = .init(), deviceCount: Int64 = 0) {
        self.user = user
        self.preferences = preferences
        self.deviceCount = deviceCount
    }
}

/// A stored push device.
package struct PushDeviceRow: Hashable, Sendable {
    package var user: UserID
    package var device: PushDevice
    /// When the device was last registered; push service errors about earlier times don't apply to it.
    package var registeredAt: Date

    package init(user: UserID, device: PushDevice, registeredAt: Date) {
        self.user = user
        self.device = device
        self.registeredAt = registeredAt
    }
}

/// A pending push about one message.
package struct PushRow: Hashable, Sendable {
    package enum Kind: Int64, Sendable {
        /// The message was sent.
        case message = 0
        /// The message was recalled.
        case recall = 1
    }

    /// The push's number; numbers increase and are never reused.
    package var number: Int64
    package var conversation: Int64
    package var kind: Kind
    package var seq: Seq
    /// A message that is not stored, or the attributes to find the notification of a recalled message, if any.
    package var body: RawJSON?

    package init(number: Int64, conversation: Int64, kind: Kind, seq: Seq, body: RawJSON? = nil) {
        self.number = number
        self.conversation = conversation
        self.kind = kind
        self.seq = seq
        self.body = body
    }
}

/// The progress of a conversation's push walk.
package struct PushWalkRow: Hashable, Sendable {
    /// The number of the last push in the walk.
    package var through: Int64
    /// The last user processed; `nil` at the start.
    package var after: UserID?

    package init(through: Int64, after: UserID? = nil) {
        self.through = through
        self.after = after
    }
}

/// A push to one device that must be retried.
package struct PushRetryRow: Hashable, Sendable {
    /// The retry's number; 0 before it is stored.
    package var number: Int64
    package var user: UserID
    package var device: Identifier
    package var push: PushRow
    /// The number of attempts so far.
    package var attempts: Int64
    package var notBefore: Date
    package var firstTriedAt: Date

    package init(
        number: Int64 = 0, user: UserID, device: Identifier, push: PushRow, attempts: Int64, notBefore: Date,
        firstTriedAt: Date
    ) {
        self.number = number
        self.user = user
        self.device = device
        self.push = push
        self.attempts = attempts
        self.notBefore = notBefore
        self.firstTriedAt = firstTriedAt
    }
}
