import Foundation

extension Attacker {
    /// Sends pings as fast as the server reads them, without a token, and reads no pong.
    func floodPings(sockets: Int) async {
        // The largest payload fills the kernel's buffers with the fewest pongs.
        let ping = RawWebSocket.frame(9, [UInt8](repeating: UInt8(ascii: "x"), count: 125))
        let batch = (0..<500).flatMap { _ in ping }
        await onEach(sockets) { _ in
            let socket = try RawWebSocket(server, from: .attacker, timeout: 10, receiveBuffer: 4096).socket
            socket.setTimeout(0.5)
            var offset = 0
            while !isOver {
                let count = try socket.sendSome(batch[offset...])
                // A server that doesn't read from the connection any more has stopped the attack.
                if count == 0 { tally.refuse("not read for 0.5 s") }
                tally.sent(count)
                tally.accept((offset + count) / ping.count - offset / ping.count)
                offset = (offset + count) % batch.count
            }
        }
    }

    /// Signs in with several devices of one user, and sends requests as fast as the server reads them.
    ///
    /// - Parameter members: Returns the JSON members of a request, except `ref`.
    func floodFrames(sockets: Int, _ members: @escaping @Sendable (Int) -> String) async {
        await onEach(sockets) { number in
            var web = try RawWebSocket(server, from: .attacker, timeout: 10)
            try web.signIn(token: token, device: "flood\(number)")
            let socket = web.socket
            Thread.detachNewThread {
                var ref = 0
                while !isOver {
                    var batch: [UInt8] = []
                    for _ in 0..<20 {
                        ref += 1
                        batch += RawWebSocket.text(#"{"ref":\#(ref),\#(members(ref))}"#)
                    }
                    do {
                        try socket.send(batch[...], until: end)
                        tally.sent(batch.count)
                    } catch {
                        return
                    }
                }
            }
            defer { socket.end() }
            let result = Array(#"{"type":"result""#.utf8)
            let failure = Array(#"{"type":"error""#.utf8)
            while !isOver {
                let frame = try web.next()
                if frame.starts(with: result) {
                    tally.accept()
                } else if frame.starts(with: failure) {
                    tally.refuse(ServerAnswer.code(in: frame) ?? "error")
                }
            }
        }
    }

    // MARK: Connections that stay open

    /// A request that is never complete: a head, the body of a message, or the body of an upload.
    func slowRequest(_ number: Int) -> [UInt8] {
        let head =
            switch number % 3 {
            case 0: "GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
            case 1:
                "POST \(Self.group)/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n\(authorization[0])\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
            default:
                "POST /v1/media?conversation=group:logs&type=file HTTP/1.1\r\nHost: 127.0.0.1\r\n\(authorization[0])"
                    + "\r\nContent-Length: 1000000\r\n\r\n"
            }
        return Array(head.utf8)
    }

    /// Keeps a number of connections open, and opens another for each that the server closes.
    ///
    /// Opens at most about 2,000 connections a second.
    ///
    /// - Parameters:
    ///   - dripsBytes: Whether each connection sends one more byte every second.
    ///   - opening: Returns the first bytes that a connection sends.
    func hold(_ count: Int, dripsBytes: Bool = false, _ opening: @escaping @Sendable (Int) -> [UInt8]) async {
        let threads = 8
        let open = EventCounter()
        await onEach(threads) { thread in
            var held = stride(from: thread, to: count, by: threads).map { HeldConnection(number: $0) }
            while !isOver {
                var attempts = 0
                for index in held.indices where attempts < 5 || held[index].isOpen {
                    let wasOpen = held[index].isOpen
                    if !wasOpen { attempts += 1 }
                    held[index].step(server, tally, drips: dripsBytes, opening)
                    tally.open(open.add((held[index].isOpen ? 1 : 0) - (wasOpen ? 1 : 0)))
                }
                usleep(20_000)
            }
        }
    }
}

/// One connection that an attacker keeps open.
private struct HeldConnection {
    let number: Int
    private var socket: RawSocket?
    private var opening: [UInt8] = []
    private var sent = 0
    private var answer: [UInt8] = []
    private var nextByte = 0.0

    init(number: Int) { self.number = number }

    var isOpen: Bool { socket != nil }

    /// Opens the connection if it is closed, and sends and receives what is possible without waiting.
    mutating func step(_ server: URL, _ tally: TallyCounter, drips: Bool, _ opening: (Int) -> [UInt8]) {
        do throws(RawSocket.Failure) {
            if socket == nil {
                self.opening = opening(number)
                (sent, answer, nextByte) = (0, [], now() + 1)
                socket = try RawSocket(server, from: .attacker, timeout: 1)
                tally.accept()
            }
            guard let socket else { return }
            if sent < self.opening.count {
                let count = try socket.sendSome(self.opening[sent...], waits: false)
                sent += count
                tally.sent(count)
            } else if drips, now() > nextByte {
                tally.sent(try socket.sendSome([UInt8(ascii: "x")], waits: false))
                nextByte += 1
            }
            try receive(socket)
        } catch {
            // A close frame or a response says more than the end of the connection.
            if let socket { try? receive(socket) }
            tally.refuse(ServerAnswer.reason(of: answer) ?? "\(error)")
            socket = nil
        }
    }

    private mutating func receive(_ socket: RawSocket) throws(RawSocket.Failure) {
        do throws(RawSocket.Failure) {
            while true {
                let bytes = try socket.receive(waits: false)
                if answer.count < 4096 { answer += bytes.prefix(4096) }
            }
        } catch {
            guard case .timedOut = error else { throw error }
        }
    }
}
