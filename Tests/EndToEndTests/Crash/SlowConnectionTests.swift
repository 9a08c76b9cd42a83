import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

@Suite("Slow lines")
struct SlowConnectionTests {
    @Test(
        "A client that missed thousands of messages makes progress over a slow line that is cut repeatedly",
        .history(21))
    func syncProgressesOverSlowConnection() async throws {
        let missed = Run.isLong ? 100_000 : 5_000
        let cuts = Run.isLong ? 40 : 5
        let server = try await RunningServer.start()
        let admin = try await server.admin()
        let made = try await admin.call("PUT", "/v1/conversations/group:far", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
        let folder = try TemporaryFolder()
        let before = try await Device.open(server, "alice", store: .directory(folder.url))
        try await importWords(0...0, admin)
        try await eventually("the client has the first message") { () -> Bool? in
            try await before.newest(in: .group("far")) == 1 ? true : nil
        }
        await before.close()
        for start in stride(from: 1, through: missed, by: 500) {
            try await importWords(start...min(start + 499, missed), admin)
        }

        let speed = 64 << 10
        let proxy = try await TestProxy(to: server, speed: .bytesPerSecond(speed))
        let client = try await Device.open(server, "alice", store: .directory(folder.url), over: proxy)
        let chat = client.conversation(.group("far"))
        let bob = try await server.api("bob")
        let talking = Task<[String], any Error> { try await talk(bob) }
        // The user scrolls back at the same time.
        let scrolling = Task<Void, any Error> { try await scrollBack(chat) }

        var progress = [try await known(client)]
        for cut in 1...cuts {
            // Such a proxy needs three seconds for this, or more on a busy machine.
            let end = proxy.carried + speed * 3
            try await eventually("the line has carried enough bytes") { () -> Bool? in proxy.carried >= end ? true : nil
            }
            proxy.cut()
            progress.append(try await known(client))
            print(
                "cut \(cut): the newest message is \(progress[cut].newest), \(progress[cut].count) messages are stored")
            #expect(progress[cut].newest > progress[cut - 1].newest, "Live messages keep arriving.")
            if cut > 1 {
                #expect(progress[cut].count >= progress[cut - 2].count + 100, "Old messages keep arriving as well.")
            }
        }
        #expect(proxy.connections >= cuts)
        #expect(try await server.metric("scrollback_slow_closes_total") == 0)

        proxy.set(.full)
        try await scrolling.value
        talking.cancel()
        let live = try await talking.value
        let expected: [String?] = (0...missed).map { "word \($0)" } + live
        try await eventually("the last message has arrived") { () -> Bool? in
            try await client.newest(in: chat.id) == Int64(expected.count) ? true : nil
        }
        var read: [String?] = []
        for try await message in chat.messages(from: .earliest) { read.append(message.text) }
        #expect(read == expected)
        #expect(try await known(client).count == expected.count)
        #expect(try await client.verifyIntegrity() == [])
        await client.close()
    }

    @Test("A client that requests more than the line carries gets every response in order and stays connected")
    func excessiveRequestsAreAnsweredInOrder() async throws {
        let server = try await RunningServer.start()
        let admin = try await server.admin()
        try #require(
            try await admin.call("PUT", "/v1/conversations/group:long", #"{"members":["alice"]}"#).status == 201)
        for _ in 1...30 {
            try #require(try await admin.send(String(repeating: "x", count: 24_000), to: "group:long").status == 201)
        }
        let proxy = try await TestProxy(to: server, speed: .bytesPerSecond(2 << 20))
        let socket = try await TestSocket.open(proxy.url)
        socket.send(#"{"type":"hello","token":"\#(try await server.token("alice"))","device":"phone"}"#)
        _ = try await socket.next { $0.string("type") == "welcome" }
        // More than six megabytes pass through a queue of one megabyte.
        let pages = 8
        let single = 100
        for ref in 1...(pages + single) {
            let limit = ref <= pages ? 30 : 1
            socket.send(#"{"type":"history","ref":\#(ref),"conversation":"group:long","limit":\#(limit)}"#)
        }
        for ref in 1...(pages + single) {
            let answer = try await socket.next { $0.int("ref") != nil }
            #expect(answer.int("ref") == ref)
            #expect(answer.string("type") == "result")
        }
        #expect(try await server.metric("scrollback_slow_closes_total") == 0)
        socket.close()
    }

    /// Sends a message ten times per second until the task is cancelled.
    private func talk(_ bob: API) async throws -> [String] {
        var sentTexts: [String] = []
        while !Task.isCancelled {
            let text = "live \(sentTexts.count)"
            // In a task of its own, a send that is in progress completes after the cancellation.
            let answer = try await Task { try await bob.send(text, to: "group:far") }.value
            try #require(answer.status == 201, "\(answer)")
            sentTexts.append(text)
            try? await Task.sleep(for: .milliseconds(100))
        }
        return sentTexts
    }

    /// Reads page by page up to the first message, and repeats the requests that a cut interrupted.
    private func scrollBack(_ chat: Conversation) async throws {
        var next: Anchor? = .latest
        while let anchor = next {
            let page = try await chat.history(anchor, limit: 100)
            if page.remoteError == nil { next = page.older } else { try await Task.sleep(for: .milliseconds(50)) }
        }
    }

    /// Returns the newest sequence number on the device and the number of stored messages, regardless of gaps.
    private func known(_ client: ChatClient) async throws -> (newest: Int64, count: Int) {
        let places = try await client.core.store.read { try $0.storedSeqs(in: .group("far")) }
        return (places.max() ?? 0, places.count)
    }

    private func importWords(_ numbers: ClosedRange<Int>, _ admin: API) async throws {
        let messages = numbers.map { number in
            """
            {"id":"\(UUID())","sender":"bob","type":"text",\
            "sentAt":"\(Date(timeIntervalSince1970: 1_700_000_000 + Double(number)).iso8601)",\
            "content":{"text":"word \(number)"}}
            """
        }
        let answer = try await admin.call(
            "POST", "/v1/conversations/group:far/import", #"{"messages":[\#(messages.joined(separator: ","))]}"#)
        try #require(answer.json.int("imported") == numbers.count, "\(answer)")
    }
}
