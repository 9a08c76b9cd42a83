import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import SQLiteSupport

/// Rows for every table with text columns. Each text contains a word that occurs nowhere else.
struct EncryptedStoreSamples {
    static let words = [
        "user-name", "user-avatar", "user-metadata", "conversation-name", "conversation-avatar",
        "conversation-metadata", "span-name", "span-avatar",
        "message-content", "message-metadata", "message-extra", "message-push", "mention-text", "action-value",
        "summary-value", "media-name", "upload-name", "ban-reason", "report-content", "report-text", "report-note",
        "draft-body", "scheduled-body", "delivery-body", "device-p256dh", "device-auth", "push-body", "retry-body",
        "settings-value",
    ].map { "sealed-\($0)-🍋" }

    static func word(_ name: String) -> String { "sealed-\(name)-🍋" }

    private static let at = Date(timeIntervalSince1970: 1_795_255_260)

    private static func json(_ name: String) -> RawJSON { RawJSON(known: #"{"text":"\#(word(name))"}"#) }

    /// Writes all rows.
    ///
    /// - Returns: The conversation's number.
    @discardableResult
    static func write(to store: SQLiteStore) throws -> Int64 {
        try store.write { store, commit in
            var user = UserRow(profile: UserProfile(id: "alice"), rev: 1)
            user.profile.name = word("user-name")
            user.profile.avatar = word("user-avatar")
            user.profile.metadata = json("user-metadata")
            try store.put(user)
            var row = ConversationRow(id: .group("g"), salt: 7, createdAt: at)
            row.name = word("conversation-name")
            row.avatar = word("conversation-avatar")
            row.metadata = json("conversation-metadata")
            row.head = 1
            row.countedIndex = 1
            row.lastCommit = commit
            try store.put(&row)
            try store.insert(message, in: row.number)
            let end = SpanRow.End(
                time: Timetoken(rawValue: 9), rev: 1, isVoluntary: true, name: word("span-name"),
                avatar: word("span-avatar"))
            try store.put(SpanRow(joined: 0, left: 1, end: end), of: "bob", in: row.number)
            try store.insert(
                ActionRow(
                    seq: 1, timetoken: Timetoken(rawValue: .max - 5), sender: "alice", type: "reaction",
                    value: word("action-value")), in: row.number)
            var media = MediaRow(
                id: MediaID(message.id.uuid), owner: "alice", conversation: .group("g"), type: .file,
                mediaType: "text/plain", size: 1, blob: BlobID(of: [1]), createdAt: at)
            media.name = word("media-name")
            try store.put(media)
            guard let upload = UploadID("AAAAAAAAAAAAAAAAAAAAAAAA") else { return 0 }
            try store.put(
                UploadRow(
                    id: upload, media: media.id, owner: "alice", conversation: .group("g"), type: .file,
                    name: word("upload-name"), touchedAt: at))
            try store.put(
                BanRow(
                    conversation: row.number,
                    ban: Ban(id: "bob", until: nil, reason: word("ban-reason"), by: "root", at: at)))
            var reported = message
            reported.content = json("report-content")
            var report = ReportRow(
                conversation: row.number, message: reported, reporter: "carol", reason: .init(rawValue: "app:x"),
                text: word("report-text"), at: at)
            try store.put(&report)
            report.note = word("report-note")
            try store.put(&report)
            try store.put(DraftRow(conversation: row.id, body: json("draft-body"), rev: 1), of: "alice")
            try store.put(
                ScheduledRow(
                    user: "alice", id: MessageID(high: 3, low: 3), conversation: row.id, sendAt: .distantPast,
                    body: json("scheduled-body")))
            try store.insertDelivery(
                DeliveryRow("message", to: "after", of: row.number, body: json("delivery-body")))
            try store.put(
                PushDeviceRow(
                    user: "alice",
                    device: PushDevice(
                        id: "browser", service: .web, token: "https://push.example.com/1",
                        keys: WebPushKeys(p256dh: word("device-p256dh"), auth: word("device-auth"))),
                    registeredAt: at))
            try store.insertPush(.message, at: 1, of: row.number, body: json("push-body"))
            var retry = PushRetryRow(
                user: "alice", device: "browser",
                push: PushRow(
                    number: 1, conversation: row.number, kind: .message, seq: 1, body: json("retry-body")),
                attempts: 1, notBefore: at, firstTriedAt: at)
            try store.put(&retry)
            try store.put(settings: json("settings-value"))
            return row.number
        }
    }

    private static let message: MessageRow = {
        var attributes = MessageAttributes()
        attributes.metadata = json("message-metadata")
        attributes.extra = json("message-extra")
        attributes.push = json("message-push")
        attributes.mentions = Mentions(everyone: false, users: ["bob"], pushText: word("mention-text"))
        var row = MessageRow(
            seq: 1, countedIndex: 1, timetoken: Timetoken(rawValue: 17_000_000_000_000_000),
            id: MessageID(high: 1, low: 2),
            sender: "alice", type: .text, content: json("message-content"), attributes: attributes, digest: 7)
        row.actions = [ActionSummary(type: "reaction", value: word("summary-value"), count: 1, senders: ["alice"])]
        return row
    }()

    /// Returns everything that ``write(to:)`` wrote, as the store reads it.
    static func read(from store: SQLiteStore) throws -> [String] {
        try store.read { store in
            let row = try store.conversation(.group("g"))
            let number = row?.number ?? 0
            let values: [Any?] = [
                try store.user("alice"), row, try store.message(at: 1, in: number),
                try store.message(MessageID(high: 1, low: 2), in: number), try store.spans(of: "bob", in: number),
                try store.actions(at: nil, in: number, after: nil, limit: 9),
                try store.actions(at: 1, by: "alice", in: number),
                try store.media(of: "alice", after: nil, limit: 9),
                try store.uploads(touchedBefore: .distantFuture, limit: 9),
                try store.bans(in: number, after: nil, limit: 9), try store.reports(isOpen: nil, below: .max, limit: 9),
                try store.deliveries(to: "after", of: number, limit: 9), try store.pushDevices(of: "alice"),
                try store.pushes(of: number, limit: 9), try store.pushRetries(dueBy: .distantFuture, limit: 9),
                try store.settings(),
            ]
            return values.map { value in value.map { String(describing: $0) } ?? "nothing" }
        }
    }
}

extension URL {
    /// Returns the names of the files below the directory that contain a text.
    func files(holding text: String) -> [String] {
        let needle = Data(text.utf8)
        return files().filter { (try? Data(contentsOf: $0))?.range(of: needle) != nil }.map(\.lastPathComponent)
    }

    func files() -> [URL] {
        let found = FileManager.default.enumerator(at: self, includingPropertiesForKeys: [.isRegularFileKey])
        return (found?.allObjects as? [URL] ?? []).filter {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true
        }
    }
}

extension StoreKeys {
    /// Returns keys that are the same in every run, the newest first. The number 0 is `plain`.
    static func sample(_ numbers: Int...) -> StoreKeys {
        let lines = numbers.map { number in
            number == 0 ? "plain" : Data(repeating: UInt8(number), count: 32).base64EncodedString()
        }
        do {
            return try StoreKeys(text: lines.joined(separator: "\n"))
        } catch {
            fatalError("\(error)")
        }
    }
}
