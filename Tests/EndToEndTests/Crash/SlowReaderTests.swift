import Foundation
import Scrollback
import Testing

@Suite("A slow reader")
struct SlowReaderTests {
    @Test("One of many who stops reading is closed with 4008, costs the others nothing, and is whole after resuming")
    func slowReader() async throws {
        let others = Run.isLong ? 499 : 30
        let server = try await RunningServer.start()
        let names = ["slow", "sender"] + (0..<others).map { "reader\($0)" }
        let members = names.map { "\"\($0)\"" }.joined(separator: ",")
        let made = try await server.admin().call("PUT", "/v1/conversations/group:slow", "{\"members\":[\(members)]}")
        try #require(made.status == 201)
        let folder = RunningServer.makeFolderForStore()
        defer { try? FileManager.default.removeItem(at: folder) }
        // It has been here before, so what it misses is replayed.
        let before = try await Device.open(server, "slow", store: .directory(folder))
        let sender = try await TestSocket.signedIn(server, "sender")
        _ = try await sender.request(Self.message(0))
        try await eventually("the slow one has the first message") { () -> Bool? in
            try await before.newest(in: .group("slow")) == 1 ? true : nil
        }
        await before.close()

        var readers: [TestSocket] = []
        for number in 0..<others {
            readers.append(try await TestSocket.signedIn(server, UserID(stringLiteral: "reader\(number)")))
        }
        let slow = try await RawConnection.webSocket(server)
        let token = try await server.token("slow")
        slow.frame(1, Array(#"{"type":"hello","token":"\#(token)","device":"slow"}"#.utf8))
        _ = try await slow.read(through: "\"limits\":{")
        _ = try await slow.read(through: "}}")
        try await slow.stopReading()

        // Enough to fill what the kernel and the server keep for one socket.
        let count = 480
        let start = Date()
        for number in 1...count { _ = try await sender.request(Self.message(number)) }
        for reader in readers {
            try await eventually("everybody else has every message", within: 30) { () -> Bool? in
                reader.frames.count { $0.string("type") == "message" } >= count ? true : nil
            }
        }
        print("\(count) messages of 16 kB to \(others) readers in \(Date().timeIntervalSince(start)) s")
        let metrics = try await server.admin().call("GET", "/metrics")
        #expect(metrics.text.contains("scrollback_slow_closes_total 1\n"))
        try await slow.startReading()
        #expect(try await slow.closeCode() == 4008)

        let after = try await Device.open(server, "slow", store: .directory(folder))
        try await eventually("the slow one has everything", within: 30) { () -> Bool? in
            let page = try await after.conversation(.group("slow")).history(.latest, limit: 100, from: .local)
            return page.messages.first?.seq == Int64(count + 1) && page.gap == nil ? true : nil
        }
        var seqs: [Int64] = []
        for try await message in after.conversation(.group("slow")).messages(from: .earliest) {
            seqs.append(message.seq)
        }
        #expect(seqs == Array(1...Int64(count + 1)))
        #expect(try await after.verifyIntegrity() == [])
        await after.close()
    }

    private static func message(_ number: Int) -> String {
        let text = "\(number) " + String(repeating: "x", count: 16_000)
        return """
            "type":"send","conversation":"group:slow","message":{"id":"\(UUID().uuidString)","type":"text",\
            "content":{"text":"\(text)"}}
            """
    }
}
