import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import TestSupport
import Testing

/// Compares the engine with a plain log over random operations on a conversation.
///
/// `SCROLLBACK_SEEDS` sets the number of seeds, and `SCROLLBACK_SEED` replays one seed.
@Suite("Random changes")
struct ChangeScenarioTests {
    @Test("History, counts, actions and sync match a plain log after any changes")
    func changesMatchReferenceLog() async throws {
        for seed in Seeds.range(200) {
            await Task.yield()
            let scenario = try ChangeScenario(seed: seed)
            guard try await !fails(scenario, seed) else { return }
        }
    }

    @Test("A SQLite store matches a plain log after any changes, and passes verification")
    func changesMatchReferenceLogOnSQLite() async throws {
        for seed in Seeds.range(200) where seed % 8 == 1 || Seeds.replayed != nil {
            await Task.yield()
            let shared = URL(filePath: "/dev/shm", directoryHint: .isDirectory)
            let parent =
                FileManager.default.isWritableFile(atPath: shared.path)
                ? shared : FileManager.default.temporaryDirectory
            let folder = try TemporaryFolder(in: parent)
            let store = try SQLiteStore(directory: folder.url)
            let scenario = try ChangeScenario(seed: seed, store: store)
            scenario.check = { try store.verify { _ in }.first }
            guard try await !fails(scenario, seed) else { return }
            try store.close()
        }
    }

    private func fails(_ scenario: ChangeScenario, _ seed: UInt64) async throws -> Bool {
        guard let violation = await scenario.run() else { return false }
        Issue.record(
            """
            \(violation)
              \(scenario.steps.joined(separator: "\n  "))
            Replay: SCROLLBACK_SEED=\(seed) swift test --filter ChangeScenarioTests
            """)
        return true
    }
}

extension ChangeScenario {
    /// Performs random steps.
    ///
    /// - Returns: A description of the first violation, or `nil`.
    func run() async -> String? {
        do {
            for number in 1...50 {
                try await step()
                guard number % 5 == 0 else { continue }
                if let found = try difference() ?? syncDifference() ?? check() { return found }
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Brings a random user's device online and compares its rows with the messages that the user sees.
    private func syncDifference() throws -> String? {
        let user = random.pick(Self.users)
        guard reference.people[user]?.hasBeenMember == true, reference.kind != .room else { return nil }
        let device = shadows[user] ?? ShadowDevice(harness, log, Caller(user: user))
        shadows[user] = device
        try device.catchUp()
        guard !reference.isFormer(user) else {
            // A former member's device keeps what it has, and gets no text of a later edit.
            let found = reference.entries.first { entry in
                reference.people[user]?.editedSince.contains(entry.seq) == true && !entry.isTombstone
                    && device.rows[entry.seq]?.text == entry.text
            }
            return found.map { "\(user)'s device has the later edit of \($0.seq)" }
        }
        var expected: [Seq: Message] = [:]
        for entry in reference.visible(to: user) {
            expected[entry.seq] = try harness.engine.message(entry.id, in: log, by: Caller(user: user))
        }
        guard device.rows != expected else { return nil }
        let seqs = Set(device.rows.keys).union(expected.keys).sorted().filter { device.rows[$0] != expected[$0] }
        return "\(user)'s device differs at \(seqs): has \(seqs.map { device.rows[$0] as Any }), "
            + "expected \(seqs.map { expected[$0] as Any })"
    }
}
