import Foundation
package import ScrollbackModel

/// The content of an opaque history cursor: the position and direction of the next page, and the rest of the query.
package struct PageCursor {
    enum Direction: String {
        case older, newer
    }

    var direction: Direction
    /// The position of the next page: it contains messages below this sequence number (older) or above it (newer).
    var seq: Seq
    /// The end of the range: pages with newer messages stop before it, pages with older messages include it.
    var end: Seq?
    var epoch: Epoch
    var sort: Sort
    var filter: MessageFilter

    package var text: HistoryCursor {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("d", direction.rawValue)
            writer.field("s", seq)
            writer.field("z", end)
            writer.field("e", epoch)
            if sort == .oldestFirst { writer.field("o", sort.rawValue) }
            if filter != .all {
                writer.key("f")
                filter.write(to: &writer)
            }
        }
        return HistoryCursor(rawValue: Data(writer.bytes).base64URL)
    }

    init(direction: Direction, seq: Seq, end: Seq? = nil, epoch: Epoch, sort: Sort, filter: MessageFilter) {
        self.direction = direction
        self.seq = seq
        self.end = end
        self.epoch = epoch
        self.sort = sort
        self.filter = filter
    }

    /// Decodes a cursor.
    ///
    /// - Throws: `invalid-parameter` if the server did not create the cursor.
    package init(_ cursor: HistoryCursor) throws(ChatError) {
        guard let data = Data(base64URL: cursor.rawValue), let read = Self.read(Array(data)) else {
            throw .invalidParameter("cursor", "must be an unchanged cursor from a previous page")
        }
        self = read
    }

    private static func read(_ bytes: [UInt8]) -> PageCursor? {
        var direction: Direction?
        var seq: Seq?
        var end: Seq?
        var epoch: Epoch?
        var sort = Sort.newestFirst
        var filter = MessageFilter.all
        do {
            var reader = try JSONReader(bytes)
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "d": direction = Direction(rawValue: try value.string())
                case "s": seq = try value.integer()
                case "z": end = try value.integer()
                case "e": epoch = try Epoch(try value.string())
                case "o": sort = Sort(rawValue: try value.string()) ?? .newestFirst
                case "f": filter = try MessageFilter(from: &value)
                default: try value.skip()
                }
            }
            try reader.end()
        } catch {
            return nil
        }
        // Clients can send any cursor, so values that the server never encodes are refused.
        guard let direction, let seq, (0..<Seq.max).contains(seq), let epoch, end.map({ $0 > 0 }) ?? true,
            let filter = try? filter.validated()
        else { return nil }
        return PageCursor(direction: direction, seq: seq, end: end, epoch: epoch, sort: sort, filter: filter)
    }
}

extension MessageFilter {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            func list(_ name: String, _ values: [String]?) {
                guard let values else { return }
                writer.key(name)
                writer.array(values.sorted()) { $0.value($1) }
            }
            list("types", types?.map(\.rawValue))
            list("excludedTypes", excludedTypes?.map(\.rawValue))
            // The empty string means "no custom type", as in a query.
            list("customTypes", customTypes?.map { $0 ?? "" })
            list("senders", senders?.map(\.text))
            if mentionsMe { writer.field("mentionsMe", true) }
            if hasMedia { writer.field("hasMedia", true) }
            writer.field("thread", thread)
            if excludesReplies { writer.field("excludesReplies", true) }
        }
    }

    init(from reader: inout JSONReader) throws(ChatError) {
        self.init()
        func list(_ value: inout JSONReader) throws(ChatError) -> [String] {
            var values: [String] = []
            try value.array { (element) throws(ChatError) in values.append(try element.string()) }
            return values
        }
        var filter = MessageFilter()
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "types": filter.types = Set(try list(&value).map { MessageType(rawValue: $0) })
            case "excludedTypes": filter.excludedTypes = Set(try list(&value).map { MessageType(rawValue: $0) })
            case "customTypes": filter.customTypes = Set(try list(&value).map { $0.isEmpty ? nil : $0 })
            case "senders": filter.senders = Set(try list(&value).map { UserID(known: $0) })
            case "mentionsMe": filter.mentionsMe = try value.bool()
            case "hasMedia": filter.hasMedia = try value.bool()
            case "excludesReplies": filter.excludesReplies = try value.bool()
            case "thread": filter.thread = try MessageID(try value.string(), parameter: "thread")
            default: try value.skip()
            }
        }
        self = filter
    }
}
