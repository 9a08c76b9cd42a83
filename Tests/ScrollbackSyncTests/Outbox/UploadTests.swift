import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Uploads before messages")
struct UploadTests {
    private var random = SplitMix64(seed: 1)
    private let ids = (1...9).map { MessageID(high: 0x7000, low: UInt64($0)) }
    private let other: ConversationID = .direct("bob")

    private func stored(_ id: MessageID) -> Result<SendResult, ChatError> {
        .success(SendResult(outcome: .committed, id: id, timetoken: Timetoken(rawValue: 1), position: nil))
    }

    @Test("A message is sent after its files are uploaded, and the messages behind it follow")
    mutating func messageWaitsForItsFiles() {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        let first = outbox.enqueue(ids[0], in: swift, needsUpload: true, now: noon)
        #expect(first.upload == [ids[0]] && first.transmit.isEmpty)
        #expect(first.changed.map(\.state) == [.uploading] && first.changed.allSatisfy { !$0.wasTransmitted })
        #expect(outbox.enqueue(ids[1], in: swift, now: noon).transmit.isEmpty)
        // Another conversation does not wait.
        #expect(outbox.enqueue(ids[2], in: other, now: noon).transmit == [ids[2]])
        let done = outbox.uploaded(ids[0], .success(()), now: noon, using: &random)
        #expect(done.transmit == [ids[0]])
        #expect(done.changed.map(\.needsUpload) == [false] && done.changed.map(\.wasTransmitted) == [true])
        #expect(outbox.answered(ids[0], stored(ids[0]), now: noon, using: &random).transmit == [ids[1]])
    }

    @Test("Three files are uploaded at a time, in queue order, also for messages that still wait")
    mutating func uploadsRunAheadOfSends() {
        var outbox = Outbox()
        for id in ids.prefix(5) { _ = outbox.enqueue(id, in: swift, needsUpload: true, now: noon) }
        #expect(outbox.connected(now: noon).upload == Array(ids[0...2]))
        let second = outbox.uploaded(ids[1], .success(()), now: noon, using: &random)
        #expect(second.upload == [ids[3]] && second.transmit.isEmpty)
        let first = outbox.uploaded(ids[0], .success(()), now: noon, using: &random)
        #expect(first.upload == [ids[4]] && first.transmit == [ids[0]])
        #expect(outbox.answered(ids[0], stored(ids[0]), now: noon, using: &random).transmit == [ids[1]])
    }

    @Test("A refused file fails only its own message, and a temporarily failed one delays the messages behind it")
    mutating func failures() {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        for id in ids.prefix(2) { _ = outbox.enqueue(id, in: swift, needsUpload: true, now: noon) }
        _ = outbox.enqueue(ids[2], in: swift, now: noon)
        let unreachable = ChatError(.unreachable, "gone")
        #expect(outbox.uploaded(ids[0], .failure(unreachable), now: noon, using: &random).transmit.isEmpty)
        #expect(outbox[ids[0]]?.isWaiting == true)
        #expect(outbox.uploaded(ids[1], .success(()), now: noon, using: &random).transmit.isEmpty)
        let wake = outbox.wakeAt
        #expect(wake != nil)
        #expect(outbox.tick(now: wake ?? noon).upload == [ids[0]])
        let refused = outbox.uploaded(
            ids[0], .failure(ChatError(.tooLarge, "The file is too large.")), now: noon, using: &random)
        #expect(outbox[ids[0]]?.isFailed == true)
        #expect(refused.transmit == [ids[1]])
        // The retried message goes behind the messages in flight, not before those that were sent since.
        #expect(outbox.retry(ids[0], now: noon).upload == [ids[0]])
    }

    @Test("An upload that was refused before the server created its conversation is repeated once")
    mutating func refusedBeforeCreation() {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        #expect(outbox.enqueue(ids[0], in: swift, isMessage: false, now: noon).transmit == [ids[0]])
        #expect(outbox.enqueue(ids[1], in: swift, needsUpload: true, now: noon).upload == [ids[1]])
        #expect(outbox.enqueue(ids[2], in: other, needsUpload: true, now: noon).upload == [ids[2]])
        // The refusal of the upload arrives after the acknowledgement of the creation.
        #expect(outbox.answered(ids[0], stored(ids[0]), now: noon, using: &random).removed == [ids[0]])
        let refusal = ChatError(.unknownConversation, "no")
        _ = outbox.uploaded(ids[1], .failure(refusal), now: noon, using: &random)
        #expect(outbox[ids[1]]?.isWaiting == true)
        // An upload to another conversation is not repeated.
        _ = outbox.uploaded(ids[2], .failure(refusal), now: noon, using: &random)
        #expect(outbox[ids[2]]?.state == .failed(refusal))
        // The repeated upload began after the creation.
        #expect(outbox.tick(now: outbox.wakeAt ?? noon).upload == [ids[1]])
        _ = outbox.uploaded(ids[1], .failure(refusal), now: noon, using: &random)
        #expect(outbox[ids[1]]?.state == .failed(refusal))
    }

    @Test("Uploads are retried on a new connection, and interrupted ones restart after an app restart")
    mutating func uploadsAreRetriedOnReconnect() {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        for id in ids.prefix(2) { _ = outbox.enqueue(id, in: swift, needsUpload: true, now: noon) }
        _ = outbox.uploaded(ids[0], .failure(ChatError(.unreachable, "gone")), now: noon, using: &random)
        _ = outbox.disconnected()
        #expect(outbox[ids[1]]?.state == .uploading)
        #expect(outbox.connected(now: noon).upload == [ids[0]])

        var again = Outbox(restoring: outbox.items)
        #expect(again.items.map(\.state) == [.queued, .queued] && again.items.allSatisfy(\.needsUpload))
        #expect(again.connected(now: noon).upload == [ids[0], ids[1]])
        // A late result of the first process does not concern any upload of this one.
        _ = again.disconnected()
    }

    /// A message whose file is being uploaded, and a text message behind it.
    private func fileAndText() -> Outbox {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        _ = outbox.enqueue(ids[0], in: swift, needsUpload: true, now: noon)
        _ = outbox.enqueue(ids[1], in: swift, now: noon)
        return outbox
    }

    @Test("A message can be cancelled during its upload, and the upload's later result is ignored")
    mutating func cancelled() {
        var outbox = fileAndText()
        let (outcome, effects) = outbox.cancel(ids[0], now: noon)
        #expect(outcome == .cancelled)
        #expect(effects.stopUpload == [ids[0]] && effects.removed == [ids[0]] && effects.transmit == [ids[1]])
        #expect(outbox.uploaded(ids[0], .success(()), now: noon, using: &random) == Outbox.Effects())
    }

    @Test("Files that the server lost are uploaded again before later messages, at most once an hour")
    mutating func lostFilesAreUploadedAgain() {
        var outbox = fileAndText()
        #expect(outbox.reupload(ids[0], now: noon) == nil)
        #expect(outbox.uploaded(ids[0], .success(()), now: noon, using: &random).transmit == [ids[0]])
        let again = outbox.reupload(ids[0], now: noon)
        #expect(again?.upload == [ids[0]] && again?.transmit == [])
        #expect(again?.changed.map(\.needsUpload) == [true] && again?.changed.map(\.wasTransmitted) == [true])
        #expect(outbox.uploaded(ids[0], .success(()), now: noon, using: &random).transmit == [ids[0]])
        #expect(outbox.reupload(ids[0], now: noon + Outbox.minimumReuploadInterval - 1) == nil)
        #expect(outbox.reupload(ids[0], now: noon + Outbox.minimumReuploadInterval)?.upload == [ids[0]])
    }

    @Test("A message that could not be deleted from the store is queued again in its position, with its files")
    func undeletedMessageIsQueuedAgain() throws {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        for id in ids.prefix(2) { _ = outbox.enqueue(id, in: swift, needsUpload: true, now: noon) }
        let item = try #require(outbox[ids[0]])
        _ = outbox.cancel(ids[0], now: noon)
        _ = outbox.disconnected()
        outbox.restore(item)
        #expect(outbox.items.map(\.id) == [ids[0], ids[1]] && outbox[ids[0]]?.state == .queued)
        #expect(outbox.connected(now: noon).upload == [ids[0]])
    }
}
