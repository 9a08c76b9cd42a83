import Foundation
import ScrollbackModel

/// The settings of the administrator's webhooks, which are called before and after messages are stored.
package struct WebhookSettings: Hashable, Sendable {
    /// The moderation webhook, called before a message or an edit is stored.
    package struct Before: Hashable, Sendable {
        /// What happens to a message if the webhook gives no valid answer in time.
        package enum OnFailure: String, CaseIterable, Sendable {
            case allow, reject
        }

        package var url: String
        package var secret: String
        package var timeoutSeconds: Double
        package var onFailure: OnFailure

        package init(url: String, secret: String, timeoutSeconds: Double = 2, onFailure: OnFailure = .allow) {
            self.url = url
            self.secret = secret
            self.timeoutSeconds = timeoutSeconds
            self.onFailure = onFailure
        }
    }

    /// A webhook that receives events after they were stored.
    package struct After: Hashable, Sendable {
        package var url: String
        package var secret: String
        package var events: Set<WebhookEvent.Kind>

        package init(url: String, secret: String, events: Set<WebhookEvent.Kind> = WebhookEvent.Kind.standard) {
            self.url = url
            self.secret = secret
            self.events = events
        }
    }

    package var before: Before?
    package var after: After?
    /// Further webhooks by their names.
    package var subscriptions: [String: After]
    /// How many hours the server keeps delivered events, so that they can be delivered again; 0 for none.
    package var logHours: Int

    /// The name under which ``after`` is in the delivery log.
    private static let nameOfAfter = "after"
    private static let maximumSubscriptions = 20
    private static let maximumNameBytes = 32
    private static let maximumLogHours = 168

    package init(
        before: Before? = nil, after: After? = nil, subscriptions: [String: After] = [:], logHours: Int = 24
    ) {
        self.before = before
        self.after = after
        self.subscriptions = subscriptions
        self.logHours = logHours
    }

    /// All webhooks that receive events, by their names.
    var receivers: [String: After] {
        var all = subscriptions
        all[Self.nameOfAfter] = after
        return all
    }

    /// Writes the settings as JSON; secrets are included only for the store and never returned to clients.
    func write(to writer: inout JSONWriter, withSecrets: Bool) {
        writer.object { writer in
            if let before {
                writer.key("before")
                writer.object { writer in
                    writer.field("url", before.url)
                    if withSecrets { writer.field("secret", before.secret) }
                    writer.field("timeoutSeconds", before.timeoutSeconds)
                    writer.field("onFailure", before.onFailure.rawValue)
                }
            }
            if let after {
                writer.key("after")
                after.write(to: &writer, withSecrets: withSecrets)
            }
            if !subscriptions.isEmpty {
                writer.key("subscriptions")
                writer.object { writer in
                    for (name, webhook) in subscriptions.sorted(by: { $0.key < $1.key }) {
                        writer.key(name)
                        webhook.write(to: &writer, withSecrets: withSecrets)
                    }
                }
            }
            writer.field("logHours", logHours)
        }
    }

    /// Reads changed settings; a webhook that is `null` is removed, and one without a secret keeps the existing secret.
    mutating func read(_ reader: inout JSONReader, unknown: UnknownSettings) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "before":
                if try value.null() { return before = nil }
                var hook = before ?? Before(url: "", secret: "")
                try value.object { (name, value) throws(ChatError) in
                    switch name {
                    case "url": hook.url = try value.string()
                    case "secret": hook.secret = try value.string()
                    case "timeoutSeconds": hook.timeoutSeconds = try value.double()
                    case "onFailure":
                        guard let known = Before.OnFailure(rawValue: try value.string()) else {
                            throw .invalidParameter("webhooks.before.onFailure", "must be allow or reject")
                        }
                        hook.onFailure = known
                    default:
                        let known = ["url", "secret", "timeoutSeconds", "onFailure"]
                        try unknown.read(name, in: "webhooks.before", besides: known, &value)
                    }
                }
                before = hook
            case "after":
                if try value.null() { return after = nil }
                after = try After(from: &value, changing: after, unknown: unknown, "webhooks.after")
            case "subscriptions":
                if try value.null() { return subscriptions = [:] }
                try value.object { (name, value) throws(ChatError) in
                    if try value.null() { return subscriptions[name] = nil }
                    subscriptions[name] = try After(
                        from: &value, changing: subscriptions[name], unknown: unknown, "webhooks.subscriptions.\(name)")
                }
            case "logHours":
                guard let hours = Int(exactly: try value.integer()) else {
                    throw .invalidParameter("webhooks.logHours", "must be in 0...\(Self.maximumLogHours)")
                }
                logHours = hours
            default:
                let known = ["before", "after", "subscriptions", "logHours"]
                try unknown.read(name, in: "webhooks", besides: known, &value)
            }
        }
    }

    func validate() throws(ChatError) {
        if let before {
            try Self.check(before.url, before.secret, of: "before")
            guard (0.1...10).contains(before.timeoutSeconds) else {
                throw .invalidParameter("webhooks.before.timeoutSeconds", "must be in 0.1...10")
            }
        }
        if let after { try after.validate("after") }
        guard subscriptions.count <= Self.maximumSubscriptions else {
            throw .invalidParameter(
                "webhooks.subscriptions", "must have at most \(Self.maximumSubscriptions) members",
                limit: Self.maximumSubscriptions)
        }
        for (name, webhook) in subscriptions {
            guard (1...Self.maximumNameBytes).contains(name.utf8.count), name != Self.nameOfAfter,
                name.utf8.allSatisfy(Self.isAllowedInName)
            else {
                throw .invalidParameter(
                    "webhooks.subscriptions",
                    "must have names of 1...\(Self.maximumNameBytes) characters a-z, 0-9 and -, other than after")
            }
            try webhook.validate("subscriptions.\(name)")
        }
        guard (0...Self.maximumLogHours).contains(logHours) else {
            throw .invalidParameter(
                "webhooks.logHours", "must be in 0...\(Self.maximumLogHours)", limit: Self.maximumLogHours)
        }
    }

    private static func isAllowedInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }

    fileprivate static func check(_ url: String, _ secret: String, of name: String) throws(ChatError) {
        _ = try URLComponents(endpoint: url, of: "webhooks.\(name).url")
        guard (16...256).contains(secret.utf8.count) else {
            throw .invalidParameter(
                "webhooks.\(name).secret",
                "must be 16...256 bytes, because it signs the webhook's requests")
        }
    }
}

extension WebhookSettings.After {
    fileprivate func write(to writer: inout JSONWriter, withSecrets: Bool) {
        writer.object { writer in
            writer.field("url", url)
            if withSecrets { writer.field("secret", secret) }
            writer.key("events")
            writer.array(events.map(\.rawValue).sorted()) { $0.value($1) }
        }
    }

    /// Reads a webhook; what is left out stays as it is in `known`.
    fileprivate init(
        from reader: inout JSONReader, changing known: WebhookSettings.After?, unknown: UnknownSettings,
        _ parameter: String
    ) throws(ChatError) {
        var webhook = known ?? .init(url: "", secret: "")
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "url": webhook.url = try value.string()
            case "secret": webhook.secret = try value.string()
            case "events":
                var events: Set<WebhookEvent.Kind> = []
                try value.array { (element) throws(ChatError) in
                    guard let kind = WebhookEvent.Kind(rawValue: try element.string()) else {
                        let names = WebhookEvent.Kind.allCases.map(\.rawValue).joined(separator: ", ")
                        throw .invalidParameter("\(parameter).events", "must contain only \(names)")
                    }
                    events.insert(kind)
                }
                webhook.events = events
            default: try unknown.read(name, in: parameter, besides: ["url", "secret", "events"], &value)
            }
        }
        self = webhook
    }

    fileprivate func validate(_ name: String) throws(ChatError) {
        try WebhookSettings.check(url, secret, of: name)
        guard !events.isEmpty else {
            throw .invalidParameter("webhooks.\(name).events", "must not be empty: remove the webhook instead")
        }
    }
}
