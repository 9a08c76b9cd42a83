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

    /// The event webhook, called after a message or a change was stored.
    package struct After: Hashable, Sendable {
        package var url: String
        package var secret: String

        package init(url: String, secret: String) {
            self.url = url
            self.secret = secret
        }
    }

    package var before: Before?
    package var after: After?

    package init(before: Before? = nil, after: After? = nil) {
        self.before = before
        self.after = after
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
                writer.object { writer in
                    writer.field("url", after.url)
                    if withSecrets { writer.field("secret", after.secret) }
                }
            }
        }
    }

    /// Reads changed settings; a webhook that is `null` is removed, and one without a secret keeps the existing secret.
    mutating func read(_ reader: inout JSONReader) throws(ChatError) {
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
                    default: try value.skip()
                    }
                }
                before = hook
            case "after":
                if try value.null() { return after = nil }
                var hook = after ?? After(url: "", secret: "")
                try value.object { (name, value) throws(ChatError) in
                    switch name {
                    case "url": hook.url = try value.string()
                    case "secret": hook.secret = try value.string()
                    default: try value.skip()
                    }
                }
                after = hook
            default: try value.skip()
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
        if let after { try Self.check(after.url, after.secret, of: "after") }
    }

    private static func check(_ url: String, _ secret: String, of name: String) throws(ChatError) {
        _ = try URLComponents(endpoint: url, of: "webhooks.\(name).url")
        guard (16...256).contains(secret.utf8.count) else {
            throw .invalidParameter(
                "webhooks.\(name).secret",
                "must be 16...256 bytes, because it signs the webhook's requests")
        }
    }
}
