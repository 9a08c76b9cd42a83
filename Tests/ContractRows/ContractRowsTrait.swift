public import Testing

/// Says which rows of the contract (Documentation/contract-rows.md) a test shows.
///
/// A run that is told a directory by `SCROLLBACK_ROWS` writes there which tests have passed, and `scripts/row-table.sh`
/// makes the table of rows and tests from that.
public struct ContractRowsTrait: TestTrait, SuiteTrait, TestScoping {
    let rows: [Int]

    /// On a suite it is each of its tests that shows them.
    public var isRecursive: Bool { true }

    @concurrent
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard let record = ContractRowsRecord.shared else { return try await function() }
        let outcome = Outcome()
        // What a test expects in vain is recorded and not thrown.
        let watch = IssueHandlingTrait.compactMapIssues { issue in
            outcome.failed()
            return issue
        }
        do {
            try await watch.provideScope(for: test, testCase: testCase, performing: function)
        } catch {
            record.add(rows, test, passed: false)
            throw error
        }
        record.add(rows, test, passed: outcome.passed)
    }
}

extension Trait where Self == ContractRowsTrait {
    /// The rows of the contract that a test shows: it fails when one of them doesn't hold.
    public static func rows(_ rows: Int...) -> Self { ContractRowsTrait(rows: rows) }
}
