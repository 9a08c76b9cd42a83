package import ScrollbackModel
import ScrollbackWire

// Values that stores keep as JSON in a column.

extension Mentions {
    package var stored: String {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.text
    }

    /// Decodes a stored value without validating it, because the rules for new values may be stricter.
    package init(stored text: String) throws {
        var reader = JSONReader(text)
        var everyone = false
        var users: [UserID] = []
        var pushText: String?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "everyone": everyone = try value.bool()
            case "users":
                try value.array { (user) throws(ChatError) in users.append(UserID(known: try user.string())) }
            case "pushText": pushText = try value.string()
            default: try value.skip()
            }
        }
        self.init(everyone: everyone, users: users, pushText: pushText)
    }
}

extension [ActionSummary] {
    package var stored: String {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.text
    }

    package init(stored text: String) throws {
        var reader = JSONReader(text)
        try self.init(from: &reader)
    }
}
