/// The kind of work that an operation causes.
///
/// Each user has one rate limit for each class, and the class decides which threads serve an operation.
package enum CostClass: String, CaseIterable, Sendable {
    /// Work that reaches other users as a message, an edit, an action, a report or an invitation.
    case message
    /// Every other change of the store.
    case write
    /// A read whose cost has a bound: one page, one list, some heads.
    case read
    /// A read that names users, each of which may be invented. It costs one token for each name.
    case lookup
    /// A read that may examine many rows: a search or an export.
    case search
    /// Work that neither reads nor changes the store. It has no limit.
    case free
}

extension CostClass {
    /// The classes that have a rate limit.
    package static let limited = allCases.filter { $0 != .free }
}
