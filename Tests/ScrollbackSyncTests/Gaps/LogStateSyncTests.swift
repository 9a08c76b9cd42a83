import ContractRows
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Sync answers of a log")
struct LogStateSyncTests {
    @Test("A complete sync answer brings the missed messages and changes, and needs no further sync")
    func catchesUp() {
        var copy = LogCopy(log(10, rev: 2))
        copy.apply(head: log(13, rev: 4))
        let edit = copy.apply(
            sync: sync(
                page(11...13, messages(11...13), of: log(13, rev: 4)),
                [.message(message(5, "edited", rev: 3)), .invisible(rev: 4)], through: 4),
            asked: copy.position)
        #expect(!edit.needsSync)
        #expect(copy.text(5) == "edited")
        #expect(copy.state.rev == 4)
        #expect(copy.places == Array(1...13))
        #expect(copy.violations.isEmpty)
    }

    @Test("Each sync answer makes progress, and what exceeds one page stays a gap", .history(21))
    func progress() {
        var copy = LogCopy(log(100))
        let far = log(100_100, rev: 1200)
        copy.apply(head: far)
        var rounds = 0
        while copy.state.isBehind, rounds < 10 {
            let asked = copy.position
            let through = min(asked.rev + 500, far.rev)
            let changes = (asked.rev + 1...through).map { LogChange.invisible(rev: $0) }
            let missed = asked.seq < far.head
            let newest =
                missed ? page(99_601...100_100, messages(99_601...100_100), of: far) : page(nil, [], of: far)
            let edit = copy.apply(sync: sync(newest, changes, through: through), asked: asked)
            #expect(edit.outcome == .applied)
            #expect(copy.position != asked)
            rounds += 1
        }
        #expect(rounds == 3)
        #expect(copy.gaps == [101...99_600])
        #expect(copy.violations.isEmpty)
    }

    @Test("An answer to a position that is no longer current is stale")
    func staleAnswers() {
        var copy = LogCopy(log(10, rev: 5, view: 2))
        let before = copy.state
        var ahead = copy.position
        ahead.rev = 6
        var otherView = copy.position
        otherView.view = 1
        var otherEpoch = copy.position
        otherEpoch.epoch = Epoch(rawValue: 1)
        for asked in [ahead, otherView, otherEpoch] {
            let edit = copy.apply(
                sync: sync(page(nil, [], of: log(10, rev: 9, view: 2)), through: 9), asked: asked)
            #expect(edit.outcome == .stale(.position))
            #expect(edit.needsSync)
        }
        #expect(copy.state == before)
    }

    @Test("An answer to an earlier position is used")
    func overlappingAnswer() {
        var copy = LogCopy(log(10, rev: 2))
        let asked = copy.position
        copy.apply(change: .message(message(3, "edited", rev: 3)))
        copy.apply(message: message(11))
        copy.apply(
            sync: sync(page(nil, [], of: log(10, rev: 3)), [.message(message(3, "edited", rev: 3))], through: 3),
            asked: asked)
        #expect(copy.state.rev == 3)
        #expect(copy.state.head == 11)
        #expect(!copy.state.isBehind)
        #expect(copy.violations.isEmpty)
    }

    @Test("The sync answer of a restored store starts the log over with its newest page", .history(17))
    func otherEpoch() {
        var copy = LogCopy(log(20, rev: 9))
        let restored = log(15, rev: 3, epoch: 8)
        let edit = copy.apply(
            sync: sync(page(11...15, messages(11...15, epoch: 8), of: restored), through: 3), asked: copy.position)
        #expect(edit.erasesEverything)
        #expect(!edit.needsSync)
        #expect(copy.places == Array(11...15))
        #expect(copy.gaps == [1...10])
        #expect(copy.state.rev == 3)
        #expect(copy.violations.isEmpty)
    }

    @Test("After forgotten changes, all rows are read again, deleted ranges stay, and older pages are refused")
    func mustRefetch() {
        var copy = LogCopy(log(20, rev: 2))
        copy.apply(change: .removed(4...5, rev: 3))
        let late = page(6...10, messages(6...10), of: log(20, rev: 3))
        let answer = sync(
            page(18...20, messages(18...20), of: log(20, rev: 40)), through: 40, mustRefetch: true)
        let edit = copy.apply(sync: answer, asked: copy.position)
        #expect(edit.erasesEverything)
        #expect(!edit.needsSync)
        #expect(copy.places == Array(18...20))
        #expect(copy.gaps == [1...3, 6...17])
        #expect(copy.deletedRanges == [4...5])
        #expect(copy.state.rev == 40)
        #expect(copy.apply(page: late).outcome == .stale(.snapshot))
        #expect(copy.violations.isEmpty)
    }

    @Test("A repeated sync answer does not make the client read everything again")
    func repeatedAnswerDoesNotRefetchAgain() {
        var copy = LogCopy(log(20, rev: 2))
        let asked = copy.position
        let answer = sync(
            page(18...20, messages(18...20), of: log(20, rev: 40)), through: 40, mustRefetch: true)
        copy.apply(sync: answer, asked: asked)
        copy.apply(page: page(1...17, messages(1...17), of: log(20, rev: 40)))
        let edit = copy.apply(sync: answer, asked: asked)
        #expect(!edit.erasesEverything)
        #expect(copy.gaps.isEmpty)
    }

    @Test("A message that is edited and then deleted in one answer is not shown")
    func editThenRemoval() {
        var copy = LogCopy(log(10))
        let changes: [LogChange] = [.message(message(7, "edited", rev: 1)), .removed(6...8, rev: 2)]
        copy.apply(sync: sync(page(nil, [], of: log(10, rev: 2)), changes, through: 2), asked: copy.position)
        #expect(copy.rows[7] == nil)
        #expect(copy.deletedRanges == [6...8])
        #expect(copy.violations.isEmpty)
    }

    @Test("A range deletion above the head in an answer protects against a late page")
    func removalAboveHead() {
        var copy = LogCopy(log(10))
        let late = page(11...20, messages(11...20), of: log(20))
        copy.apply(
            sync: sync(
                page(19...20, messages(19...20), of: log(20, rev: 1)), [.removed(12...14, rev: 1)], through: 1),
            asked: copy.position)
        copy.apply(page: late)
        #expect(copy.deletedRanges == [12...14])
        #expect(copy.places == Array(1...11) + Array(15...20))
        #expect(copy.violations.isEmpty)
    }

    @Test("An own message above missed messages does not hide them from sync", .history(13))
    func acknowledgementBeforeSync() {
        var copy = LogCopy(log(100))
        let edit = copy.apply(message: message(151, "ok", sender: me))
        #expect(edit.needsSync)
        #expect(copy.gaps == [101...150])
        #expect(copy.position.seq == 100)
        copy.apply(sync: sync(page(101...151, messages(101...151), of: log(151)), through: 0), asked: copy.position)
        #expect(!copy.state.isBehind)
        #expect(copy.gaps.isEmpty)
        #expect(copy.violations.isEmpty)
    }

    @Test("A new view in a sync answer is adopted with its page", .history(5))
    func viewInAnswer() {
        var copy = LogCopy(log(20, firstSeq: 11, rev: 1))
        copy.apply(
            sync: sync(page(nil, [], of: log(20, rev: 1, view: 2)), through: 1), asked: copy.position)
        #expect(copy.gaps == [1...10])
        #expect(copy.state.view == 2)
        #expect(copy.violations.isEmpty)
    }
}
