import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A TCP connection for sending bytes that a well-behaved client does not send.
final class RawConnection: Sendable {
    private let channel: any Channel
    private let inbox: Inbox

    private final class Inbox: Sendable {
        let state = Mutex<(bytes: [UInt8], isClosed: Bool)>(([], false))
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let inbox: Inbox

        init(_ inbox: Inbox) { self.inbox = inbox }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Array(buffer: unwrapInboundIn(data))
            inbox.state.withLock { $0.bytes += bytes }
        }

        func channelInactive(context: ChannelHandlerContext) {
            inbox.state.withLock { $0.isClosed = true }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }

    init(_ server: RunningServer) async throws {
        let inbox = Inbox()
        self.inbox = inbox
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // A small receive buffer makes the server notice soon that the client has stopped reading.
            .channelOption(.socketOption(.so_rcvbuf), value: 64 * 1024)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(inbox))
                }
            }
            .connect(host: "127.0.0.1", port: server.port).get()
    }

    deinit { channel.close(promise: nil) }

    var isClosed: Bool { inbox.state.withLock { $0.isClosed } }

    func write(_ bytes: [UInt8]) {
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Writes bytes, and waits until the kernel has taken them or the connection has failed.
    ///
    /// A peer that stops reading delays the end of this call.
    func writeAndWait(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    func write(_ text: String) { write(Array(text.utf8)) }

    func close() { channel.close(promise: nil) }

    /// Waits until the server has closed the connection.
    func waitForEnd() async throws {
        try await eventually("the connection ends") { self.inbox.state.withLock { $0.isClosed } ? true : nil }
    }

    /// Stops reading, so that received bytes stay in the kernel.
    func stopReading() async throws {
        try await channel.setOption(.autoRead, value: false).get()
    }

    func startReading() async throws {
        try await channel.setOption(.autoRead, value: true).get()
        channel.read()
    }

    /// Waits for `text`, then removes and returns the received bytes up to and including it.
    func read(through text: String) async throws -> String {
        let mark = Array(text.utf8)
        return try await eventually("\(text.debugDescription) arrives") {
            try self.inbox.state.withLock { state in
                guard let range = state.bytes.firstRange(of: mark) else {
                    if state.isClosed {
                        throw ChildProcess.Failure(
                            description: "closed after \(String(decoding: state.bytes, as: UTF8.self))")
                    }
                    return nil
                }
                defer { state.bytes.removeFirst(range.upperBound) }
                return String(decoding: state.bytes[..<range.upperBound], as: UTF8.self)
            }
        }
    }

    /// Reads an HTTP response: its status, its head and its body.
    func answer() async throws -> (status: Int, head: String, body: String) {
        let head = try await read(through: "\r\n\r\n")
        let lines = head.split(separator: "\r\n")
        let status = Int(lines[0].split(separator: " ")[1]) ?? 0
        let length =
            lines.lazy.compactMap { line in
                line.lowercased().hasPrefix("content-length: ") ? Int(line.dropFirst("content-length: ".count)) : nil
            }.first ?? 0
        let body = try await eventually("a body of \(length) bytes arrives") {
            self.inbox.state.withLock { state in
                guard state.bytes.count >= length else { return nil as [UInt8]? }
                defer { state.bytes.removeFirst(length) }
                return Array(state.bytes.prefix(length))
            }
        }
        return (status, head, String(decoding: body, as: UTF8.self))
    }

    // MARK: WebSocket

    func upgrade(_ headers: String = "Sec-WebSocket-Protocol: scrollback.v1.json\r\n", path: String = "/v1/connect") {
        write(
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(headers)\r\n")
    }

    /// Opens a WebSocket that has sent no frame.
    static func webSocket(_ server: RunningServer) async throws -> RawConnection {
        let connection = try await RawConnection(server)
        connection.upgrade()
        let head = try await connection.read(through: "\r\n\r\n")
        guard head.hasPrefix("HTTP/1.1 101") else { throw ChildProcess.Failure(description: head) }
        return connection
    }

    /// Writes a frame (RFC 6455, section 5.2). It is masked with zeros unless the test sends an invalid, unmasked
    /// frame.
    func frame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isMasked: Bool = true, reserved: UInt8 = 0) {
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | reserved | opcode]
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch payload.count {
        case 0...125: bytes.append(mask | UInt8(payload.count))
        case 126...0xFFFF: bytes += [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: bytes += [mask | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        if isMasked { bytes += [0, 0, 0, 0] }
        write(bytes + payload)
    }

    /// Returns the code of the next close frame and drops the frames before it.
    func closeCode() async throws -> Int {
        try await eventually("a close frame arrives") {
            try self.inbox.state.withLock { state in
                while let (opcode, payload) = Self.takeFrame(&state.bytes) {
                    if opcode == 8 { return payload.count < 2 ? 1005 : Int(payload[0]) << 8 | Int(payload[1]) }
                }
                if state.isClosed { throw ChildProcess.Failure(description: "closed without a close frame") }
                return nil
            }
        }
    }

    /// Removes and returns the first frame, or returns `nil` while no frame is complete.
    private static func takeFrame(_ bytes: inout [UInt8]) -> (opcode: UInt8, payload: [UInt8])? {
        guard bytes.count >= 2 else { return nil }
        let short = Int(bytes[1] & 0x7F)
        let header = short == 126 ? 4 : short == 127 ? 10 : 2
        guard bytes.count >= header else { return nil }
        let length = header == 2 ? short : bytes[2..<header].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count >= header + length else { return nil }
        let frame = (bytes[0] & 0x0F, Array(bytes[header..<header + length]))
        bytes.removeFirst(header + length)
        return frame
    }
}
