import Foundation
package import ScrollbackModel

extension ChatError {
    /// Writes the error as problem details (RFC 9457) with additional members.
    package func writeProblem(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("type", "about:blank")
            writer.field("title", code.rawValue)
            writer.field("status", status)
            writer.field("detail", message)
            writeMembers(to: &writer)
        }
    }

    /// Writes the additional members.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("code", code.rawValue)
        writer.field("temporary", isTemporary)
        writer.field("parameter", parameter)
        writer.field("limit", limit)
        writer.field("retryAfter", retryAfter)
        writer.field("until", until)
        writer.field("reason", reason)
    }

    package init(problem reader: inout JSONReader) throws(ChatError) {
        var fields = ProblemFields()
        try reader.object { (name, value) throws(ChatError) in
            if try !fields.read(name, &value) { try value.skip() }
        }
        self = fields.error
    }
}

/// The parsed members of an error, which may be part of an object with other members.
package struct ProblemFields {
    var code: ChatError.Code?
    var message: String?
    var parameter: String?
    var limit: Int?
    var retryAfter: Double?
    var until: Date?
    var reason: String?
    var isTemporary: Bool?
    var status: Int?

    package init() {}

    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "code": code = ChatError.Code(rawValue: try value.string())
        case "detail": message = try value.string()
        case "parameter": parameter = try value.string()
        case "limit": limit = Int(try value.counter())
        case "retryAfter": retryAfter = TimeInterval(requested: try value.double())
        case "until": until = try value.date("until")
        case "reason": reason = try value.string()
        case "temporary": isTemporary = try value.bool()
        case "status": status = Int(try value.counter())
        default: return false
        }
        return true
    }

    package var error: ChatError {
        let status = status ?? 500
        var error = ChatError(
            code: code ?? .internalError, message: message ?? "The server gave no reason.", parameter: parameter,
            limit: limit, retryAfter: retryAfter, isTemporary: isTemporary ?? (status >= 500), status: status)
        error.until = until
        error.reason = reason
        return error
    }
}
