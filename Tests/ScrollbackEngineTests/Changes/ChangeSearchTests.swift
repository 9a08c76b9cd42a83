import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import Testing

/// Compares the engine with a plain log over random operations on a conversation.
///
/// `SCROLLBACK_SEEDS` sets the number of seeds, and `SCROLLBACK_SEED` replays one seed.
@Suite("Random changes")
struct ChangeSearchTests {
    @Test("History, counts, actions and sync match a plain log after any changes")
    func search() async throws {
        for seed in Seeds.count(200) {
            await Task.yield()
            let program = try ChangeProgram(seed: seed)
            guard try await !fails(program, seed) else { return }
        }
    }

    @Test("A SQLite store matches a plain log after any changes, and passes verification")
    func searchOnSQLite() async throws {
        for seed in Seeds.count(200) where seed % 8 == 1 || Seeds.isReplay {
            await Task.yield()
            let shared = URL(filePath: "/dev/shm", directoryHint: .isDirectory)
            let parent =
                FileManager.default.isWritableFile(atPath: shared.path)
                ? shared : FileManager.default.temporaryDirectory
            let folder = parent.appending(component: "scrollback-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let store = try SQLiteStore(directory: folder)
            let program = try ChangeProgram(seed: seed, store: store)
            program.check = { try store.verify { _ in }.first }
            guard try await !fails(program, seed) else { return }
            try store.close()
        }
    }

    private func fails(_ program: ChangeProgram, _ seed: UInt64) async throws -> Bool {
        guard let violation = await program.run() else { return false }
        Issue.record(
            """
            \(violation)
              \(program.steps.joined(separator: "\n  "))
            Replay: SCROLLBACK_SEED=\(seed) swift test --filter ChangeSearchTests
            """)
        return true
    }
}

extension ChangeProgram {
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
        guard plain.people[user]?.hasBeenMember == true, plain.kind != .room else { return nil }
        let device = shadows[user] ?? ShadowDevice(world, log, Caller(user: user))
        shadows[user] = device
        try device.catchUp()
        var expected: [Seq: Message] = [:]
        for entry in plain.visible(to: user) {
            expected[entry.seq] = try world.engine.message(entry.id, in: log, by: Caller(user: user))
        }
        guard device.rows != expected else { return nil }
        let seqs = Set(device.rows.keys).union(expected.keys).sorted().filter { device.rows[$0] != expected[$0] }
        return "\(user)'s device differs at \(seqs): has \(seqs.map { device.rows[$0] as Any }), "
            + "expected \(seqs.map { expected[$0] as Any })"
    }
}
