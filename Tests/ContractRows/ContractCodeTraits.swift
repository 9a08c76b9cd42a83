public import Testing

/// Names the histories of `Documentation/semantics.md` that a test replays.
///
/// A history is a sequence of events that produced a wrong result once.
public struct HistoryTrait: TestTrait, SuiteTrait {
    /// The numbers in the table of histories.
    public let numbers: [Int]
}

extension Trait where Self == HistoryTrait {
    /// The histories of `Documentation/semantics.md` that a test replays.
    public static func history(_ numbers: Int...) -> Self { HistoryTrait(numbers: numbers) }
}

/// Names other parts of the contract that a test shows, such as `A15`, one of the vendors' contradictions.
public struct ContractCodeTrait: TestTrait, SuiteTrait {
    /// The codes.
    public let codes: [String]
}

extension Trait where Self == ContractCodeTrait {
    /// Other parts of the contract that a test shows, such as `A15` or `check 2`.
    public static func contract(_ codes: String...) -> Self { ContractCodeTrait(codes: codes) }
}
