import ScrollbackModel

/// A decoder of untrusted bytes, as one function of its input.
///
/// `scripts/fuzz.sh` searches inputs that crash it, and the tests in `FuzzTests` repeat the inputs of
/// `Tests/Fuzz/corpus`. Inputs that the decoder refuses are no failures.
package struct FuzzTarget: Sendable {
    package enum Body: Sendable {
        case immediate(@Sendable ([UInt8]) throws -> Void)
        case asynchronous(@Sendable ([UInt8]) async throws -> Void)
    }

    /// The name of the target and of its folder in `Tests/Fuzz/corpus`.
    package let name: String
    /// What the target decodes.
    package let summary: String
    /// The maximum length of generated inputs in bytes.
    package let maximumBytes: Int
    package let body: Body

    init(
        _ name: String, _ summary: String, maximumBytes: Int = 4096,
        _ body: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.summary = summary
        self.maximumBytes = maximumBytes
        self.body = .immediate(body)
    }

    init(
        asynchronous name: String, _ summary: String, maximumBytes: Int = 4096,
        _ body: @escaping @Sendable ([UInt8]) async throws -> Void
    ) {
        self.name = name
        self.summary = summary
        self.maximumBytes = maximumBytes
        self.body = .asynchronous(body)
    }

    /// Decodes an input.
    ///
    /// - Throws: ``FuzzFailure`` if a property of the decoder does not hold.
    package func run(_ bytes: [UInt8]) async throws {
        switch body {
        case .immediate(let body): try body(bytes)
        case .asynchronous(let body): try await body(bytes)
        }
    }

    package static let all: [FuzzTarget] = [
        json, identifiers, content, importLine, frame, operation, session, query, cursor, httpFields, picture, text,
        webhookAnswer, pushAnswer, token, keys, serverFrame, answer, clientLog, mediaAnswer, pushPayload,
        s3Answer, nodeMessage, slackPayload, pageMetadata,
    ]
}

/// A property of a decoder that does not hold for an input.
package struct FuzzFailure: Error, CustomStringConvertible {
    package var description: String
}

/// Checks a property of a decoder.
func check(_ holds: Bool, _ failure: @autoclosure () -> String) throws {
    if !holds { throw FuzzFailure(description: failure()) }
}

/// Checks that two encoded values are the same.
func checkEqual(_ first: [UInt8], _ second: [UInt8], _ what: String) throws {
    try check(
        first == second,
        "\(what): \(String(decoding: first, as: UTF8.self)) became "
            + String(decoding: second, as: UTF8.self))
}

/// Returns the value, or `nil` if the decoder refuses the input.
func accepted<Value>(_ decode: () throws(ChatError) -> Value) -> Value? {
    do throws(ChatError) {
        return try decode()
    } catch {
        return nil
    }
}

extension [UInt8] {
    var text: String { String(decoding: self, as: UTF8.self) }

    /// Splits the input at its line breaks.
    ///
    /// - Parameter maxSplits: The maximum number of line breaks to split at.
    func lines(maxSplits: Int = .max) -> [[UInt8]] {
        split(separator: UInt8(ascii: "\n"), maxSplits: maxSplits, omittingEmptySubsequences: false).map(Array.init)
    }

    /// The first line, and everything after it.
    var firstLine: (line: [UInt8], rest: [UInt8]) {
        let parts = lines(maxSplits: 1)
        return (parts[0], parts.count == 2 ? parts[1] : [])
    }
}
