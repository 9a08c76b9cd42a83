package import ScrollbackModel

extension MessageEdit {
    /// Writes the body of an edit: unchanged members are absent, and removed ones are `null`.
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
