public import Foundation

/// A preview of a web page to which a text links.
///
/// The sender's device makes it, so that readers can show it without a request to the page.
public struct LinkPreview: Hashable, Sendable {
    /// The link as it stands in the text: an `http` or `https` URL of at most 2,048 bytes.
    public var link: String
    /// The title of the page, 1...256 bytes of UTF-8.
    public var title: String
    /// The description of the page, 1...1,024 bytes of UTF-8.
    public var description: String?
    /// The name of the website, 1...128 bytes of UTF-8.
    public var site: String?
    /// A small JPEG picture, at most 12,288 bytes.
    public var picture: Data?

    /// Creates a preview.
    public init(
        link: String, title: String, description: String? = nil, site: String? = nil, picture: Data? = nil
    ) {
        self.link = link
        self.title = title
        self.description = description
        self.site = site
        self.picture = picture
    }

    /// The address of the page; `nil` if the link is not a URL.
    public var url: URL? { URL(string: link) }
}

extension MessageContent {
    /// Creates text content with a preview of a page to which the text links.
    ///
    /// Make the preview with the SDK's `linkPreview(forLinkIn:)`, or create your own.
    ///
    /// - Throws: `invalid-parameter` if the text does not contain the link, or a part of the preview is out of range.
    public static func text(_ text: String, preview: LinkPreview?) throws(ChatError) -> MessageContent {
        guard let preview else { return .text(text) }
        try preview.check(in: text)
        return MessageContent(.text) { writer in
            writer.field("text", text)
            writer.key(LinkPreview.member)
            writer.object { preview.writeMembers(to: &$0) }
        }
    }

    /// The preview of a link, if the content is a text with one.
    public var linkPreview: LinkPreview? {
        guard type == .text else { return nil }
        var preview: LinkPreview?
        var reader = JSONReader(json.text)
        try? reader.object { (member, value) throws(ChatError) in
            if member == LinkPreview.member { preview = try LinkPreview(&value) } else { try value.skip() }
        }
        return preview
    }
}

extension LinkPreview {
    /// The member of a text's content that is the preview.
    package static let member = "linkPreview"
    /// The members that are texts to read.
    package static let textMembers = ["title", "description", "site"]
    package static let longestTitle = 256
    package static let longestDescription = 1024
    package static let longestSite = 128
    /// The maximum size of the picture in bytes.
    package static let largestPicture = 12 << 10

    /// Reads the JSON of a preview.
    ///
    /// - Throws: `invalid-parameter` naming the invalid member.
    init(_ reader: inout JSONReader) throws(ChatError) {
        var (link, title, description, site): (String?, String?, String?, String?)
        var picture: Data?
        try reader.object { (member, value) throws(ChatError) in
            switch member {
            case "url": link = try value.string()
            case "title": title = try value.string()
            case "description": description = try value.string()
            case "site": site = try value.string()
            case "picture":
                guard let bytes = Data(base64Encoded: try value.string()) else { throw Self.invalidPicture }
                picture = bytes
            default: try value.skip()
            }
        }
        guard let link, let title else {
            throw .invalidParameter(Self.member, "must be an object with the strings url and title")
        }
        self.init(link: link, title: title, description: description, site: site, picture: picture)
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.field("url", link)
        writer.field("title", title)
        writer.field("description", description)
        writer.field("site", site)
        writer.field("picture", picture?.base64EncodedString())
    }

    /// Checks the preview of a link in a text.
    ///
    /// - Throws: `invalid-parameter` naming the invalid member.
    func check(in text: String) throws(ChatError) {
        _ = try Media.url(link, parameter: Self.member)
        // Readers could otherwise take the preview of one page for that of another.
        guard text.contains(link) else {
            throw .invalidParameter(Self.member, "must have a url that the text contains")
        }
        try Self.check(title, "title", Self.longestTitle)
        if let description { try Self.check(description, "description", Self.longestDescription) }
        if let site { try Self.check(site, "site", Self.longestSite) }
        if let picture {
            guard picture.count <= Self.largestPicture, picture.starts(with: [0xFF, 0xD8, 0xFF]) else {
                throw Self.invalidPicture
            }
        }
    }

    private static var invalidPicture: ChatError {
        .invalidParameter(
            "picture", "of a link preview must be a JPEG file of at most \(largestPicture) bytes in base64",
            limit: largestPicture)
    }

    private static func check(_ text: String, _ member: String, _ longest: Int) throws(ChatError) {
        guard (1...longest).contains(text.utf8.count) else {
            throw .invalidParameter(
                member, "of a link preview must be 1...\(longest) bytes of UTF-8", limit: longest)
        }
        try DisplayText.check(text, member)
    }
}

// MARK: For making previews

extension LinkPreview {
    /// Returns a text that a preview can have, or `nil` if nothing is left of it.
    ///
    /// White space and control characters become single spaces, invisible characters that change the direction of text
    /// are removed, and a text that is too long ends with an ellipsis.
    package static func cleaned(_ text: String, longest: Int) -> String? {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !scalar.isBidirectionalControl {
            guard scalar.breaksLine || scalar.properties.isWhitespace else {
                scalars.append(scalar)
                continue
            }
            if scalars.last.map({ $0 != " " }) ?? false { scalars.append(" ") }
            // A text is cut long before, and a page can have megabytes of it.
            if scalars.count > 4 * longest { break }
        }
        if scalars.last == " " { scalars.removeLast() }
        let text = String(scalars)
        guard text.utf8.count > longest else { return text.isEmpty ? nil : text }
        var short = ""
        for character in text {
            guard short.utf8.count + character.utf8.count + "…".utf8.count <= longest else { break }
            short.append(character)
        }
        return short.isEmpty ? nil : short + "…"
    }

    /// Returns the first link of a text: an `http` or `https` URL up to a space, without punctuation at its end.
    package static func firstLink(in text: String) -> String? {
        var rest = text[...]
        while let start = rest.firstRange(of: "http") {
            let isInWord = text[..<start.lowerBound].last.map { $0.isASCII && ($0.isLetter || $0.isNumber) } ?? false
            if !isInWord, let link = link(at: rest[start.lowerBound...]) { return link }
            rest = rest[start.upperBound...]
        }
        return nil
    }

    private static func link(at text: Substring) -> String? {
        guard text.hasPrefix("https://") || text.hasPrefix("http://") else { return nil }
        // One more than a link can have, so that a longer one is refused.
        var link = text.prefix(Media.longestURL + 1).prefix { !$0.isWhitespace && !endsOfLinks.contains($0) }
        while let last = link.last, punctuation.contains(last) {
            // Of a link such as https://example.org/a_(b), the parenthesis is a part.
            if last == ")", link.count(where: { $0 == "(" }) >= link.count(where: { $0 == ")" }) { break }
            link.removeLast()
        }
        return (try? Media.url(String(link))).map { _ in String(link) }
    }

    /// Characters that no link contains.
    private static let endsOfLinks: Set<Character> = Set("<>\"«»„“”「」『』。，、；：！？（）【】《》")
    /// Characters that a link contains, but not at its end.
    private static let punctuation: Set<Character> = Set(".,;:!?'*_~)]}")
}
