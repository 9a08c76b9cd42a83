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

    package init() {}

    /// Whether any push can go anywhere.
    var isOn: Bool { !services.isEmpty }

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
                for (service, credentials) in services.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                    writer.field(service.rawValue, withSecrets ? credentials : service.shown(credentials))
                }
            }
        }
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
            case "services":
                try value.object { (name, value) throws(ChatError) in
                    guard let service = PushService(rawValue: name) else {
                        let names = PushService.allCases.map(\.rawValue).joined(separator: ", ")
                        throw .invalidParameter("push.services", "has \(name), which is none of \(names)")
                    }
                    guard try !value.null() else {
                        services[service] = nil
                        return
                    }
                    let json = try value.raw()
                    guard json.isObject else {
                        throw .invalidParameter("push.services.\(name)", "must be a JSON object")
                    }
                    services[service] = json
                }
            default: if try !texts.read(name, &value) { try value.skip() }
            }
        }
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

    func shown(_ credentials: RawJSON) -> RawJSON {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("isSet", true)
            var reader = JSONReader(credentials.text)
            // What was stored is an object.
            try? reader.object { (name, value) throws(ChatError) in
                let json = try value.raw()
                if Self.shownCredentials.contains(name) { writer.field(name, json) }
            }
        }
        return writer.json
    }
}
