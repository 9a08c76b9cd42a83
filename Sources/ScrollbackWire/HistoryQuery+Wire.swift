import Foundation
package import ScrollbackModel

/// The parameters of a history request by name, whichever door they came by: a URL's query or a frame's members.
package struct HistoryParameters {
    package var values: [String: [String]]
    /// Lists that came as lists: a comma inside an element is the element's own.
    private var lists: Set<String> = []

    private static let longestList = 100

    package init(_ values: [String: [String]]) {
        self.values = values
    }

    /// What a frame or a body gives each as; a URL's query has texts only.
    private enum Kind {
        case text, number, flag, list
    }

    private static let kinds: [String: Kind] = [
        "before": .text, "after": .text, "around": .text, "from": .text, "to": .text, "cursor": .text, "sort": .text,
        "thread": .text, "limit": .number, "beforeLimit": .number, "afterLimit": .number, "mentionsMe": .flag,
        "hasMedia": .flag, "types": .list, "excludedTypes": .list, "customTypes": .list, "senders": .list,
        "include": .list,
    ]

    package static let names: Set<String> = Set(kinds.keys)

    /// Reads one member of a frame or a body, if it is a parameter; null is as if it were not there.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        guard let kind = Self.kinds[name] else { return false }
        guard try !value.null() else { return true }
        switch kind {
        case .text:
            guard value.nextIsString else { throw .invalidParameter(name, "must be a string") }
            values[name] = [try value.string()]
        case .list:
            values[name] = try value.list(name, limit: Self.longestList) { (element) throws(ChatError) in
                guard element.nextIsString else { throw .invalidParameter(name, "must be a list of strings") }
                return try element.string()
            }
            lists.insert(name)
        case .number, .flag:
            // What it is, the query looks at as it does at a URL's.
            guard !value.nextIsString else {
                throw .invalidParameter(name, kind == .flag ? "must be true or false" : "must be a whole number")
            }
            values[name] = [try value.raw().text]
        }
        return true
    }

    /// As members of a frame or a body.
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

    /// - Throws: `invalid-parameter` naming what is wrong.
    package func query() throws(ChatError) -> HistoryQuery {
        if let cursor = try one("cursor") {
            guard values.keys.allSatisfy({ ["cursor", "limit", "include"].contains($0) }) else {
                throw .invalidParameter(
                    "cursor", "holds the rest of the question: give nothing else but limit and include")
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
        filter = try filter.validated()
        let anchor = try anchor()
        if case .around = anchor, values["limit"] != nil {
            throw .invalidParameter("limit", "does not go with around: give beforeLimit and afterLimit")
        }
        return HistoryQuery(
            anchor, limit: try number("limit") ?? 20, sort: try sort() ?? .newestFirst, filter: filter,
            includesActions: try includesActions())
    }

    /// What is to come besides: a message has its metadata in any case.
    private func includesActions() throws(ChatError) -> Bool {
        let wanted = try list("include") ?? []
        guard wanted.allSatisfy(["actions", "metadata"].contains) else {
            throw .invalidParameter("include", "must be a list of actions, metadata")
        }
        return wanted.contains("actions")
    }

    /// At most one of before, after and around; from and to go together, or one of them bounds the other two: back from
    /// `before` down to `from`.
    private func anchor() throws(ChatError) -> Anchor {
        let given = ["before", "after", "around"].filter { values[$0] != nil }
        guard given.count <= 1 else {
            throw .invalidParameter(given[1], "does not go with \(given[0]): give at most one anchor")
        }
        let name = given.first
        if name != "around" { try refuse(["beforeLimit", "afterLimit"], without: "around") }
        let (from, to) = (try point("from"), try point("to"))
        switch (name, from, to) {
        case (nil, nil, nil): return .before(.latest)
        case (nil, let from?, let to?): return .between(from, to)
        case (nil, _?, nil): throw .invalidParameter("to", "is missing: from and to go together")
        case (nil, nil, _?): throw .invalidParameter("from", "is missing: from and to go together")
        case (let name?, _?, _?): throw .invalidParameter("from", "and to do not go with \(name)")
        case (let name?, _, _?): throw .invalidParameter("to", "goes with from only, not with \(name)")
        case ("before"?, let from?, nil): return .backward(from: try point("before") ?? .latest, downTo: from)
        case (let name?, _?, nil) where name != "before":
            throw .invalidParameter("from", "goes with to or before, not with \(name)")
        case ("before"?, _, _):
            let point = try point("before") ?? .latest
            guard point != .earliest else { throw .invalidParameter("before", "can't be earliest: use after=earliest") }
            return .before(point)
        case ("after"?, _, _):
            let point = try point("after") ?? .earliest
            guard point != .latest else { throw .invalidParameter("after", "can't be latest: use before=latest") }
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
            throw .invalidParameter(name, "goes with \(other) only")
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
                    "must be seq:N, timetoken:N, id:UUID, an ISO 8601 time, latest, earliest or firstUnread")
            }
            return .date(date)
        }
    }

    private func one(_ name: String) throws(ChatError) -> String? {
        guard let given = values[name] else { return nil }
        guard given.count == 1 else { throw .invalidParameter(name, "must be given once") }
        return given[0]
    }

    /// A list, given several times, each element as it is, or once with commas.
    ///
    /// It is counted as given, repetitions included.
    private func list(_ name: String) throws(ChatError) -> [String]? {
        guard var given = values[name] else { return nil }
        if given.count == 1, !lists.contains(name) {
            // By scalars: an element may begin with a combining mark, which as a character would swallow the comma.
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
    /// As parameters by name.
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
        if includesActions { values["include"] = ["actions"] }
        return HistoryParameters(values)
    }

    /// An element with a comma must not be taken for two where it stands alone, so it comes twice.
    private static func list(_ elements: [String]) -> [String] {
        guard elements.count == 1, elements[0].utf8.contains(UInt8(ascii: ",")) else { return elements.sorted() }
        return elements + elements
    }
}
