package import ScrollbackModel

/// What is listed page by page: how one of them is written and read, and what a page calls them.
package protocol ListElement: Sendable {
    static var listName: String { get }
    func write(to writer: inout JSONWriter)
    init(from reader: inout JSONReader) throws(ChatError)
}

/// A page of a list.
package struct ListPage<Element: ListElement>: Sendable {
    package var elements: [Element]
    /// Where the next page begins; absent where there is none.
    package var cursor: String?

    package init(_ elements: [Element], cursor: String?) {
        self.elements = elements
        self.cursor = cursor
    }

    /// A page of a list that is ordered by people's names.
    package init(_ elements: [Element], after user: UserID?) {
        self.init(elements, cursor: user?.text)
    }

    /// The cursor of a list that is ordered by people's names.
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
