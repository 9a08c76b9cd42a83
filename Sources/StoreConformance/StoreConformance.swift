package import ScrollbackEngine

/// The requirements for every ``MessageStore``: a list of named cases, independent of a test framework.
///
///     @Test(arguments: StoreConformance.cases)
///     func `The store passes every conformance test`(_ testCase: StoreConformance.Case) throws {
///         try StoreConformance { try MyStore() }.run(testCase)
///     }
package struct StoreConformance: Sendable {
    /// A requirement for stores.
    package struct Case: Sendable, CustomStringConvertible {
        /// A sentence that states the requirement.
        package let name: String
        /// Whether the case requires reads that proceed during a transaction.
        package let needsReadsDuringWrites: Bool
        let body: @Sendable (any MessageStore) throws -> Void

        init(
            _ name: String, needsReadsDuringWrites: Bool = false,
            _ body: @escaping @Sendable (any MessageStore) throws -> Void
        ) {
            self.name = name
            self.needsReadsDuringWrites = needsReadsDuringWrites
            self.body = body
        }

        package var description: String { name }
    }

    package static let cases: [Case] =
        conversations + people + readState + threads + drafts + scheduled + recents + messages + pages + changes + media
        + moderation + incomingWebhooks
        + receiptsAndInvitations + operations + push + transactions + readingAhead
        + concurrency

    private let readsDuringWrites: Bool
    private let makeStore: @Sendable () throws -> any MessageStore

    /// Creates a test run for a store.
    ///
    /// - Parameters:
    ///   - readsDuringWrites: Whether reads proceed during a transaction; `false` skips the cases that require it.
    ///   - makeStore: Creates an empty store for each case.
    package init(readsDuringWrites: Bool = true, makeStore: @escaping @Sendable () throws -> any MessageStore) {
        self.readsDuringWrites = readsDuringWrites
        self.makeStore = makeStore
    }

    /// Runs a case.
    ///
    /// - Throws: ``ExpectationFailed`` if the store fails the case, or an error of the store.
    package func run(_ testCase: Case) throws {
        if testCase.needsReadsDuringWrites, !readsDuringWrites { return }
        try testCase.body(try makeStore())
    }
}
