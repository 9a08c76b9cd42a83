/// A content, `metadata` or `extra` that the app's own key has encrypted: the name of the key and the ciphertext.
///
/// The wire form is `{"encrypted": {"format": 1, "key": "2026-11", "data": "…"}}`. Servers pass it on without reading
/// it.
public struct EncryptedValue: Hashable, Sendable {
    /// The format of ``data``; this version reads format 1.
    public var format: Int64
    /// The name of the key: 1...64 of the characters `a-z A-Z 0-9 . _ : -`.
    public var key: String
    /// The ciphertext in base64.
    public var data: String

    /// Creates a value without checking its members.
    package init(format: Int64, key: String, data: String) {
        self.format = format
        self.key = key
        self.data = data
    }

    /// Returns whether `name` is a valid key name; the allowed characters exclude the separators of lists of names.
    package static func isKeyName(_ name: String) -> Bool { (try? MessageType(name)) != nil }
}

extension EncryptedValue {
    fileprivate static let member = "encrypted"
    fileprivate static let filesMember = "files"

    /// The wire form.
    package var json: RawJSON {
        var writer = JSONWriter(reserving: data.utf8.count + 128)
        writer.object { writeMember(to: &$0) }
        return writer.json
    }

    fileprivate func writeMember(to writer: inout JSONWriter) {
        writer.key(Self.member)
        writer.object { writer in
            writer.field("format", format)
            writer.field("key", key)
            writer.field("data", data)
        }
    }

    /// Parses an encrypted value; `nil` if the object has other members, since it is then the app's own object.
    ///
    /// - Parameter allowsFiles: Whether a list of file IDs may accompany the value, as in a content.
    fileprivate init?(_ json: RawJSON, allowsFiles: Bool) {
        guard json.mayBeEncrypted, json.text.namesMember("encrypted") else { return nil }
        var found: EncryptedValue?
        var hasOthers = false
        var reader = JSONReader(json.text)
        try? reader.object { (name, value) throws(ChatError) in
            switch name {
            case Self.member: found = try EncryptedValue(from: &value)
            case Self.filesMember where allowsFiles: try value.skip()
            default:
                hasOthers = true
                try value.skip()
            }
        }
        guard let found, !hasOthers else { return nil }
        self = found
    }

    private init?(from reader: inout JSONReader) throws(ChatError) {
        var format: Int64?
        var key: String?
        var data: String?
        var object = JSONReader(try reader.raw().text)
        try? object.object { (name, value) throws(ChatError) in
            switch name {
            case "format": format = try value.integer()
            case "key": key = try value.string()
            case "data": data = try value.string()
            default: try value.skip()
            }
        }
        guard let format, let key, let data, Self.isKeyName(key) else { return nil }
        self.init(format: format, key: key, data: data)
    }
}

extension RawJSON {
    /// The encrypted value, if an app's key encrypted this JSON.
    package var encrypted: EncryptedValue? { EncryptedValue(self, allowsFiles: false) }

    /// Whether the JSON is an object whose first member may be one of an encrypted value.
    ///
    /// An encrypted value has no other members, so the first byte of a name rules out most objects.
    package var mayBeEncrypted: Bool {
        var bytes = text.utf8.makeIterator()
        guard bytes.next() == UInt8(ascii: "{") else { return false }
        while let byte = bytes.next() {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case UInt8(ascii: "\""):
                let first = bytes.next()
                return first == UInt8(ascii: "e") || first == UInt8(ascii: "f") || first == UInt8(ascii: "\\")
            default: return false
            }
        }
        return false
    }
}

extension MessageContent {
    /// The encrypted value, if an app's key encrypted this content and it was not decrypted.
    ///
    /// Servers, and clients without the key, see this value.
    public var encrypted: EncryptedValue? { EncryptedValue(json, allowsFiles: true) }

    /// The error of content that is meant to be encrypted and is not, or `nil` for other content.
    ///
    /// The member `encrypted` of such content is an object, or has no other member than `files` beside it. An app's own
    /// type may have a member `encrypted` of its own.
    var encryptionError: ChatError? {
        guard !type.isCustom else { return nil }
        var (isPresent, isObject, hasOthers) = (false, false, false)
        var reader = JSONReader(json.text)
        try? reader.object { (name, value) throws(ChatError) in
            switch name {
            case EncryptedValue.member:
                isPresent = true
                isObject = value.nextIsObject
            case EncryptedValue.filesMember: break
            default: hasOthers = true
            }
            try value.skip()
        }
        guard isPresent, isObject || !hasOthers else { return nil }
        return ChatError.invalidParameter(
            EncryptedValue.member,
            "must be an object with format (a whole number), key (1...64 of the characters a-z A-Z 0-9 . _ : -) and "
                + "data (base64). Only files may be beside it.")
    }

    /// Creates an encrypted content with the IDs of the files that it refers to.
    ///
    /// The server reads these IDs to let the readers of the message fetch the files.
    package static func encrypted(_ type: MessageType, _ value: EncryptedValue, files: [MediaID]) -> MessageContent {
        MessageContent(type) { writer in
            value.writeMember(to: &writer)
            guard !files.isEmpty else { return }
            writer.key(EncryptedValue.filesMember)
            writer.array(files) { $0.value($1.description) }
        }
    }
}

extension String {
    /// Returns whether the JSON text may have a member of that name.
    ///
    /// The search does not parse the text, because most texts have no such member.
    fileprivate func namesMember(_ name: StaticString) -> Bool {
        var text = self
        return text.withUTF8 { bytes in
            name.withUTF8Buffer { name in
                guard bytes.count > name.count + 2 else { return false }
                let quote = UInt8(ascii: "\"")
                return bytes.indices.dropLast(name.count + 1).contains { start in
                    bytes[start] == quote && bytes[start + name.count + 1] == quote
                        && bytes[(start + 1)...(start + name.count)].elementsEqual(name)
                }
            }
        }
    }
}
