import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@Suite("Free space of the store")
struct StorageSpaceTests {
    private let group = ConversationID.group("g")
    private let alice = Caller(user: "alice")

    /// A volume whose free space the test sets.
    private final class Volume: Sendable {
        let free = Mutex<Int64?>(1000)
        let measurements = Mutex(0)
    }

    private func harness(_ volume: Volume, execution: CommitQueue.Execution = .inline) throws -> EngineHarness {
        let harness = try EngineHarness(
            execution: execution,
            space: { clock in
                StorageSpace(floor: 500, clock: clock) {
                    volume.measurements.withLock { $0 += 1 }
                    return volume.free.withLock { $0 }
                }
            })
        try harness.make(group, members: ["alice", "bob"])
        return harness
    }

    @Test("Below the floor, content is refused, and reads, deletions and acts that protect users continue")
    func floor() async throws {
        let volume = Volume()
        let harness = try harness(volume)
        let message = harness.submission("first")
        try harness.send(message, to: group, by: "alice")
        try harness.perform(PutDraft(conversation: group, draft: RawJSON(known: #"{"text":"one"}"#)), by: alice)
        try harness.make(.group("empty"), members: [])
        volume.free.withLock { $0 = 499 }
        harness.clock.advance(by: 2)
        func isRefused(_ body: () throws -> Void) -> Bool {
            let error = refusal(body)
            return error?.code == .storageFull && error?.status == 503 && error?.isTemporary == true
        }
        #expect(isRefused { try harness.send("second", to: group, by: "alice") })
        #expect(isRefused { try harness.send(harness.submission("admin"), to: group, by: EngineHarness.admin) })
        #expect(isRefused { _ = try harness.edit(message.id, in: group, "edited", by: alice) })
        #expect(isRefused { try harness.put(.group("new"), by: alice) })
        #expect(isRefused { try harness.join(group, "carol") })
        #expect(isRefused { try harness.send("hi", to: .direct("carol"), by: "alice") })
        #expect(await refused { _ = try await harness.upload([1], to: group, by: "alice") }?.code == .storageFull)
        #expect(
            isRefused {
                _ = try harness.done {
                    harness.engine.putUser("alice", ProfileChange(name: "A"), by: alice, completion: $0)
                }
            })
        let (submission, time) = (harness.submission("later"), harness.clock.now + 60)
        #expect(
            isRefused {
                try harness.perform(
                    ScheduleMessage(conversation: group, submission: submission, sendAt: time), by: alice)
            })
        #expect(
            isRefused {
                try harness.perform(PutDraft(conversation: group, draft: RawJSON(known: #"{"text":"two"}"#)), by: alice)
            })
        let pin = StateChange.settings(isMuted: nil, isPinned: true)
        #expect(
            isRefused { _ = try harness.done { harness.engine.change(.direct("x"), pin, by: alice, completion: $0) } })
        #expect(harness.engine.space.refusals == 11)
        _ = try harness.done { harness.engine.change(group, pin, by: alice, completion: $0) }
        try harness.block("x", isOn: false, by: "alice")
        try harness.perform(PutDraft(conversation: group, draft: nil), by: alice)
        #expect(try harness.page(of: group, by: "bob").texts == ["first"])
        try harness.read(group, to: 1, by: "bob")
        try harness.mute("bob", .forever, in: group)
        try harness.ban("x", from: group)
        try harness.block("x", by: "alice")
        try harness.delete(.all, of: .group("empty"), operation: harness.newID())
        _ = try harness.done { harness.engine.delete(message.id, in: group, by: alice, completion: $0) }
        try harness.leave(group, "bob")
        try harness.delete(group)

        volume.free.withLock { $0 = 500 }
        harness.clock.advance(by: 2)
        try harness.send("hi", to: .direct("carol"), by: "alice")
    }

    @Test("A refusal for lack of space does not affect other requests of the same transaction")
    func batch() throws {
        let volume = Volume()
        let harness = try harness(volume, execution: .thread)
        let message = harness.submission("first")
        try harness.send(message, to: group, by: "alice")
        volume.free.withLock { $0 = 0 }
        harness.clock.advance(by: 2)
        let isHeld = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        harness.engine.commits.submit(
            for: .server, { _ in },
            completion: { (_: Result<Void, ChatError>) in
                isHeld.signal()
                gate.wait()
            })
        isHeld.wait()
        let answers = Mutex<[Result<Void, ChatError>]>([])
        let done = DispatchGroup()
        let note: @Sendable (Result<Void, ChatError>) -> Void = { result in
            answers.withLock { $0.append(result) }
            done.leave()
        }
        for _ in 0..<2 { done.enter() }
        harness.engine.delete(message.id, in: group, by: alice) { note($0.map { _ in }) }
        harness.engine.send(harness.submission("second"), to: group, by: alice) { note($0.map { _ in }) }
        gate.signal()
        done.wait()
        let results = answers.withLock { $0 }
        #expect((try? results[0].get()) != nil)
        let error = #expect(throws: ChatError.self) { try results[1].get() }
        #expect(error?.code == .storageFull)
        #expect(try harness.page(of: group, by: "bob").texts == [""])
    }

    @Test("The free space is measured at most once a second, and an unknown space refuses nothing")
    func measurements() throws {
        let volume = Volume()
        let harness = try harness(volume)
        let before = volume.measurements.withLock { $0 }
        for _ in 0..<100 { try harness.send("x", to: group, by: "alice") }
        #expect(volume.measurements.withLock { $0 } == before)
        volume.free.withLock { $0 = nil }
        harness.clock.advance(by: 2)
        try harness.send("x", to: group, by: "alice")
        #expect(volume.measurements.withLock { $0 } == before + 1)
    }

    @Test("The standard floor is 256 MiB, or a fiftieth of a smaller volume")
    func standard() {
        #expect(StorageSpace.standardFloor(ofVolume: 1 << 40) == 256 << 20)
        #expect(StorageSpace.standardFloor(ofVolume: 1_000_000_000) == 20_000_000)
        #expect(StorageSpace.standardFloor(ofVolume: 0) == 0)
    }
}
