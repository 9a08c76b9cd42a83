import Foundation

/// A minimal blocking HTTP/1.1 connection, so that benchmarks measure mostly the server.
final class PlainHTTP {
    private let socket: RawSocket
    private let host: String
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    /// The bytes of uploads after the unique first part.
    private static let payload: [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<(32 << 10)).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
    }()

    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - address: An address of 127.0.0.1.
    ///   - timeout: The time limit of connecting and of each wait for the server, in seconds.
    init(_ address: URL, from source: RawSocket.Source = .loopback, timeout: Double = 300) throws {
        host = "127.0.0.1:\(address.port ?? 80)"
        socket = try RawSocket(address, from: source, timeout: timeout)
    }

    deinit { buffer.deallocate() }

    struct Answer {
        var status: Int
        /// The first 1,024 bytes of the body.
        var text: String
        var size: Int

        var isSuccess: Bool { (200..<300).contains(status) }
        /// The status and the code of an error.
        var reason: String {
            ["HTTP \(status)", ServerAnswer.code(in: Array(text.utf8))].compactMap { $0 }.joined(separator: " ")
        }
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
        try sendHead(method, path, headers, size: size)
        if let size {
            let name = Array(UUID().uuidString.utf8)
            try socket.send(name[..<min(size, name.count)])
            try sendParts(of: Self.payload, size: max(0, size - name.count), onSent)
        }
        let answer = try readResponse()
        guard answer.isSuccess else { throw BenchError("\(method) \(path): \(answer.status) \(answer.text)") }
        return answer
    }

    /// Sends a request with a JSON body and returns its response, whatever its status.
    func exchange(_ method: String, _ path: String, _ headers: [String], json: String? = nil) throws -> Answer {
        let body = json.map { Array($0.utf8) }
        try sendHead(
            method, path, headers + (body == nil ? [] : ["Content-Type: application/json"]), size: body?.count)
        if let body { try socket.send(body[...]) }
        return try readResponse()
    }

    /// Uploads a file that starts with some bytes and repeats a pattern, and returns the response, whatever its status.
    func upload(_ path: String, _ headers: [String], size: Int, start: [UInt8], pattern: [UInt8]) throws -> Answer {
        try sendHead("POST", path, headers, size: size)
        do {
            try socket.send(start[..<min(size, start.count)])
            let part = (0..<max(1, (64 << 10) / pattern.count)).flatMap { _ in pattern }
            try sendParts(of: part, size: max(0, size - start.count)) { _ in }
        } catch RawSocket.Failure.closed {
            // The response to a refused upload may precede the end of the connection.
        }
        return try readResponse()
    }

    private func sendHead(_ method: String, _ path: String, _ headers: [String], size: Int?) throws {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        for header in headers { head += header + "\r\n" }
        if let size { head += "Content-Length: \(size)\r\n" }
        try socket.send(head + "\r\n")
    }

    private func sendParts(of payload: [UInt8], size: Int, _ onSent: (Int) throws -> Void) throws {
        var rest = size
        while rest > 0 {
            let count = min(rest, payload.count)
            try socket.send(payload[..<count])
            rest -= count
            try onSent(count)
        }
    }

    private func readResponse() throws -> Answer {
        var found: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while true {
            found += buffer[..<(try socket.receive(into: buffer))]
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
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(rest, buffer.count)])
                let count = try socket.receive(into: part)
                // Only the beginning of a body is kept.
                if found.count < split.upperBound + 1024 { found += part[..<count] }
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
