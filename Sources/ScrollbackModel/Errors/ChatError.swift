public import Foundation

/// What went wrong, the same on the device and on the server: a stable code, whether trying again can help, a sentence for
/// a person, and what the sentence is about.
public struct ChatError: Error, Sendable {
    public var code: Code
    /// A sentence for a person.
    ///
    /// It never holds message text or tokens.
    public var message: String
    /// The argument that was wrong.
    public var parameter: String?
    /// The limit that was passed.
    public var limit: Int?
    /// When to try again, in seconds.
    public var retryAfter: TimeInterval?
    /// Whether the same request can succeed later.
    public var isTemporary: Bool
    /// The HTTP status that goes with it.
    public var status: Int
    /// What lay beneath, on this side.
    public var cause: (any Error)?

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
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }

        fileprivate static let table: [Code: (status: Int, isTemporary: Bool)] = [
            .malformed: (400, false), .invalidToken: (401, false), .tokenExpired: (401, false),
            .tokenRevoked: (401, false), .forbidden: (403, false), .notMember: (403, false),
            .unknownConversation: (404, false), .unknownMessage: (404, false), .unknownUser: (404, false),
            .unknownMember: (404, false), .unknownOperation: (404, false), .methodNotAllowed: (405, false),
            .timeout: (408, true), .conflict: (409, false), .epochChanged: (409, false),
            .outOfOrder: (409, false), .expired: (410, false), .tooLarge: (413, false),
            .unsupportedMediaType: (415, false), .invalidParameter: (422, false), .rateLimited: (429, true),
            .internalError: (500, true), .unreachable: (503, true), .overloaded: (503, true),
            .storageFull: (503, true), .shuttingDown: (503, true), .closed: (499, false), .cancelled: (499, false),
            .localStorage: (500, false),
        ]

        var status: Int { Self.table[self]?.status ?? 500 }
        var isTemporary: Bool { Self.table[self]?.isTemporary ?? false }
    }
}

extension ChatError.Code {
    /// Not JSON, or not the JSON that was expected.
    public static let malformed = Self(rawValue: "malformed")
    public static let invalidToken = Self(rawValue: "invalid-token")
    public static let tokenExpired = Self(rawValue: "token-expired")
    public static let tokenRevoked = Self(rawValue: "token-revoked")
    /// Seen, but not allowed.
    public static let forbidden = Self(rawValue: "forbidden")
    public static let notMember = Self(rawValue: "not-member")
    /// Not there, or not visible to whoever asks: the two do not differ.
    public static let unknownConversation = Self(rawValue: "unknown-conversation")
    public static let unknownMessage = Self(rawValue: "unknown-message")
    public static let unknownUser = Self(rawValue: "unknown-user")
    public static let unknownMember = Self(rawValue: "unknown-member")
    public static let unknownOperation = Self(rawValue: "unknown-operation")
    public static let methodNotAllowed = Self(rawValue: "method-not-allowed")
    public static let timeout = Self(rawValue: "timeout")
    /// The id was used for another submission, or by another sender.
    public static let conflict = Self(rawValue: "conflict")
    /// The conversation was made anew, or the store restored: start over with it.
    public static let epochChanged = Self(rawValue: "epoch-changed")
    /// A new message of an import would have to go before the head.
    public static let outOfOrder = Self(rawValue: "out-of-order")
    /// A queued message is older than the time its id is remembered.
    public static let expired = Self(rawValue: "expired")
    public static let tooLarge = Self(rawValue: "too-large")
    public static let unsupportedMediaType = Self(rawValue: "unsupported-media-type")
    public static let invalidParameter = Self(rawValue: "invalid-parameter")
    public static let rateLimited = Self(rawValue: "rate-limited")
    public static let internalError = Self(rawValue: "internal-error")
    /// The server could not be reached from here.
    public static let unreachable = Self(rawValue: "unreachable")
    public static let overloaded = Self(rawValue: "overloaded")
    /// The server's disk is full; reads go on.
    public static let storageFull = Self(rawValue: "storage-full")
    public static let shuttingDown = Self(rawValue: "shutting-down")
    /// The client was closed.
    public static let closed = Self(rawValue: "closed")
    public static let cancelled = Self(rawValue: "cancelled")
    /// This device's own store failed.
    public static let localStorage = Self(rawValue: "local-storage")
}

extension ChatError: Equatable {
    /// Compares what was said, not what lay beneath.
    public static func == (a: ChatError, b: ChatError) -> Bool {
        a.code == b.code && a.message == b.message && a.parameter == b.parameter && a.limit == b.limit
            && a.retryAfter == b.retryAfter && a.isTemporary == b.isTemporary && a.status == b.status
    }
}

extension ChatError: CustomStringConvertible, LocalizedError {
    public var description: String { "\(code): \(message)" }
    public var errorDescription: String? { message }
}
