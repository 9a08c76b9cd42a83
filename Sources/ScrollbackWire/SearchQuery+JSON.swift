package import ScrollbackModel

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
