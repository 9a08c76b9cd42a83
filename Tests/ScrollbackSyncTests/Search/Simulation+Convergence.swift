import Foundation
import ScrollbackModel
import ScrollbackSync

/// The end of a scenario without faults, and the checks that must hold then.
extension Simulation {
    /// Stops all faults, adds all users to all conversations, reconnects all devices, and runs until nothing is left to
    /// do.
    mutating func runUntilConverged() throws(Violation) {
        injectsFaults = false
        for index in server.logs.indices {
            for user in [Simulation.alice, Simulation.bob] where !server.logs[index].isMember(user) {
                server.logs[index].join(user)
                server.recordCommit(index)
            }
        }
        for device in devices.indices {
            try disconnect(device)
            try connect(device)
            let failed = devices[device].outbox.items.filter(\.isFailed)
            for item in failed {
                let now = now
                try run(device) { $0.execute($0.outbox.retry(item.id, now: now), now: now) }
            }
        }
        var steps = 0
        while try hasPendingWork() {
            steps += 1
            if steps > 4000 { throw Violation(description: "The devices never stop sending requests.") }
        }
    }

    /// Performs the next pending action, and returns whether there was one.
    private mutating func hasPendingWork() throws(Violation) -> Bool {
        now += 1 / 16
        if !wire.isEmpty {
            try deliver()
            return true
        }
        for device in devices.indices {
            for index in server.logs.indices {
                let place = Seq(generator.below(Int(server.logs[index].last) + 2))
                let now = now
                try run(device) { _ = $0.fill(Simulation.conversations[index], nearest: place, limit: 5, now: now) }
            }
        }
        if !wire.isEmpty { return true }
        // Every wait is shorter than this.
        now += 31
        try tick()
        return !wire.isEmpty
    }

    /// Checks a device after each step: rows, gaps and deleted ranges must be disjoint and complete, and each
    /// conversation may have one send in flight.
    mutating func check(_ device: Int) throws(Violation) {
        for conversation in Simulation.conversations where devices[device].touched.contains(conversation) {
            if let violation = devices[device].disk.logs[conversation]?.violations.first {
                throw Violation(description: "device \(device), \(conversation): \(violation)")
            }
        }
        devices[device].touched = []
        let inFlight = devices[device].outbox.items.filter { $0.state == .sending }.map(\.conversation)
        if Set(inFlight).count < inFlight.count {
            throw Violation(description: "device \(device) has two sends of a conversation in flight")
        }
    }

    func checkConvergence() throws(Violation) {
        for device in devices.indices {
            try checkOutbox(device)
            for log in server.logs { try checkCopy(of: log, on: device) }
        }
        for log in server.logs { try checkOrder(log) }
    }

    private func checkCopy(of log: ModelLog, on device: Int) throws(Violation) {
        let name = "device \(device), \(log.conversation)"
        func expect(_ holds: Bool, _ what: @autoclosure () -> String) throws(Violation) {
            if !holds { throw Violation(description: "\(name): \(what())") }
        }
        guard let copy = devices[device].disk.logs[log.conversation] else {
            throw Violation(description: "\(name) is missing")
        }
        let user = devices[device].user
        let state = log.state(for: user)
        try expect(copy.violations.isEmpty, copy.violations.joined(separator: "; "))
        try expect(copy.state.gaps.isEmpty, "gaps \(copy.state.gaps.ranges) remain")
        try expect(!copy.state.isBehind, "is still behind: \(copy.state)")
        let own = LogHead(
            epoch: copy.state.epoch, view: copy.state.view, head: copy.state.head, firstSeq: copy.state.firstSeq,
            countedIndex: copy.state.countedIndex, rev: copy.state.rev)
        try expect(own == state, "is at \(own), the server at \(state)")
        let visible = log.visibleRows(for: user)
        try expect(copy.rows.count == visible.count, "has \(copy.rows.count) rows, the server \(visible.count)")
        for row in visible {
            let mine = copy.rows[row.seq]
            try expect(
                mine == row,
                "row \(row.seq) is \(mine?.text ?? "-") at \(mine?.rev ?? -1), not \(row.text ?? "-") at \(row.rev)")
        }
    }

    private func checkOutbox(_ device: Int) throws(Violation) {
        guard devices[device].outbox.isEmpty, devices[device].disk.outbox.isEmpty else {
            throw Violation(description: "device \(device) has \(devices[device].outbox.items) left to send")
        }
        for (id, epoch) in devices[device].acknowledged {
            for log in server.logs where log.epoch == epoch && !log.rows.contains(where: { $0.id == id }) {
                throw Violation(description: "\(sent[id]!.turn) was acknowledged but is missing on the server")
            }
        }
    }

    /// Checks that each message is stored once, and that messages of one device are stored in the order of queueing.
    private func checkOrder(_ log: ModelLog) throws(Violation) {
        var seen: Set<MessageID> = []
        var last = Array(repeating: -1, count: devices.count)
        for row in log.rows {
            guard seen.insert(row.id).inserted, let (device, turn) = sent[row.id] else {
                throw Violation(description: "\(log.conversation) has \(row.text ?? "-") twice, or no device sent it")
            }
            if cancelled.contains(row.id) || devices[device].failedOnce.contains(row.id) { continue }
            guard turn > last[device] else {
                throw Violation(description: "\(turn) of device \(device) was stored after \(last[device])")
            }
            last[device] = turn
        }
    }
}
