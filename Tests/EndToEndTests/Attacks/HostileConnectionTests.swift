import Foundation
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

/// Small versions of `scrollback-bench attack pongs` and `strangers`, which measure bytes and not durations.
@Suite("Hostile connections", .enabled(if: RunningServer.reportsResources))
struct HostileConnectionTests {
    @Test("The pongs of clients that never read don't fill the server's memory")
    func unreadPongs() async throws {
        let server = try await RunningServer.start()
        let alice = try await TestSocket.signedIn(server, "alice")
        // The kernel's buffers of a connection have 10 MB at most, so they can't hold all pings and pongs.
        let batch = Array(repeating: RawConnection.encodedFrame(9, Array(repeating: 0x78, count: 125)), count: 500)
            .flatMap { $0 }
        let batches = (24 << 20) / batch.count
        var clients: [RawConnection] = []
        for _ in 0..<4 {
            let client = try await RawConnection.webSocket(server)
            try await client.stopReading()
            clients.append(client)
        }
        let before = try #require(server.residentBytes)
        let progress = FloodProgress()
        let flood = Task { [clients] in
            await withTaskGroup(of: Void.self) { group in
                for client in clients {
                    group.addTask {
                        for _ in 0..<batches {
                            guard (try? await client.send(batch)) != nil else { return }
                            progress.add()
                        }
                    }
                }
            }
            progress.end()
        }
        // The flood ends when the kernel has accepted all pings, when the server closes the connections, or when the
        // server reads no more.
        let growth = try await self.growth(of: server, from: before, atMost: 16 << 20) { progress.hasEnded }
        clients.forEach { $0.close() }
        await flood.value
        #expect(growth < 16 << 20, "The server grew by \(growth >> 20) MiB.")
        #expect(try await alice.request(#""type":"ping""#).string("type") == "result")
    }

    @Test("Strangers that send long frames before hello are closed and don't fill the server's memory")
    func longFramesBeforeHello() async throws {
        let server = try await RunningServer.start()
        let before = try #require(server.residentBytes)
        // All but the last byte of a frame of 512 KiB.
        let frame = Array(RawConnection.encodedFrame(1, Array(repeating: 0x5B, count: 512 << 10)).dropLast())
        var strangers: [RawConnection] = []
        for _ in 0..<100 {
            let stranger = try await RawConnection.webSocket(server)
            stranger.write(frame)
            strangers.append(stranger)
        }
        let growth = try await self.growth(of: server, from: before, atMost: 20 << 20) { [strangers] in
            strangers.allSatisfy(\.isClosed)
        }
        #expect(growth < 20 << 20, "The server grew by \(growth >> 20) MiB.")
        strangers.removeAll()
        _ = try await TestSocket.signedIn(server, "alice")
    }

    @Test(
        "The bytes after a request that stops the HTTP parser don't fill the server's memory",
        arguments: [
            ["CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
            ["GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"],
            [
                "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /v1/connect HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                    + "Sec-WebSocket-Protocol: scrollback.v1.json\r\n\r\n",
            ],
        ])
    func bytesAfterAnUpgrade(_ requests: [String]) async throws {
        let server = try await RunningServer.start()
        let stranger = try await RawConnection(server)
        var last = ""
        for request in requests {
            stranger.write(request)
            last = try await stranger.answer().head.lowercased()
        }
        #expect(last.contains("connection: close"))
        let before = try #require(server.residentBytes)
        let progress = FloodProgress()
        let flood = Task {
            let part = [UInt8](repeating: 0x78, count: 1 << 20)
            for _ in 0..<64 {
                guard (try? await stranger.send(part)) != nil else { break }
                progress.add()
            }
            progress.end()
        }
        let growth = try await self.growth(of: server, from: before, atMost: 16 << 20) { progress.hasEnded }
        stranger.close()
        await flood.value
        #expect(growth < 16 << 20, "The server grew by \(growth >> 20) MiB.")
        _ = try await TestSocket.signedIn(server, "alice")
    }

    /// Returns the growth of the server's memory as soon as it exceeds a limit or the attack has ended.
    private func growth(
        of server: RunningServer, from before: Int, atMost limit: Int, until hasEnded: () -> Bool
    ) async throws -> Int {
        try await eventually("the attack ends", within: 600) { () -> Int? in
            // Evaluated first, so that the memory is measured after the end.
            let isOver = hasEnded()
            let growth = try #require(server.residentBytes) - before
            return isOver || growth >= limit ? growth : nil
        }
    }
}

/// The progress of clients that write until the server reads no more.
private final class FloodProgress: Sendable {
    private let state = Mutex((last: ContinuousClock.now, isDone: false))

    func add() { state.withLock { $0.last = .now } }
    func end() { state.withLock { $0.isDone = true } }

    /// Whether the clients have written everything, or the server has not read for 20 seconds.
    ///
    /// A server that only pauses ends the test early, which can hide growth but can't fail the test.
    var hasEnded: Bool { state.withLock { $0.isDone || $0.last + .seconds(20) < .now } }
}
