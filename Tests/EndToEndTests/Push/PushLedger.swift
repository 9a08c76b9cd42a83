/// A push that a service took.
struct TakenPush: Sendable {
    var token: String
    var conversation: String
    /// Seconds since 1970.
    var at: Double
    /// Whether the server has read that it was taken, if it lived to.
    var isAnswered: Bool

    /// The conversation that a payload is of, whatever form it has.
    static func conversation(in payload: String) -> String {
        payload.firstMatch(of: /group:g[0-9]+/).map { String($0.output) } ?? ""
    }
}

/// What a service took beside what was due to it: what is missing, and why some came twice.
struct PushLedger {
    private(set) var missing: [String] = []
    /// How many came again after each kill.
    private(set) var again: [Int]
    /// How many came again because the answer to the first was lost with its connection.
    private(set) var lost = 0
    /// What came again without a reason.
    private(set) var unexplained: [String] = []

    /// How long before a kill what was not written down by then may have been taken: each push takes half a minute at most.
    private static let window = 30.0
    /// How long after a kill what was on its way may be taken.
    private static let delay = 2.0

    /// - Parameters:
    ///   - due: tokens and conversations.
    ///   - kills: when the server was killed, in seconds since 1970.
    init(_ taken: [TakenPush], due: [(token: String, conversation: String)], kills: [Double]) {
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

    /// Which kill left open whether a push was taken.
    private static func kill(between first: Double, and second: Double, _ kills: [Double]) -> Int? {
        kills.firstIndex { first <= $0 && $0 <= second && $0 - first <= window }
            ?? kills.lastIndex { $0 <= first && first - $0 <= delay }
    }
}
