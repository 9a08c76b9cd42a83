import ScrollbackModel

/// What a user may add to the store in one day.
package enum Quota: Int, CaseIterable, Sendable {
    /// Groups, communities and channels that the user creates, and taken names that the user tries.
    case groups
    /// Other users that the user adds, invites or starts a direct conversation with. Users that the user bans count
    /// too, if they never were members.
    case members
    /// Bytes of files that the user uploads.
    case fileBytes
    /// Bytes of messages, edits, reactions, reports, conversation settings and notices that the user writes.
    case messageBytes

    /// The name of the setting.
    package var setting: String {
        switch self {
        case .groups: "groupsPerDay"
        case .members: "membersPerDay"
        case .fileBytes: "fileBytesPerDay"
        case .messageBytes: "messageBytesPerDay"
        }
    }

    /// Describes the limit in an error, for example "create at most 500 groups".
    func rule(_ limit: Int64) -> String {
        switch self {
        case .groups: "create at most \(limit) groups, communities and channels"
        case .members: "add, invite or ban at most \(limit) users, or begin direct conversations with them,"
        case .fileBytes: "upload at most \(limit) bytes of files"
        case .messageBytes: "write at most \(limit) bytes of messages and settings"
        }
    }

    /// Describes in an error how a request can succeed.
    ///
    /// - Parameters:
    ///   - amount: What the request adds.
    ///   - rest: What the user can still add today.
    func advice(adding amount: Int64, rest: Int64, limit: Int64) -> String {
        switch self {
        case .members where amount > limit:
            "This request adds \(amount) users: name fewer, or ask an administrator to raise the setting."
        case .members where rest > 0:
            "This request adds \(amount) users, and \(rest) are left: name fewer, or try again after 00:00 UTC."
        default: "Try again after 00:00 UTC."
        }
    }
}

/// The daily limits of each user; administrators have none.
package struct QuotaSettings: Hashable, Sendable {
    private var limits: [Quota: Int64?]

    /// The standard limits, far above what people do in a day.
    package init() {
        limits = [.groups: 500, .members: 10_000, .fileBytes: 5 << 30, .messageBytes: 256 << 20]
    }

    /// The limit, or `nil` for none.
    package subscript(quota: Quota) -> Int64? {
        get { limits[quota] ?? nil }
        set { limits[quota] = .some(newValue) }
    }

    private static let range: ClosedRange<Int64> = 1...1 << 50

    func validate() throws(ChatError) {
        for quota in Quota.allCases {
            guard let limit = self[quota], !Self.range.contains(limit) else { continue }
            throw .invalidParameter(
                quota.setting, "must be in \(Self.range), or null for no limit", limit: Int(Self.range.upperBound))
        }
    }

    func writeMembers(to writer: inout JSONWriter) {
        for quota in Quota.allCases {
            writer.key(quota.setting)
            if let limit = self[quota] { writer.value(limit) } else { writer.value(RawJSON(known: "null")) }
        }
    }

    /// Reads one JSON member.
    ///
    /// - Returns: Whether `name` is one of these settings.
    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        guard let quota = Quota.allCases.first(where: { $0.setting == name }) else { return false }
        self[quota] = try value.null() ? nil : value.integer()
        return true
    }
}
