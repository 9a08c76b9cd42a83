import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Push registration")
struct PushRegistrationTests {
    private let first = PushDevice(id: "phone", service: .apns, token: "aa")
    private let second = PushDevice(id: "phone", service: .apns, token: "bb")
    private let busy = ChatError(.overloaded, "later")
    private let no = ChatError(.invalidParameter, "no", parameter: "topic")

    @Test("A push device that was set offline is registered once on the first connection")
    func offline() {
        var push = PushRegistration(of: "phone")
        push.set(first)
        #expect(push.next() == nil && !push.isAcknowledged)
        push.connected()
        #expect(push.next() == .put(first))
        #expect(push.next() == nil)
        push.answered(.put(first))
        #expect(push.isAcknowledged && push.next() == nil)
    }

    @Test("Each connection checks the registration and repeats it if the server lost the push device")
    func lostRegistrationIsRepeated() {
        var push = PushRegistration(of: "phone", wanted: first, isAcknowledged: true)
        push.connected()
        #expect(push.next() == .list)
        push.answered(.list, devices: [first])
        #expect(push.next() == nil)
        push.disconnected()
        push.connected()
        #expect(push.next() == .list)
        push.answered(.list, devices: [second])
        #expect(push.next() == .put(first))
    }

    @Test("Without a registration, neither connecting nor unregistering sends a request")
    func noRequestWithoutRegistration() {
        var push = PushRegistration(of: "phone")
        push.connected()
        #expect(push.next() == nil)
        push.set(nil)
        #expect(push.next() == nil && push.isAcknowledged)
    }

    @Test("A token that changes during a registration is registered after it")
    func changed() {
        var push = PushRegistration(of: "phone")
        push.connected()
        push.set(first)
        #expect(push.next() == .put(first))
        push.set(second)
        #expect(push.next() == nil)
        push.answered(.put(first))
        #expect(!push.isAcknowledged)
        #expect(push.next() == .put(second))
        push.answered(.put(second))
        #expect(push.isAcknowledged)
    }

    @Test("A request whose answer was lost is repeated on the next connection")
    func lostAnswer() {
        var push = PushRegistration(of: "phone")
        push.connected()
        push.set(first)
        _ = push.next()
        push.set(nil)
        push.disconnected()
        push.connected()
        #expect(push.next() == .drop("phone"))
        // An answer of the previous connection.
        push.answered(.put(first))
        #expect(!push.isAcknowledged)
        push.answered(.drop("phone"))
        #expect(push.isAcknowledged && push.next() == nil)
    }

    @Test("A temporary refusal is retried, and a permanent one is reported and retried on the next connection")
    func refused() {
        var push = PushRegistration(of: "phone")
        push.connected()
        push.set(first)
        _ = push.next()
        push.failed(.put(first), busy)
        #expect(push.next() == nil && push.refusal == nil)
        push.tick()
        #expect(push.next() == .put(first))
        push.failed(.put(first), no)
        #expect(push.next() == nil && push.refusal?.parameter == "topic")
        push.connected()
        #expect(push.refusal == nil && push.next() == .put(first))
        // The refusal concerns a token that is no longer wanted.
        push.set(second)
        push.failed(.put(first), no)
        #expect(push.refusal == nil && push.next() == .put(second))
    }

    /// A simulated server that stores one push device.
    private struct Server {
        var device: PushDevice?

        mutating func take(_ step: PushRegistration.Step) -> [PushDevice] {
            switch step {
            case .list: break
            case .put(let new): device = new
            case .drop: device = nil
            }
            return device.map { [$0] } ?? []
        }
    }

    @Test("After random changes, failures and losses, the server has the wanted push device", arguments: 1...500)
    func randomChangesReachTheWantedState(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var push = PushRegistration(of: "phone")
        var server = Server()
        var step: PushRegistration.Step?
        for _ in 0..<60 {
            switch Int.random(in: 0..<9, using: &random) {
            case 0: push.set(first)
            case 1: push.set(second)
            case 2: push.set(nil)
            case 3:
                push.disconnected()
                step = nil
            case 4:
                push.disconnected()
                push.connected()
                step = nil
            case 5:
                // The server is restored from a backup. The client's connection ends.
                server.device = [first, second, nil].randomElement(using: &random) ?? nil
                push.disconnected()
                // The registration state is stored and loaded again.
                push = PushRegistration(of: "phone", wanted: push.wanted, isAcknowledged: push.isAcknowledged)
                step = nil
            case 6: if let step { push.failed(step, Bool.random(using: &random) ? busy : no) }
            case 7:
                // The server applies the request, and its answer is lost.
                if let step { _ = server.take(step) }
                push.disconnected()
                step = nil
            default: if let step { push.answered(step, devices: server.take(step)) }
            }
            if let next = push.next() { step = next }
        }
        // If no device is wanted, the client can't detect one that a backup restored.
        if push.wanted == nil { push.set(first) }
        push.disconnected()
        push.connected()
        while let next = push.next() { push.answered(next, devices: server.take(next)) }
        #expect(server.device == push.wanted && push.isAcknowledged && push.refusal == nil)
    }
}
