package import Foundation
import ScrollbackModel

/// The events of one request to a webhook: the oldest pending ones of a conversation, as many as fit.
package struct DeliveryBatch {
    /// The maximum number of events in one request.
    package static let maximumEvents = 100
    /// The number of bytes of events after which a request has no further event.
    package static let maximumBytes = 1 << 20

    private let rows: ArraySlice<DeliveryRow>
    private let generation: UInt64
    /// The number of the newest event in the request.
    package let last: Int64

    /// Creates the next request's batch.
    ///
    /// - Parameters:
    ///   - pending: The pending events of a conversation, oldest first.
    ///   - generation: The generation of the store.
    /// - Returns: `nil` if no event is pending.
    package init?(_ pending: [DeliveryRow], generation: UInt64) {
        var bytes = 0
        rows = pending.prefix(Self.maximumEvents).prefix { row in
            defer { bytes += row.body.text.utf8.count }
            return bytes < Self.maximumBytes
        }
        guard let last = rows.last else { return nil }
        self.last = last.number
        self.generation = generation
    }

    /// The ID of the request.
    ///
    /// It contains both ends, because a retry can have more events and thus a different body.
    package var id: String { "\(rows.first.map { name(of: $0.number) } ?? "")-\(last)" }

    /// The JSON of the request.
    package var body: [UInt8] {
        var writer = JSONWriter(reserving: rows.reduce(256) { $0 + $1.body.text.utf8.count })
        writer.object { writer in
            writer.key("events")
            writer.array(rows) { writer, row in
                writer.object { writer in
                    writer.field("delivery", name(of: row.number))
                    writer.field("replayOf", row.original.map(name))
                    writer.field("data", row.body)
                }
            }
        }
        return writer.bytes
    }

    private func name(of number: Int64) -> String { Self.name(of: number, generation: generation) }

    /// Returns the globally unique ID of a delivery; a restored store has a new generation, so its numbers don't
    /// collide.
    static func name(of number: Int64, generation: UInt64) -> String { "\(String(generation, radix: 16))-\(number)" }
}

extension DeliveryAttempt {
    /// The maximum length of an error in the log.
    private static let errorCharacters = 200

    /// Creates the record of a request.
    ///
    /// - Parameters:
    ///   - answer: The webhook's response, or why the request failed. Only a status from 200 to 299 acknowledges the
    ///     events.
    ///   - keepsLog: Whether acknowledged events are kept. Others always are.
    package init(_ answer: Result<WebhookResponse, any Error>, at time: Date, keepsLog: Bool) {
        let error: String? =
            switch answer {
            case .success(let response) where response.isSuccess: nil
            case .success(let response): "The webhook answered with status \(response.status)."
            case .failure(let error): "The request failed: \("\(error)".prefix(Self.errorCharacters))"
            }
        self.init(at: time, error: error, keeps: error != nil || keepsLog)
    }
}
