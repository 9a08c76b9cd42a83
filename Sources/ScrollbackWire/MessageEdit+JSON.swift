package import ScrollbackModel

extension MessageEdit {
    /// The body of an edit: what stays as it is is left out, what goes is null.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("type", content.type)
        writer.field("content", content.json)
        func write<Value>(_ name: String, _ change: Change<Value>, _ value: (inout JSONWriter, Value) -> Void) {
            switch change {
            case .keep: break
            case .remove:
                writer.key(name)
                writer.value(RawJSON(known: "null"))
            case .set(let new):
                writer.key(name)
                value(&writer, new)
            }
        }
        write("mentions", mentions) { $1.write(to: &$0) }
        write("metadata", metadata) { $0.value($1) }
        write("extra", extra) { $0.value($1) }
        write("customType", customType) { $0.value($1) }
    }
}

/// The members of an edit as they come.
package struct MessageEditFields {
    package var type = MessageType.text
    package var content: RawJSON?
    package var operation: MessageID?
    private var attributes = MessageAttributes()
    private var given: Set<String> = []

    package init() {}

    /// - Returns: whether it is a member of an edit, and so was consumed.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "content": content = try value.raw()
        case "operation": operation = try value.null() ? nil : value.messageID("operation")
        case "mentions", "metadata", "extra", "customType":
            given.insert(name)
            return try attributes.readMember(name, &value)
        default: return false
        }
        return true
    }

    package func edit(limits: Limits) throws(ChatError) -> MessageEdit {
        let json = try content.required("content")
        try Limits.check(json, "content", limits.contentBytes)
        try limits.check(attribute: attributes.metadata, "metadata")
        try limits.check(attribute: attributes.extra, "extra")
        func change<Value>(_ name: String, _ value: Value?) -> MessageEdit.Change<Value> {
            guard given.contains(name) else { return .keep }
            return value.map { .set($0) } ?? .remove
        }
        return MessageEdit(
            try MessageContent(type: type, json: json), mentions: change("mentions", attributes.mentions),
            metadata: change("metadata", attributes.metadata), extra: change("extra", attributes.extra),
            customType: change("customType", attributes.customType))
    }
}
