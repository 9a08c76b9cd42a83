package import ScrollbackModel

/// A part of what somebody may do, as tokens name it.
package enum Scope: String, CaseIterable, Comparable, Sendable {
    /// See and hear what the user may; nothing changes by it.
    case read
    /// Messages: send, edit, delete, react, type, report, and files to send.
    case write
    /// Conversations and who is in them: make, change, delete, put in and out, join and leave, roles, invitations, bans.
    case manage
    /// What is the user's own: profile, devices, blocks, what they have read, muted, pinned, hidden.
    case account
    /// Everything, and what only administrators may.
    case admin

    package static func < (a: Scope, b: Scope) -> Bool {
        (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
    }
}

/// What a token is good for: all that its user may do, or no more than the scopes it names.
package struct Scopes: Hashable, Sendable {
    /// Nothing where it is good for all that its user may do.
    private let named: Set<Scope>?

    /// Of a token that names none: everything but what takes an administrator.
    package static let all = Scopes()

    private init() {
        named = nil
    }

    package init(_ scopes: Set<Scope>) {
        named = scopes
    }

    /// - Throws: `invalid-parameter` for a name that is none, and for no name at all: what is good for nothing is a mistake.
    package init(names: [String], _ parameter: String = "scopes", known: [Scope] = Scope.allCases) throws(ChatError) {
        var scopes: Set<Scope> = []
        for name in names {
            guard let scope = Scope(rawValue: name), known.contains(scope) else {
                throw .invalidParameter(parameter, "may have only \(known.list)")
            }
            scopes.insert(scope)
        }
        guard !scopes.isEmpty else {
            throw .invalidParameter(parameter, "must name some of \(known.list), or be left out for all but admin")
        }
        self.init(scopes)
    }

    package func contains(_ scope: Scope) -> Bool {
        guard let named else { return scope != .admin }
        return named.contains(scope) || named.contains(.admin)
    }

    /// In the order of the protocol; nothing where it is good for all that its user may do.
    package var names: [String]? { named?.sorted().map(\.rawValue) }
}

extension [Scope] {
    /// For people: `read, write`.
    package var list: String { map(\.rawValue).joined(separator: ", ") }
}
