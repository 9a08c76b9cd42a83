import Foundation
import ScrollbackModel

/// Replaces what differs between two runs by placeholders.
///
/// Tokens, secrets, upload IDs, random UUIDs, epochs and timetokens are numbered in the order in which they appear, and
/// the same value has the same number everywhere. Opaque cursors are decoded, so that the values inside are visible.
struct TranscriptNormalizer {
    private var placeholders: [String: String] = [:]
    private var counts: [String: Int] = [:]

    /// Values without an identity: texts, dates, which may be equal by chance, and commit numbers, which the server's
    /// own
    /// work moves on.
    private static let fixed = [
        (#""(detail|version)":"(?:[^"\\]|\\.)*""#, #""$1":"…""#),
        (#"("outcome":"refused","reason":)"(?:[^"\\]|\\.)*""#, #"$1"…""#),
        (#"\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"#, "<date>"), (#""moved":\d+"#, #""moved":<commit>"#),
        (#""(checkpoint|lineage)":"[^"]*""#, #""$1":"…""#),
        // Cursors of the directory are encrypted.
        (#""cursor":"[\w-]{208}""#, #""cursor":"…""#),
        (#""key":"[^"]*","tokenIssuedAt""#, #""key":"…","tokenIssuedAt""#),
        (#""retryAfter":[\d.]+"#, #""retryAfter":<seconds>"#), (#"< retry-after: \d+"#, "< retry-after: <seconds>"),
    ]

    /// Secrets of incoming webhooks, tokens and cursors of JSON, upload IDs, UUIDs, cursors of numbers in base 36, and
    /// numbers of 12 digits and more.
    private static let numbered =
        #"/v1/hooks/[a-z0-9-]+\.[\w-]{43}|"#
        + #"eyJ[\w-]+\.[\w-]+\.[\w-]+|\beyJ[\w-]{8,}|/v1/uploads/[\w-]{24}(?![\w-])|"#
        + #"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-z]+(?:\.[0-9a-z]+){2,9}\b|\b\d{12,20}\b"#

    mutating func normalize(_ text: String) throws -> String {
        let text = Self.fixed.reduce(text) { text, rule in
            text.replacingOccurrences(of: rule.0, with: rule.1, options: .regularExpression)
        }
        return try number(text)
    }

    private mutating func number(_ text: String) throws -> String {
        let source = NSString(string: text)
        var (result, end) = ("", 0)
        let expression = try NSRegularExpression(pattern: Self.numbered)
        for match in expression.matches(in: text, range: NSRange(location: 0, length: source.length)) {
            result += source.substring(with: NSRange(location: end, length: match.range.location - end))
            result += try replacement(of: source.substring(with: match.range))
            end = match.range.location + match.range.length
        }
        return result + source.substring(from: end)
    }

    private mutating func replacement(of value: String) throws -> String {
        let parts = value.split(separator: ".").map(String.init)
        if value.hasPrefix("/v1/hooks/") { return "\(parts[0]).\(placeholder("secret", value))" }
        if value.hasPrefix("eyJ") {
            guard parts.count == 1 else { return placeholder("token", value) }
            guard let data = Data(base64URL: value) else { return value }
            return "<base64url \(try number(String(decoding: data, as: UTF8.self)))>"
        }
        if value.hasPrefix("/") { return "/v1/uploads/" + placeholder("upload", value) }
        // The message IDs of the scripts begin with zeros.
        if value.contains("-") { return value.hasPrefix("00000000-") ? value : placeholder("id", value) }
        guard parts.count > 1 else { return placeholder("number", value) }
        // A cursor of `sync` begins with the store's generation, and has commit numbers at odd places.
        let isSync = parts[0].count > 9 && [3, 7, 10].contains(parts.count)
        guard parts.contains(where: { $0.count > 9 }) else { return value }
        return parts.enumerated().map { index, part in
            if isSync, [1, 3, 5].contains(index) { return "<commit>" }
            guard part.count > 9, let number = UInt64(part, radix: 36) else { return part }
            return placeholder("number", String(number))
        }.joined(separator: ".")
    }

    private mutating func placeholder(_ kind: String, _ value: String) -> String {
        if let known = placeholders[value] { return known }
        counts[kind, default: 0] += 1
        let new = "<\(kind) \(counts[kind, default: 0])>"
        placeholders[value] = new
        return new
    }
}
