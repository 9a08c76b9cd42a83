/// Members of the types that every message has.
///
/// The generic method does the same, but the compiler does not specialize it across modules. It also makes a `String`
/// of each value.
extension JSONWriter {
    package mutating func field(_ name: String, _ value: ConversationID?) {
        if let value { field(name, value.description) }
    }

    package mutating func field(_ name: String, _ value: MessageID?) {
        guard let value else { return }
        key(name)
        plainText(MessageID.textLength) { value.write(to: $0) }
    }

    package mutating func field(_ name: String, _ value: UserID?) {
        if let value { field(name, value.description) }
    }

    package mutating func field(_ name: String, _ value: Timetoken?) {
        if let value { key(name); digits(value.rawValue) }
    }

    package mutating func field(_ name: String, _ value: Epoch?) {
        if let value { key(name); digits(value.rawValue) }
    }

    package mutating func field(_ name: String, _ value: MessageType?) {
        if let value { field(name, value.description) }
    }
}
