/// What stands where an app's own key has encrypted a content, `metadata` or `extra`: the key's name, and bytes that say
/// nothing without the key.
///
/// It travels as `{"encrypted": {"format": 1, "key": "2026-11", "data": "…"}}`. Servers pass it on and look into none of it.
public struct EncryptedValue: Hashable, Sendable {
    /// How the bytes are to be read; this version reads 1.
    public var format: Int64
    /// The name of the key it takes: 1...64 of the characters `a-z A-Z 0-9 . _ : -`.
    public var key: String
    /// The bytes, in base64.
    public var data: String

    /// A value by its members, which are not checked here.
    package init(format: Int64, key: String, data: String) {
        self.format = format
        self.key = key
        self.data = data
    }

    /// Whether a key may be called so: what keeps a line of names apart is in none.
    package static func isKeyName(_ name: String) -> Bool { (try? MessageType(name)) != nil }
}

extension EncryptedValue {
    fileprivate static let member = "encrypted"
    fileprivate static let filesMember = "files"

    /// As it travels.
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

    /// What an object is where it is nothing else: one with other members than these is an app's own, whatever it calls them.
    ///
    /// - Parameter allowsFiles: whether ids of files may stand beside it, as in a content.
    fileprivate init?(_ json: RawJSON, allowsFiles: Bool) {
        guard json.isObject, json.text.namesMember("encrypted") else { return nil }
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
    /// What it is where an app's key has encrypted it.
    package var encrypted: EncryptedValue? { EncryptedValue(self, allowsFiles: false) }
}

extension MessageContent {
    /// What it is where an app's key has encrypted it and it was not read: by a client without the key, by a server.
    public var encrypted: EncryptedValue? { EncryptedValue(json, allowsFiles: true) }

    /// An encrypted content, with the ids of the files that it refers to beside it: by these a server lets its readers
    /// fetch them.
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
    /// Whether a member of that name may be in a JSON text, found without reading it: most texts have none.
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
