import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("Slow consumers")
struct SlowReaderTests {
    /// The number of messages. In total they are far larger than the buffers of the kernel and the server for one
    /// socket.
    private static let count = 400
    private static let size = 24_000
    /// The memory by which the server may grow: the messages in the store's page cache, which is bounded, and 4 MiB.
    ///
    /// The slow reader's queue can be 1 MiB of it. If the server queued all messages for the slow reader as well, they
    /// would be in memory twice.
    private static let allowedGrowth = count * size + (4 << 20)

    @Test("A client that stops reading is closed with 4008, does not delay others, and catches up after reconnecting")
    func slowReaderIsDisconnectedAndCatchesUp() async throws {
        let others = Run.isLong ? 499 : 15
        let server = try await RunningServer.start()
        let names = ["sender"] + (0..<others).map { "reader\($0)" }
        try await make("group:fast", names, on: server)
        try await make("group:slow", names + ["slow"], on: server)
        let folder = try TemporaryFolder()
        // The device was connected before, so it has a position to synchronize from.
        let before = try await Device.open(server, "slow", store: .directory(folder.url), name: "phone")
        let sender = try await TestSocket.signedIn(server, "sender")
        try await sendMessage(0, in: "group:slow", sender)
        try await eventually("the slow client has the first message") { () -> Bool? in
            try await before.newest(in: .group("slow")) == 1 ? true : nil
        }
        await before.close()
        var readers: [CountingListener] = []
        for number in 0..<others {
            readers.append(try await CountingListener(server, UserID(stringLiteral: "reader\(number)")))
        }

        let (without, _) = try await serve("group:fast", sender, readers, from: 0, by: server)
        let slow = try await RawConnection.webSocket(server)
        let token = try await server.token("slow")
        slow.frame(1, Array(#"{"type":"hello","token":"\#(token)","device":"phone"}"#.utf8))
        _ = try await slow.read(through: "\"limits\":{")
        _ = try await slow.read(through: "\"lineage\":\"")
        _ = try await slow.read(through: "\"}")
        try await slow.stopReading()
        let resident = server.residentBytes
        var code: Int?
        let (with, peak) = try await serve("group:slow", sender, readers, from: Self.count, by: server) {
            guard code == nil, try await server.metric("scrollback_slow_closes_total") == 1 else { return }
            // The client reads while the server still waits for that. After half a minute, the server drops the
            // connection.
            try await slow.startReading()
            code = try await slow.closeCode()
        }
        let grown = peak - (resident ?? 0)

        print(
            "\(Self.count) messages of \(Self.size) bytes to \(others) readers: \(without), and with a slow reader "
                + "\(with); the server grew by \(grown >> 10) KiB")
        // Durations are not comparable while other tests run.
        if Run.isLong { #expect(without / with >= 0.6, "\(without) without the slow reader, \(with) with it") }
        if RunningServer.reportsResources { #expect(grown < Self.allowedGrowth) }
        let expected = Array(1...Int64(Self.count)) + Array(2...Int64(Self.count + 1))
        for reader in readers {
            #expect(reader.seqs == expected, "All other readers receive each message once, in order.")
            #expect(reader.closure == nil)
        }
        #expect(code == 4008)
        #expect(try await server.metric("scrollback_slow_closes_total") == 1)

        // The same device reconnects and reads the messages that it missed.
        let after = try await Device.open(server, "slow", store: .directory(folder.url), name: "phone")
        try await eventually("the slow client has the newest page") { () -> Bool? in
            let page = try await after.conversation(.group("slow")).history(.latest, limit: 20, from: .local)
            return page.messages.first?.seq == Int64(Self.count + 1) && page.gap == nil ? true : nil
        }
        var read: [String?] = []
        for try await message in after.conversation(.group("slow")).messages(from: .earliest) {
            read.append(message.text)
        }
        #expect(read == (0...Self.count).map { Self.text($0) })
        #expect(try await after.verifyIntegrity() == [])
        await after.close()
    }

    private func make(_ conversation: String, _ members: [String], on server: RunningServer) async throws {
        let list = members.map { "\"\($0)\"" }.joined(separator: ",")
        let made = try await server.admin().call("PUT", "/v1/conversations/\(conversation)", "{\"members\":[\(list)]}")
        try #require(made.status == 201)
    }

    /// Sends all messages, no faster than the readers receive them.
    ///
    /// - Parameter meanwhile: Called after every twenty messages.
    /// - Returns: The duration, and the peak of the server's memory in bytes.
    private func serve(
        _ conversation: String, _ sender: TestSocket, _ readers: [CountingListener], from earlier: Int,
        by server: RunningServer, meanwhile: () async throws -> Void = {}
    ) async throws -> (Duration, peak: Int) {
        let start = ContinuousClock.now
        var peak = 0
        for number in 1...Self.count {
            try await sendMessage(number, in: conversation, sender)
            guard number.isMultiple(of: 20) else { continue }
            for reader in readers {
                try await eventually("all readers have \(number) messages") { () -> Bool? in
                    reader.count >= earlier + number ? true : nil
                }
            }
            peak = max(peak, server.residentBytes ?? 0)
            try await meanwhile()
        }
        return (ContinuousClock.now - start, peak)
    }

    private func sendMessage(_ number: Int, in conversation: String, _ sender: TestSocket) async throws {
        let message = #"{"id":"\#(UUID().uuidString)","type":"text","content":{"text":"\#(Self.text(number))"}}"#
        let answer = try await sender.request(
            #""type":"send","conversation":"\#(conversation)","message":\#(message)"#)
        try #require(answer.string("type") == "result", "\(answer.all)")
    }

    private static func text(_ number: Int) -> String {
        "\(number) " + String(repeating: "x", count: size)
    }
}
