import Foundation
import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("A batch of events for a webhook")
struct DeliveryBatchTests {
    private func rows(_ sizes: [Int], from number: Int64 = 1) -> [DeliveryRow] {
        zip(number..., sizes).map { number, size in
            let text = String(repeating: "x", count: size - 2)
            var row = DeliveryRow("messageSent", body: RawJSON(known: #""\#(text)""#))
            row.number = number
            return row
        }
    }

    @Test("No request is due without a pending event")
    func empty() {
        #expect(DeliveryBatch([], generation: 1) == nil)
    }

    @Test("A request has no further event after the one that exceeds the limit of bytes")
    func bytes() {
        let half = DeliveryBatch.maximumBytes / 2
        #expect(DeliveryBatch(rows([half, half, 10]), generation: 1)?.last == 2)
        #expect(DeliveryBatch(rows([half, half - 1, 10, 10]), generation: 1)?.last == 3)
        #expect(DeliveryBatch(rows([half * 4, 10]), generation: 1)?.last == 1, "an event of any size is sent")
    }

    @Test("A request has at most 100 events")
    func count() {
        #expect(DeliveryBatch(rows(Array(repeating: 2, count: 101)), generation: 1)?.last == 100)
    }

    @Test("The ID of a request has the generation of the store, and its first and last event")
    func id() {
        #expect(DeliveryBatch(rows([2, 2, 2], from: 40), generation: 0x2a)?.id == "2a-40-42")
        #expect(DeliveryBatch(rows([2], from: 40), generation: 0x2a)?.id == "2a-40-40")
    }

    @Test("The body has the ID of each event, the delivery that it repeats, and its data as stored")
    func body() throws {
        var rows = rows([2, 2], from: 7)
        rows[0].body = RawJSON(known: #"{"a": 1.0}"#)
        rows[1].original = 3
        let batch = try #require(DeliveryBatch(rows, generation: 16))
        let first = #"{"delivery":"10-7","data":{"a": 1.0}}"#
        let second = #"{"delivery":"10-8","replayOf":"10-3","data":""}"#
        #expect(String(decoding: batch.body, as: UTF8.self) == #"{"events":[\#(first),\#(second)]}"#)
    }

    @Test("Only a status from 200 to 299 acknowledges events, and unacknowledged events are always kept")
    func attempts() {
        let now = Date(timeIntervalSince1970: 1_795_255_200)
        func attempt(_ status: Int, keepsLog: Bool = false) -> DeliveryAttempt {
            DeliveryAttempt(.success(WebhookResponse(status: status)), at: now, keepsLog: keepsLog)
        }
        #expect(attempt(200) == DeliveryAttempt(at: now, keeps: false))
        #expect(attempt(299, keepsLog: true) == DeliveryAttempt(at: now, keeps: true))
        for status in [199, 300, 302, 410, 500] {
            let error = "The webhook answered with status \(status)."
            #expect(attempt(status) == DeliveryAttempt(at: now, error: error, keeps: true))
        }
        let failed = DeliveryAttempt(.failure(LongError()), at: now, keepsLog: false)
        #expect(failed.error == "The request failed: " + String(repeating: "e", count: 200) && failed.keeps)
    }

    private struct LongError: Error, CustomStringConvertible {
        let description = String(repeating: "e", count: 300)
    }
}
