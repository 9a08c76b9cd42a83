import ScrollbackModel
import ScrollbackSync

/// The histories of the state machines, which other implementations repeat (Documentation/vectors.md).
enum Vectors {
    /// The state machines, in the order of the documentation.
    static let machines = [
        "conversationID", "seqRangeSet", "logState", "gapFill", "resumeState", "outbox", "readState", "recentEntry",
        "connectionLifecycle", "headFetches", "ownTyping", "typingUsers", "receivedIDs",
    ]

    /// Returns the histories of a seed: random calls of each machine, and those of one device in a random scenario.
    static func histories(seed: UInt64) -> [VectorHistory] {
        let random = [
            RecordedConversationID.randomHistory(seed: seed), RecordedRangeSet.randomHistory(seed: seed),
            RecordedLog.randomHistory(seed: seed),
            RecordedGapFill.randomHistory(seed: seed),
            RecordedResume.randomHistory(seed: seed), RecordedOutbox.randomHistory(seed: seed),
            RecordedReadState.randomHistory(seed: seed), RecordedRecentEntry.randomHistory(seed: seed),
            RecordedConnection.randomHistory(seed: seed), RecordedHeadFetches.randomHistory(seed: seed),
            RecordedTyping.ownHistory(seed: seed), RecordedTyping.usersHistory(seed: seed),
            RecordedReceivedIDs.randomHistory(seed: seed),
        ]
        return random.compactMap { $0 } + scenario(seed: seed)
    }

    /// Returns the histories of one device's state machines in a scenario of `SimulationTests`.
    private static func scenario(seed: UInt64) -> [VectorHistory] {
        let device = Int(seed % 4)
        var simulation = Simulation(seed: seed)
        simulation.devices[device].record(seed: seed)
        for _ in 0..<150 {
            do {
                try simulation.step()
            } catch {
                // `SimulationTests` reports violations. The calls before it are valid.
                break
            }
        }
        return simulation.devices[device].takeHistories()
    }
}
