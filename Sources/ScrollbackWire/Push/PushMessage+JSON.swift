package import ScrollbackModel

extension PushMessage {
    /// The name of the payload member with this server's data.
    package static let key = "scrollback"
    /// The name of the payload member with the sender's data.
    package static let dataKey = "appData"

    /// Writes the members of this server's data.
    package func writeMembers(to writer: inout JSONWriter) {
        target.writeMembers(to: &writer)
        writer.field("link", link)
        if kind == .recall { writer.field("recalled", true) }
        if omitsData { writer.field("omitsData", true) }
    }

    /// Reads this server's data; the other members of the payload are not included.
    ///
    /// - Throws: An error that names the missing or invalid member.
    package init(_ text: String) throws(ChatError) {
        var members = JSONReader(text, field: Self.key)
        self.init(target: try PushTarget(from: &members))
        try members.end()
        var rest = JSONReader(text, field: Self.key)
        try rest.object { (name, value) throws(ChatError) in
            switch name {
            case "link": link = try value.null() ? nil : value.string()
            case "recalled": kind = try value.bool() ? .recall : .message
            case "omitsData": omitsData = try value.bool()
            default: try value.skip()
            }
        }
    }
}
