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

    /// Returns whether a request can have a message, encoded as JSON, in addition to those of the batch.
    func hasSpace(for message: [UInt8]) -> Bool {
        count < Self.maximumMessages && json.count + message.count < Self.maximumBytes
    }

    mutating func add(_ message: [UInt8]) {
        if count > 0 { json.append(UInt8(ascii: ",")) }
        json += message
        count += 1
    }

    func write(to writer: inout JSONWriter) {
        writer.array { $0.splice(encoded: json) }
    }
}
