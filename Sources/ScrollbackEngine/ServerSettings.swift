package import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Settings that administrators change while the server runs; the store persists them.
package struct ServerSettings: Hashable, Sendable {
    /// How long messages are retained in conversations without their own retention policy.
    package var retention: RetentionPolicy
    /// How many days message counts cover in conversations that retain messages forever; `nil` for all messages.
    package var countWindowDays: Int?
    /// Whether users can read the history: pages, single messages, actions, counts and search.
    ///
    /// If not, messages are still delivered, including to devices that were offline.
    package var allowsHistory: Bool
    /// Whether ranges of the history can be deleted.
    package var allowsHistoryDelete: Bool
    /// Whether deleting a message lowers the unread counts of users who have not read it.
    package var recallLowersUnread: Bool
    /// How many days of missed messages a device receives automatically when it reconnects; older messages are fetched
    /// on demand.
    package var replayDays = 7
    /// The settings for moderation filters, webhooks and the rate limit of rooms.
    package var moderation: ModerationSettings
    /// The settings for read receipts, presence and notices.
    package var people = PeopleSettings()

    /// The push settings.
    package var push = PushSettings()

    /// The maximum size of GIFs and of other files, in bytes.
    package var mediaLimits = MediaLimits(gifBytes: 2 << 20, fileBytes: 100 << 20)
    /// The maximum size of a file's thumbnail, in bytes.
    package var thumbnailBytes = 64 << 10
    /// The maximum number of open uploads per user.
    package var openUploads = 50
    /// What each user may add in one day.
    package var quotas = QuotaSettings()
    /// How many days the server keeps entries of the audit log.
    package var auditDays = 365
    /// How long files are retained, whether or not messages refer to them.
    package var mediaRetention = RetentionPolicy.days(180)

    package init(
        retention: RetentionPolicy = .forever, countWindowDays: Int? = 30, allowsHistory: Bool = true,
        allowsHistoryDelete: Bool = true, recallLowersUnread: Bool = true, moderation: ModerationSettings = .init()
    ) {
        self.retention = retention
        self.countWindowDays = countWindowDays
        self.allowsHistory = allowsHistory
        self.allowsHistoryDelete = allowsHistoryDelete
        self.recallLowersUnread = recallLowersUnread
        self.moderation = moderation
    }

    /// Checks all settings and returns them.
    ///
    /// - Throws: `invalid-parameter` with the name of a setting that is out of range.
    package func validated() throws(ChatError) -> ServerSettings {
        _ = try retention.validated()
        if let days = countWindowDays, !(1...RetentionPolicy.maximumDays).contains(days) {
            throw .invalidParameter(
                "countWindowDays", "must be in 1...\(RetentionPolicy.maximumDays) or null",
                limit: RetentionPolicy.maximumDays)
        }
        try Self.check(replayDays, "replayDays", in: 0...RetentionPolicy.maximumDays)
        try Self.check(mediaLimits.gifBytes, "gifBytes", in: 1...Self.largestFile)
        try Self.check(mediaLimits.fileBytes, "fileBytes", in: 1...Self.largestFile)
        try Self.check(thumbnailBytes, "thumbnailBytes", in: 1...1 << 20)
        try Self.check(openUploads, "openUploads", in: 1...10_000)
        try Self.check(auditDays, "auditDays", in: 1...RetentionPolicy.maximumDays)
        _ = try mediaRetention.validated("mediaRetentionDays")
        try quotas.validate()
        try moderation.validate()
        try push.validate()
        return self
    }

    /// One tebibyte.
    private static let largestFile = 1 << 40

    private static func check(_ value: Int, _ name: String, in range: ClosedRange<Int>) throws(ChatError) {
        guard range.contains(value) else {
            throw .invalidParameter(name, "must be in \(range)", limit: range.upperBound)
        }
    }

    /// Writes the settings as members of a JSON object.
    ///
    /// - Parameter withSecrets: Whether to include secrets, which only the store may contain.
    package func writeMembers(to writer: inout JSONWriter, withSecrets: Bool = false) {
        writer.key("retentionDays")
        retention.write(to: &writer)
        writer.key("countWindowDays")
        if let countWindowDays { writer.value(countWindowDays) } else { writer.value(RawJSON(known: "null")) }
        writer.field("allowsHistory", allowsHistory)
        writer.field("allowsHistoryDelete", allowsHistoryDelete)
        writer.field("recallLowersUnread", recallLowersUnread)
        writer.field("replayDays", replayDays)
        writer.field("gifBytes", mediaLimits.gifBytes)
        writer.field("fileBytes", mediaLimits.fileBytes)
        writer.field("thumbnailBytes", thumbnailBytes)
        writer.field("openUploads", openUploads)
        writer.field("auditDays", auditDays)
        quotas.writeMembers(to: &writer)
        writer.key("mediaRetentionDays")
        mediaRetention.write(to: &writer)
        people.writeMembers(to: &writer)
        moderation.writeMembers(to: &writer, withSecrets: withSecrets)
        writer.key("push")
        push.write(to: &writer, withSecrets: withSecrets)
    }

    /// Reads the settings that the server stored; settings that it did not store keep their defaults.
    ///
    /// - Throws: `invalid-parameter` for a value of a newer version, without which pushes or webhooks could be lost.
    init(from reader: inout JSONReader) throws(ChatError) {
        self.init()
        do throws(ChatError) {
            try reader.object { (name, value) throws(ChatError) in
                if try !read(name, &value, unknown: .skip) { try value.skip() }
            }
        } catch {
            throw .invalidParameter(
                "store",
                "has settings that this version of the server can't read (\(error.message)). Start the newer version "
                    + "that stored them")
        }
    }

    /// Checks that the settings have all members of those from which they were read.
    ///
    /// - Throws: `conflict` if a newer version of the server stored members that this one would drop.
    fileprivate func checkHasAll(of stored: RawJSON?) throws(ChatError) {
        guard let stored else { return }
        var writer = JSONWriter()
        writer.object { writeMembers(to: &$0, withSecrets: true) }
        let newer = try Self.names(in: stored).subtracting(Self.names(in: writer.json))
        guard newer.isEmpty else {
            throw ChatError(
                .conflict,
                "The settings \(newer.sorted().joined(separator: ", ")) are those of a newer version of the server. "
                    + "Change settings when all nodes have that version.")
        }
    }

    /// Returns the names of all members of an object and of the objects in it, such as `push.link`.
    private static func names(in json: RawJSON, after prefix: String = "") throws(ChatError) -> Set<String> {
        var names: Set<String> = []
        var reader = JSONReader(json.text)
        try reader.object { (name, value) throws(ChatError) in
            let json = try value.raw()
            names.insert(prefix + name)
            if json.isObject { names.formUnion(try Self.names(in: json, after: "\(prefix)\(name).")) }
        }
        return names
    }

    /// Reads one JSON member.
    ///
    /// - Parameter unknown: What happens to members of the value that are not settings.
    /// - Returns: Whether `name` is a setting.
    package mutating func read(
        _ name: String, _ value: inout JSONReader, unknown: UnknownSettings
    ) throws(ChatError) -> Bool {
        switch name {
        case "retentionDays": retention = try RetentionPolicy(from: &value)
        case "countWindowDays": countWindowDays = try value.null() ? nil : value.number("countWindowDays")
        case "allowsHistory": allowsHistory = try value.bool()
        case "allowsHistoryDelete": allowsHistoryDelete = try value.bool()
        case "recallLowersUnread": recallLowersUnread = try value.bool()
        case "replayDays": replayDays = try value.number("replayDays")
        case "gifBytes": mediaLimits.gifBytes = try value.number("gifBytes")
        case "fileBytes": mediaLimits.fileBytes = try value.number("fileBytes")
        case "thumbnailBytes": thumbnailBytes = try value.number("thumbnailBytes")
        case "openUploads": openUploads = try value.number("openUploads")
        case "auditDays": auditDays = try value.number("auditDays")
        case "push":
            if try value.null() { push = push.cleared } else { try push.read(&value, unknown: unknown) }
        case "mediaRetentionDays": mediaRetention = try RetentionPolicy(from: &value, "mediaRetentionDays")
        default:
            if try people.read(name, &value) { return true }
            if try quotas.read(name, &value) { return true }
            return try moderation.read(name, &value, unknown: unknown)
        }
        return true
    }
}

extension JSONReader {
    fileprivate mutating func number(_ parameter: String) throws(ChatError) -> Int {
        guard let number = Int(exactly: try integer()) else { throw .invalidParameter(parameter, "must be in range") }
        return number
    }
}

/// The current settings, shared with the log.
final class SharedSettings: Sendable {
    let value: Mutex<ServerSettings>
    /// The newest commit whose settings were applied.
    let commit = Mutex<Int64>(0)

    init(_ settings: ServerSettings) {
        value = Mutex(settings)
    }
}

extension Engine {
    /// The current settings.
    package var settings: ServerSettings { current.value.withLock { $0 } }

    /// Checks that the caller may read the history.
    ///
    /// - Throws: `persistence-disabled` if history is turned off and the caller is not an administrator.
    func checkHistory(by caller: Caller) throws(ChatError) {
        guard caller.isAdmin || settings.allowsHistory else {
            throw ChatError(.persistenceDisabled, "Reading history is turned off (setting allowsHistory).")
        }
    }

    /// Changes settings; settings that the change does not affect stay.
    ///
    /// - Parameter names: The names of the changed settings, for the audit log.
    package func putSettings(
        by caller: Caller, names: [String] = [], completion: @escaping Completion<ServerSettings>,
        _ change: @escaping @Sendable (inout ServerSettings) -> Void
    ) {
        do {
            try caller.checkIsAdministrator("Changing settings")
        } catch {
            return completion(.failure(error))
        }
        // Built here, so that the writer thread does not wait for it.
        var preview = settings
        change(&preview)
        do {
            for (service, credentials) in preview.push.services where settings.push.services[service] != credentials {
                try gateway?.check(credentials, for: service)
            }
        } catch {
            return completion(.failure(ChatError(wrapping: error)))
        }
        let words = preview.moderation.bannedWords
        let filter = words == settings.moderation.bannedWords ? nil : WordFilter(words)
        commits.submit(
            for: WorkOwner(caller),
            { [configured = preview.push.configured] transaction in
                // Another change of the same batch may have updated the stored settings but not the current ones.
                var settings = try Self.storedSettings(transaction.store)
                try settings.checkHasAll(of: transaction.store.settings())
                settings.push.configured = configured
                let earlier = settings.moderation.webhooks
                change(&settings)
                settings = try settings.validated()
                let webhooks = settings.moderation.webhooks
                try transaction.checkNewWebhooks(webhooks, besides: earlier)
                var writer = JSONWriter()
                writer.object { settings.writeMembers(to: &$0, withSecrets: true) }
                try transaction.store.put(settings: writer.json)
                try transaction.audit(.changeSettings, by: caller, detail: names.joined(separator: ", "))
                transaction.publish(.settingsChanged(settings))
                transaction.webhooks = webhooks
                if !settings.push.isOn { try transaction.store.dropPushes() }
                // When a webhook is removed, its deliveries are deleted. The maintenance deletes what this step leaves.
                try transaction.dropDeliveries(exceptTo: webhooks)
                return (settings: settings, commit: transaction.commit)
            },
            completion: { [self] result in
                if case .success(let new) = result { replaceSettings(new.settings, of: new.commit, filter) }
                completion(result.map(\.settings))
            })
    }

    /// Replaces the current settings after a commit changed them, unless they are those of a later commit.
    ///
    /// - Parameter prepared: A filter built in advance, which is used if it matches the settings.
    func replaceSettings(_ settings: ServerSettings, of commit: Int64, _ prepared: WordFilter? = nil) {
        current.commit.withLock { newest in
            guard commit >= newest else { return }
            newest = commit
            current.value.withLock { known in
                // The configuration belongs to this server, and may have changed since the change began.
                let configured = known.push.configured
                known = settings
                known.push.configured = configured
            }
            apply(settings, prepared)
        }
    }

    /// Applies the push services of the configuration file, which the caller has validated.
    package func configurePush(_ services: [PushService: RawJSON]) {
        current.value.withLock { $0.push.configured = services }
        updatePushState()
        guard !settings.push.isOn else { return }
        // As when a change of settings removes the last service.
        commits.submit(
            for: .server,
            { [current] transaction in
                if !current.value.withLock({ $0.push.isOn }) { try transaction.store.dropPushes() }
            }, completion: { _ in })
    }

    static func storedSettings(_ store: any StoreReader) throws -> ServerSettings {
        guard let text = try store.settings()?.text else { return ServerSettings() }
        var reader = JSONReader(text)
        return try ServerSettings(from: &reader)
    }
}
