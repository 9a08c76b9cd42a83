extension ConversationID: CustomStringConvertible {
    /// Parses the text form.
    ///
    /// - Throws: `invalid-parameter` if the kind is unknown, a part is missing or not an ``Identifier``, or an escape
    ///   is not one of `%25`, `%2F` and `%3A`.
    public init(_ text: String, parameter: String = "conversation") throws(ChatError) {
        if let plain = Self(plain: text) {
            self = plain
            return
        }
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw .invalidParameter(parameter, "must be KIND:NAME, for example group:swift")
        }
        guard let kind = ConversationKind(rawValue: String(text[..<colon])) else {
            let kinds = ConversationKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidParameter(parameter, "must begin with one of \(kinds), followed by a colon")
        }
        // Split by bytes: a name may start with a combining mark, which would form one character with the slash.
        let parts = text.utf8[text.utf8.index(after: colon)...]
            .split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        var names: [Identifier] = []
        for part in parts {
            names.append(try Identifier(try Self.unescape(Substring(part), parameter), parameter: parameter))
        }
        guard names.count == 1 || names.count == 2 && kind.traits.hasTwoPartNames else {
            throw .invalidParameter(parameter, "has too many parts; escape a / inside a name as %2F")
        }
        switch (kind, names.count) {
        case (.direct, 2):
            self = .direct(between: UserID(known: names[0].text), and: UserID(known: names[1].text))
        case (.direct, _): self = .direct(UserID(known: names[0].text))
        case (.system, 2): self = .system(to: UserID(known: names[0].text), from: UserID(known: names[1].text))
        case (.system, _): self = .system(UserID(known: names[0].text))
        case (.community, _): self = .community(names[0], channel: names.count == 2 ? names[1] : nil)
        case (.group, _): self = .group(names[0])
        case (.room, _): self = .room(names[0])
        }
    }

    /// Parses the most frequent form: one name of printable ASCII without escapes.
    private init?(plain text: String) {
        var text = text
        let parts = text.withUTF8 { text -> (kind: ConversationKind, name: String)? in
            guard let colon = text.firstIndex(of: UInt8(ascii: ":")),
                let kind = ConversationKind(rawValue: String(decoding: text[..<colon], as: UTF8.self))
            else { return nil }
            let name = UnsafeBufferPointer(rebasing: text[(colon + 1)...])
            guard (1...Identifier.maximumBytes).contains(name.count) else { return nil }
            for byte in name where !(0x20..<0x7F).contains(byte) || byte == 0x25 || byte == 0x2F || byte == 0x3A {
                return nil
            }
            return (kind, String(decoding: name, as: UTF8.self))
        }
        guard let (kind, name) = parts else { return nil }
        self.init(kind, Identifier(known: name))
    }

    /// The text form, with `%`, `/` and `:` escaped inside a part.
    public var description: String {
        var text = kind.rawValue + ":" + Self.escape(target)
        if let part { text += "/" + Self.escape(part) }
        return text
    }

    private static func escape(_ name: Identifier) -> String {
        guard name.text.utf8.contains(where: { $0 == 0x25 || $0 == 0x2F || $0 == 0x3A }) else { return name.text }
        var text = ""
        for scalar in name.text.unicodeScalars {
            switch scalar {
            case "%": text += "%25"
            case "/": text += "%2F"
            case ":": text += "%3A"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func unescape(_ part: Substring, _ parameter: String) throws(ChatError) -> String {
        guard part.utf8.contains(where: { $0 == 0x25 || $0 == 0x3A }) else { return String(part) }
        var text = String.UnicodeScalarView()
        var rest = part.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if scalar == ":" { throw .invalidParameter(parameter, "has a : inside a name; escape it as %3A") }
            guard scalar == "%" else {
                text.append(scalar)
                continue
            }
            switch (rest.popFirst(), rest.popFirst()) {
            case ("2", "5"): text.append("%")
            case ("2", "F"), ("2", "f"): text.append("/")
            case ("3", "A"), ("3", "a"): text.append(":")
            default: throw .invalidParameter(parameter, "has a % that is not %25, %2F or %3A; escape it as %25")
            }
        }
        return String(text)
    }
}

extension ConversationID: Comparable {
    /// Orders conversations by kind, then by the bytes of the name; a community comes before its channels.
    public static func < (a: ConversationID, b: ConversationID) -> Bool {
        if a.kind != b.kind { return a.kind.rawValue < b.kind.rawValue }
        if a.target != b.target { return a.target < b.target }
        guard let first = a.part, let second = b.part else { return a.part == nil && b.part != nil }
        return first < second
    }
}
