import Foundation
import ScrollbackWire

/// A minimal blocking WebSocket, which can send what well-behaved clients don't send.
///
/// One thread reads with this value. Another one may write to its `socket`.
struct RawWebSocket: Sendable {
    let socket: RawSocket
    private var received: [UInt8] = []
    private var lastRef = 0

    /// Connects and completes the handshake without sending a frame.
    init(
        _ address: URL, from source: RawSocket.Source = .loopback, timeout: Double = 30, receiveBuffer: Int32? = nil
    ) throws {
        socket = try RawSocket(address, from: source, timeout: timeout, receiveBuffer: receiveBuffer)
        try socket.send(Self.upgrade)
        let end = Array("\r\n\r\n".utf8)
        while true {
            received += try socket.receive()
            guard let range = received.firstRange(of: end) else { continue }
            let head = String(decoding: received[..<range.lowerBound], as: UTF8.self)
            guard head.hasPrefix("HTTP/1.1 101") else {
                throw BenchError(ServerAnswer.reason(of: received) ?? "no handshake")
            }
            received.removeFirst(range.upperBound)
            return
        }
    }

    /// The request that opens a WebSocket.
    static let upgrade =
        "GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Protocol: \(HelloFrame.subprotocol)\r\n\r\n"

    /// Returns a final frame that is masked with zeros (RFC 6455 section 5.2).
    static func frame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [0x80 | opcode]
        switch payload.count {
        case 0...125: bytes.append(0x80 | UInt8(payload.count))
        case 126...0xFFFF: bytes += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: bytes += [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        return bytes + [0, 0, 0, 0] + payload
    }

    static func text(_ text: String) -> [UInt8] { frame(1, Array(text.utf8)) }

    static func hello(token: String, device: String) -> [UInt8] {
        frame(1, HelloFrame(token: token, device: device).encoded())
    }

    /// Sends `hello` and waits for `welcome`.
    mutating func signIn(token: String, device: String) throws {
        try socket.send(Self.hello(token: token, device: device)[...])
        let welcome = Array(#"{"type":"welcome""#.utf8)
        while try !next().starts(with: welcome) {}
    }

    /// Waits for the next text frame.
    ///
    /// - Throws: An error with the close code if the server closes the WebSocket.
    mutating func next() throws -> [UInt8] {
        while true {
            while let (opcode, payload) = Self.takeFrame(&received) {
                switch opcode {
                case 1: return payload
                case 8: throw BenchError("close code \(ServerAnswer.closeCode(payload))")
                case 9: try socket.send(Self.frame(10, payload)[...])
                default: break
                }
            }
            received += try socket.receive()
        }
    }

    /// Sends a request, waits for its result, and drops the events before it.
    ///
    /// - Parameter members: The JSON members of the request, except `ref`.
    mutating func request(_ members: String) throws -> [UInt8] {
        lastRef += 1
        try socket.send(Self.text(#"{"ref":\#(lastRef),\#(members)}"#)[...])
        let result = Array(#"{"type":"result","ref":\#(lastRef)"#.utf8)
        let error = Array(#"{"type":"error","ref":\#(lastRef)"#.utf8)
        while true {
            let frame = try next()
            if frame.starts(with: result) { return frame }
            if frame.starts(with: error) { throw BenchError(ServerAnswer.code(in: frame) ?? "error") }
        }
    }

    /// Closes the connection in the way of well-behaved clients.
    func close() {
        try? socket.send(Self.frame(8, [0x03, 0xE8])[...])
        socket.end()
    }

    /// Removes and returns the first frame, or returns `nil` while none is complete.
    static func takeFrame(_ bytes: inout [UInt8]) -> (opcode: UInt8, payload: [UInt8])? {
        guard bytes.count >= 2 else { return nil }
        let short = Int(bytes[1] & 0x7F)
        let header = short == 126 ? 4 : short == 127 ? 10 : 2
        guard bytes.count >= header else { return nil }
        let length = header == 2 ? short : bytes[2..<header].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count >= header + length else { return nil }
        defer { bytes.removeFirst(header + length) }
        return (bytes[0] & 0x0F, Array(bytes[header..<header + length]))
    }
}

/// Finds the reasons for refusals in the server's answers.
enum ServerAnswer {
    /// Returns the `code` of an error.
    static func code(in bytes: some Collection<UInt8>) -> String? {
        guard let range = bytes.firstRange(of: Array(#""code":""#.utf8)) else { return nil }
        return String(decoding: bytes[range.upperBound...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
    }

    static func closeCode(_ payload: [UInt8]) -> Int {
        payload.count < 2 ? 1005 : Int(payload[0]) << 8 | Int(payload[1])
    }

    /// Returns why a connection ended: the status and code of an HTTP response, or the code of a close frame after the
    /// handshake.
    ///
    /// - Returns: `nil` if the server answered neither.
    static func reason(of answer: [UInt8]) -> String? {
        guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self)
        let status = head.split(separator: " ").dropFirst().first ?? ""
        guard status == "101" else {
            return ["HTTP \(status)", code(in: answer[end.upperBound...])].compactMap { $0 }.joined(separator: " ")
        }
        var frames = Array(answer[end.upperBound...])
        while let (opcode, payload) = RawWebSocket.takeFrame(&frames) {
            if opcode == 8 { return "close code \(closeCode(payload))" }
        }
        return nil
    }
}
