import Foundation

extension TimeInterval {
    /// The longest delay that another program can request, in seconds: 100 years of 365.25 days.
    private static let longestRequested: TimeInterval = 3_155_760_000

    /// Creates a delay that another program requested, before the same request can succeed.
    ///
    /// A negative number is no delay.
    ///
    /// - Returns: `nil` for a value that timers and dates can't represent. Wait as if none was requested.
    package init?(requested seconds: Double) {
        guard seconds <= Self.longestRequested else { return nil }
        self = Swift.max(0, seconds)
    }
}
