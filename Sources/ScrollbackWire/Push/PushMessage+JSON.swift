package import ScrollbackModel

extension PushMessage {
    /// Names the part of a payload that is this server's.
    package static let key = "scrollback"
    /// Names what the sender handed over (row 130), beside that part.
    package static let dataKey = "appData"

    /// The members of the server's own part.
    package func writeMembers(to writer: inout JSONWriter) {
        place.writeMembers(to: &writer)
        writer.field("link", link)
        if kind == .recall { writer.field("recalled", true) }
        if omitsData { writer.field("omitsData", true) }
    }

    /// Reads the server's own part; what stands beside it is the caller's to add.
    ///
    /// - Throws: an error that names the member that is missing or wrong.
    package init(_ text: String) throws(ChatError) {
        var members = JSONReader(text, field: Self.key)
        self.init(place: try PushPlace(from: &members))
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
