import Foundation
import ScrollbackEngine

/// A strong entity tag (RFC 9110 section 8.8.3).
struct EntityTag: Equatable {
    /// The tag as header fields have it, in quotes.
    let text: String

    init(_ opaque: String) {
        text = "\"\(opaque)\""
    }

    init(of blob: BlobID) {
        self.init("\(blob)")
    }

    /// Whether an `If-None-Match` field lists the tag, so that the client already has the content.
    func isListed(in field: String?) -> Bool {
        guard let field else { return false }
        return field.split(separator: ",").contains { part in
            let part = part.trimmingCharacters(in: .whitespaces)
            return part == "*" || part == text || part == "W/\(text)"
        }
    }
}
