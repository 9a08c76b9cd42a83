import ScrollbackModel
import ScrollbackSync
import TestSupport
import Testing

@Suite("Sending reads and settings")
struct SettingRequestsTests {
    private let busy = ChatError(.overloaded, "The server is busy.")
    private let denied = ChatError(.forbidden, "You need the member role.")
    private let ids: [ConversationID] = (1...40).map { .group(try! Identifier("g\($0)")) }

    private func mark(_ id: ConversationID, _ seq: Seq = 1) -> ReadMark {
        ReadMark(conversation: id, position: EpochPosition(seq: seq, epoch: Epoch(rawValue: 7)))
    }

    private func delivered(_ id: ConversationID, _ seq: Seq = 1) -> DeliveryMark {
        DeliveryMark(conversation: id, position: mark(id, seq).position)
    }

    @Test("One read has its own request, and several reads go first in requests of limited size")
    func readsGoFirst() {
        var requests = SettingRequests(limit: 2)
        #expect(
            requests.next(reads: [mark(ids[0])], settings: [ids[1]]) == [.sendRead(mark(ids[0])), .sendSetting(ids[1])])
        requests.disconnected()
        let marks = ids[0..<3].map { mark($0) }
        #expect(
            requests.next(reads: marks, settings: [ids[3]])
                == [.sendReads(Array(marks[0..<2])), .sendReads([marks[2]]), .sendSetting(ids[3])])
    }

    @Test("A conversation has one change in flight, and the next one follows the answer")
    func oneChangeInFlight() {
        var requests = SettingRequests(limit: 10)
        _ = requests.next(reads: [mark(ids[0])], settings: [ids[1]])
        #expect(requests.next(reads: [mark(ids[0], 2), mark(ids[1])], settings: Array(ids[..<2])) == [])
        #expect(requests.readsAnswered([ids[0]], errors: []) == [delivered(ids[0])])
        #expect(requests.next(reads: [mark(ids[0], 2), mark(ids[1])], settings: []) == [.sendRead(mark(ids[0], 2))])
        requests.settingAnswered(ids[1], error: nil)
        #expect(requests.next(reads: [], settings: [ids[1]]) == [.sendSetting(ids[1])])
    }

    @Test("At most 16 settings are in flight, and reads do not count")
    func window() {
        var requests = SettingRequests(limit: 100)
        let reads = ids[20...].map { mark($0) }
        #expect(requests.next(reads: reads, settings: ids).count == 1 + 16)
        requests.settingAnswered(ids[3], error: nil)
        #expect(requests.next(reads: [], settings: Array(ids[16...])) == [.sendSetting(ids[16])])
    }

    @Test("After a temporary error, nothing is sent before the retry, and then few settings")
    func temporaryError() {
        var requests = SettingRequests(limit: 10)
        _ = requests.next(reads: [], settings: [ids[0], ids[1]])
        requests.settingAnswered(ids[0], error: busy)
        requests.settingAnswered(ids[1], error: nil)
        #expect(requests.isPaused)
        #expect(requests.next(reads: [mark(ids[2])], settings: ids) == [])
        requests.retry()
        // The accepted setting has doubled the window.
        #expect(requests.next(reads: [], settings: ids) == [.sendSetting(ids[0]), .sendSetting(ids[1])])
        requests.settingAnswered(ids[0], error: nil)
        #expect(requests.next(reads: [], settings: ids).count == 3)
    }

    @Test("A temporary error of one of several reads pauses all changes")
    func temporaryErrorOfReads() {
        var requests = SettingRequests(limit: 10)
        _ = requests.next(reads: [mark(ids[0]), mark(ids[1])], settings: [])
        #expect(
            requests.readsAnswered([ids[0], ids[1]], errors: [denied, busy]) == [delivered(ids[0]), delivered(ids[1])])
        #expect(requests.next(reads: [mark(ids[1])], settings: [ids[2]]) == [])
        requests.retry()
        #expect(requests.next(reads: [], settings: ids) == [.sendSetting(ids[0])])
    }

    @Test("A permanent error neither pauses changes nor limits them")
    func permanentError() {
        var requests = SettingRequests(limit: 10)
        _ = requests.next(reads: [mark(ids[0])], settings: [ids[1]])
        _ = requests.readsAnswered([ids[0]], errors: [denied])
        requests.settingAnswered(ids[1], error: denied)
        #expect(!requests.isPaused && requests.next(reads: [], settings: ids).count == 16)
    }

    @Test("A lost connection ends the pause and the limit after an error")
    func disconnected() {
        var requests = SettingRequests(limit: 10)
        _ = requests.next(reads: [mark(ids[0])], settings: [ids[1]])
        requests.settingAnswered(ids[1], error: busy)
        requests.disconnected()
        #expect(requests.readsAnswered([ids[0]], errors: []) == [])
        #expect(requests.next(reads: [], settings: ids).count == 16)
    }

    @Test("After random answers and failures, every change is sent within the limits", arguments: Seeds.range(300))
    func randomAnswersSendEveryChange(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var run = RandomSettings()
        for _ in 0..<150 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: run.change(using: &random)
            case 4: run.retry()
            case 5: if Int.random(in: 0..<5, using: &random) == 0 { run.reconnect() }
            default: run.answer(using: &random)
            }
            try run.send()
        }
        // The server accepts everything from now on.
        run.retry()
        try run.send()
        while run.acceptNext() { try run.send() }
        #expect(run.reads.isEmpty && run.settings.isEmpty)
    }
}

/// A random history of changes, with the rules that each step must keep.
private struct RandomSettings {
    private enum Request {
        case reads([ReadMark])
        case setting(ConversationID, version: Int)
    }

    /// The unconfirmed reads, as the store has them.
    var reads: [ConversationID: ReadMark] = [:]
    /// The unconfirmed settings, as the store has them, with the number of their last change.
    var settings: [ConversationID: Int] = [:]
    private var machine = SettingRequests(limit: 3)
    private var requests: [Request] = []
    /// The number of settings that may be in flight.
    private var window = SettingRequests.maximumWindow
    private var isPaused = false
    private var lastChange = 0
    private let ids: [ConversationID] = (1...24).map { .group(try! Identifier("g\($0)")) }

    private var inFlight: [ConversationID] {
        requests.flatMap { request in
            switch request {
            case .reads(let marks): marks.map(\.conversation)
            case .setting(let id, _): [id]
            }
        }
    }

    mutating func change(using random: inout SplitMix64) {
        for id in ids where Int.random(in: 0..<4, using: &random) == 0 {
            lastChange += 1
            if Bool.random(using: &random) {
                reads[id] = ReadMark(
                    conversation: id, position: EpochPosition(seq: Seq(lastChange), epoch: Epoch(rawValue: 7)))
            } else {
                settings[id] = lastChange
            }
        }
    }

    mutating func send() throws {
        let pending = reads.values.sorted { $0.conversation < $1.conversation }
        let actions = machine.next(reads: pending, settings: settings.keys.sorted())
        try #require(actions.isEmpty || !isPaused, "A change is sent before the retry.")
        for action in actions {
            switch action {
            case .sendRead(let mark): requests.append(.reads([mark]))
            case .sendReads(let marks):
                try #require((1...3).contains(marks.count))
                requests.append(.reads(marks))
            case .sendSetting(let id): requests.append(.setting(id, version: try #require(settings[id])))
            }
        }
        try #require(Set(inFlight).count == inFlight.count, "A conversation has two changes in flight.")
        let count = requests.count { if case .setting = $0 { true } else { false } }
        // After the window has fallen, more settings can be in flight, but none is added.
        let isAdding = actions.contains { if case .sendSetting = $0 { true } else { false } }
        try #require(!isAdding || count <= window, "Too many settings are in flight.")
    }

    mutating func retry() {
        machine.retry()
        isPaused = false
    }

    mutating func reconnect() {
        machine.disconnected()
        requests = []
        window = SettingRequests.maximumWindow
        isPaused = false
    }

    /// Accepts or refuses a random request, temporarily or permanently.
    mutating func answer(using random: inout SplitMix64) {
        guard let index = requests.indices.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: answer(at: index, ChatError(.overloaded, "The server is busy."))
        case 1: answer(at: index, ChatError(.forbidden, "You need the member role."))
        default: answer(at: index, nil)
        }
    }

    /// Accepts the oldest request, and returns whether one was in flight.
    mutating func acceptNext() -> Bool {
        guard !requests.isEmpty else { return false }
        answer(at: 0, nil)
        return true
    }

    private mutating func answer(at index: Int, _ error: ChatError?) {
        let isConfirmed = error?.isTemporary != true
        switch requests.remove(at: index) {
        case .reads(let marks):
            let sent = machine.readsAnswered(marks.map(\.conversation), errors: error.map { [$0] } ?? [])
            #expect(sent.map(\.position) == marks.map(\.position))
            for mark in marks where isConfirmed && reads[mark.conversation] == mark { reads[mark.conversation] = nil }
        case .setting(let id, let version):
            machine.settingAnswered(id, error: error)
            if isConfirmed, settings[id] == version { settings[id] = nil }
            if error == nil { window = min(window * 2, SettingRequests.maximumWindow) }
        }
        if !isConfirmed {
            window = 1
            isPaused = true
        }
    }
}
