/// What the head of an HTML page says about the page: its Open Graph properties (ogp.me), title and description.
///
/// This is a scanner and no HTML parser. It reads start tags and the text of `title`, skips comments, scripts and
/// styles, and ends with the head. The time is proportional to the size of the page.
package struct PageMetadata: Hashable, Sendable {
    package private(set) var title: String?
    package private(set) var description: String?
    package private(set) var site: String?
    /// The address of a picture as it stands in the page, which may be relative.
    package private(set) var picture: String?

    /// Reads a page.
    ///
    /// - Parameter charset: The character encoding from the `Content-Type` field. A `meta` element in the page replaces
    ///   it if it is `nil`.
    /// - Returns: `nil` if the encoding is neither UTF-8 nor Latin 1. Other encodings would give unreadable texts.
    package init?(_ page: [UInt8], charset: String? = nil) {
        var scanner = TagScanner(page)
        var properties: [String: [UInt8]] = [:]
        var declared = charset
        while let tag = scanner.next() {
            switch tag.name {
            case "title": properties["title"] = properties["title"] ?? scanner.text(until: "title")
            case "script", "style": _ = scanner.text(until: tag.name)
            case "meta":
                declared = declared ?? tag["charset"].map { String(decoding: $0, as: UTF8.self) }
                guard let name = tag["property"] ?? tag["name"], let content = tag["content"] else { continue }
                let key = String(decoding: name, as: UTF8.self).lowercased()
                if properties[key] == nil { properties[key] = content }
            case "body", "/head":
                scanner.end()
            default: break
            }
        }
        guard let encoding = Encoding(declared ?? "utf-8") else { return nil }
        func first(_ names: String...) -> String? {
            for name in names {
                guard let bytes = properties[name] else { continue }
                let text = HTMLEntities.decode(encoding.text(of: bytes))
                if !text.allSatisfy(\.isWhitespace) { return text }
            }
            return nil
        }
        title = first("og:title", "twitter:title", "title")
        description = first("og:description", "twitter:description", "description")
        site = first("og:site_name", "application-name")
        picture = first("og:image:secure_url", "og:image", "og:image:url", "twitter:image")
    }

    private enum Encoding {
        case utf8, latin1

        init?(_ name: String) {
            switch name.trimmingPrefix("\"").lowercased().prefix(while: { $0 != "\"" && $0 != ";" && $0 != " " }) {
            case "utf-8", "utf8", "us-ascii": self = .utf8
            case "iso-8859-1", "windows-1252", "latin1": self = .latin1
            default: return nil
            }
        }

        func text(of bytes: [UInt8]) -> String {
            switch self {
            case .utf8: String(decoding: bytes, as: UTF8.self)
            case .latin1: String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            }
        }
    }
}

/// Finds the tags of a page.
private struct TagScanner {
    struct Tag {
        /// The name in lowercase, with a slash before that of an end tag.
        let name: String
        /// The attributes by their lowercase names, as they stand in the page.
        let attributes: [(name: [UInt8], value: [UInt8])]

        subscript(name: String) -> [UInt8]? { attributes.first { $0.name.elementsEqual(name.utf8) }?.value }
    }

    private let page: [UInt8]
    private var index = 0
    /// The maximum number of attributes of a tag, above which the rest is skipped.
    private static let maximumAttributes = 32

    init(_ page: [UInt8]) {
        self.page = page
    }

    mutating func end() { index = page.count }

    /// Returns the next tag and moves behind it.
    mutating func next() -> Tag? {
        while let start = page[index...].firstIndex(of: UInt8(ascii: "<")) {
            index = start + 1
            if has("!--") {
                index = position(of: "-->", from: index + 3)
            } else if index < page.count, page[index].isASCIILetter || page[index] == UInt8(ascii: "/") {
                return tag()
            }
        }
        end()
        return nil
    }

    /// Returns the text up to an end tag, and moves to it.
    mutating func text(until name: String) -> [UInt8] {
        let start = index
        while let less = page[index...].firstIndex(of: UInt8(ascii: "<")) {
            index = less + 1
            if has("/" + name) {
                index = less
                return Array(page[start..<less])
            }
        }
        end()
        return []
    }

    /// Whether a text follows, in either case.
    private func has(_ text: String) -> Bool {
        page[index...].prefix(text.utf8.count).elementsEqual(text.utf8) { $0.lowercased == $1 }
    }

    private func position(of text: String, from start: Int) -> Int {
        guard start < page.count else { return page.count }
        return page[start...].firstRange(of: Array(text.utf8))?.upperBound ?? page.count
    }

    private mutating func tag() -> Tag {
        let name = take { !$0.isSpace && $0 != UInt8(ascii: ">") && ($0 != UInt8(ascii: "/") || $1 == 0) }
        var attributes: [(name: [UInt8], value: [UInt8])] = []
        while let attribute = attribute() {
            if attributes.count < Self.maximumAttributes { attributes.append(attribute) }
        }
        return Tag(name: String(decoding: name.map(\.lowercased), as: UTF8.self), attributes: attributes)
    }

    /// Returns the next attribute of the tag; `nil` at the end of the tag.
    private mutating func attribute() -> (name: [UInt8], value: [UInt8])? {
        _ = take { byte, _ in byte.isSpace || byte == UInt8(ascii: "/") }
        guard index < page.count, page[index] != UInt8(ascii: ">") else {
            index = min(index + 1, page.count)
            return nil
        }
        // A name may begin with an equals sign.
        let name = take { byte, count in
            !byte.isSpace && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "/")
                && (byte != UInt8(ascii: "=") || count == 0)
        }
        _ = take { byte, _ in byte.isSpace }
        guard index < page.count, page[index] == UInt8(ascii: "=") else { return (name.map(\.lowercased), []) }
        index += 1
        _ = take { byte, _ in byte.isSpace }
        return (name.map(\.lowercased), value())
    }

    private mutating func value() -> [UInt8] {
        guard index < page.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(page[index]) else {
            return Array(take { byte, _ in !byte.isSpace && byte != UInt8(ascii: ">") })
        }
        let quote = page[index]
        index += 1
        let value = take { byte, _ in byte != quote }
        index = min(index + 1, page.count)
        return Array(value)
    }

    /// Takes bytes while a condition holds for the byte and the number of bytes before it.
    private mutating func take(while isWanted: (_ byte: UInt8, _ count: Int) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while index < page.count, isWanted(page[index], index - start) { index += 1 }
        return page[start..<index]
    }
}

/// The character references of HTML that titles have.
enum HTMLEntities {
    private static let named: [Substring: String] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}", "hellip": "…", "ndash": "–",
        "mdash": "—", "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”", "laquo": "«", "raquo": "»",
        "middot": "·", "bull": "•", "copy": "©", "reg": "®", "trade": "™",
    ]
    /// The maximum length of a reference between `&` and `;`.
    private static let longest = 10

    /// Replaces the references of a text; unknown ones stay as they are.
    static func decode(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var decoded = ""
        var rest = text[...]
        while let start = rest.firstIndex(of: "&") {
            decoded += rest[..<start]
            let reference = rest[start...].dropFirst().prefix(longest + 1).prefix { $0 != ";" && $0 != "&" }
            if rest[reference.endIndex...].first == ";", let character = character(of: reference) {
                decoded += character
                rest = rest[reference.endIndex...].dropFirst()
            } else {
                decoded += "&"
                rest = rest[start...].dropFirst()
            }
        }
        return decoded + rest
    }

    private static func character(of reference: Substring) -> String? {
        guard reference.first == "#" else { return named[reference] }
        let digits = reference.dropFirst()
        let isHexadecimal = digits.first == "x" || digits.first == "X"
        let number = isHexadecimal ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return number.flatMap { Unicode.Scalar($0) }.map { String($0) }
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { [0x20, 0x09, 0x0A, 0x0C, 0x0D].contains(self) }
    fileprivate var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercased) }
    /// The lowercase letter of an uppercase one in ASCII.
    fileprivate var lowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
