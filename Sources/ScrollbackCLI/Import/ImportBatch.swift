import ScrollbackModel
import ScrollbackWire

/// The messages of one request.
struct ImportBatch: Sendable {
    private static let maximumMessages = 500
    /// The maximum size of the messages in bytes, which leaves space for the other members of a body.
    private static let maximumBytes = Limits.standard.frameBytes - 1024

    private(set) var count = 0
    /// The messages as JSON, separated by commas.
    private var json: [UInt8] = []
    /// The ID of each message, and the number of its line in the file.
    private var lines: [(id: MessageID, number: Int)] = []

    /// Returns whether a request can have a message, encoded as JSON, in addition to those of the batch.
    func hasSpace(for message: [UInt8]) -> Bool {
        count < Self.maximumMessages && json.count + message.count < Self.maximumBytes
    }

    /// Adds a message.
    ///
    /// - Parameters:
    ///   - message: The message as JSON, with this ID.
    ///   - line: The number of its line in the file.
    mutating func add(_ message: [UInt8], id: MessageID, line: Int) {
        if count > 0 { json.append(UInt8(ascii: ",")) }
        json += message
        lines.append((id, line))
        count += 1
    }

    /// Adds the line to an error of the server that names one of the messages.
    func locating(_ error: ChatError) -> ChatError {
        guard let line = lines.first(where: { error.message.contains($0.id.description) }) else { return error }
        var error = error
        error.message = "Line \(line.number) of the file: \(error.message)"
        return error
    }

    func write(to writer: inout JSONWriter) {
        writer.array { $0.splice(encoded: json) }
    }
}
