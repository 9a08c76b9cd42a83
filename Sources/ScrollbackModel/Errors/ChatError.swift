public import Foundation

/// What went wrong, the same on the device and on the server: a stable code, whether trying again can help, a sentence for
/// a person, and what the sentence is about.
public struct ChatError: Error, Sendable {
    /// What went wrong, for programs: what to branch on.
    public var code: Code
    /// A sentence for a person.
    ///
    /// It never holds message text or tokens.
    public var message: String
    /// The argument that was wrong, by its name in the protocol or the call.
    public var parameter: String?
    /// The limit that was exceeded, in the unit the message names: bytes, elements, messages a second.
    public var limit: Int?
    /// When to try again, in seconds from now.
    public var retryAfter: TimeInterval?
    /// When what keeps the request from succeeding ends by itself, such as a ban.
    public var until: Date?
    /// Why, in the words of who decided it, such as a moderator who bans somebody.
    public var reason: String?
    /// Whether the same request can succeed later.
    public var isTemporary: Bool
    /// The HTTP status that goes with it.
    public var status: Int
    /// What lay beneath, on this side.
    public var cause: (any Error)?

    /// An error whose status, and whether it is temporary, follow from its code.
    ///
    /// A code this version does not list has status 500 and is not temporary.
    public init(
        _ code: Code, _ message: String, parameter: String? = nil, limit: Int? = nil, retryAfter: TimeInterval? = nil,
        cause: (any Error)? = nil
    ) {
        self.init(
            code: code, message: message, parameter: parameter, limit: limit, retryAfter: retryAfter,
            isTemporary: code.isTemporary, status: code.status, cause: cause)
    }

    /// An error another side described, whose code may be newer than this version.
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
    /// A stable kebab-case name.
    ///
    /// Newer servers may send codes this version does not list.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// As it travels, for example `unknown-conversation`.
        public let rawValue: String

        /// A code by its name, whether this version lists it or not.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name as it travels.
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
            .unknownInvitation: (404, false), .banned: (403, false), .userDeactivated: (403, false),
            .unknownReport: (404, false), .unknownJob: (404, false), .decryptionFailed: (422, false),
        ]

        var status: Int { Self.table[self]?.status ?? 500 }
        var isTemporary: Bool { Self.table[self]?.isTemporary ?? false }
    }
}

extension ChatError.Code {
    /// Not JSON, or not the JSON that was expected.
    public static let malformed = Self(rawValue: "malformed")
    /// There is no token, it can't be verified, or it is another user's: a fresh one is needed.
    public static let invalidToken = Self(rawValue: "invalid-token")
    /// The token's time is over: a fresh one is needed.
    public static let tokenExpired = Self(rawValue: "token-expired")
    /// The user's tokens were revoked, or the server signed this device out.
    public static let tokenRevoked = Self(rawValue: "token-revoked")
    /// Seen, but not allowed.
    public static let forbidden = Self(rawValue: "forbidden")
    /// It takes a member: whoever asks has left, or sees the conversation without being one.
    public static let notMember = Self(rawValue: "not-member")
    /// Not there, or not visible to whoever asks: the two do not differ.
    public static let unknownConversation = Self(rawValue: "unknown-conversation")
    /// The message is not there or not visible to whoever asks; of a question to this device, not here.
    public static let unknownMessage = Self(rawValue: "unknown-message")
    /// The file is not there or not visible to whoever asks: the two do not differ.
    public static let unknownMedia = Self(rawValue: "unknown-media")
    /// The upload is not there, was given up, or is somebody else's.
    public static let unknownUpload = Self(rawValue: "unknown-upload")
    /// The file is larger than its type may be, which `limit` says in bytes.
    public static let mediaTooLarge = Self(rawValue: "media-too-large")
    /// The file is not what it was said to be, or no device could show it.
    public static let invalidMedia = Self(rawValue: "invalid-media")
    /// The user has no profile.
    public static let unknownUser = Self(rawValue: "unknown-user")
    /// Who is to be put out, or into a private channel, is not a member of the conversation or its community.
    public static let unknownMember = Self(rawValue: "unknown-member")
    /// Nothing is at this path, or the server knows no request of this type.
    public static let unknownOperation = Self(rawValue: "unknown-operation")
    /// The path is there, but not with this HTTP method; the `Allow` header lists those it has.
    public static let methodNotAllowed = Self(rawValue: "method-not-allowed")
    /// The server did not answer within 20 seconds; what was asked may have been done.
    public static let timeout = Self(rawValue: "timeout")
    /// The id was used for another submission, or by another sender; or a message to be cancelled is in flight.
    public static let conflict = Self(rawValue: "conflict")
    /// The conversation was made anew, or the store restored: start over with it.
    public static let epochChanged = Self(rawValue: "epoch-changed")
    /// A new message of an import would have to go before the head.
    public static let outOfOrder = Self(rawValue: "out-of-order")
    /// A queued message is older than the 180 days its id is remembered: sent again, it might be there twice.
    public static let expired = Self(rawValue: "expired")
    /// A body, a content or an attribute is above its limit, which `limit` gives in bytes.
    public static let tooLarge = Self(rawValue: "too-large")
    /// The body is not declared as `application/json`.
    public static let unsupportedMediaType = Self(rawValue: "unsupported-media-type")
    /// The app's own uploader failed, and not for now.
    public static let uploadFailed = Self(rawValue: "upload-failed")
    /// An argument does not have the shape or the range it must have; `parameter` names it.
    public static let invalidParameter = Self(rawValue: "invalid-parameter")
    /// The user sent more than the server takes of one; `retryAfter` says how long to wait.
    public static let rateLimited = Self(rawValue: "rate-limited")
    /// The server failed, or gave an answer that makes no sense: no fault of the request.
    public static let internalError = Self(rawValue: "internal-error")
    /// The server could not be reached from here.
    public static let unreachable = Self(rawValue: "unreachable")
    /// Too many writes are waiting at the server; this one was not carried out.
    public static let overloaded = Self(rawValue: "overloaded")
    /// The server's disk is full; reads go on.
    public static let storageFull = Self(rawValue: "storage-full")
    /// The server is stopping, or takes no requests yet.
    public static let shuttingDown = Self(rawValue: "shutting-down")
    /// The client was closed, or another connection of this device took its place.
    public static let closed = Self(rawValue: "closed")
    /// A message whose delivery was awaited was cancelled, or sent without being stored.
    public static let cancelled = Self(rawValue: "cancelled")
    /// Another page of the same pager is being read.
    public static let queryInProgress = Self(rawValue: "query-in-progress")
    /// The server's operator has switched history off; messages are delivered all the same.
    public static let persistenceDisabled = Self(rawValue: "persistence-disabled")
    /// The peer of a direct conversation has blocked whoever asks.
    public static let blocked = Self(rawValue: "blocked")
    /// Whoever asks may not write there now: they were muted, until `retryAfter` where that is given, or the conversation
    /// is frozen.
    public static let muted = Self(rawValue: "muted")
    /// Whoever asks was banned from the conversation, or from the server: until `until` where that is given.
    public static let banned = Self(rawValue: "banned")
    /// The user was deactivated by an administrator, or is being erased: no token of theirs is taken.
    public static let userDeactivated = Self(rawValue: "user-deactivated")
    /// There is no report with this number.
    public static let unknownReport = Self(rawValue: "unknown-report")
    /// There is no job with this number.
    public static let unknownJob = Self(rawValue: "unknown-job")
    /// The server's filter, or its operator's own program, does not let this content pass.
    public static let contentRejected = Self(rawValue: "content-rejected")
    /// As many as the room takes are in it: try again later.
    public static let roomFull = Self(rawValue: "room-full")
    /// The server's operator has switched off what was asked for, or did not switch it on.
    public static let featureOff = Self(rawValue: "feature-off")
    /// Nobody of that name is invited there, or not any more.
    public static let unknownInvitation = Self(rawValue: "unknown-invitation")
    /// What an app's key has encrypted can't be read here: the key is not there, or what came is not what was encrypted.
    public static let decryptionFailed = Self(rawValue: "decryption-failed")
    /// This device's own store failed.
    public static let localStorage = Self(rawValue: "local-storage")
}

extension ChatError: Hashable {
    /// Compares what was said, not what lay beneath.
    public static func == (a: ChatError, b: ChatError) -> Bool {
        a.code == b.code && a.message == b.message && a.parameter == b.parameter && a.limit == b.limit
            && a.retryAfter == b.retryAfter && a.until == b.until && a.reason == b.reason
            && a.isTemporary == b.isTemporary && a.status == b.status
    }

    /// Hashes its code and its sentence.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension ChatError: CustomStringConvertible, LocalizedError {
    /// The code and the sentence, for logs.
    public var description: String { "\(code): \(message)" }
    /// The sentence for a person, which is `localizedDescription` too.
    public var errorDescription: String? { message }
}
