package import ScrollbackModel

// Names that a request doesn't have. A misspelt filter would otherwise return the wrong page without an error.

extension RequestReader {
    /// Refuses an HTTP request with names that its operation doesn't have.
    ///
    /// Call it after the operation has read its parameters, which can refuse a name with a better reason.
    ///
    /// - Parameters:
    ///   - known: The names of the operation's parameters.
    ///   - includingBody: Whether to check the members of the JSON body too, and those of push options in it.
    package func refuseUnknownNames(besides known: [String], includingBody: Bool) throws(ChatError) {
        guard case .http(_, let query, let body) = source else { return }
        if let name = query.keys.sorted().first(where: { !known.contains($0) }) {
            throw .unknownParameter(name, besides: known)
        }
        guard includingBody else { return }
        // The body of some requests is one object with a schema of its own.
        let unknown = ignoredMembers ?? body.members.map(\.name).filter { !known.contains($0) }
        if let name = unknown.first { throw .unknownParameter(name, besides: ignoredMembers == nil ? known : []) }
        if let options = pushOptions, let unknown = try PushOptions.unknownMember(of: options) {
            throw .unknownParameter(unknown.name, in: unknown.object, besides: unknown.known)
        }
    }
}

extension ChatError {
    /// Returns the error for a name that a request doesn't have, which suggests a similar one of `known`.
    ///
    /// - Parameter object: The path of the object in the body that has the name, or `nil` for the request.
    package static func unknownParameter(
        _ name: String, in object: String? = nil, besides known: [String]
    ) -> ChatError {
        // A body can have names of any length, which the error must not repeat.
        let name = String(name.prefix(64))
        let path = object.map { "\($0)." } ?? ""
        let reason = object.map { "is not a member of \($0)" } ?? "is not a parameter of this request"
        if let similar = similarName(to: name, in: known) {
            return .invalidParameter(path + name, "\(reason). Did you mean \(path)\(similar)?")
        }
        let list = known.isEmpty ? "" : ", which has: " + known.joined(separator: ", ")
        return .invalidParameter(path + name, reason + list)
    }

    /// The name with the fewest differences, or else the longest one that `name` begins or ends with.
    private static func similarName(to name: String, in known: [String]) -> String? {
        let nearest = known.map { (name: $0, edits: edits(from: name, to: $0)) }.min { $0.edits < $1.edits }
        if let nearest, nearest.edits <= max(1, name.count / 3) { return nearest.name }
        let text = name.lowercased()
        // Names of other chat services, such as `pushTitle` and `androidConfig`.
        return known.filter { other in
            other.count >= 3 && (text.hasPrefix(other.lowercased()) || text.hasSuffix(other.lowercased()))
        }.max { $0.count < $1.count }
    }

    /// The number of characters to insert, remove or replace, ignoring case; 1 if only their order differs.
    private static func edits(from first: String, to second: String) -> Int {
        let (first, second) = (Array(first.lowercased()), Array(second.lowercased()))
        if first.sorted() == second.sorted() { return first == second ? 0 : 1 }
        var row = Array(0...second.count)
        for (index, character) in first.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in second.enumerated() {
                let edits = min(row[column] + 1, row[column + 1] + 1, diagonal + (character == other ? 0 : 1))
                (diagonal, row[column + 1]) = (row[column + 1], edits)
            }
        }
        return row[second.count]
    }
}
