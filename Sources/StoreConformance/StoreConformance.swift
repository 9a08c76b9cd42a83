package import ScrollbackEngine

/// What every ``MessageStore`` must do: a list of named cases that know no test framework.
///
///     @Test(arguments: StoreConformance.cases)
///     func `The store does what every store must`(_ testCase: StoreConformance.Case) throws {
///         try StoreConformance { try MyStore() }.run(testCase)
///     }
package struct StoreConformance: Sendable {
    /// One thing a store must do.
    package struct Case: Sendable, CustomStringConvertible {
        /// A sentence about stores.
        package let name: String
        /// Whether it takes a store whose readers go on while a transaction is under way.
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
        conversations + people + readState + messages + pages + changes + media + manners + receiptsAndInvitations
        + operations + push + transactions
        + concurrency

    private let readsDuringWrites: Bool
    private let makeStore: @Sendable () throws -> any MessageStore

    /// - Parameters:
    ///   - readsDuringWrites: false for a store that answers one at a time; the cases about snapshots are then passed.
    ///   - makeStore: makes an empty store, for each case anew.
    package init(readsDuringWrites: Bool = true, makeStore: @escaping @Sendable () throws -> any MessageStore) {
        self.readsDuringWrites = readsDuringWrites
        self.makeStore = makeStore
    }

    /// - Throws: ``ExpectationFailed`` when the store does something else, or what the store threw.
    package func run(_ testCase: Case) throws {
        if testCase.needsReadsDuringWrites, !readsDuringWrites { return }
        try testCase.body(try makeStore())
    }
}
