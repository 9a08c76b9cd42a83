import Foundation
package import ScrollbackModel

extension Ban: ListElement {
    package static let listName = "bans"

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("user", id)
            writer.field("until", until)
            writer.field("reason", reason)
            writer.field("by", by)
            writer.field("at", at)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var fields: (user: UserID?, by: UserID?, at: Date?)
        var until: Date?
        var reason: String?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "user": fields.user = try value.user()
            case "until": until = try value.null() ? nil : value.date("until")
            case "reason": reason = try value.null() ? nil : value.string()
            case "by": fields.by = try value.user("by")
            case "at": fields.at = try value.date("at")
            default: try value.skip()
            }
        }
        self.init(
            id: try fields.user.required("user"), until: until, reason: reason, by: try fields.by.required("by"),
            at: try fields.at.required("at"))
    }
}

extension JSONReader {
    /// Why somebody is banned: at most 500 bytes.
    package mutating func banReason() throws(ChatError) -> String {
        let text = try string()
        guard (1...Ban.reasonBytes).contains(text.utf8.count) else {
            throw .invalidParameter(
                "reason", "must be 1...\(Ban.reasonBytes) bytes of UTF-8", limit: Ban.reasonBytes)
        }
        return text
    }

    /// What somebody has to say about a message they report, or about a report: at most 2,000 bytes.
    package mutating func reportText(_ parameter: String) throws(ChatError) -> String {
        let text = try string()
        guard text.utf8.count <= Report.textBytes else {
            throw .invalidParameter(
                parameter, "must be at most \(Report.textBytes) bytes of UTF-8", limit: Report.textBytes)
        }
        return text
    }
}
