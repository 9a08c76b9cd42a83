public import Testing

/// Names the rows of the contract (`Documentation/contract-rows.md`) that a test covers.
///
/// If the environment variable `SCROLLBACK_ROWS` names a directory, the test run records there which tests pass.
/// `scripts/row-table.sh` makes the table of rows and tests from these records.
public struct ContractRowsTrait: TestTrait, SuiteTrait, TestScoping {
    let rows: [Int]

    /// A trait on a suite applies to each test of the suite.
    public var isRecursive: Bool { true }

    @concurrent
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard let record = ContractRowsRecord.shared else { return try await function() }
        let outcome = Outcome()
        // A failed expectation is recorded as an issue; it does not throw.
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
    /// The rows of the contract that a test covers. The test fails if one of them does not hold.
    public static func rows(_ rows: Int...) -> Self { ContractRowsTrait(rows: rows) }
}
