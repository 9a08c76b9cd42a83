import Foundation
import Scrollback
import TestSupport
import Testing

@Suite("Unresponsive servers")
struct SilentServerTests {
    @Test("A client reconnects while the server never answers, and delivers once it does")
    func clientReconnectsWhileServerIsSilent() async throws {
        let server = try await RunningServer.start()
        let proxy = try await TestProxy(to: server, speed: .held)
        let client = try await Device.open(server, "alice", over: proxy)
        try await eventually("the client has connected twice", within: 120) { proxy.connections >= 2 ? true : nil }
        proxy.set(.full)
        let sending = try await client.conversation(.direct("bob")).send(.text("hello"))
        #expect(try await sending.waitUntilSent().seq == 1)
        await client.close()
    }
}
