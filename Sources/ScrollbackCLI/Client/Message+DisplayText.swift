import Foundation
import ScrollbackModel

extension Message {
    /// The message as one line of text.
    ///
    /// Describes media and locations in brackets. A line break would allow a text to look like another sender's line.
    var displayText: String { displayed.replacing(/\R+/, with: " ") }

    private var displayed: String {
        guard let content else { return "(deleted)" }
        if let value = content.encrypted {
            let reason = decryptionError?.message ?? "it is encrypted with the key “\(value.key)”"
            return "[can't be read: \(reason)]"
        }
        if let quote = content.quote {
            return "“\(quote.content.text ?? "[\(quote.content.type)]")” — \(quote.text)"
        }
        if let results = pollResults {
            let options = results.map { "\($0.id) \($0.option) (\($0.votes))" }
            let kind = content.poll?.isClosed == true ? "closed poll" : "poll"
            return "[\(kind)] \(content.text ?? "") \(options.joined(separator: ", "))"
        }
        if let text = content.text { return text }
        if let place = content.location {
            return "[location\(place.name.map { " \($0)," } ?? "") \(place.latitude), \(place.longitude)]"
        }
        guard let media = content.media else { return "[\(content.type)]" }
        var facts = [content.type.rawValue]
        if let name = media.name { facts.append(name) }
        if let pixels = media.pixels { facts.append("\(pixels.width) × \(pixels.height)") }
        if let duration = media.duration { facts.append("\(Int(duration.rounded())) s") }
        if let size = media.size { facts.append(Bytes.text(size)) }
        return "[\(facts.joined(separator: ", "))]"
    }
}

/// Formats byte counts.
enum Bytes {
    /// Returns a text such as `1.4 MiB`.
    static func text(_ count: Int64) -> String {
        var size = Double(count)
        var unit = "bytes"
        for larger in ["KiB", "MiB", "GiB"] where size >= 1024 {
            size /= 1024
            unit = larger
        }
        return unit == "bytes" ? "\(count) bytes" : String(format: "%.1f %@", size, unit)
    }
}
