import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// A frame after the welcome that the server must refuse, and the expected error.
struct BadFrame: Sendable, CustomTestStringConvertible {
    var frame: String
    var code: String
    var parameter: String?

    init(_ frame: String, _ code: String, _ parameter: String? = nil) {
        self.frame = frame
        self.code = code
        self.parameter = parameter
    }

    var testDescription: String { "\(frame.prefix(90)) → \(code) \(parameter ?? "")" }
}

@Suite(.serverFixture) struct WebSocketInputTests {
    let fixture: ServerFixture

    init() throws {
        fixture = try ServerFixture.shared
    }

    // MARK: The handshake

    @Test(arguments: [
        "", "Sec-WebSocket-Protocol: x\r\n", "Sec-WebSocket-Protocol: scrollback.v2.json, chat\r\n",
        "Sec-WebSocket-Protocol: SCROLLBACK.V1.JSON\r\n",
        "Sec-WebSocket-Protocol: scrollback.v1.json\r\nSec-WebSocket-Version: 8\r\n",
    ])
    func `An upgrade with a wrong subprotocol or version, or without a subprotocol, gets 400`(headers: String)
        async throws
    {
        let connection = try await RawConnection(fixture.server)
        connection.upgrade(headers)
        let answer = try await connection.answer()
        #expect(answer.status == 400)
        #expect(answer.body.contains(#""code":"malformed""#) && answer.body.contains("Sec-WebSocket-Protocol"))
        #expect(answer.head.lowercased().contains("connection: close"))
        try await eventually("the connection is closed") { connection.isClosed ? true : nil }
    }

    @Test func `The subprotocol can be one of several`() async throws {
        for headers in ["x, scrollback.v1.json", "scrollback.v1.json,x"] {
            let connection = try await RawConnection(fixture.server)
            connection.upgrade("Sec-WebSocket-Protocol: \(headers)\r\n")
            let head = try await connection.read(through: "\r\n\r\n").lowercased()
            #expect(head.hasPrefix("http/1.1 101") && head.contains("sec-websocket-protocol: scrollback.v1.json\r\n"))
        }
    }

    @Test func `An upgrade at another path or to another protocol is handled as plain HTTP`() async throws {
        let elsewhere = try await RawConnection(fixture.server)
        elsewhere.upgrade(path: "/healthz")
        #expect(try await elsewhere.answer().status == 200)
        let http2 = try await RawConnection(fixture.server)
        http2.write(
            "POST /v1/users/fetch HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                + "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nAuthorization: Bearer \(fixture.alice.token ?? "")\r\n"
                + "Content-Length: 19\r\n\r\n" + #"{"users":["alice"]}"#)
        #expect(try await http2.answer().status == 200)
        let get = try await fixture.alice.call("GET", "/v1/connect")
        #expect(get.status == 400 && get.code == "malformed")
    }

    // MARK: The first frame

    @Test(arguments: [
        "nonsense", "", "[]", "7", "{}", #"{"type":"ping","ref":1}"#, #"{"type":"hello"}"#,
        #"{"type":"hello","token":"x"}"#, #"{"type":"hello","token":7,"device":"d"}"#,
        #"{"type":"hello","token":"x","device":""}"#, #"{"type":"hello","token":"x","device":"a\u0000b"}"#,
    ])
    func `A first frame other than a valid hello closes the connection with 4001`(frame: String) async throws {
        let socket = try await TestSocket.open(fixture.server.url)
        socket.send(frame)
        #expect(try await socket.closed() == 4001)
    }

    @Test func `A second hello is refused, and the connection stays open`() async throws {
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        socket.send(#"{"type":"hello","token":"\#(fixture.alice.token ?? "")","device":"e"}"#)
        let answer = try await socket.next()
        #expect(answer.string("type") == "error" && answer.string("code") == "malformed")
        #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
    }

    @Test func `Frames sent immediately after the hello are answered after the welcome, in order`() async throws {
        let socket = try await TestSocket.open(fixture.server.url)
        socket.send(#"{"type":"hello","token":"\#(fixture.alice.token ?? "")","device":"eager"}"#)
        for reference in 1...20 { socket.send(#"{"type":"ping","ref":\#(reference)}"#) }
        #expect(try await socket.next().string("type") == "welcome")
        for reference in 1...20 { #expect(try await socket.next().int("ref") == reference) }
    }

    @Test func `A device that connects again closes its first connection with 4009`() async throws {
        let first = try await TestSocket.signedIn(fixture.server, "alice", device: "phone")
        let other = try await TestSocket.signedIn(fixture.server, "alice", device: "laptop")
        let second = try await TestSocket.signedIn(fixture.server, "alice", device: "phone")
        #expect(try await first.closed() == 4009)
        for socket in [other, second] {
            #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
        }
    }

    // MARK: Frames

    @Test(
        arguments: [
            (2, [1, 2, 3], true, true, 0, 1003),  // binary
            (1, [0x7B], true, false, 0, 1002),  // not masked
            (3, [1], true, true, 0, 1002), (11, [], true, true, 0, 1002),  // undefined opcodes
            (1, [0x7B], true, true, 0x40, 1002), (1, [0x7B], true, true, 0x10, 1002),  // undefined reserved bits
            (9, [UInt8](repeating: 1, count: 126), true, true, 0, 1002), (9, [1], false, true, 0, 1002),
            (0, [1], true, true, 0, 1002),  // continuation without a start
            (1, [UInt8](repeating: 0x20, count: 524_289), true, true, 0, 1009),  // too large
        ] as [(UInt8, [UInt8], Bool, Bool, UInt8, Int)])
    func `A frame that violates the protocol closes the connection with the matching code`(
        opcode: UInt8, payload: [UInt8], isFinal: Bool, isMasked: Bool, reserved: UInt8, code: Int
    ) async throws {
        for isSignedIn in [false, true] {
            let connection = try await RawConnection.webSocket(fixture.server)
            if isSignedIn {
                connection.frame(
                    1, Array(#"{"type":"hello","token":"\#(fixture.bob.token ?? "")","device":"\#(UUID())"}"#.utf8))
                _ = try await connection.read(through: "welcome")
                // The end of the welcome: the lineage.
                _ = try await connection.read(through: "\"}")
            }
            connection.frame(opcode, payload, isFinal: isFinal, isMasked: isMasked, reserved: reserved)
            #expect(try await connection.closeCode() == code)
        }
    }

    @Test func `A message that is too large or has too many fragments is closed with 1009, and one that fits is read`()
        async throws
    {
        let large = try await RawConnection.webSocket(fixture.server)
        for index in 0..<3 {
            large.frame(index == 0 ? 1 : 0, [UInt8](repeating: 0x20, count: 262_144), isFinal: index == 2)
        }
        #expect(try await large.closeCode() == 1009)
        let many = try await RawConnection.webSocket(fixture.server)
        for index in 0..<100 { many.frame(index == 0 ? 1 : 0, [0x20], isFinal: false) }
        #expect(try await many.closeCode() == 1009)

        let fits = try await RawConnection.webSocket(fixture.server)
        let hello = Array(#"{"type":"hello","token":"\#(fixture.bob.token ?? "")","device":"fragments"}"#.utf8)
        for index in 0..<4 {
            let part = hello[hello.count * index / 4..<hello.count * (index + 1) / 4]
            fits.frame(index == 0 ? 1 : 0, Array(part), isFinal: index == 3)
            fits.frame(9, [UInt8(index)])
        }
        _ = try await fits.read(through: "welcome")
    }

    @Test func `A frame of exactly the maximum size is read, unfragmented and fragmented`() async throws {
        let connection = try await RawConnection.webSocket(fixture.server)
        connection.frame(
            1, Array(#"{"type":"hello","token":"\#(fixture.bob.token ?? "")","device":"largest"}"#.utf8))
        _ = try await connection.read(through: "welcome")
        for reference in 1...2 {
            let head = #"{"type":"ping","ref":\#(reference),"x":""#
            let padding = String(repeating: "x", count: 524_288 - head.utf8.count - 2)
            let frame = Array((head + padding + #""}"#).utf8)
            #expect(frame.count == 524_288)
            if reference == 1 {
                connection.frame(1, frame)
            } else {
                connection.frame(1, Array(frame[..<300_000]), isFinal: false)
                connection.frame(0, Array(frame[300_000...]))
            }
            _ = try await connection.read(through: #""ref":\#(reference)"#)
        }
        #expect(!connection.isClosed)
    }

    // MARK: Requests

    private static let id = "0198f3c2-7c1e-7000-8000-0123456789ab"
    private static let message = #""message":{"id":"\#(id)","type":"text","content":{"text":"x"}}"#
    private static let crew = #""conversation":"group:crew""#

    private static let shapes: [BadFrame] = [
        .init("nonsense", "malformed"), .init("", "malformed"), .init(#"{"type":"ping","ref":1"#, "malformed"),
        .init("[]", "invalid-parameter", "body"), .init("{}", "malformed", "type"),
        .init(#"{"ref":1}"#, "malformed", "type"),
        .init(#"{"type":7,"ref":1}"#, "invalid-parameter", "type"),
        .init(#"{"type":"dance","ref":1}"#, "unknown-operation", "type"),
        .init(#"{"type":"ping"}"#, "invalid-parameter", "ref"),
        .init(#"{"type":"ping","ref":"1"}"#, "invalid-parameter", "ref"),
        .init(#"{"type":"ping","ref":1,"x":\#(String(repeating: "[", count: 65))"#, "malformed"),
        .init(#"{"type":"activity","ref":1}"#, "invalid-parameter", "active"),
        .init(#"{"type":"activity","ref":1,"active":1}"#, "invalid-parameter", "active"),
        .init(#"{"type":"token","ref":1}"#, "invalid-parameter", "token"),
    ]

    private static let sends: [BadFrame] = [
        .init(#"{"type":"send","ref":1,\#(crew)}"#, "invalid-parameter", "message"),
        .init(#"{"type":"send","ref":1,\#(message)}"#, "invalid-parameter", "conversation"),
        .init(#"{"type":"send","ref":1,"conversation":"crew",\#(message)}"#, "invalid-parameter", "conversation"),
        .init(
            #"{"type":"send","ref":1,"conversation":"group:e\u0301",\#(message)}"#, "invalid-parameter",
            "conversation"),
        .init(
            #"{"type":"send","ref":1,"conversation":"group:a\u0007",\#(message)}"#, "invalid-parameter",
            "conversation"),
        .init(#"{"type":"send","ref":1,\#(crew),"message":[]}"#, "invalid-parameter", "message"),
        .init(#"{"type":"send","ref":1,\#(crew),"message":{}}"#, "invalid-parameter", "type"),
        .init(
            #"{"type":"send","ref":1,\#(crew),"message":{"id":"7","type":"text","content":{"text":"x"}}}"#,
            "invalid-parameter", "id"),
        .init(
            #"""
            {"type":"send","ref":1,\#(crew),"message":{"id":"\#(id)","type":"text",\#
            "content":{"text":"\#(String(repeating: "x", count: 131_072))"}}}
            """#,
            "too-large", "content"),
    ]

    private static let reads: [BadFrame] = [
        (#""seq":4,"epoch":"EPOCH""#, "invalid-parameter", "seq"),
        (#""seq":-1,"epoch":"EPOCH""#, "invalid-parameter", "seq"),
        (#""seq":"1","epoch":"EPOCH""#, "invalid-parameter", "seq"),
        (#""seq":1,"epoch":1"#, "invalid-parameter", "epoch"),
        (#""seq":1"#, "invalid-parameter", "epoch"), (#""epoch":"EPOCH""#, "invalid-parameter", "seq"),
        (#""seq":1,"epoch":"1""#, "epoch-changed", "epoch"),
    ].map { .init(#"{"type":"read","ref":1,\#(crew),\#($0.0)}"#, $0.1, $0.2) }

    private static let pages: [BadFrame] = [
        (#""limit":101"#, "limit"), (#""limit":-1"#, "limit"), (#""limit":"abc""#, "limit"), (#""limit":1.5"#, "limit"),
        (#""limit":[1]"#, "limit"), (#""before":"seq:0""#, "before"), (#""before":"now""#, "before"),
        (#""before":{}"#, "before"), (#""before":"seq:1","after":"seq:1""#, "after"), (#""from":"seq:1""#, "to"),
        (#""around":"seq:1","limit":3"#, "limit"), (#""around":"seq:1","beforeLimit":101"#, "beforeLimit"),
        (#""cursor":"x""#, "cursor"), (#""cursor":"x","sort":"newestFirst""#, "cursor"), (#""sort":"up""#, "sort"),
        (#""types":[]"#, "types"), (#""types":[7]"#, "types"), (#""senders":["\u0000"]"#, "senders"),
        (#""mentionsMe":1"#, "mentionsMe"), (#""types":["\#(String(repeating: "x", count: 65))"]"#, "types"),
    ].map { .init(#"{"type":"history","ref":1,\#(crew),\#($0.0)}"#, "invalid-parameter", $0.1) }

    private static let syncs: [BadFrame] = [
        (#""limit":501"#, "limit"), (#""limit":0"#, "limit"), (#""limit":-1"#, "limit"), (#""limit":"1""#, "limit"),
        (#""cursor":"x""#, "cursor"), (#""cursor":"1.2.99999999999999999999""#, "cursor"), (#""cursor":7"#, "cursor"),
        (#""positions":{}"#, "positions"), (#""positions":[{}]"#, "conversation"),
        (#""positions":[{"conversation":"group:crew","epoch":"1","seq":-1}]"#, "seq"),
        (#""positions":[{"conversation":"group:crew","epoch":"x","seq":1}]"#, "epoch"),
        (
            #"""
            "positions":[\#
            \#((0...100).map { _ in #"{"conversation":"group:crew","epoch":"1","seq":1}"# }.joined(separator: ","))]
            """#,
            "positions"
        ),
    ].map { .init(#"{"type":"sync","ref":1,\#($0.0)}"#, "invalid-parameter", $0.1) }

    private static let searches: [BadFrame] =
        [
            (#""sort":"newestFirst""#, "text"), (#""text":"""#, "text"), (#""text":7"#, "text"),
            (#""text":"\#(String(repeating: "x", count: 257))""#, "text"),
            (#""text":"a","limit":0"#, "limit"), (#""text":"a","limit":101"#, "limit"),
            (#""text":"a","limit":"1""#, "limit"),
            (#""text":"a","limit":1.5"#, "limit"), (#""text":"a","sort":"up""#, "sort"),
            (#""text":"a","sort":1"#, "sort"),
            (#""text":"a","cursor":"x""#, "cursor"), (#""text":"a","cursor":7"#, "cursor"),
            (#""text":"a","conversation":"crew""#, "conversation"), (#""text":"a","conversation":7"#, "conversation"),
        ].map { .init(#"{"type":"search","ref":1,\#($0.0)}"#, "invalid-parameter", $0.1) } + [
            .init(#"{"type":"search","ref":1,"text":"a","conversation":"group:strangers"}"#, "unknown-conversation")
        ]

    private static let subscriptions: [BadFrame] = [
        .init(#"{"type":"subscribe","ref":1}"#, "invalid-parameter", "conversations"),
        .init(#"{"type":"subscribe","ref":1,"conversations":["x"]}"#, "invalid-parameter", "conversations"),
        .init(
            #"{"type":"subscribe","ref":1,"conversations":["group:crew","group:strangers"]}"#, "unknown-conversation"),
        .init(
            #"""
            {"type":"subscribe","ref":1,"conversations":[\#
            \#((0...500).map { #""group:g\#($0)""# }.joined(separator: ","))]}
            """#,
            "invalid-parameter", "conversations"),
        .init(#"{"type":"unsubscribe","ref":1,"conversations":7}"#, "invalid-parameter", "conversations"),
        .init(
            #"{"type":"history","ref":1,"conversation":"group:crew","around":"id:\#(id)"}"#, "unknown-message", "around"
        ),
    ]

    @Test(arguments: [shapes, sends, reads, pages, syncs, searches, subscriptions] + BadChangeFrames.all)
    func `A bad frame gets its error code and parameter, and the connection stays open`(
        _ frames: [BadFrame]
    ) async throws {
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        for frame in frames {
            socket.send(fixture.fill(frame.frame))
            let answer = try await socket.next { $0.string("type") != "head" }
            #expect(answer.string("type") == "error", "\(frame.testDescription)")
            #expect(answer.string("code") == frame.code, "\(frame.testDescription): \(answer.all)")
            #expect(answer.string("parameter") == frame.parameter, "\(frame.testDescription): \(answer.all)")
            if frame.frame.contains(#""ref":1,"#), frame.code != "malformed" { #expect(answer.int("ref") == 1) }
        }
        #expect(try await socket.request(#""type":"ping","future":[{}]"#).string("type") == "result")
        try await fixture.expectUnchanged("\(frames.first?.testDescription ?? "") and the frames after it")
    }

    @Test func `Unknown members of a frame are ignored, and unsubscribing without a subscription succeeds`()
        async throws
    {
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        let page = try await socket.request(#""type":"history","future":{"a":1},"conversation":"group:crew","limit":0"#)
        #expect(page.objects("messages").isEmpty && page.int("head") == 3)
        let answer = try await socket.request(
            #""type":"unsubscribe","conversations":["group:strangers","room:nowhere"]"#)
        #expect(answer.string("type") == "result")
    }

    @Test func `Sync reveals nothing about invisible conversations and still returns the others`() async throws {
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        let names = ["group:strangers", "group:nobody", "group:crew", "community:far/default", "direct:nobody"]
        let positions = names.map { #"{"conversation":"\#($0)","epoch":"\#(fixture.epoch)","view":0,"seq":1,"rev":0}"# }
        let answer = try await socket.request(#""type":"sync","positions":[\#(positions.joined(separator: ","))]"#)
        let logs = answer.objects("logs")
        #expect(logs.map { $0["conversation"] as? String } == names)
        for (name, log) in zip(names, logs) where name != "group:crew" {
            let error = log["error"] as? [String: Any]
            #expect(error?["code"] as? String == "unknown-conversation", "\(name): \(log)")
            #expect(error?["detail"] as? String == (logs[1]["error"] as? [String: Any])?["detail"] as? String)
            #expect(log["messages"] == nil && log["head"] == nil && log["epoch"] == nil, "\(name): \(log)")
        }
        #expect((logs[2]["messages"] as? [[String: Any]])?.map { $0["seq"] as? Int } == [2, 3])
    }

    @Test(arguments: ["4", "99", "9223372036854775807"])
    func `Sync from a position above the head starts over`(seq: String) async throws {
        let socket = try await TestSocket.signedIn(fixture.server, "alice")
        let position = #"{"conversation":"group:crew","epoch":"\#(fixture.epoch)","view":0,"seq":\#(seq),"rev":0}"#
        let answer = try await socket.request(#""type":"sync","positions":[\#(position)]"#)
        let log = try #require(answer.objects("logs").first)
        #expect((log["messages"] as? [[String: Any]])?.map { $0["seq"] as? Int } == [1, 2, 3], "\(log)")
        #expect(log["head"] as? Int == 3 && log["error"] == nil)
    }
}
