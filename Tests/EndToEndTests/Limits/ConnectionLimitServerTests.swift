import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

/// Connections that a hostile client opens, and what other clients notice of them.
@Suite struct ConnectionLimitServerTests {
    private func hello(_ token: String, _ device: String) -> [UInt8] {
        Array(#"{"type":"hello","token":"\#(token)","device":"\#(device)"}"#.utf8)
    }

    @Test func `A client that never reads costs one pong, however many pings it sends`() async throws {
        let server = try await RunningServer.start()
        let flooding = try await RawConnection.webSocket(server)
        flooding.frame(1, hello(try await server.token("mallory"), "flood"))
        _ = try await flooding.read(through: "lineage")
        try await flooding.stopReading()
        let before = try #require(server.residentBytes)
        // Pings of 131 bytes in pieces of 1 MiB, 32 MiB in total. Each would be answered by 127 bytes.
        var ping: [UInt8] = [0x89, 0x80 | 125, 0, 0, 0, 0]
        ping += [UInt8](repeating: 0x78, count: 125)
        let piece = Array(repeatElement(ping, count: 8_000).joined())
        let flood = Task { for _ in 0..<32 { try await flooding.send(piece) } }
        try await eventually("the server reads only now and then") {
            try await server.metric("scrollback_receive_pauses_total") >= 4 ? true : nil
        }
        #expect(try await server.metric("scrollback_replaced_pongs_total") > 0)
        #expect(try await server.metric("scrollback_outbound_queued_bytes") < 1 << 20)
        let grown = (server.residentBytes ?? 0) - before
        #expect(grown < 16 << 20, "The server grew by \(grown >> 10) KiB.")
        flooding.close()
        _ = await flood.result
        // A connection with fewer pings still works.
        let pinging = try await RawConnection.webSocket(server)
        pinging.frame(1, hello(try await server.token("mallory"), "pings"))
        _ = try await pinging.read(through: "lineage")
        try await pinging.stopReading()
        try await pinging.send(Array(piece.prefix(100 * ping.count)))
        try await pinging.startReading()
        pinging.frame(1, Array(#"{"type":"ping","ref":9}"#.utf8))
        _ = try await pinging.read(through: #""ref":9"#)
        #expect(try await server.terminate() == 0)
    }

    @Test func `An unknown client can send 16 KiB, and one that sends no hello is closed with 4001`() async throws {
        let server = try await RunningServer.start()
        let silent = try await RawConnection.webSocket(server)
        // The header of a frame of 512 KiB, and a part of its payload.
        let large = try await RawConnection.webSocket(server)
        large.write([0x81, 0x80 | 127, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0x20, count: 17_000))
        #expect(try await large.closeCode() == 1009)
        // Many small frames: pings, which are answered without a token.
        let pinging = try await RawConnection.webSocket(server)
        for _ in 0..<200 { pinging.frame(9, [UInt8](repeating: 0x78, count: 125)) }
        #expect(try await pinging.closeCode() == 1009)
        // Signed in, the same client can send a whole frame.
        let known = try await RawConnection.webSocket(server)
        known.frame(1, hello(try await server.token("alice"), "phone"))
        _ = try await known.read(through: "lineage")
        let padding = String(repeating: "x", count: 500_000)
        known.frame(1, Array(#"{"type":"ping","ref":1,"x":"\#(padding)"}"#.utf8))
        _ = try await known.read(through: #""ref":1"#)
        #expect(try await silent.closeCode() == 4001)
        #expect(try await server.metric("scrollback_closes_before_welcome_total") == 3)
    }

    @Test func `A user has a limited number of WebSockets, and another device is refused with 4029`() async throws {
        let server = try await RunningServer.start(["--connections-per-user", "3"])
        let token = try await server.token("alice")
        var sockets: [TestSocket] = []
        for number in 1...3 {
            sockets.append(try await TestSocket.signedIn(server, "alice", token: token, device: "device \(number)"))
        }
        let fourth = try await TestSocket.open(server.url)
        fourth.send(String(decoding: hello(token, "device 4"), as: UTF8.self))
        #expect(try await fourth.closed() == 4029)
        #expect(fourth.frames.isEmpty)
        #expect(try await server.metric(#"scrollback_refused_connections_total{limit="user"}"#) == 1)
        // The same device replaces its connection. Other users connect, and a closed connection makes place.
        let again = try await TestSocket.signedIn(server, "alice", token: token, device: "device 3")
        #expect(try await sockets[2].closed() == 4009)
        _ = try await TestSocket.signedIn(server, "bob")
        sockets[0].close()
        try await eventually("device 4 connects") { () -> Bool? in
            let socket = try await TestSocket.open(server.url)
            socket.send(String(decoding: hello(token, "device 4"), as: UTF8.self))
            return (try? await socket.next().string("type")) == "welcome" ? true : nil
        }
        #expect(try await again.request(#""type":"ping""#).string("type") == "result")
    }

    @Test func `A WebSocket whose peer is gone makes place at once`() async throws {
        let server = try await RunningServer.start()
        let raw = try await RawConnection.webSocket(server)
        raw.frame(1, hello(try await server.token("alice"), "phone"))
        _ = try await raw.read(through: "lineage")
        #expect(try await server.metric("scrollback_connections") == 1)
        // The process of the client has ended: there is no close frame. The heartbeat would end after 75 seconds.
        raw.close()
        try await eventually("the server closes its end", within: 40) {
            try await server.metric("scrollback_connections") == 0 ? true : nil
        }
    }

    @Test func `Connections from one address above the limit are closed, and later ones are accepted again`()
        async throws
    {
        let server = try await RunningServer.start(["--connections-per-address", "20"])
        var connections: [RawConnection] = []
        for _ in 0..<40 { connections.append(try await RawConnection(server)) }
        for connection in connections {
            connection.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        }
        var answered: [RawConnection] = []
        for connection in connections {
            if let answer = try? await connection.answer(), answer.status == 200 { answered.append(connection) }
        }
        #expect(answered.count == 20)
        #expect(connections.count(where: \.isClosed) == 20)
        for connection in answered { connection.close() }
        let refused = try await eventually("the address connects again") {
            try? await server.metric(#"scrollback_refused_connections_total{limit="address"}"#)
        }
        #expect(refused >= 20)
        #expect(server.log.contains("address=127.0.0.1"), "\(server.log)")
    }

    @Test func `At the descriptor limit, new connections are closed and existing ones work, with files`() async throws {
        // 200 descriptors leave 111 connections.
        let server = try await RunningServer.start(["--send-rate", "0"], shell: "ulimit -n 200")
        #expect(try await server.metric("scrollback_sockets_limit") == 111)
        let made = try await server.admin().call("PUT", "/v1/conversations/group:crew", #"{"members":["alice"]}"#)
        try #require(made.status == 201)
        let socket = try await TestSocket.signedIn(server, "alice")
        let uploading = try await RawConnection(server)
        uploading.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await uploading.answer().status == 200)
        var connections: [RawConnection] = []
        for _ in 0..<200 { connections.append(try await RawConnection(server)) }
        try await eventually("connections are refused") {
            connections.count(where: \.isClosed) >= 80 ? true : nil
        }
        let start = ContinuousClock.now
        let busy = try server.cpuSeconds
        for number in 1...20 {
            let sent = try await socket.request(
                #""type":"send","conversation":"group:crew","message":\#(API.message("\(number)"))"#)
            #expect(sent.string("type") == "result", "\(sent.all)")
        }
        let file = [UInt8](repeating: 0x61, count: 1000)
        uploading.write(
            "POST /v1/media?conversation=group:crew&type=file&name=a.txt HTTP/1.1\r\nHost: x\r\n"
                + "Authorization: Bearer \(try await server.token("alice"))\r\nContent-Length: 1000\r\n\r\n")
        uploading.write(file)
        #expect(try await uploading.answer().status == 201)
        try await Task.sleep(for: .seconds(1))
        // Without work to do, the server must not try to accept connections without end.
        let used = try server.cpuSeconds - busy
        #expect(used < (ContinuousClock.now - start) / .seconds(1) / 2, "\(used) seconds of processor time")
        for connection in connections { connection.close() }
        let alice = try await server.api("alice")
        try await eventually("new connections are accepted") {
            (try? await alice.call("GET", "/v1/me").status) == 200 ? true : nil
        }
        #expect(try await server.terminate() == 0)
    }

    @Test func `The server raises its own soft limit of descriptors`() async throws {
        let server = try await RunningServer.start(["--send-rate", "0"], shell: "ulimit -Sn 64")
        let limits = try String(contentsOfFile: "/proc/\(server.pid)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        #expect(numbers.count == 2 && numbers[0] == min(numbers[1], 1 << 20), "\(line)")
    }

    @Test func `More connections than descriptors are refused at the start`() async throws {
        let folder = try TemporaryFolder()
        let ended = try await RunningServer.command([
            "serve", "--port", "0", "--data", folder.url.appending(component: "data").path, "--connections-max",
            "100000000",
        ])
        #expect(ended.code == 1 && ended.errors.contains("LimitNOFILE"), "\(ended)")
        for option in ["--connections-max", "--outbound-memory"] {
            let zero = try await RunningServer.command(["serve", "--port", "0", option, "0"])
            #expect(zero.code == 1 && zero.errors.contains("must be in 1..."), "\(zero)")
        }
    }

    @Test func `Clients that do not read share a budget, and the rest of the server keeps working`() async throws {
        let server = try await RunningServer.start(["--send-rate", "0", "--outbound-memory", "1"])
        let names = ["alice"] + (1...6).map { "slow\($0)" }
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        let made = try await server.admin().call("PUT", "/v1/conversations/group:crew", "{\"members\":[\(list)]}")
        try #require(made.status == 201)
        var slow: [RawConnection] = []
        for name in names.dropFirst() {
            let connection = try await RawConnection.webSocket(server)
            connection.frame(1, hello(try await server.token(UserID(name)), "phone"))
            _ = try await connection.read(through: "lineage")
            connection.frame(1, Array(#"{"type":"ping","ref":1}"#.utf8))
            _ = try await connection.read(through: #""ref":1"#)
            try await connection.stopReading()
            slow.append(connection)
        }
        let alice = try await TestSocket.signedIn(server, "alice")
        var closes = 0
        var sent = 0
        while closes == 0, sent < 2_000 {
            for _ in 0..<20 {
                let text = String(repeating: "x", count: 24_000)
                let answer = try await alice.request(
                    #""type":"send","conversation":"group:crew","message":\#(API.message(text))"#)
                try #require(answer.string("type") == "result", "\(answer.all)")
                sent += 1
            }
            #expect(try await server.metric("scrollback_outbound_queued_bytes") <= 1 << 20)
            closes = try await server.metric("scrollback_memory_closes_total")
        }
        #expect(closes > 0)
        #expect(try await alice.request(#""type":"ping""#).string("type") == "result")
    }
}
