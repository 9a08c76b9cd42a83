import Hummingbird
import ScrollbackModel

/// `limit` and `cursor` of a list, and parameters of its own; each at most once.
struct ListQuery: Sendable {
    private(set) var limit = 20
    let cursor: String?
    private let values: [String: String]

    init(_ query: [String: [String]], _ names: [String]) throws(ChatError) {
        func one(_ name: String) throws(ChatError) -> String? {
            guard let given = query[name] else { return nil }
            guard given.count == 1 else { throw .invalidParameter(name, "must be given once") }
            return given[0]
        }
        if let text = try one("limit") {
            guard let number = Int(text) else { throw .invalidParameter("limit", "must be a whole number") }
            limit = number
        }
        cursor = try one("cursor")
        var values: [String: String] = [:]
        for name in names { values[name] = try one(name) }
        self.values = values
    }

    subscript(_ name: String) -> String? { values[name] }

    /// The cursor of a list that is ordered by people's names.
    func after() throws(ChatError) -> UserID? {
        try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") }
    }
}

extension RequestScope {
    func list(_ request: Request, also names: [String] = []) throws(ChatError) -> ListQuery {
        try ListQuery(try query(request), names)
    }
}
