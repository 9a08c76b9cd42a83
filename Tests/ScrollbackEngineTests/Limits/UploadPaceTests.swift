import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackEngine

/// The rate of each user's uploads, with a clock that goes on only while an upload waits.
@Suite("The rate of uploads")
struct UploadPaceTests {
    private let clock = TestClock()

    /// Uploads 12 parts of 256 KiB for each user, in turns.
    ///
    /// - Returns: The seconds that the uploads waited, and the number of waits in the metrics.
    private func upload(by users: [UserID], rate: Int?) async throws -> (seconds: TimeInterval, waits: Int) {
        let start = clock.now
        let pace = UploadPace(rate: rate) { [clock] in clock.advance(by: $0) }
        let harness = try EngineHarness(clock: clock, uploadPace: pace)
        var transfers: [Transfer] = []
        for user in users {
            let row = try await harness.begin(try UploadRequest(conversation: .direct("carol")), by: user)
            transfers.append(try await harness.engine.transfer(row.id, by: Caller(user: user), interrupt: {}))
        }
        for _ in 1...12 {
            for transfer in transfers { try await transfer.append(Array(repeating: 7, count: 256 << 10)) }
        }
        for transfer in transfers { await transfer.cancel() }
        return (clock.now.timeIntervalSince(start), pace.waits)
    }

    @Test("A user's uploads wait for the rate after a second of bytes, and other users have their own")
    func rate() async throws {
        // 3 MiB at 1 MiB a second, of which the first needs not wait.
        let one = try await upload(by: ["alice"], rate: 1 << 20)
        #expect(abs(one.seconds - 2) < 0.1 && one.waits == 8)
        // Two uploads of a user share the rate.
        let both = try await upload(by: ["alice", "alice"], rate: 1 << 20)
        #expect(abs(both.seconds - 5) < 0.1 && both.waits == 20)
        // Those of two users do not.
        let others = try await upload(by: ["alice", "bob"], rate: 1 << 20)
        #expect(abs(others.seconds - 2) < 0.1)
    }

    @Test("A rate below the size of a part holds, and without a rate nothing waits")
    func smallRate() async throws {
        let slow = try await upload(by: ["alice"], rate: 64 << 10)
        #expect(abs(slow.seconds - 32) < 0.1)
        let unlimited = try await upload(by: ["alice"], rate: nil)
        #expect(unlimited.seconds == 0 && unlimited.waits == 0)
    }
}
