import Foundation

/// A minimal blocking HTTP/1.1 connection, so that benchmarks measure mostly the server.
final class PlainHTTP {
    private let descriptor: Int32
    private let host: String
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    /// The bytes of uploads after the unique first part.
    private static let payload: [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<(32 << 10)).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
    }()

    /// Connects to a server.
    ///
    /// - Parameter address: An address of 127.0.0.1.
    init(_ address: URL) throws {
        let port = UInt16(address.port ?? 80)
        host = "127.0.0.1:\(port)"
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let failed = withUnsafePointer(to: &place) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard descriptor >= 0, failed == 0 else { throw BenchError("Can't connect to \(host).") }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    struct Answer {
        var status: Int
        /// The first 1,024 bytes of the body.
        var text: String
        var size: Int
    }

    /// Sends a request and reads the complete response.
    ///
    /// - Parameters:
    ///   - method: The HTTP method.
    ///   - path: The path and the query.
    ///   - headers: Header lines.
    ///   - size: The size of the body, or `nil` for no body. Each body has unique random content.
    ///   - onSent: Called with the number of bytes after each part. It may block, or throw to cancel the upload.
    func request(
        _ method: String, _ path: String, _ headers: [String], size: Int? = nil, onSent: (Int) throws -> Void = { _ in }
    ) throws -> Answer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        for header in headers { head += header + "\r\n" }
        if let size { head += "Content-Length: \(size)\r\n" }
        try send(Array((head + "\r\n").utf8)[...])
        if let size {
            let name = Array(UUID().uuidString.utf8)
            try send(name[..<min(size, name.count)])
            var rest = size - min(size, name.count)
            while rest > 0 {
                let count = min(rest, Self.payload.count)
                try send(Self.payload[..<count])
                rest -= count
                try onSent(count)
            }
        }
        let answer = try readResponse()
        guard (200..<300).contains(answer.status) else {
            throw BenchError("\(method) \(path): \(answer.status) \(answer.text)")
        }
        return answer
    }

    private func send(_ bytes: ArraySlice<UInt8>) throws {
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest)
                let count = Foundation.send(descriptor, part.baseAddress, part.count, Int32(MSG_NOSIGNAL))
                guard count > 0 else {
                    throw BenchError("Can't send to \(host): \(String(cString: strerror(errno))).")
                }
                rest = rest.dropFirst(count)
            }
        }
    }

    private func readResponse() throws -> Answer {
        var found: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { throw BenchError("\(host) closed the connection.") }
            found += buffer[..<count]
            guard let split = found.firstRange(of: end) else { continue }
            let lines = String(decoding: found[..<split.lowerBound], as: UTF8.self).split(separator: "\r\n")
            let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            let lengths = lines.compactMap { line -> Int? in
                let parts = line.split(separator: ":")
                guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
                return Int(parts[1].filter { $0 != " " })
            }
            guard let size = lengths.first ?? (status == 204 ? 0 : nil) else {
                throw BenchError("The response of \(host) has no Content-Length.")
            }
            var rest = size - (found.count - split.upperBound)
            while rest > 0 {
                let count = recv(descriptor, buffer.baseAddress, min(rest, buffer.count), 0)
                guard count > 0 else { throw BenchError("\(host) closed the connection within a response.") }
                rest -= count
            }
            let text = String(decoding: found[split.upperBound...].prefix(1024), as: UTF8.self)
            return Answer(status: status, text: text, size: size)
        }
    }
}

/// Runs a blocking body on several new threads.
func onThreads<Answer: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Answer
) async throws -> [Answer] {
    try await withThrowingTaskGroup(of: Answer.self) { group in
        for number in 0..<count {
            group.addTask { try await blocking { try body(number) } }
        }
        var answers: [Answer] = []
        for try await answer in group { answers.append(answer) }
        return answers
    }
}

/// Runs a blocking body on a new thread.
func blocking<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
