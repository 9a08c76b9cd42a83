import Foundation
package import ScrollbackModel
import ScrollbackWire

/// The administrators' settings for pushes.
package struct PushSettings: Hashable, Sendable {
    /// The texts of pushes for messages without their own.
    package var texts = PushTexts()
    /// The minimum time between two pushes of one conversation to the same user, in seconds.
    ///
    /// The next push covers the messages that arrived in between, newest first.
    package var intervalSeconds = 0
    /// The link that the app opens: a URL in which `{conversation}`, `{message}` and `{seq}` are replaced,
    /// percent-encoded.
    package var link: String?
    /// The credentials of each push service.
    ///
    /// They are secret. Only the members in `PushService.shownCredentials` are ever returned.
    package var services: [PushService: RawJSON] = [:]
    /// The credentials from the configuration file, which take precedence.
    ///
    /// Changes of settings don't affect them, and they are not stored.
    package internal(set) var configured: [PushService: RawJSON] = [:]

    package init() {}

    /// Whether any push service is configured.
    var isOn: Bool { !services.isEmpty || !configured.isEmpty }

    func credentials(for service: PushService) -> RawJSON? { configured[service] ?? services[service] }

    /// The default settings with the credentials from the configuration file.
    var cleared: PushSettings {
        var cleared = PushSettings()
        cleared.configured = configured
        return cleared
    }

    private static let maximumInterval = 3600
    private static let maximumLinkBytes = 2048

    func validate() throws(ChatError) {
        guard (0...Self.maximumInterval).contains(intervalSeconds) else {
            throw .invalidParameter(
                "push.intervalSeconds", "must be in 0...\(Self.maximumInterval)", limit: Self.maximumInterval)
        }
        if let link, !(1...Self.maximumLinkBytes).contains(link.utf8.count) || !link.contains(":") {
            throw .invalidParameter(
                "push.link", "must be a URL of at most \(Self.maximumLinkBytes) bytes", limit: Self.maximumLinkBytes)
        }
    }

    func write(to writer: inout JSONWriter, withSecrets: Bool) {
        writer.object { writer in
            texts.writeMembers(to: &writer)
            writer.field("intervalSeconds", intervalSeconds)
            writer.field("link", link)
            writer.key("services")
            writer.object { writer in
                for service in PushService.allCases.sorted(by: { $0.rawValue < $1.rawValue }) {
                    writer.field(service.rawValue, withSecrets ? services[service] : shown(service))
                }
            }
        }
    }

    /// The public part of a service's credentials; `nil` if the service is not configured.
    private func shown(_ service: PushService) -> RawJSON? {
        guard let credentials = credentials(for: service) else { return nil }
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("isSet", true)
            writer.field("source", configured[service] == nil ? "settings" : "file")
            // Shows administrators who moved a secret to the file whether the store still has it.
            if configured[service] != nil, services[service] != nil { writer.field("alsoInSettings", true) }
            service.writeShown(credentials, to: &writer)
        }
        return writer.json
    }

    /// Reads changed settings; absent members stay unchanged, and a service that is `null` is removed.
    mutating func read(_ reader: inout JSONReader, unknown: UnknownSettings) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "intervalSeconds":
                guard let seconds = Int(exactly: try value.integer()) else {
                    throw .invalidParameter("push.intervalSeconds", "must be in range")
                }
                intervalSeconds = seconds
            case "link": link = try value.null() ? nil : value.string()
            case "services": try readServices(&value)
            default:
                if try texts.read(name, &value, unknown: unknown) { return }
                let known = PushTexts.settings + ["intervalSeconds", "link", "services"]
                try unknown.read(name, in: "push", besides: known, &value)
            }
        }
    }

    private mutating func readServices(_ reader: inout JSONReader) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            guard let service = PushService(rawValue: name) else {
                let names = PushService.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidParameter("push.services", "has the unknown member \(name); must be one of \(names)")
            }
            guard try !value.null() else {
                services[service] = nil
                return
            }
            let json = try value.raw()
            guard json.isObject else { throw .invalidParameter("push.services.\(name)", "must be a JSON object") }
            guard configured[service] == nil else {
                throw .invalidParameter(
                    "push.services.\(name)", "is set in the push-credentials file and must be changed there")
            }
            services[service] = json
        }
    }

    /// Reads the services of a credentials file, which has the same format as in settings: `{"push": {"services":
    /// {…}}}`.
    ///
    /// - Throws: An error that never contains a value from the file. Other settings are refused, because they would
    ///   have no effect.
    package static func services(inFile bytes: [UInt8]) throws(ChatError) -> [PushService: RawJSON] {
        var reader = try JSONReader(bytes)
        var settings = PushSettings()
        func refuse(_ name: String) -> ChatError {
            .invalidParameter(name, "is not allowed in this file, which has only push.services")
        }
        try reader.object { (name, value) throws(ChatError) in
            guard name == "push" else { throw refuse(name) }
            try value.object { (name, value) throws(ChatError) in
                guard name == "services" else { throw refuse("push.\(name)") }
                try settings.readServices(&value)
            }
        }
        try reader.end()
        return settings.services
    }

    /// Returns the link that the app opens for a message.
    func link(to target: PushTarget) -> String? {
        guard let link else { return nil }
        return [
            ("{conversation}", "\(target.conversation)"), ("{message}", "\(target.message)"),
            ("{seq}", target.seq.map { "\($0)" } ?? ""),
        ].reduce(link) { link, part in
            link.replacing(part.0, with: part.1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }
    }
}

extension PushService {
    /// The members of credentials that are not secret; all others are.
    private static let shownCredentials: Set<String> = [
        "addsBadge", "appID", "badgeClass", "category", "channel", "clientID", "endpoint", "hosts", "importance",
        "keyID",
        "mode", "package", "retrySeconds", "subject", "teamID", "templateID", "templateParameters",
        "templateTextParameters", "templateTitleParameters", "title", "tokenEndpoint", "topic", "type", "url",
    ]

    fileprivate func writeShown(_ credentials: RawJSON, to writer: inout JSONWriter) {
        var reader = JSONReader(credentials.text)
        // Stored credentials are always an object.
        try? reader.object { (name, value) throws(ChatError) in
            let json = try value.raw()
            if Self.shownCredentials.contains(name) { writer.field(name, json) }
        }
    }
}
