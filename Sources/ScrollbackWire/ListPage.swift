package import ScrollbackModel

/// An element of a paged list, with its JSON representation and the name of the list in a page.
package protocol ListElement: Sendable {
    static var listName: String { get }
    static var schema: JSONSchema { get }
    func write(to writer: inout JSONWriter)
    init(from reader: inout JSONReader) throws(ChatError)
}

/// A page of a list.
package struct ListPage<Element: ListElement>: DecodableAnswer {
    package static var schema: JSONSchema? {
        .object([
            .init(Element.listName, .array(Element.schema)),
            .init(
                "cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])
    }

    package var elements: [Element]
    /// The cursor for the next page; `nil` after the last page.
    package var cursor: String?

    package init(_ elements: [Element], cursor: String?) {
        self.elements = elements
        self.cursor = cursor
    }

    /// Creates a page of a list that is ordered by user ID.
    package init(_ elements: [Element], after user: UserID?) {
        self.init(elements, cursor: user?.text)
    }

    /// Returns the cursor of a list that is ordered by user ID.
    package func after() throws(ChatError) -> UserID? {
        try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key(Element.listName)
        writer.array(elements) { $1.write(to: &$0) }
        writer.field("cursor", cursor)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var elements: [Element]?
        var cursor: String?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case Element.listName:
                elements = try value.list(name, limit: 1000) { (element) throws(ChatError) in
                    try Element(from: &element)
                }
            case "cursor": cursor = try value.null() ? nil : value.string()
            default: try value.skip()
            }
        }
        self.init(try elements.required(Element.listName), cursor: cursor)
    }
}
