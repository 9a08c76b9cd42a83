import Foundation
import ScrollbackEngine
import ScrollbackModel
import TestSupport
import Testing

@Suite("Fair queues")
struct FairQueueTests {
    @Test("Owners take turns, and the elements of an owner keep their order")
    func turns() {
        var queue = FairQueue<String, Int>()
        for number in 0..<5 { queue.append(number, of: "flood") }
        queue.append(10, of: "alice")
        queue.append(20, of: "bob")
        queue.append(11, of: "alice")
        #expect(queue.count == 8 && queue.count(of: "flood") == 5 && queue.count(of: "nobody") == 0)
        var order: [Int] = []
        while let next = queue.popFirst() { order.append(next.element) }
        #expect(order == [0, 10, 20, 1, 11, 2, 3, 4])
        #expect(queue.isEmpty)
    }

    @Test("An owner that may not run keeps its turn")
    func passedOver() {
        var queue = FairQueue<String, Int>()
        queue.append(1, of: "alice")
        queue.append(2, of: "bob")
        #expect(queue.popFirst { $0 != "alice" }?.element == 2)
        #expect(queue.popFirst { $0 != "alice" } == nil)
        queue.append(3, of: "bob")
        #expect(queue.popFirst()?.element == 1)
        #expect(queue.popFirst()?.element == 3)
    }

    @Test("In random histories, no element waits for two elements of another owner between two of its own")
    func seeds() {
        for seed in Seeds.range(300) { runSeed(seed) }
    }

    /// Compares a queue with a list of all elements.
    private func runSeed(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = FairQueue<Int, Int>()
        var model: [(owner: Int, number: Int)] = []
        /// How many elements of each owner were served since an owner's last turn, or since it began to wait.
        var served: [Int: [Int: Int]] = [:]
        var last = 0
        for _ in 0..<200 {
            if Int.random(in: 0..<5, using: &random) < 3 {
                let owner = Int.random(in: 0..<4, using: &random)
                if !model.contains(where: { $0.owner == owner }) { served[owner] = [:] }
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    last += 1
                    queue.append(last, of: owner)
                    model.append((owner, last))
                }
            } else {
                let next = queue.popFirst()
                guard let index = model.firstIndex(where: { $0.owner == next?.owner }) else {
                    #expect(next == nil && model.isEmpty, "seed \(seed)")
                    continue
                }
                #expect(model[index].number == next?.element, "seed \(seed): the order of an owner")
                let owner = model.remove(at: index).owner
                served[owner] = [:]
                for other in Set(model.map(\.owner)) where other != owner {
                    served[other]?[owner, default: 0] += 1
                    #expect(served[other]?[owner] == 1, "seed \(seed): \(other) waits for \(owner) twice")
                }
            }
            #expect(queue.count == model.count, "seed \(seed)")
            for owner in 0..<4 { #expect(queue.count(of: owner) == model.count { $0.owner == owner }, "seed \(seed)") }
        }
    }

    @Test("One owner gets its share of the threads, and another owner's element finds a free thread")
    func share() {
        var schedule = FairSchedule<String, Int>(threads: 4, share: 2)
        for number in 0..<10 { schedule.append(number, of: "flood") }
        #expect(schedule.next()?.element == 0)
        #expect(schedule.next()?.element == 1)
        #expect(schedule.next() == nil, "the rest of the threads stays free")
        schedule.append(100, of: "alice")
        #expect(schedule.next()?.element == 100)
        #expect(schedule.next() == nil)
        schedule.finished("flood")
        #expect(schedule.next()?.element == 2)
        #expect(schedule.waitingCount == 7 && schedule.waitingCount(of: "flood") == 7)
    }

    @Test("In random histories, threads are used up to the shares, and never above")
    func scheduleSeeds() {
        for seed in Seeds.range(300) {
            var random = SplitMix64(seed: seed)
            let threads = Int.random(in: 1...4, using: &random)
            let share = Int.random(in: 1...threads, using: &random)
            var schedule = FairSchedule<Int, Int>(threads: threads, share: share)
            var running: [Int] = []
            for _ in 0..<200 {
                if Bool.random(using: &random) || running.isEmpty {
                    schedule.append(0, of: Int.random(in: 0..<3, using: &random))
                } else {
                    schedule.finished(running.remove(at: Int.random(in: running.indices, using: &random)))
                }
                while let next = schedule.next() { running.append(next.owner) }
                let counts = (0..<3).map { owner in running.count { $0 == owner } }
                #expect(running.count <= threads && counts.allSatisfy { $0 <= share }, "seed \(seed)")
                for owner in 0..<3 where schedule.waitingCount(of: owner) > 0 {
                    #expect(running.count == threads || counts[owner] == share, "seed \(seed): a thread is idle")
                }
            }
        }
    }
}
