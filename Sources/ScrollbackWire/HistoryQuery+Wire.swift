import Foundation
package import ScrollbackModel

/// The parameters of a history request by name, from a URL's query or from JSON members.
package struct HistoryParameters {
    package var values: [String: [String]]
    /// The names of parameters that were given as JSON lists, whose elements may contain commas.
    private var lists: Set<String> = []

    private static let longestList = 100

    package init(_ values: [String: [String]]) {
        self.values = values
    }

    /// The type of a parameter in JSON.
    ///
    /// The query of a URL has texts only.
    private enum Kind {
        case text, number, flag, list
    }

    private static let kinds = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.kind) })

    /// Reads the parameters of a request.
    ///
    /// - Parameter pages: Whether the request asks for one page or for a page of each of several conversations, which
    ///   has no `cursor`.
    init(from request: inout RequestReader, pages: Pages) throws(ChatError) {
        self.init([:])
        for parameter in Self.all where pages == .one || parameter.name != "cursor" {
            let (name, kind) = (parameter.name, parameter.kind)
            var isArray = false
            values[name] = try request.texts(
                name, parameter.schema, pages == .one ? parameter.description : parameter.multiPageDescription
            ) { (value) throws(ChatError) in
                isArray = kind == .list
                return try Self.texts(name, kind, &value)
            }
            if isArray { lists.insert(name) }
        }
    }

    /// How many pages a request asks for.
    enum Pages {
        case one, several
    }

    /// Reads one member of a frame or a body, if it is a parameter.
    ///
    /// A parameter that is `null` counts as missing.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        guard let kind = Self.kinds[name] else { return false }
        guard try !value.null() else { return true }
        values[name] = try Self.texts(name, kind, &value)
        if kind == .list { lists.insert(name) }
        return true
    }

    private static func texts(
        _ name: String, _ kind: Kind, _ value: inout JSONReader
    ) throws(ChatError) -> [String] {
        switch kind {
        case .text:
            guard value.nextIsString else { throw .invalidParameter(name, "must be a string") }
            return [try value.string()]
        case .list:
            return try value.list(name, limit: longestList) { (element) throws(ChatError) in
                guard element.nextIsString else { throw .invalidParameter(name, "must be a list of strings") }
                return try element.string()
            }
        case .number, .flag:
            // ``query()`` checks the value, as it checks the text of a URL.
            guard !value.nextIsString else {
                throw .invalidParameter(name, kind == .flag ? "must be true or false" : "must be a whole number")
            }
            return [try value.raw().text]
        }
    }

    /// A parameter and its documentation.
    private struct Parameter {
        let name: String
        let kind: Kind
        let schema: JSONSchema
        let description: String
        /// The description in a request for several pages, where that is different.
        var multiPageDescription: String

        init(_ name: String, _ kind: Kind, _ schema: JSONSchema, _ description: String, ofSeveral: String? = nil) {
            self.name = name
            self.kind = kind
            self.schema = schema
            self.description = description
            multiPageDescription = ofSeveral ?? description
        }
    }

    private static let all: [Parameter] = {
        let point = JSONSchema.component("HistoryPoint")
        let count = JSONSchema.integer(0...100)
        let types = JSONSchema.array(.component("MessageType"), count: 1...longestList)
        let repeated = "In a query, repeat the parameter or separate the values by commas."
        let ofSeveral = "At most 25 for several conversations or with actions."
        return [
            Parameter("before", .text, point, "Messages older than this point."),
            Parameter("after", .text, point, "Messages newer than this point."),
            Parameter("around", .text, point, "Messages on both sides of this point."),
            Parameter("from", .text, point, "The older end, included. Needs `to`, or `before` to read back to it."),
            Parameter("to", .text, point, "The newer end, excluded. Needs `from`."),
            Parameter(
                "cursor", .text, .string(), "The `older` or `newer` of a page. Allows only `limit` and `include`."),
            Parameter(
                "limit", .number, count,
                "How many messages to return at most. The default is 20. With actions the most is 25.",
                ofSeveral: "How many messages of each conversation to return at most: 100 for one conversation, 25 for "
                    + "several or with actions. This is also the default."),
            Parameter(
                "beforeLimit", .number, count, "How many older messages `around` returns. The default is 10.",
                ofSeveral: "How many older messages `around` returns. The default is 10. \(ofSeveral)"),
            Parameter(
                "afterLimit", .number, count, "How many newer messages `around` returns. The default is 10.",
                ofSeveral: "How many newer messages `around` returns. The default is 10. \(ofSeveral)"),
            Parameter(
                "sort", .text, .component("Sort"), "The order within the page. The default is `newestFirst`.",
                ofSeveral: "The order within each page. The default is `oldestFirst`."),
            Parameter("types", .list, types, "Only messages of these types. \(repeated)"),
            Parameter("excludedTypes", .list, types, "No messages of these types. \(repeated)"),
            Parameter(
                "customTypes", .list, .array(.string(), count: 1...longestList),
                "Only messages of these custom types. An empty string stands for messages without one. \(repeated)"),
            Parameter(
                "senders", .list, .array(.component("UserID"), count: 1...longestList),
                "Only messages of these senders. \(repeated)"),
            Parameter("mentionsMe", .flag, .boolean, "Only messages that mention the caller."),
            Parameter("hasMedia", .flag, .boolean, "Only images, GIFs, files, voice messages and videos."),
            Parameter(
                "thread", .text, .component("MessageID"),
                "Only the replies in the thread that starts with this message."
            ),
            Parameter("excludesReplies", .flag, .boolean, "No replies of threads. Not together with `thread`."),
            Parameter(
                "include", .list, .array(.choice(["actions", "metadata"]), count: 0...longestList),
                "`actions` adds the first 100 actions of each message. Messages always have their metadata.",
                ofSeveral: "`actions` adds the first 100 actions of each message. It needs exactly one conversation. "
                    + "Messages always have their metadata."),
        ]
    }()

    /// Writes the parameters as members of a frame or a body.
    package func write(to writer: inout JSONWriter) {
        for (name, values) in values.sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            switch Self.kinds[name] {
            case .number, .flag: writer.value(RawJSON(known: values[0]))
            case .list: writer.array(values) { $0.value($1) }
            case .text, nil: writer.value(values[0])
            }
        }
    }

    /// Returns the query that the parameters describe.
    ///
    /// - Throws: `invalid-parameter` with the name of the invalid parameter.
    package func query() throws(ChatError) -> HistoryQuery {
        if let cursor = try one("cursor") {
            guard values.keys.allSatisfy({ ["cursor", "limit", "include"].contains($0) }) else {
                throw .invalidParameter(
                    "cursor", "contains the rest of the query and can be combined only with limit and include")
            }
            return HistoryQuery(
                .cursor(HistoryCursor(rawValue: cursor)), limit: try number("limit") ?? 20,
                includesActions: try includesActions())
        }
        var filter = MessageFilter()
        filter.types = try types("types")
        filter.excludedTypes = try types("excludedTypes")
        filter.customTypes = try list("customTypes").map { Set($0.map { $0.isEmpty ? nil : $0 }) }
        if let senders = try list("senders") {
            filter.senders = []
            for sender in senders { filter.senders?.insert(try UserID(sender, parameter: "senders")) }
        }
        filter.mentionsMe = try flag("mentionsMe") ?? false
        filter.hasMedia = try flag("hasMedia") ?? false
        filter.thread = try one("thread").map { (text) throws(ChatError) in try MessageID(text, parameter: "thread") }
        filter.excludesReplies = try flag("excludesReplies") ?? false
        filter = try filter.validated()
        let anchor = try anchor()
        if case .around = anchor, values["limit"] != nil {
            throw .invalidParameter("limit", "can't be combined with around; use beforeLimit and afterLimit")
        }
        return HistoryQuery(
            anchor, limit: try number("limit") ?? 20, sort: try sort() ?? .newestFirst, filter: filter,
            includesActions: try includesActions())
    }

    /// Whether to include actions.
    ///
    /// Metadata is always included.
    private func includesActions() throws(ChatError) -> Bool {
        let wanted = try list("include") ?? []
        guard wanted.allSatisfy(["actions", "metadata"].contains) else {
            throw .invalidParameter("include", "must be a list of actions and metadata")
        }
        return wanted.contains("actions")
    }

    /// Returns the anchor of the query.
    ///
    /// Allowed are one of `before`, `after` and `around`; `from` and `to` together; or `before` and `from`, which pages
    /// back from `before` down to `from`.
    private func anchor() throws(ChatError) -> Anchor {
        let given = ["before", "after", "around"].filter { values[$0] != nil }
        guard given.count <= 1 else {
            throw .invalidParameter(given[1], "can't be combined with \(given[0]); use at most one anchor")
        }
        let name = given.first
        if name != "around" { try refuse(["beforeLimit", "afterLimit"], without: "around") }
        let (from, to) = (try point("from"), try point("to"))
        switch (name, from, to) {
        case (nil, nil, nil): return .before(.latest)
        case (nil, let from?, let to?): return .between(from, to)
        case (nil, _?, nil): throw .invalidParameter("to", "is missing: from and to must be used together")
        case (nil, nil, _?): throw .invalidParameter("from", "is missing: from and to must be used together")
        case (let name?, _?, _?): throw .invalidParameter("from", "and to can't be combined with \(name)")
        case (let name?, _, _?): throw .invalidParameter("to", "can be combined only with from, not with \(name)")
        case ("before"?, let from?, nil): return .backward(from: try point("before") ?? .latest, downTo: from)
        case (let name?, _?, nil) where name != "before":
            throw .invalidParameter("from", "can be combined only with to or before, not with \(name)")
        case ("before"?, _, _):
            let point = try point("before") ?? .latest
            guard point != .earliest else { throw .invalidParameter("before", "can't be earliest; use after=earliest") }
            return .before(point)
        case ("after"?, _, _):
            let point = try point("after") ?? .earliest
            guard point != .latest else { throw .invalidParameter("after", "can't be latest; use before=latest") }
            return .after(point)
        default:
            return .around(
                try point("around") ?? .latest, before: try number("beforeLimit") ?? 10,
                after: try number("afterLimit") ?? 10)
        }
    }

    private func point(_ name: String) throws(ChatError) -> HistoryPoint? {
        try one(name).map { (text) throws(ChatError) in try Self.point(text, name) }
    }

    private func refuse(_ names: [String], without other: String) throws(ChatError) {
        for name in names where values[name] != nil {
            throw .invalidParameter(name, "can be used only with \(other)")
        }
    }

    package static func point(_ text: String, _ parameter: String) throws(ChatError) -> HistoryPoint {
        switch text {
        case "latest": return .latest
        case "earliest": return .earliest
        case "firstUnread": return .firstUnread
        default: break
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.count) {
        case ("seq", 2):
            guard let seq = Seq(parts[1]), seq >= 1, parts[1].utf8.first != UInt8(ascii: "+") else {
                throw .invalidParameter(parameter, "must be seq:N with N of 1 or above")
            }
            return .seq(seq)
        case ("timetoken", 2): return .timetoken(try Timetoken(parts[1], parameter: parameter))
        case ("id", 2): return .id(try MessageID(parts[1], parameter: parameter))
        default:
            guard let date = try? Date(iso8601: text, parameter: parameter) else {
                throw .invalidParameter(
                    parameter,
                    "must be seq:N, timetoken:N, id:UUID, latest, earliest, firstUnread, or a time with its zone, such "
                        + "as 2026-11-21T00:00:00Z")
            }
            return .date(date)
        }
    }

    private func one(_ name: String) throws(ChatError) -> String? {
        guard let given = values[name] else { return nil }
        guard given.count == 1 else { throw .invalidParameter(name, "must be set only once") }
        return given[0]
    }

    /// Returns a list parameter, which is either repeated or set once with comma-separated elements.
    ///
    /// The limit applies to all elements, including repetitions.
    private func list(_ name: String) throws(ChatError) -> [String]? {
        guard var given = values[name] else { return nil }
        if given.count == 1, !lists.contains(name) {
            // Split by scalars: an element may begin with a combining mark, which would form one character with the
            // comma.
            given = given[0].unicodeScalars.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        }
        guard given.count <= Self.longestList else {
            throw .invalidParameter(
                name, "must have at most \(Self.longestList) entries", limit: Self.longestList)
        }
        return given
    }

    private func types(_ name: String) throws(ChatError) -> Set<MessageType>? {
        guard let given = try list(name) else { return nil }
        var types: Set<MessageType> = []
        for type in given { types.insert(try MessageType(type, parameter: name)) }
        return types
    }

    private func number(_ name: String) throws(ChatError) -> Int? {
        guard let text = try one(name) else { return nil }
        guard let number = Int(text) else { throw .invalidParameter(name, "must be a whole number") }
        return number
    }

    private func flag(_ name: String) throws(ChatError) -> Bool? {
        guard let text = try one(name) else { return nil }
        guard text == "true" || text == "false" else { throw .invalidParameter(name, "must be true or false") }
        return text == "true"
    }

    private func sort() throws(ChatError) -> Sort? {
        guard let text = try one("sort") else { return nil }
        guard let sort = Sort(rawValue: text) else {
            throw .invalidParameter("sort", "must be newestFirst or oldestFirst")
        }
        return sort
    }
}

extension HistoryPoint {
    /// The text form of a point.
    package var text: String {
        switch self {
        case .seq(let seq): "seq:\(seq)"
        case .timetoken(let time): "timetoken:\(time)"
        case .id(let id): "id:\(id)"
        case .date(let date): date.iso8601
        case .latest: "latest"
        case .earliest: "earliest"
        case .firstUnread: "firstUnread"
        }
    }
}

extension HistoryQuery {
    /// The query as parameters by name.
    package var parameters: HistoryParameters {
        var values: [String: [String]] = [:]
        switch anchor {
        case .cursor(let cursor):
            var values = ["cursor": [cursor.rawValue], "limit": [String(limit)]]
            if includesActions { values["include"] = ["actions"] }
            return HistoryParameters(values)
        case .before(let point): values["before"] = [point.text]
        case .after(let point): values["after"] = [point.text]
        case .between(let from, let to):
            values["from"] = [from.text]
            values["to"] = [to.text]
        case .backward(let from, let to):
            values["before"] = [from.text]
            values["from"] = [to.text]
        case .around(let point, let before, let after):
            values["around"] = [point.text]
            values["beforeLimit"] = [String(before)]
            values["afterLimit"] = [String(after)]
        }
        if values["around"] == nil { values["limit"] = [String(limit)] }
        values["sort"] = [sort.rawValue]
        values["types"] = filter.types?.map(\.rawValue).sorted()
        values["excludedTypes"] = filter.excludedTypes?.map(\.rawValue).sorted()
        values["customTypes"] = filter.customTypes.map { Self.list($0.map { $0 ?? "" }) }
        values["senders"] = filter.senders.map { Self.list($0.map(\.text)) }
        if filter.mentionsMe { values["mentionsMe"] = ["true"] }
        if filter.hasMedia { values["hasMedia"] = ["true"] }
        values["thread"] = filter.thread.map { [$0.description] }
        if filter.excludesReplies { values["excludesReplies"] = ["true"] }
        if includesActions { values["include"] = ["actions"] }
        return HistoryParameters(values)
    }

    /// Repeats a single element that contains a comma, so that it is not split into two.
    private static func list(_ elements: [String]) -> [String] {
        guard elements.count == 1, elements[0].utf8.contains(UInt8(ascii: ",")) else { return elements.sorted() }
        return elements + elements
    }
}
