/// A push that a service accepted.
struct AcceptedPush: Sendable {
    var token: String
    var conversation: String
    /// The time of acceptance in seconds since 1970.
    var at: Double
    /// Whether the server has read the response, unless it was killed before.
    var isAnswered: Bool

    /// Returns the conversation of a payload in any format.
    static func conversation(in payload: String) -> String {
        payload.firstMatch(of: /group:g[0-9]+/).map { String($0.output) } ?? ""
    }
}

/// Compares the accepted pushes with the expected ones: which are missing, and why some are duplicates.
struct PushComparison {
    private(set) var missing: [String] = []
    /// The number of duplicates after each kill.
    private(set) var again: [Int]
    /// The number of duplicates because the first response was lost with its connection.
    private(set) var lost = 0
    /// The duplicates without a reason.
    private(set) var unexplained: [String] = []

    /// The seconds before a kill in which a push can be accepted but not recorded. A push takes at most half a minute.
    private static let window = 30.0
    /// The seconds after a kill in which a push in flight can be accepted.
    private static let delay = 2.0

    /// Compares pushes.
    ///
    /// - Parameters:
    ///   - due: The tokens and conversations of the expected pushes.
    ///   - kills: The times of the kills in seconds since 1970.
    init(_ taken: [AcceptedPush], due: [(token: String, conversation: String)], kills: [Double]) {
        again = kills.map { _ in 0 }
        let pushes = Dictionary(grouping: taken) { "\($0.conversation) \($0.token)" }
        missing = due.map { "\($0.conversation) \($0.token)" }.filter { pushes[$0] == nil }
        for (push, copies) in pushes {
            let copies = copies.sorted { $0.at < $1.at }
            for (first, second) in zip(copies, copies.dropFirst()) {
                if !first.isAnswered {
                    lost += 1
                } else if let kill = Self.kill(between: first.at, and: second.at, kills) {
                    again[kill] += 1
                } else {
                    unexplained.append("\(push) at \(first.at) and \(second.at)")
                }
            }
        }
    }

    /// Returns the index of the kill that explains a duplicate.
    private static func kill(between first: Double, and second: Double, _ kills: [Double]) -> Int? {
        kills.firstIndex { first <= $0 && $0 <= second && $0 - first <= window }
            ?? kills.lastIndex { $0 <= first && first - $0 <= delay }
    }
}
