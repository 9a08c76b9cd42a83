import Foundation

/// A TCP connection to a server on 127.0.0.1, whose calls block up to a time limit.
final class RawSocket: Sendable {
    enum Failure: Error, CustomStringConvertible {
        case closed, timedOut
        case notConnected(Int32)

        var description: String {
            switch self {
            case .closed: "connection closed"
            case .timedOut: "timed out"
            case .notConnected(let code): "not connected: \(String(cString: strerror(code)))"
            }
        }
    }

    /// The address from which a socket connects.
    enum Source: UInt32 {
        case loopback = 0x7F00_0001
        /// Another address of the loopback network, 127.0.0.2, so that limits for each address tell an attacker from
        /// the measuring user.
        case attacker = 0x7F00_0002
    }

    private let descriptor: Int32

    /// The size of the kernel's send buffer for a socket of an attacker.
    ///
    /// By default the buffer grows to 4 MiB. Many sockets that fill such buffers at once would take the time of the
    /// processors from the server, which an attacker on another machine can't do.
    private static let attackerSendBuffer: Int32 = 64 << 10

    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - address: An address of 127.0.0.1.
    ///   - timeout: The time limit of connecting and of each later call, in seconds.
    ///   - receiveBuffer: The size of the kernel's receive buffer, or `nil` for the system's default.
    init(
        _ address: URL, from source: Source = .loopback, timeout: Double = 300, receiveBuffer: Int32? = nil
    ) throws(Failure) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .notConnected(errno) }
        setTimeout(timeout)
        set(Int32(IPPROTO_TCP), TCP_NODELAY, to: 1)
        if let receiveBuffer { set(SOL_SOCKET, SO_RCVBUF, to: receiveBuffer) }
        if source == .attacker {
            set(SOL_SOCKET, SO_SNDBUF, to: Self.attackerSendBuffer)
            let code = Self.call(source.rawValue, port: 0) { bind(descriptor, $0, $1) }
            guard code == 0 else { throw .notConnected(code) }
        }
        let code = Self.call(Source.loopback.rawValue, port: UInt16(address.port ?? 80)) {
            connect(descriptor, $0, $1)
        }
        guard code == 0 else { throw .notConnected(code) }
    }

    deinit { close(descriptor) }

    private func set(_ level: Int32, _ option: Int32, to value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Changes the time limit of each call, in seconds.
    func setTimeout(_ seconds: Double) {
        var limit = timeval(tv_sec: Int(seconds), tv_usec: Int(seconds.truncatingRemainder(dividingBy: 1) * 1e6))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Passes an address to a function of the system and returns its error, or 0.
    private static func call(
        _ host: UInt32, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = in_addr_t(host).bigEndian
        return withUnsafePointer(to: &place) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 ? 0 : errno
            }
        }
    }

    // MARK: Sending

    /// Sends all bytes.
    ///
    /// - Parameter deadline: The time until which the call waits for a server that does not read. Without it, the
    ///   socket's time limit applies.
    func send(_ bytes: ArraySlice<UInt8>, until deadline: Double? = nil) throws(Failure) {
        var rest = bytes
        while !rest.isEmpty {
            let count = try sendSome(rest)
            guard count > 0 || deadline.map({ now() < $0 }) ?? false else { throw .timedOut }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) throws(Failure) { try send(Array(text.utf8)[...]) }

    /// Sends the bytes that the kernel accepts within the time limit.
    ///
    /// - Parameter waits: Whether to wait until the kernel accepts bytes.
    /// - Returns: Their number. It is 0 if the kernel accepts none.
    func sendSome(_ bytes: ArraySlice<UInt8>, waits: Bool = true) throws(Failure) -> Int {
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        while true {
            let (count, code) = bytes.withUnsafeBytes { bytes in
                let count = Foundation.send(descriptor, bytes.baseAddress, bytes.count, flags)
                return (count, errno)
            }
            if count >= 0 { return count }
            switch code {
            case EAGAIN: return 0
            case EINTR: continue
            default: throw .closed
            }
        }
    }

    // MARK: Receiving

    /// Receives at least one byte.
    ///
    /// - Returns: The number of bytes.
    func receive(into buffer: UnsafeMutableRawBufferPointer, waits: Bool = true) throws(Failure) -> Int {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, waits ? 0 : Int32(MSG_DONTWAIT))
            if count > 0 { return count }
            if count < 0, errno == EINTR { continue }
            throw count < 0 && errno == EAGAIN ? .timedOut : .closed
        }
    }

    /// Receives 1...65,536 bytes.
    func receive(waits: Bool = true) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            do throws(Failure) {
                count = try receive(into: UnsafeMutableRawBufferPointer(buffer), waits: waits)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Ends the connection, so that calls of other threads that wait for it fail.
    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
