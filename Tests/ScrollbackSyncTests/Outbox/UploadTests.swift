import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Files go before their messages")
struct UploadTests {
    private var random = SplitMix64(seed: 1)
    private let ids = (1...9).map { MessageID(high: 0x7000, low: UInt64($0)) }
    private let other: ConversationID = .direct("bob")

    private func stored(_ id: MessageID) -> Result<SendResult, ChatError> {
        .success(SendResult(outcome: .committed, id: id, timetoken: Timetoken(rawValue: 1), position: nil))
    }

    @Test("A message with files is sent once they are on the server, and those behind it after it")
    mutating func dependent() {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        let first = outbox.enqueue(ids[0], in: swift, needsUpload: true, now: noon)
        #expect(first.upload == [ids[0]] && first.transmit.isEmpty)
        #expect(first.changed.map(\.state) == [.uploading] && first.changed.allSatisfy { !$0.isFrozen })
        #expect(outbox.enqueue(ids[1], in: swift, now: noon).transmit.isEmpty)
        // Another conversation is none of its business.
        #expect(outbox.enqueue(ids[2], in: other, now: noon).transmit == [ids[2]])
        let done = outbox.uploaded(ids[0], .success(()), now: noon, using: &random)
        #expect(done.transmit == [ids[0]])
        #expect(done.changed.map(\.needsUpload) == [false] && done.changed.map(\.isFrozen) == [true])
        #expect(outbox.answered(ids[0], stored(ids[0]), now: noon, using: &random).transmit == [ids[1]])
    }

    @Test("Files of later messages are uploaded meanwhile, three at a time, those queued first before others")
    mutating func ahead() {
        var outbox = Outbox()
        for id in ids.prefix(5) { _ = outbox.enqueue(id, in: swift, needsUpload: true, now: noon) }
        #expect(outbox.connected(now: noon).upload == Array(ids[0...2]))
        let second = outbox.uploaded(ids[1], .success(()), now: noon, using: &random)
        #expect(second.upload == [ids[3]] && second.transmit.isEmpty)
        let first = outbox.uploaded(ids[0], .success(()), now: noon, using: &random)
        #expect(first.upload == [ids[4]] && first.transmit == [ids[0]])
        #expect(outbox.answered(ids[0], stored(ids[0]), now: noon, using: &random).transmit == [ids[1]])
    }

    @Test("A refused file blocks its own message alone; one that could not be brought there now waits with its lane")
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
            ids[0], .failure(ChatError(.tooLarge, "too large")), now: noon, using: &random)
        #expect(outbox[ids[0]]?.isFailed == true)
        #expect(refused.transmit == [ids[1]])
        // Tried again, it goes to the end of what is on its way and not before what was sent meanwhile.
        #expect(outbox.retry(ids[0], now: noon).upload == [ids[0]])
    }

    @Test("A new connection tries files at once; what was being uploaded when the app ended is uploaded again")
    mutating func comingBack() {
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
        // A late word of the first process's upload is about nothing that runs here.
        _ = again.disconnected()
    }

    /// A message whose file goes up, and a text behind it.
    private func fileAndText() -> Outbox {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        _ = outbox.enqueue(ids[0], in: swift, needsUpload: true, now: noon)
        _ = outbox.enqueue(ids[1], in: swift, now: noon)
        return outbox
    }

    @Test("A message can be cancelled while its files go up, and what comes of them after that changes nothing")
    mutating func cancelled() {
        var outbox = fileAndText()
        let (outcome, effects) = outbox.cancel(ids[0], now: noon)
        #expect(outcome == .cancelled)
        #expect(effects.stopUpload == [ids[0]] && effects.removed == [ids[0]] && effects.transmit == [ids[1]])
        #expect(outbox.uploaded(ids[0], .success(()), now: noon, using: &random) == Outbox.Effects())
    }

    @Test("Files that the server lost go once more, before what is behind them, and not again within the hour")
    mutating func lost() {
        var outbox = fileAndText()
        #expect(outbox.uploadAgain(ids[0], now: noon) == nil)
        #expect(outbox.uploaded(ids[0], .success(()), now: noon, using: &random).transmit == [ids[0]])
        let again = outbox.uploadAgain(ids[0], now: noon)
        #expect(again?.upload == [ids[0]] && again?.transmit == [])
        #expect(again?.changed.map(\.needsUpload) == [true] && again?.changed.map(\.isFrozen) == [true])
        #expect(outbox.uploaded(ids[0], .success(()), now: noon, using: &random).transmit == [ids[0]])
        #expect(outbox.uploadAgain(ids[0], now: noon + Outbox.uploadsAgainAfter - 1) == nil)
        #expect(outbox.uploadAgain(ids[0], now: noon + Outbox.uploadsAgainAfter)?.upload == [ids[0]])
    }

    @Test("What could not be taken out of the store is queued again at its place, its files too")
    func putBack() throws {
        var outbox = Outbox()
        _ = outbox.connected(now: noon)
        for id in ids.prefix(2) { _ = outbox.enqueue(id, in: swift, needsUpload: true, now: noon) }
        let item = try #require(outbox[ids[0]])
        _ = outbox.cancel(ids[0], now: noon)
        _ = outbox.disconnected()
        outbox.putBack(item)
        #expect(outbox.items.map(\.id) == [ids[0], ids[1]] && outbox[ids[0]]?.state == .queued)
        #expect(outbox.connected(now: noon).upload == [ids[0]])
    }
}
