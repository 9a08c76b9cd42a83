import Foundation
import Scrollback
import Testing

@Suite("A server that says nothing")
struct SilentServerTests {
    @Test("A device that is taken and never answered lets go, and is there once somebody answers")
    func silence() async throws {
        let server = try await RunningServer.start()
        let line = try await TestLine(to: server, speed: .held)
        let client = try await Device.open(server, "alice", over: line)
        try await eventually("it has tried twice", within: 120) { line.connections >= 2 ? true : nil }
        line.set(.full)
        let sending = try await client.conversation(.direct("bob")).send(.text("hello"))
        #expect(try await sending.delivered().seq == 1)
        await client.close()
    }
}
