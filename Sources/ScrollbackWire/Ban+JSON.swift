import Foundation
package import ScrollbackModel

extension Ban: ListElement {
    package static let listName = "bans"
    package static let schema = JSONSchema.component("Ban")

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
