package import ScrollbackModel
package import ScrollbackWire

/// Changes the server's settings.
package struct PutSettings: ChatOperation {
    package static let endpoint = Endpoint(
        http: .put("/v1/settings"), scope: .admin, callers: .administrator, cost: .write, tag: .server,
        summary: "Change the server's settings",
        details: """
            Settings that are left out stay as they are. A new webhook with the name of one that was just removed \
            fails with 409 `conflict`, until the events of the removed one are deleted.
            """,
        errors: [409], isStrict: true)

    package typealias Answer = GetSettings.Answer

    /// The settings to change, each with a reader that stands at its value.
    private var changes: [(name: String, value: JSONReader)] = []

    package init(from request: inout RequestReader) throws(ChatError) {
        for setting in Self.settings {
            let change = try request.nullable(
                setting.name, setting.schema, example: setting.example, setting.description
            ) { (value) throws(ChatError) in
                let start = value
                try value.skip()
                return start
            }
            guard let change else { continue }
            changes.append((setting.name, change ?? JSONReader("null", field: setting.name)))
        }
    }

    private func apply(to settings: inout ServerSettings) throws(ChatError) {
        for (name, value) in changes {
            var value = value
            _ = try settings.read(name, &value, unknown: .refuse)
        }
    }

    private typealias Setting = (name: String, schema: JSONSchema, example: String, description: String)

    private static func quota(_ quota: Quota, _ example: String, _ description: String) -> Setting {
        (quota.setting, .integer(1...1 << 50), example, description + " `null` removes the limit.")
    }

    /// The settings' descriptions.
    ///
    /// ``ServerSettings`` reads the values.
    private static let settings: [Setting] = [
        (
            "retentionDays", .component("Retention"), "30",
            "How long messages are kept in conversations without a setting of their own."
        ),
        (
            "countWindowDays", .integer(1...RetentionPolicy.maximumDays), "30",
            "How many days message counts go back if messages are kept forever. `null` removes the limit."
        ),
        ("allowsHistory", .boolean, "true", "Whether clients can read history. Messages are delivered in either case."),
        ("allowsHistoryDelete", .boolean, "true", "Whether clients can delete ranges of history."),
        ("recallLowersUnread", .boolean, "true", "Whether deleting an unread message lowers unread counts."),
        (
            "replayDays", .integer(0...RetentionPolicy.maximumDays), "7",
            "How many days of missed messages a reconnecting device gets. It fetches older ones when it shows them."
        ),
        ("gifBytes", .integer(1...1 << 40), "2097152", "The maximum size of a GIF file in bytes."),
        ("fileBytes", .integer(1...1 << 40), "104857600", "The maximum size of any other file in bytes."),
        ("thumbnailBytes", .integer(1...1 << 20), "65536", "The maximum size of a thumbnail in bytes."),
        ("openUploads", .integer(1...10_000), "50", "How many unfinished uploads a user can have."),
        (
            "auditDays", .integer(1...RetentionPolicy.maximumDays), "365",
            "How many days the server keeps the acts of administrators and moderators."
        ),
        quota(.groups, "500", "How many groups, communities and channels a user can create in a day."),
        quota(
            .members, "10000", "How many users a user can add, invite or begin a direct conversation with in a day."
        ),
        quota(.fileBytes, "5368709120", "How many bytes of files a user can upload in a day."),
        quota(.messageBytes, "268435456", "How many bytes of messages and settings a user can write in a day."),
        ("mediaRetentionDays", .component("Retention"), "180", "How long files are kept."),
        ("readReceipts", .boolean, "true", "Whether users can see who has read a message."),
        ("presence", .boolean, "false", "Whether users can see the presence of users who share it."),
        (
            "directory", .choice(Directory.allCases.map(\.rawValue)), #""nobody""#,
            "Which users a search of the directory finds."
        ),
        (
            "notices", .boolean, "false",
            "Whether changes to a group's members and settings appear in its history as messages of type `notice`."
        ),
        (
            "roomMessagesPerSecond", .integer(1...10_000), "100",
            "How many messages per second the server streams from one room."
        ),
        (
            "bannedWords", .component("BannedWords"), #"{"words":["darn"],"action":"replace"}"#,
            "`null` removes all words."
        ),
        (
            "webhooks", .component("Webhooks"),
            #"{"after":{"url":"https://example.com/hook","secret":"0123456789abcdef"}}"#, "`null` removes all webhooks."
        ),
        ("push", .component("PushSettings"), #"{"intervalSeconds":10}"#, "`null` removes all push settings."),
    ]
}

extension PutSettings: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        let engine = context.engine
        do throws(ChatError) {
            var settings = engine.settings
            try apply(to: &settings)
            _ = try settings.validated()
        } catch {
            return completion(.failure(error))
        }
        engine.putSettings(
            by: context.caller, names: changes.map(\.name),
            completion: { result in
                if case .success = result { context.startCleanup() }
                completion(result.map { Answer(settings: $0) })
            }
        ) { settings in
            // Applied a second time to the stored settings, which another request of the batch may have changed.
            try? apply(to: &settings)
        }
    }
}
