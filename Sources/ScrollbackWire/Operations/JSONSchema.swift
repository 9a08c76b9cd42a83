/// The shape of a JSON value, for the OpenAPI document.
package indirect enum JSONSchema: Sendable {
    /// A schema by its name in the document's components.
    case component(String)
    case string(bytes: ClosedRange<Int>? = nil)
    case integer(ClosedRange<Int>? = nil)
    case number(ClosedRange<Double>? = nil)
    case boolean
    /// One of these strings.
    case choice([String])
    case array(JSONSchema, count: ClosedRange<Int>? = nil)
    case object([Property])
    /// An object whose members have any names and values of one shape.
    case map(JSONSchema, count: ClosedRange<Int>? = nil)
    case anyOf([JSONSchema])

    package struct Property: Sendable {
        package let name: String
        package let schema: JSONSchema
        package let isRequired: Bool
        package let description: String

        package init(_ name: String, _ schema: JSONSchema, isRequired: Bool = true, _ description: String = "") {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
            self.description = description
        }
    }
}
