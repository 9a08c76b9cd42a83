package import Foundation
package import ScrollbackModel

/// A type that parameters of requests have: how it's read, and how the OpenAPI document describes it.
package protocol ParameterValue: Sendable {
    static var schema: JSONSchema { get }
    /// A JSON text.
    static var example: String { get }
    /// Reads a JSON value.
    init(from reader: inout JSONReader, parameter: String) throws(ChatError)
    /// Reads a segment of a path, or a value of a query.
    init(text: String, parameter: String) throws(ChatError)
}

/// A value that is a string in JSON.
package protocol TextParameterValue: ParameterValue {}

extension TextParameterValue {
    package init(from reader: inout JSONReader, parameter: String) throws(ChatError) {
        self = try Self(text: reader.string(), parameter: parameter)
    }
}

extension String: TextParameterValue {
    package static let schema = JSONSchema.string()
    package static let example = #""text""#
    package init(text: String, parameter: String) throws(ChatError) { self = text }
}

extension ConversationID: TextParameterValue {
    package static let schema = JSONSchema.component("ConversationID")
    package static let example = #""group:swift""#
    package init(text: String, parameter: String) throws(ChatError) { self = try ConversationID(text) }
}

extension UserID: TextParameterValue {
    package static let schema = JSONSchema.component("UserID")
    package static let example = #""alice""#
    package init(text: String, parameter: String) throws(ChatError) { self = try UserID(text, parameter: parameter) }
}

extension MessageID: TextParameterValue {
    package static let schema = JSONSchema.component("MessageID")
    package static let example = #""0198f3c2-7c1e-7000-8000-0123456789ab""#
    package init(text: String, parameter: String) throws(ChatError) { self = try MessageID(text, parameter: parameter) }
}

extension Identifier: TextParameterValue {
    package static let schema = JSONSchema.component("Name")
    package static let example = #""harbour""#
    package init(text: String, parameter: String) throws(ChatError) {
        self = try Identifier(text, parameter: parameter)
    }
}

extension Epoch: TextParameterValue {
    package static let schema = JSONSchema.component("Epoch")
    package static let example = #""8134902211640721931""#
    package init(text: String, parameter: String) throws(ChatError) { self = try Epoch(text, parameter: parameter) }
}

extension Timetoken: TextParameterValue {
    package static let schema = JSONSchema.component("Timetoken")
    package static let example = #""17952552001230007""#
    package init(text: String, parameter: String) throws(ChatError) { self = try Timetoken(text, parameter: parameter) }
}

extension ReportReason: TextParameterValue {
    package static let schema = JSONSchema.string(bytes: 1...64)
    package static let example = #""spam""#
    package init(text: String, parameter: String) throws(ChatError) { self = try ReportReason(text) }
}

extension Date: TextParameterValue {
    package static let schema = JSONSchema.component("Time")
    package static let example = #""2027-01-01T00:00:00.000Z""#
    package init(text: String, parameter: String) throws(ChatError) {
        self = try Date(iso8601: text, parameter: parameter)
    }
}

extension Int64: ParameterValue {
    package static let schema = JSONSchema.integer()
    package static let example = "1"
    package init(from reader: inout JSONReader, parameter: String) throws(ChatError) { self = try reader.integer() }
    package init(text: String, parameter: String) throws(ChatError) {
        guard let number = Int64(text) else { throw .invalidParameter(parameter, "must be a whole number") }
        self = number
    }
}

extension Double: ParameterValue {
    package static let schema = JSONSchema.number()
    package static let example = "86400"
    package init(from reader: inout JSONReader, parameter: String) throws(ChatError) { self = try reader.double() }
    package init(text: String, parameter: String) throws(ChatError) {
        guard let number = Double(text) else { throw .invalidParameter(parameter, "must be a number") }
        self = number
    }
}

extension Bool: ParameterValue {
    package static let schema = JSONSchema.boolean
    package static let example = "true"
    package init(from reader: inout JSONReader, parameter: String) throws(ChatError) { self = try reader.bool() }
    package init(text: String, parameter: String) throws(ChatError) {
        guard let flag = Bool(text) else { throw .invalidParameter(parameter, "must be true or false") }
        self = flag
    }
}

/// Which page of a list a request asks for.
package struct Paging: Sendable {
    /// How many elements the page has at most.
    package var limit: Int
    /// The cursor of the previous page, or `nil` for the first page.
    package var cursor: String?

    package init(limit: Int = 20, cursor: String? = nil) {
        self.limit = limit
        self.cursor = cursor
    }

    /// - Parameter highest: The largest `limit`, for the documentation; the engine checks it.
    package init(from request: inout RequestReader, highest: Int = Limits.standard.pageSize) throws(ChatError) {
        let limit: Int64? = try request.omittable("limit", "How many elements to return at most. The default is 20.")
        guard let limit = Int(exactly: limit ?? 20) else { throw .invalidParameter("limit", "must be in range") }
        self.limit = limit
        cursor = try request.optional("cursor", "The `cursor` of the previous page. Leave it out for the first page.")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("cursor", cursor)
        writer.field("limit", limit)
    }

    /// The cursor of a list that is ordered by user names.
    package func user() throws(ChatError) -> UserID? {
        try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") }
    }

    /// The cursor of a list that is ordered by numbers, which start at 1.
    package func number() throws(ChatError) -> Int64? {
        try cursor.map { (text) throws(ChatError) in
            guard let number = Int64(text), number > 0 else {
                throw .invalidParameter("cursor", "must be the cursor of an earlier page, unchanged")
            }
            return number
        }
    }
}

/// An enumeration whose cases requests name.
package protocol ChoiceParameterValue: TextParameterValue, RawRepresentable, CaseIterable where RawValue == String {}

extension ChoiceParameterValue {
    package static var schema: JSONSchema { .choice(allCases.map(\.rawValue)) }
    package static var example: String { "\"\(allCases.first?.rawValue ?? "")\"" }

    package init(text: String, parameter: String) throws(ChatError) {
        guard let value = Self(rawValue: text) else {
            throw .invalidParameter(
                parameter, "must be one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = value
    }
}

extension RequestReader {
    /// Reads a number that counts from 1, such as the number of a report.
    package mutating func number(_ name: String, _ description: String = "") throws(ChatError) -> Int64 {
        let number: Int64 = try required(name, description)
        guard number > 0 else { throw .invalidParameter(name, "must be a whole number above 0") }
        return number
    }
}
