package import ScrollbackModel

/// A set of operations that a token can permit.
package enum Scope: String, CaseIterable, Comparable, Sendable {
    /// Read and receive everything the user may see, without changing anything.
    case read
    /// Messages: send, edit, delete, react, indicate typing, report, and upload files.
    case write
    /// Conversations and members: create, change, delete, add, remove, join, leave, roles, invitations and bans.
    case manage
    /// The user's own data: profile, devices, blocks, and read, muted, pinned and hidden conversations.
    case account
    /// Everything, including operations for administrators.
    case admin

    package static func < (a: Scope, b: Scope) -> Bool {
        (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
    }
}

/// The scopes of a token: a set of scopes, or all operations that the user may perform.
package struct Scopes: Hashable, Sendable {
    /// The scopes of the token; `nil` for all operations that the user may perform.
    private let named: Set<Scope>?

    /// The scopes of a token that lists none: everything except operations for administrators.
    package static let all = Scopes()

    private init() {
        named = nil
    }

    package init(_ scopes: Set<Scope>) {
        named = scopes
    }

    /// Creates scopes from their names.
    ///
    /// - Throws: `invalid-parameter` for an unknown name, and for an empty list, which is likely a mistake.
    package init(names: [String], _ parameter: String = "scopes", known: [Scope] = Scope.allCases) throws(ChatError) {
        var scopes: Set<Scope> = []
        for name in names {
            guard let scope = Scope(rawValue: name), known.contains(scope) else {
                throw .invalidParameter(parameter, "must have only \(known.list)")
            }
            scopes.insert(scope)
        }
        guard !scopes.isEmpty else {
            throw .invalidParameter(parameter, "must have some of \(known.list), or be left out for all but admin")
        }
        self.init(scopes)
    }

    package func contains(_ scope: Scope) -> Bool {
        guard let named else { return scope != .admin }
        return named.contains(scope) || named.contains(.admin)
    }

    /// The names in the order of the protocol; `nil` for all operations that the user may perform.
    package var names: [String]? { named?.sorted().map(\.rawValue) }
}

extension [Scope] {
    /// The names for messages, such as `read, write`.
    package var list: String { map(\.rawValue).joined(separator: ", ") }
}
