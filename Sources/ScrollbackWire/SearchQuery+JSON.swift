package import ScrollbackModel

/// The parameters of a search by name, whichever door they came by.
package struct SearchParameters {
    package var text: String?
    package var sort: String?
    package var limit: Int64?
    package var cursor: String?

    package init() {}

    /// Of a URL's query.
    ///
    /// - Throws: `invalid-parameter` for what is given twice, and for a limit that is no number.
    package init(_ values: [String: [String]]) throws(ChatError) {
        func one(_ name: String) throws(ChatError) -> String? {
            guard let given = values[name] else { return nil }
            guard given.count == 1 else { throw .invalidParameter(name, "must be given once") }
            return given[0]
        }
        text = try one("text")
        sort = try one("sort")
        cursor = try one("cursor")
        limit = try one("limit").map { (text) throws(ChatError) in
            guard let limit = Int64(text) else { throw .invalidParameter("limit", "must be a whole number") }
            return limit
        }
    }

    /// Reads one member of a frame, if it is a parameter.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "text": text = try value.string()
        case "sort": sort = try value.null() ? nil : value.string()
        case "limit": limit = try value.integer()
        case "cursor": cursor = try value.null() ? nil : value.string()
        default: return false
        }
        return true
    }

    /// - Throws: `invalid-parameter` naming what is wrong.
    package func query(in conversation: ConversationID?) throws(ChatError) -> SearchQuery {
        let sort = try sort.map { (text) throws(ChatError) in
            guard let sort = SearchSort(rawValue: text) else {
                throw .invalidParameter("sort", "must be newestFirst or bestFirst")
            }
            return sort
        }
        guard let limit = Int(exactly: limit ?? 20) else { throw .invalidParameter("limit", "must be in range") }
        return SearchQuery(
            try text.required("text"), in: conversation, sort: sort ?? .newestFirst, limit: limit,
            after: cursor.map { SearchCursor(rawValue: $0) })
    }
}

extension SearchQuery {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("text", text)
        writer.field("sort", sort.rawValue)
        writer.field("limit", limit)
        writer.field("cursor", cursor?.rawValue)
    }
}

extension SearchPage {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("hits")
        writer.array(hits) { $1.write(to: &$0) }
        writer.field("cursor", next?.rawValue)
        if isIndexing { writer.field("indexing", true) }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var hits: [SearchHit]?
        var cursor: String?
        var isIndexing = false
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "hits":
                hits = try value.list("hits", limit: 100) { (hit) throws(ChatError) in try SearchHit(from: &hit) }
            case "cursor": cursor = try value.string()
            case "indexing": isIndexing = try value.bool()
            default: try value.skip()
            }
        }
        self.init(
            hits: try hits.required("hits"), next: cursor.map { SearchCursor(rawValue: $0) }, isIndexing: isIndexing)
    }
}

extension SearchHit {
    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("message")
        message.write(to: &writer)
        writer.key("ranges")
        writer.array(ranges) { writer, range in
            writer.array([range.lowerBound, range.upperBound]) { $0.value(Int64($1)) }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var message: Message?
        var ranges: [Range<Int>]?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "message": message = try Message(from: &value)
            case "ranges":
                ranges = try value.list("ranges", limit: 100_000) { (pair) throws(ChatError) in
                    let ends = try pair.list("ranges", limit: 2) { (end) throws(ChatError) in try end.integer() }
                    guard ends.count == 2, let lower = Int(exactly: ends[0]), let upper = Int(exactly: ends[1]),
                        0 <= lower, lower < upper
                    else { throw .invalidParameter("ranges", "must be [lower, upper]") }
                    return lower..<upper
                }
            default: try value.skip()
            }
        }
        self.init(message: try message.required("message"), ranges: try ranges.required("ranges"))
    }
}
