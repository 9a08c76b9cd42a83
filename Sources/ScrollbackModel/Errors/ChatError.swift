public import Foundation

/// An error of the client or the server, with a stable code and a readable message.
public struct ChatError: Error, Sendable {
    /// The stable code to branch on.
    public var code: Code
    /// A readable description of the error.
    ///
    /// It never contains message text or tokens.
    public var message: String
    /// The name of the invalid argument in the protocol or the call.
    public var parameter: String?
    /// The limit that was exceeded, in the unit that the message names: bytes, elements, or messages per second.
    public var limit: Int?
    /// The delay in seconds after which the client can try again.
    public var retryAfter: TimeInterval?
    /// The date when the cause of the error ends by itself, for example a ban.
    public var until: Date?
    /// The reason given by the user who caused the error, for example a moderator's reason for a ban.
    public var reason: String?
    /// Whether the same request can succeed later.
    public var isTemporary: Bool
    /// The HTTP status.
    public var status: Int
    /// The underlying local error.
    public var cause: (any Error)?

    /// Creates an error whose HTTP status and ``isTemporary`` follow from its code.
    ///
    /// A code that this version does not know has status 500 and is not temporary.
    public init(
        _ code: Code, _ message: String, parameter: String? = nil, limit: Int? = nil, retryAfter: TimeInterval? = nil,
        cause: (any Error)? = nil
    ) {
        self.init(
            code: code, message: message, parameter: parameter, limit: limit, retryAfter: retryAfter,
            isTemporary: code.isTemporary, status: code.status, cause: cause)
    }

    /// Creates an error received from the other side, whose code may be newer than this version.
    package init(
        code: Code, message: String, parameter: String?, limit: Int?, retryAfter: TimeInterval?, isTemporary: Bool,
        status: Int, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.parameter = parameter
        self.limit = limit
        self.retryAfter = retryAfter
        self.isTemporary = isTemporary
        self.status = status
        self.cause = cause
    }

    package static func invalidParameter(_ name: String, _ reason: String, limit: Int? = nil) -> ChatError {
        ChatError(.invalidParameter, "\(name) \(reason)", parameter: name, limit: limit)
    }
}

extension ChatError {
    /// A stable kebab-case error code.
    ///
    /// Newer servers may send codes that this version does not list.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The wire form, for example `unknown-conversation`.
        public let rawValue: String

        /// Creates a code, which need not be one that this version lists.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The wire form.
        public var description: String { rawValue }

        fileprivate static let table: [Code: (status: Int, isTemporary: Bool)] = [
            .malformed: (400, false), .invalidToken: (401, false), .tokenExpired: (401, false),
            .tokenRevoked: (401, false), .forbidden: (403, false), .notMember: (403, false),
            .unknownConversation: (404, false), .unknownMessage: (404, false), .unknownUser: (404, false),
            .unknownMember: (404, false), .unknownMedia: (404, false), .unknownUpload: (404, false),
            .unknownOperation: (404, false), .methodNotAllowed: (405, false),
            .timeout: (408, true), .conflict: (409, false), .epochChanged: (409, false),
            .outOfOrder: (409, false), .expired: (410, false), .tooLarge: (413, false),
            .mediaTooLarge: (413, false), .invalidMedia: (422, false),
            .unsupportedMediaType: (415, false), .invalidParameter: (422, false), .rateLimited: (429, true),
            .internalError: (500, true), .unreachable: (503, true), .overloaded: (503, true),
            .storageFull: (503, true), .shuttingDown: (503, true), .closed: (499, false), .cancelled: (499, false),
            .queryInProgress: (409, false), .persistenceDisabled: (403, false),
            .localStorage: (500, false), .uploadFailed: (500, false), .blocked: (403, false), .muted: (403, false),
            .contentRejected: (422, false), .roomFull: (503, true), .featureOff: (403, false),
            .unknownInvitation: (404, false), .invitationRequired: (403, false), .banned: (403, false),
            .userDeactivated: (403, false), .unknownReport: (404, false), .unknownJob: (404, false),
            .decryptionFailed: (422, false),
        ]

        var status: Int { Self.table[self]?.status ?? 500 }
        var isTemporary: Bool { Self.table[self]?.isTemporary ?? false }
    }
}

extension ChatError.Code {
    /// The input is not JSON, or not the expected JSON.
    public static let malformed = Self(rawValue: "malformed")
    /// The token is missing, can't be verified, or belongs to another user: the client needs a new one.
    public static let invalidToken = Self(rawValue: "invalid-token")
    /// The token has expired: the client needs a new one.
    public static let tokenExpired = Self(rawValue: "token-expired")
    /// The user's tokens were revoked, or the server signed this device out.
    public static let tokenRevoked = Self(rawValue: "token-revoked")
    /// The caller may see the object but lacks the permission for this operation.
    public static let forbidden = Self(rawValue: "forbidden")
    /// The operation requires membership: the caller has left, or sees the conversation without being a member.
    public static let notMember = Self(rawValue: "not-member")
    /// The conversation does not exist, or the caller may not see it.
    public static let unknownConversation = Self(rawValue: "unknown-conversation")
    /// The message does not exist or the caller may not see it; for local calls, the message is not on this device.
    public static let unknownMessage = Self(rawValue: "unknown-message")
    /// The file does not exist, or the caller may not see it.
    public static let unknownMedia = Self(rawValue: "unknown-media")
    /// The upload does not exist, was abandoned, or belongs to another user.
    public static let unknownUpload = Self(rawValue: "unknown-upload")
    /// The file exceeds the maximum size of its type, which `limit` gives in bytes.
    public static let mediaTooLarge = Self(rawValue: "media-too-large")
    /// The file does not match its declared type, or no device can display it.
    public static let invalidMedia = Self(rawValue: "invalid-media")
    /// The user has no profile.
    public static let unknownUser = Self(rawValue: "unknown-user")
    /// The user is not a member of the conversation or of its community.
    public static let unknownMember = Self(rawValue: "unknown-member")
    /// The path or the request type does not exist.
    public static let unknownOperation = Self(rawValue: "unknown-operation")
    /// The path does not support this HTTP method; the `Allow` header lists the supported ones.
    public static let methodNotAllowed = Self(rawValue: "method-not-allowed")
    /// The server did not answer within 20 seconds and may have executed the request, or the body of an HTTP request
    /// arrived too slowly.
    public static let timeout = Self(rawValue: "timeout")
    /// The ID was already used for another submission or by another sender, or the message to cancel is in flight.
    public static let conflict = Self(rawValue: "conflict")
    /// The conversation was recreated or the store was restored: discard the old positions and load it again.
    public static let epochChanged = Self(rawValue: "epoch-changed")
    /// A new message of an import would come before the head.
    public static let outOfOrder = Self(rawValue: "out-of-order")
    /// A queued message is older than the 180 days for which the server remembers IDs.
    ///
    /// Sending it again could duplicate it.
    public static let expired = Self(rawValue: "expired")
    /// A body, a content or an attribute exceeds its limit, which `limit` gives in bytes.
    public static let tooLarge = Self(rawValue: "too-large")
    /// The body is not declared as `application/json`.
    public static let unsupportedMediaType = Self(rawValue: "unsupported-media-type")
    /// The app's own uploader failed with a permanent error.
    public static let uploadFailed = Self(rawValue: "upload-failed")
    /// An argument has an invalid form or is out of range; `parameter` names it.
    public static let invalidParameter = Self(rawValue: "invalid-parameter")
    /// The user exceeded a rate limit; `retryAfter` gives the delay.
    public static let rateLimited = Self(rawValue: "rate-limited")
    /// The server failed or returned an invalid response; the request is not at fault.
    public static let internalError = Self(rawValue: "internal-error")
    /// The client could not reach the server.
    public static let unreachable = Self(rawValue: "unreachable")
    /// The server's write queue is full; it did not execute this write.
    public static let overloaded = Self(rawValue: "overloaded")
    /// The server's disk is full; reads still work.
    public static let storageFull = Self(rawValue: "storage-full")
    /// The server is stopping, or does not accept requests yet.
    public static let shuttingDown = Self(rawValue: "shutting-down")
    /// The client was closed, or another connection of this device replaced it.
    public static let closed = Self(rawValue: "closed")
    /// The waiting task or the awaited message was cancelled.
    ///
    /// A request fails with it if its task is cancelled before the client sends it. The wait for a message's delivery
    /// also fails with it if the message was sent without being stored.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The pager is already loading another page.
    public static let queryInProgress = Self(rawValue: "query-in-progress")
    /// History is turned off on the server; messages are still delivered.
    public static let persistenceDisabled = Self(rawValue: "persistence-disabled")
    /// The peer of a direct conversation has blocked the caller.
    public static let blocked = Self(rawValue: "blocked")
    /// The caller may not write: they are muted, or the conversation is frozen.
    ///
    /// If the mute has an end, `retryAfter` gives the remaining time.
    public static let muted = Self(rawValue: "muted")
    /// The caller is banned from the conversation or the server, until `until` if it is set.
    public static let banned = Self(rawValue: "banned")
    /// An administrator deactivated the user, or the user is being erased: the server rejects their tokens.
    public static let userDeactivated = Self(rawValue: "user-deactivated")
    /// The report does not exist.
    public static let unknownReport = Self(rawValue: "unknown-report")
    /// The job does not exist.
    public static let unknownJob = Self(rawValue: "unknown-job")
    /// A moderation filter of the server, or the operator's webhook, rejected the content.
    public static let contentRejected = Self(rawValue: "content-rejected")
    /// The room has reached its capacity: try again later.
    public static let roomFull = Self(rawValue: "room-full")
    /// The feature is turned off on the server.
    public static let featureOff = Self(rawValue: "feature-off")
    /// The invitation does not exist or no longer exists.
    public static let unknownInvitation = Self(rawValue: "unknown-invitation")
    /// The user can't be added, because they left or accept only invitations: invite them instead.
    public static let invitationRequired = Self(rawValue: "invitation-required")
    /// Encrypted content can't be decrypted here: the key is missing, or the data was altered.
    public static let decryptionFailed = Self(rawValue: "decryption-failed")
    /// The device's local store failed.
    public static let localStorage = Self(rawValue: "local-storage")
}

extension ChatError: Hashable {
    /// Returns whether two errors are equal in everything except their ``cause``.
    public static func == (a: ChatError, b: ChatError) -> Bool {
        a.code == b.code && a.message == b.message && a.parameter == b.parameter && a.limit == b.limit
            && a.retryAfter == b.retryAfter && a.until == b.until && a.reason == b.reason
            && a.isTemporary == b.isTemporary && a.status == b.status
    }

    /// Hashes the code and the message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension ChatError: CustomStringConvertible, LocalizedError {
    /// The code and the message, for logs.
    public var description: String { "\(code): \(message)" }
    /// The message, which is also the `localizedDescription`.
    public var errorDescription: String? { message }
}
