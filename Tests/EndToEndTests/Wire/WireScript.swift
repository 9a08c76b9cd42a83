import Foundation

/// The requests of the transcripts.
///
/// Each line of a script is one step, and an indented line continues the line before it:
///
///     ACTOR METHOD PATH [FIELD: VALUE | FIELD: VALUE] BODY     an HTTP request
///     USER/DEVICE TYPE MEMBERS                                 a WebSocket request; `ref` is added
///     USER/DEVICE raw TEXT                                     a frame as it stands
///     USER/DEVICE connect MEMBERS                              a new connection and its `hello`
///     USER/DEVICE connectRaw TEXT                              a new connection and its first frame
///
/// The actor `-` sends no token, and a body `@NAME` is a file of `Tests/Fixtures/Pictures`. `<<a || b>>` makes one step
/// of each alternative. `{name}` stands for a value of the scene and `{m7}` for the seventh message ID. After a
/// request,
/// `=> name:member` keeps a member of the answer, or a field of it for `@member`. `~ USER/DEVICE type` waits for an
/// event that the server sends later. `until TEXT` repeats the request until the answer contains the text.
enum WireScript {
    /// The scripts, by the names of their transcripts.
    static let areas = [
        "admin": admin, "history": history, "media": media, "members": members, "messages": messages,
        "moderation": moderation, "probes": probes, "profiles": profiles, "push": push, "state": state,
    ]

    /// Names that every script can use.
    static let names = [
        "crew": "/v1/conversations/group:crew", "in": #""conversation":"group:crew""#,
        "media": "/v1/media?conversation=group:crew", "plain": "[Content-Type: text/plain] hello",
        "png": "[Content-Type: image/png] @plain.png", "text": #""type":"text","content":{"text":"x"}"#,
    ]

    enum Line {
        case heading(String)
        case step(Step)
    }

    struct Step {
        /// The request, with names that are not replaced yet.
        var request: String
        var captures: [(name: String, member: String)] = []
        var waits: [(device: String, type: String)] = []
        var until: String?

        fileprivate init(_ line: String) {
            request = line
            while let match = request.wholeMatch(of: #/(.*) (=>|~|until) (\S+(?: \S+)?)/#) {
                let parts = match.3.split(whereSeparator: { $0 == ":" || $0 == " " }).map(String.init)
                switch match.2 {
                case "=>": captures.append((parts[0], parts[1]))
                case "~": waits.append((parts[0], parts[1]))
                default: until = String(match.3)
                }
                request = String(match.1)
            }
        }
    }

    static func lines(of script: String) -> [Line] {
        var lines: [String] = []
        for line in script.split(separator: "\n") {
            if line.hasPrefix(" "), let last = lines.popLast() {
                lines.append(last + " " + line.trimmingCharacters(in: .whitespaces))
            } else {
                lines.append(String(line))
            }
        }
        return lines.flatMap { line in
            line.hasPrefix("#") ? [.heading(line)] : expanded(line).map { .step(Step($0)) }
        }
    }

    private static func expanded(_ line: String) -> [String] {
        guard let start = line.range(of: "<<"), let end = line.range(of: ">>") else {
            return [line.trimmingCharacters(in: .whitespaces)]
        }
        return line[start.upperBound..<end.lowerBound].components(separatedBy: "||").flatMap { part in
            let part = part.trimmingCharacters(in: .whitespaces)
            return expanded(String(line[..<start.lowerBound]) + part + String(line[end.upperBound...]))
        }
    }

    /// Replaces `{name}` where there is a value, and `{m7}` by the seventh message ID.
    static func fill(_ text: String, _ values: [String: String]) -> String {
        text.replacing(#/\{(\w+)\}/#) { match in
            let name = String(match.1)
            if let value = values[name] { return value }
            guard name.hasPrefix("m"), let number = Int(name.dropFirst()) else { return String(match.0) }
            return "00000000-0000-4000-8000-" + String(String(1_000_000_000_000 + number).dropFirst())
        }
    }
}
