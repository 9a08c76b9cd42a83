package import ScrollbackModel
package import ScrollbackWire

extension UserState: TextParameterValue {
    package static var schema: JSONSchema { .choice(allCases.map(\.name)) }
    package static let example = #""active""#

    package init(text: String, parameter: String) throws(ChatError) {
        guard let state = Self.allCases.first(where: { $0.name == text }) else {
            throw .invalidParameter(parameter, "must be one of \(Self.allCases.map(\.name).joined(separator: ", "))")
        }
        self = state
    }
}

extension ErasureRow.Messages: TextParameterValue {
    package static var schema: JSONSchema { .choice(allCases.map(\.name)) }
    package static let example = #""keep""#

    package init(text: String, parameter: String) throws(ChatError) {
        guard let messages = Self.allCases.first(where: { $0.name == text }) else {
            throw .invalidParameter(parameter, "must be one of \(Self.allCases.map(\.name).joined(separator: ", "))")
        }
        self = messages
    }
}

extension ChatError {
    /// The error for a cursor that no page of the list had.
    static let unknownCursor = ChatError.invalidParameter("cursor", "must be the cursor of an earlier page, unchanged")
}
