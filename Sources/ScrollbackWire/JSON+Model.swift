package import Foundation
package import ScrollbackModel

// The JSON representation of basic values: 64-bit identifiers are strings, sequence numbers and counts are numbers.

extension JSONReader {
    package mutating func conversation(_ parameter: String = "conversation") throws(ChatError) -> ConversationID {
        try ConversationID(try string(), parameter: parameter)
    }
    package mutating func user(_ parameter: String = "user") throws(ChatError) -> UserID {
        try UserID(try string(), parameter: parameter)
    }
    package mutating func messageID(_ parameter: String = "id") throws(ChatError) -> MessageID {
        try MessageID(try string(), parameter: parameter)
    }
    package mutating func timetoken(_ parameter: String = "timetoken") throws(ChatError) -> Timetoken {
        try Timetoken(try string(), parameter: parameter)
    }
    package mutating func epoch() throws(ChatError) -> Epoch { try Epoch(try string()) }
    package mutating func date(_ parameter: String) throws(ChatError) -> Date {
        try Date(iso8601: try string(), parameter: parameter)
    }

    /// Reads a number that a server assigned or counted, such as a sequence number or a revision.
    ///
    /// Clients compute with these numbers. Neighbors, and sums over a page, can't overflow in the range of RFC 7493.
    ///
    /// - Throws: `invalid-parameter` if the number has more than 53 bits.
    package mutating func counter() throws(ChatError) -> Int64 {
        let number = try integer()
        guard (-Self.largestCounter...Self.largestCounter).contains(number) else {
            throw mismatch("in -\(Self.largestCounter)...\(Self.largestCounter)")
        }
        return number
    }

    private static let largestCounter: Int64 = 1 << 53 - 1

    /// Reads a sequence number or a revision that a client sent.
    ///
    /// - Throws: `invalid-parameter` if the number is negative.
    package mutating func nonnegativeInteger() throws(ChatError) -> Int64 {
        let number = try integer()
        guard number >= 0 else { throw mismatch("0 or above") }
        return number
    }

    /// Reads a JSON object of the application.
    package mutating func rawObject(_ parameter: String) throws(ChatError) -> RawJSON {
        let json = try raw()
        guard json.isObject else { throw .invalidParameter(parameter, "must be a JSON object") }
        return json
    }

    /// Reads a name that messages can be filtered by.
    package mutating func customType() throws(ChatError) -> String {
        let text = try string()
        guard (1...128).contains(text.utf8.count) else {
            throw .invalidParameter("customType", "must be 1...128 bytes of UTF-8")
        }
        return text
    }

    /// Reads a list of at most `limit` elements.
    package mutating func list<Element>(
        _ parameter: String, limit: Int, _ element: (inout JSONReader) throws(ChatError) -> Element
    ) throws(ChatError) -> [Element] {
        var elements: [Element] = []
        try array { (value) throws(ChatError) in
            guard elements.count < limit else {
                throw .invalidParameter(parameter, "must have at most \(limit) elements", limit: limit)
            }
            elements.append(try element(&value))
        }
        return elements
    }

    /// Reads a value of an enumeration; the error for other values lists the choices.
    package mutating func choice<Value: RawRepresentable & CaseIterable>(
        _ parameter: String
    ) throws(ChatError) -> Value where Value.RawValue == String {
        let text = try string()
        guard let value = Value(rawValue: text) else {
            throw .invalidParameter(
                parameter, "must be one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }
}

extension Optional {
    /// Returns the value, or throws an error that names the missing parameter.
    package func required(_ parameter: String) throws(ChatError) -> Wrapped {
        guard let self else { throw .invalidParameter(parameter, "is missing") }
        return self
    }
}

extension Mentions {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if everyone { writer.field("everyone", true) }
            if !users.isEmpty {
                writer.key("users")
                writer.array(users) { $0.value($1.text) }
            }
            writer.field("pushText", pushText)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var everyone = false
        var users: [UserID] = []
        var pushText: String?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "everyone": everyone = try value.bool()
            case "users":
                users = try value.list("mentions", limit: Mentions.maximumUsers) { (user) throws(ChatError) in
                    try user.user("mentions")
                }
            case "pushText": pushText = try value.string()
            default: try value.skip()
            }
        }
        self.init(everyone: everyone, users: users, pushText: pushText)
        self = try validated()
    }
}

extension MessageTraits {
    /// Writes the traits that are turned off.
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if !isStored { writer.field("storeInHistory", false) }
            if !countsUnread { writer.field("countsUnread", false) }
            if !notifies { writer.field("notifies", false) }
            if !updatesRecents { writer.field("updatesRecents", false) }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        self.init()
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "storeInHistory": isStored = try value.bool()
            case "countsUnread": countsUnread = try value.bool()
            case "notifies": notifies = try value.bool()
            case "updatesRecents": updatesRecents = try value.bool()
            default: try value.skip()
            }
        }
    }
}

extension MessageAttributes {
    package func writeMembers(to writer: inout JSONWriter) {
        if let mentions {
            writer.key("mentions")
            mentions.write(to: &writer)
        }
        writer.field("metadata", metadata)
        writer.field("extra", extra)
        writer.field("customType", customType)
        writer.field("push", push)
        writer.field("replyTo", replyTo)
        if traits != MessageTraits() {
            writer.key("flags")
            traits.write(to: &writer)
        }
        if priority != .normal { writer.field("priority", priority.rawValue) }
    }

    /// Reads one JSON member if it is an attribute.
    ///
    /// - Returns: Whether the member is an attribute.
    package mutating func readMember(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "mentions": mentions = try value.null() ? nil : Mentions(from: &value)
        case "metadata":
            if try value.null() { return true }
            metadata = try value.rawObject("metadata")
        case "extra": extra = try value.null() ? nil : value.raw()
        case "customType":
            if try value.null() { return true }
            customType = try value.customType()
        case "push":
            if try value.null() { return true }
            push = try value.rawObject("push")
        case "replyTo": replyTo = try value.null() ? nil : value.messageID("replyTo")
        case "priority":
            priority = try value.null() ? .normal : value.choice("priority")
        case "flags": traits = try value.null() ? MessageTraits() : MessageTraits(from: &value)
        default: return false
        }
        return true
    }
}
