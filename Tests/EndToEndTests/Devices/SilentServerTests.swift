import Foundation
import Scrollback
import Testing

@Suite("Unresponsive servers")
struct SilentServerTests {
    @Test("A client reconnects while the server never answers, and delivers once it does")
    func silence() async throws {
        let server = try await RunningServer.start()
        let line = try await TestLine(to: server, speed: .held)
        let client = try await Device.open(server, "alice", over: line)
        try await eventually("the client has connected twice", within: 120) { line.connections >= 2 ? true : nil }
        line.set(.full)
        let sending = try await client.conversation(.direct("bob")).send(.text("hello"))
        #expect(try await sending.delivered().seq == 1)
        await client.close()
    }
}
