import Foundation
import ScrollbackModel
import ScrollbackSync

/// The random steps of a scenario.
extension Simulation {
    /// Performs one random step.
    mutating func step() throws(Violation) {
        // Multiples of 1/64 second are exact in binary, also in the recorded vectors.
        now += Double(generator.below(26)) / 64
        if generator.chance(8) { try tick() }
        if generator.chance(60), !wire.isEmpty { return try deliver() }
        let device = generator.below(devices.count)
        let index = generator.below(server.logs.count)
        switch generator.below(100) {
        case 0..<24: try send(device, index)
        case 24..<38: change(index)
        case 38..<41: remove(index)
        case 41..<44: leaveOrJoin(index)
        case 44: widen(index)
        case 45: try replaceLog(index)
        case 46: server.backUp(index)
        case 47..<49: expire(index)
        case 49..<51: dropChanges(index)
        case 51..<66: try read(device, index)
        case 66..<78: try fill(device, index)
        case 78..<80: sendHeads(index)
        case 80..<82: try retryOrCancel(device)
        case 82..<88: try disconnect(device)
        case 88: trace?.note("device \(device) crashes"); crash(device)
        case 89: try forget(device, index)
        default: try connect(device)
        }
    }

    private mutating func forget(_ device: Int, _ index: Int) throws(Violation) {
        let seq = Seq(generator.below(Int(server.logs[index].last) + 2))
        trace?.note("device \(device) deletes its copy of \(index) up to \(seq)")
        try run(device) { $0.forget(Simulation.conversations[index], through: seq) }
    }

    private mutating func send(_ device: Int, _ index: Int) throws(Violation) {
        let turn = sent.count
        let id = MessageID(high: 0x7000, low: 0x8000_0000_0000_0000 | UInt64(turn))
        let submission = Submission(id: id, content: .text("\(turn) by \(device)"))
        sent[id] = (device, turn)
        trace?.note("device \(device) queues \(turn) for \(index)")
        let now = now
        try run(device) { $0.send(submission, in: Simulation.conversations[index], now: now) }
    }

    private mutating func change(_ index: Int) {
        guard server.logs[index].last > 0 else { return }
        let seq = 1 + Seq(generator.below(Int(server.logs[index].last)))
        let text = generator.chance(30) ? nil : "edit \(server.logs[index].rev + 1)"
        guard server.logs[index].change(seq, to: text) else { return }
        sendChange(index)
    }

    private mutating func remove(_ index: Int) {
        let last = server.logs[index].last
        guard last > 0 else { return }
        let lower = 1 + Seq(generator.below(Int(last)))
        let upper = min(last, lower + Seq(generator.below(6)))
        server.logs[index].remove(lower...upper)
        sendChange(index)
    }

    private mutating func sendChange(_ index: Int) {
        let rev = server.logs[index].rev
        trace?.note("\(index): change \(server.logs[index].changes.last!) at rev \(rev)")
        server.recordCommit(index)
        broadcast(index) { log, user in .changed(log.conversation, log.epoch, log.change(rev, for: user)) }
    }

    private mutating func leaveOrJoin(_ index: Int) {
        let user = generator.chance(50) ? Simulation.alice : Simulation.bob
        let leaves = server.logs[index].isMember(user)
        trace?.note("\(index): \(user) \(leaves ? "leaves" : "joins") above \(server.logs[index].last)")
        if leaves { server.logs[index].leave(user) } else { server.logs[index].join(user) }
        server.recordCommit(index)
        sendHeads(index)
    }

    private mutating func widen(_ index: Int) {
        guard server.logs[index].visibility == .sinceJoin else { return }
        trace?.note("\(index): everything may be seen")
        server.logs[index].visibility = .everything
        server.logs[index].view += 1
        server.recordCommit(index)
        sendHeads(index)
    }

    private mutating func replaceLog(_ index: Int) throws(Violation) {
        try dropSends()
        if generator.chance(50) {
            trace?.note("\(index): restored from a backup")
            server.restore(index)
        } else {
            trace?.note("\(index): made anew")
            server.recreate(index, members: [Simulation.alice, Simulation.bob])
        }
        sendHeads(index)
    }

    /// Drops sends in flight and their answers, because these can't outlive the store they were made to.
    private mutating func dropSends() throws(Violation) {
        for device in Set(wire.filter(\.body.isSend).map(\.device)).sorted() { try disconnect(device) }
        wire.removeAll(where: \.body.isSend)
    }

    /// Raises the retention floor.
    private mutating func expire(_ index: Int) {
        let last = server.logs[index].last
        let floor = min(last + 1, server.logs[index].floor + Seq(generator.below(5)))
        trace?.note("\(index): floor \(floor)")
        server.logs[index].floor = floor
        server.recordCommit(index)
        if generator.chance(50) { sendHeads(index) }
    }

    /// Compacts the change log.
    private mutating func dropChanges(_ index: Int) {
        let log = server.logs[index]
        guard log.rev > log.discardedThrough else { return }
        server.logs[index].discardedThrough += 1 + Int64(generator.below(Int(log.rev - log.discardedThrough)))
        trace?.note("\(index): changes up to \(server.logs[index].discardedThrough) are forgotten")
    }

    private mutating func read(_ device: Int, _ index: Int) throws(Violation) {
        let anchor = Seq(generator.below(Int(server.logs[index].last) + 2))
        let request = GapRequest(
            gap: 0...0, anchor: anchor, direction: generator.chance(60) ? .older : .newer,
            limit: 1 + generator.below(8))
        let sender = generator.chance(40) ? (generator.chance(50) ? Simulation.alice : Simulation.bob) : nil
        try run(device) { $0.read(Simulation.conversations[index], request, from: sender) }
    }

    private mutating func fill(_ device: Int, _ index: Int) throws(Violation) {
        let place = Seq(generator.below(Int(server.logs[index].last) + 2))
        let (now, limit) = (now, 1 + generator.below(8))
        try run(device) { _ = $0.fill(Simulation.conversations[index], nearest: place, limit: limit, now: now) }
    }

    private mutating func retryOrCancel(_ device: Int) throws(Violation) {
        let items = devices[device].outbox.items
        guard !items.isEmpty else { return }
        let id = items[generator.below(items.count)].id
        let now = now
        if generator.chance(50) {
            try run(device) { $0.execute($0.outbox.retry(id, now: now), now: now) }
        } else {
            let state = devices[device].outbox[id]?.state
            if state != .sending { cancelled.insert(id) }
            trace?.note("device \(device) cancels \(sent[id]?.turn ?? 0)")
            try run(device) { $0.execute($0.outbox.cancel(id, now: now).1, now: now) }
        }
    }
}
