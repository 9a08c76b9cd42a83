package import ScrollbackModel

extension Role: ChoiceParameterValue {
    package static var schema: JSONSchema { .component("Role") }
}

extension Mute: ParameterValue {
    package static let schema = JSONSchema.component("MutedUntil")
    package static let example = #""forever""#

    package init(from reader: inout JSONReader, parameter: String) throws(ChatError) {
        self = try Mute(from: &reader)
    }

    package init(text: String, parameter: String) throws(ChatError) {
        self = text == "forever" ? .forever : .until(try .init(iso8601: text, parameter: parameter))
    }
}

extension RequestReader {
    /// Reads for how many seconds an invitation is valid.
    package mutating func invitationLifetime() throws(ChatError) -> Int64? {
        let range = Int(Invitation.lifetimes.lowerBound)...Int(Invitation.lifetimes.upperBound)
        return try optional(
            "expiresIn", .integer(range), example: "86400",
            "How long the invitation is valid, in seconds. Without it the invitation doesn't expire."
        ) { (value) throws(ChatError) in
            try Invitation.validated(lifetime: value.integer())
        } ?? nil
    }
}
