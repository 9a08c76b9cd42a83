package import ScrollbackModel
import Synchronization

/// What an operator sets while the server runs; kept in the store.
package struct ServerSettings: Hashable, Sendable {
    /// How long messages are kept where a conversation does not say otherwise.
    package var retention: RetentionPolicy
    /// How far back counts since a time go where messages are kept for ever, in days; nil for all the way.
    package var countWindowDays: Int?
    /// Whether history can be read back: pages, single messages, actions, counts and search.
    ///
    /// Where it can't, messages still reach everybody, devices that were away too.
    package var allowsHistory: Bool
    /// Whether ranges of history can be deleted.
    package var allowsHistoryDelete: Bool
    /// Whether a message that was recalled or deleted is taken off the unread counts of who has not read it.
    package var recallLowersUnread: Bool
    /// How many days of what a device missed are replayed when it comes back, in conversations that replay; what is older
    /// it reads when somebody looks there.
    package var replayDays = 7
    /// What may be said, who is asked and told of it, and how much of it a room streams.
    package var manners: MannersSettings
    /// What people are told of each other.
    package var people = PeopleSettings()

    /// Who is told by push, and what.
    package var push = PushSettings()

    /// The most bytes of a GIF, and of any other file.
    package var mediaLimits = MediaLimits(gifBytes: 2 << 20, fileBytes: 100 << 20)
    /// The most bytes of a file's thumbnail.
    package var thumbnailBytes = 64 << 10
    /// How many uploads a user may have under way.
    package var openUploads = 50
    /// How long files are kept, whoever refers to them.
    package var mediaRetention = RetentionPolicy.days(180)

    package init(
        retention: RetentionPolicy = .forever, countWindowDays: Int? = 30, allowsHistory: Bool = true,
        allowsHistoryDelete: Bool = true, recallLowersUnread: Bool = true, manners: MannersSettings = .init()
    ) {
        self.retention = retention
        self.countWindowDays = countWindowDays
        self.allowsHistory = allowsHistory
        self.allowsHistoryDelete = allowsHistoryDelete
        self.recallLowersUnread = recallLowersUnread
        self.manners = manners
    }

    /// - Throws: `invalid-parameter` naming what is out of range.
    package func validated() throws(ChatError) -> ServerSettings {
        _ = try retention.validated()
        if let days = countWindowDays, !(1...RetentionPolicy.maximumDays).contains(days) {
            throw .invalidParameter(
                "countWindowDays", "must be in 1...\(RetentionPolicy.maximumDays), or null",
                limit: RetentionPolicy.maximumDays)
        }
        try Self.check(replayDays, "replayDays", in: 0...RetentionPolicy.maximumDays)
        try Self.check(mediaLimits.gifBytes, "gifBytes", in: 1...Self.largestFile)
        try Self.check(mediaLimits.fileBytes, "fileBytes", in: 1...Self.largestFile)
        try Self.check(thumbnailBytes, "thumbnailBytes", in: 1...1 << 20)
        try Self.check(openUploads, "openUploads", in: 1...10_000)
        _ = try mediaRetention.validated("mediaRetentionDays")
        try manners.validate()
        try push.validate()
        return self
    }

    /// A tebibyte.
    private static let largestFile = 1 << 40

    private static func check(_ value: Int, _ name: String, in range: ClosedRange<Int>) throws(ChatError) {
        guard range.contains(value) else {
            throw .invalidParameter(name, "must be in \(range)", limit: range.upperBound)
        }
    }

    /// - Parameter withSecrets: for the store alone.
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
        writer.key("mediaRetentionDays")
        mediaRetention.write(to: &writer)
        people.writeMembers(to: &writer)
        manners.writeMembers(to: &writer, withSecrets: withSecrets)
        writer.key("push")
        push.write(to: &writer, withSecrets: withSecrets)
    }

    /// Takes over one member.
    ///
    /// - Returns: whether it is a setting.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
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
        case "push": if try value.null() { push = push.cleared } else { try push.read(&value) }
        case "mediaRetentionDays": mediaRetention = try RetentionPolicy(from: &value, "mediaRetentionDays")
        default:
            if try people.read(name, &value) { return true }
            return try manners.read(name, &value)
        }
        return true
    }
}

extension RetentionPolicy {
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .days(let days): writer.value(days)
        case .forever: writer.value("forever")
        }
    }

    /// A number of days, or `"forever"`.
    package init(from reader: inout JSONReader, _ parameter: String = "retentionDays") throws(ChatError) {
        if reader.nextIsString {
            guard try reader.string() == "forever" else {
                throw .invalidParameter(parameter, "must be a number of days, or \"forever\"")
            }
            self = .forever
        } else {
            self = try RetentionPolicy.days(reader.number(parameter)).validated(parameter)
        }
    }
}

extension JSONReader {
    fileprivate mutating func number(_ parameter: String) throws(ChatError) -> Int {
        guard let number = Int(exactly: try integer()) else { throw .invalidParameter(parameter, "must be in range") }
        return number
    }
}

/// What is set now, for the log too.
final class SharedSettings: Sendable {
    let value: Mutex<ServerSettings>

    init(_ settings: ServerSettings) {
        value = Mutex(settings)
    }
}

extension Engine {
    /// What is set now.
    package var settings: ServerSettings { current.value.withLock { $0 } }

    /// - Throws: `persistence-disabled` where history is switched off for everyone but administrators.
    func checkHistory(by caller: Caller) throws(ChatError) {
        guard caller.isAdmin || settings.allowsHistory else {
            throw ChatError(.persistenceDisabled, "this server gives no history: its setting allowsHistory is off")
        }
    }

    /// Changes what is set; what the change does not speak of stays.
    package func putSettings(
        by caller: Caller, completion: @escaping Completion<ServerSettings>,
        _ change: @escaping @Sendable (inout ServerSettings) -> Void
    ) {
        guard caller.isAdmin else {
            return completion(.failure(ChatError(.forbidden, "the settings are an administrator's")))
        }
        // Made here, so that the log's writer does not wait for it.
        var preview = settings
        change(&preview)
        do {
            for (service, credentials) in preview.push.services where settings.push.services[service] != credentials {
                try gateway?.check(credentials, for: service)
            }
        } catch {
            return completion(.failure(ChatError(wrapping: error)))
        }
        let words = preview.manners.bannedWords
        let filter = words == settings.manners.bannedWords ? nil : WordFilter(words)
        log.submit(
            { [configured = preview.push.configured] transaction in
                // What another change of the same batch set is in the store, and nowhere else yet.
                var settings = try Self.storedSettings(transaction.store)
                settings.push.configured = configured
                change(&settings)
                settings = try settings.validated()
                var writer = JSONWriter()
                writer.object { settings.writeMembers(to: &$0, withSecrets: true) }
                try transaction.store.put(settings: writer.json)
                let isTold = settings.manners.webhooks.after != nil
                transaction.isTold = isTold
                if !settings.push.isOn { try transaction.store.dropPushes() }
                // Who is told nothing any more is told nothing of the past either.
                return (settings, dropped: isTold ? 0 : try transaction.store.dropDeliveries())
            },
            completion: { [self] result in
                if case .success(let (settings, dropped)) = result {
                    current.value.withLock { known in
                        // What was taken over meanwhile is newer than what the change began with.
                        let configured = known.push.configured
                        known = settings
                        known.push.configured = configured
                    }
                    deliveries.dropped(dropped)
                    follow(settings, filter)
                }
                completion(result.map { $0.0 })
            })
    }

    /// Takes over what the operator's configuration says of push services, which its reader has checked.
    package func configurePush(_ services: [PushService: RawJSON]) {
        current.value.withLock { $0.push.configured = services }
        followPush()
        guard !settings.push.isOn else { return }
        // As where settings take the last service away.
        log.submit(
            { [current] transaction in
                if !current.value.withLock({ $0.push.isOn }) { try transaction.store.dropPushes() }
            }, completion: { _ in })
    }

    static func storedSettings(_ store: any StoreReader) throws -> ServerSettings {
        var settings = ServerSettings()
        guard let text = try store.settings()?.text else { return settings }
        var reader = JSONReader(text)
        try reader.object { (name, value) throws(ChatError) in
            if try !settings.read(name, &value) { try value.skip() }
        }
        return settings
    }
}
