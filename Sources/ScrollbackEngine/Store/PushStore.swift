package import Foundation
package import ScrollbackModel

/// What the engine asks a snapshot about pushes: who can be reached and how, and what waits.
package protocol PushReader {
    /// What is known of somebody who ever registered a device or set how they want to be told.
    func pushPerson(_ user: UserID) throws -> PushPersonRow?
    /// A user's devices, by name.
    func pushDevices(of user: UserID) throws -> [PushDeviceRow]
    /// The device that has a token of a service.
    func pushDevice(service: PushService, token: String) throws -> PushDeviceRow?

    /// Who would be reached by a message of a level in a conversation, by name: one part of the index of
    /// ``PushWriter/putReach(_:of:in:)``.
    func reached(at level: NotificationLevel, in conversation: Int64, after: UserID?, limit: Int) throws -> [UserID]

    /// Conversations with pushes that wait to be handed out, by number.
    func conversationsWithPushes(after conversation: Int64, limit: Int) throws -> [Int64]
    /// What waits to be handed out of one conversation, oldest first.
    func pushes(of conversation: Int64, limit: Int) throws -> [PushRow]
    /// How far the pushes of a conversation are handed out, while that is under way.
    func pushWalk(of conversation: Int64) throws -> PushWalkRow?
    /// What is to be tried again, the earliest first.
    func pushRetries(dueBy time: Date, limit: Int) throws -> [PushRetryRow]
    /// When the next is due.
    func nextPushRetry() throws -> Date?
    /// How many pushes wait to be handed out, and how many to be tried again.
    func pushCounts() throws -> (waiting: Int64, retries: Int64)
}

/// Changes to who can be reached by push, and to what waits.
package protocol PushWriter {
    func put(_ person: PushPersonRow) throws
    /// Stores a device; whoever had its token before has it no more.
    func put(_ device: PushDeviceRow) throws
    func dropPushDevice(_ device: Identifier, of user: UserID) throws
    /// Writes down which messages of a conversation would reach somebody: all, those that mention them, or none.
    func putReach(_ level: NotificationLevel, of user: UserID, in conversation: Int64) throws

    /// Adds a push to hand out, with a number above every one the store gave before.
    ///
    /// - Parameter body: what the store does not have otherwise: the message, or what finds a recalled one's notification.
    func insertPush(_ kind: PushRow.Kind, at seq: Seq, of conversation: Int64, body: RawJSON?) throws
    /// Forgets a conversation's pushes at or below a number, and says how many.
    @discardableResult func dropPushes(of conversation: Int64, through number: Int64) throws -> Int
    /// Notes how far the pushes of a conversation are handed out, or (nil) that none is under way.
    func put(_ walk: PushWalkRow?, of conversation: Int64) throws
    /// Adds something to try again, or changes when; one without a number gets one.
    func put(_ retry: inout PushRetryRow) throws
    func dropPushRetry(_ number: Int64) throws
    /// Forgets everything that waits.
    func dropPushes() throws
}

/// Somebody who can be reached by push, or said how.
package struct PushPersonRow: Hashable, Sendable {
    package var user: UserID
    package var preferences: PushPreferences
    /// How many devices they have.
    package var deviceCount: Int64

    package init(user: UserID, preferences: PushPreferences = .init(), deviceCount: Int64 = 0) {
        self.user = user
        self.preferences = preferences
        self.deviceCount = deviceCount
    }
}

/// A device as it is stored.
package struct PushDeviceRow: Hashable, Sendable {
    package var user: UserID
    package var device: PushDevice
    /// When it was registered last: what a service says of an earlier time is of another registration.
    package var registeredAt: Date

    package init(user: UserID, device: PushDevice, registeredAt: Date) {
        self.user = user
        self.device = device
        self.registeredAt = registeredAt
    }
}

/// Something that devices are to be told of one message.
package struct PushRow: Hashable, Sendable {
    package enum Kind: Int64, Sendable {
        /// It was said.
        case message = 0
        /// It was recalled.
        case recall = 1
    }

    /// Rises with every push and is never given again.
    package var number: Int64
    package var conversation: Int64
    package var kind: Kind
    package var seq: Seq
    /// The message, where it is not stored; of one that was recalled the attributes that find its notification, if it had
    /// any.
    package var body: RawJSON?

    package init(number: Int64, conversation: Int64, kind: Kind, seq: Seq, body: RawJSON? = nil) {
        self.number = number
        self.conversation = conversation
        self.kind = kind
        self.seq = seq
        self.body = body
    }
}

/// How far the pushes of a conversation are handed out.
package struct PushWalkRow: Hashable, Sendable {
    /// The last of the pushes that are handed out together.
    package var through: Int64
    /// Everybody up to this name was seen to; nobody yet where it is absent.
    package var after: UserID?

    package init(through: Int64, after: UserID? = nil) {
        self.through = through
        self.after = after
    }
}

/// A push to one device that its service could not take.
package struct PushRetryRow: Hashable, Sendable {
    /// 0 before it was stored.
    package var number: Int64
    package var user: UserID
    package var device: Identifier
    package var push: PushRow
    /// How often it was tried.
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
