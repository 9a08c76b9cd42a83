import Foundation
package import ScrollbackModel
import ScrollbackWire

/// What an operator sets about pushes.
package struct PushSettings: Hashable, Sendable {
    /// What pushes say where no message does.
    package var texts = PushTexts()
    /// The least time between two pushes of one conversation to the same person, in seconds; what comes meanwhile is told by
    /// the next, newest first.
    package var intervalSeconds = 0
    /// Where the app is to open: a URL in which `{conversation}`, `{message}` and `{seq}` are filled in, percent-encoded.
    package var link: String?
    /// What each service knows the app by.
    ///
    /// Secret: shown are the members of `PushService.shownCredentials` alone.
    package var services: [PushService: RawJSON] = [:]
    /// The same by the operator's configuration, which wins: no change of settings touches it, and no store has it.
    package internal(set) var configured: [PushService: RawJSON] = [:]

    package init() {}

    /// Whether any push can go anywhere.
    var isOn: Bool { !services.isEmpty || !configured.isEmpty }

    func credentials(for service: PushService) -> RawJSON? { configured[service] ?? services[service] }

    /// As nobody set anything; what the configuration says stays.
    var cleared: PushSettings {
        var cleared = PushSettings()
        cleared.configured = configured
        return cleared
    }

    private static let longestInterval = 3600
    private static let longestLink = 2048

    func validate() throws(ChatError) {
        guard (0...Self.longestInterval).contains(intervalSeconds) else {
            throw .invalidParameter(
                "push.intervalSeconds", "must be in 0...\(Self.longestInterval)", limit: Self.longestInterval)
        }
        if let link, !(1...Self.longestLink).contains(link.utf8.count) || !link.contains(":") {
            throw .invalidParameter(
                "push.link", "must be a URL of at most \(Self.longestLink) bytes", limit: Self.longestLink)
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

    /// What may be seen of a service; nil where it is not set up.
    private func shown(_ service: PushService) -> RawJSON? {
        guard let credentials = credentials(for: service) else { return nil }
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("isSet", true)
            writer.field("source", configured[service] == nil ? "settings" : "file")
            // An operator who has moved a secret to the file wants to see that the store has it no more.
            if configured[service] != nil, services[service] != nil { writer.field("alsoInSettings", true) }
            service.writeShown(credentials, to: &writer)
        }
        return writer.json
    }

    /// Takes over what is said; what the change does not speak of stays, and a service that is null goes.
    mutating func read(_ reader: inout JSONReader) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "intervalSeconds":
                guard let seconds = Int(exactly: try value.integer()) else {
                    throw .invalidParameter("push.intervalSeconds", "must be in range")
                }
                intervalSeconds = seconds
            case "link": link = try value.null() ? nil : value.string()
            case "services": try readServices(&value)
            default: if try !texts.read(name, &value) { try value.skip() }
            }
        }
    }

    private mutating func readServices(_ reader: inout JSONReader) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            guard let service = PushService(rawValue: name) else {
                let names = PushService.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidParameter("push.services", "has \(name), which is none of \(names)")
            }
            guard try !value.null() else {
                services[service] = nil
                return
            }
            let json = try value.raw()
            guard json.isObject else { throw .invalidParameter("push.services.\(name)", "must be a JSON object") }
            guard configured[service] == nil else {
                throw .invalidParameter(
                    "push.services.\(name)", "is set by the file of push-credentials: change it there")
            }
            services[service] = json
        }
    }

    /// The services of a file that has them as a change of settings has: `{"push": {"services": {…}}}`.
    ///
    /// - Throws: where it is wrong, and never what it says there. What else settings have is refused: nobody would heed it.
    package static func services(inFile bytes: [UInt8]) throws(ChatError) -> [PushService: RawJSON] {
        var reader = try JSONReader(bytes)
        var settings = PushSettings()
        func refuse(_ name: String) -> ChatError {
            .invalidParameter(name, "is not for this file, which has push.services alone")
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

    /// Where the app is to open for a message.
    func link(to place: PushPlace) -> String? {
        guard let link else { return nil }
        return [
            ("{conversation}", "\(place.conversation)"), ("{message}", "\(place.message)"),
            ("{seq}", place.seq.map { "\($0)" } ?? ""),
        ].reduce(link) { link, part in
            link.replacing(part.0, with: part.1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }
    }
}

extension PushService {
    /// The members of credentials that are no secrets; what is not listed is one.
    private static let shownCredentials: Set<String> = [
        "addsBadge", "appID", "badgeClass", "category", "channel", "clientID", "endpoint", "hosts", "importance",
        "keyID",
        "mode", "package", "retrySeconds", "subject", "teamID", "templateID", "templateParameters",
        "templateTextParameters", "templateTitleParameters", "title", "tokenEndpoint", "topic", "type", "url",
    ]

    fileprivate func writeShown(_ credentials: RawJSON, to writer: inout JSONWriter) {
        var reader = JSONReader(credentials.text)
        // What was taken is an object.
        try? reader.object { (name, value) throws(ChatError) in
            let json = try value.raw()
            if Self.shownCredentials.contains(name) { writer.field(name, json) }
        }
    }
}
