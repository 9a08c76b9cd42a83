import Foundation
import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Registering for push")
struct PushRegistrationTests {
    private let first = PushDevice(id: "phone", service: .apns, token: "aa")
    private let second = PushDevice(id: "phone", service: .apns, token: "bb")
    private let busy = ChatError(.overloaded, "later")
    private let no = ChatError(.invalidParameter, "no", parameter: "topic")

    @Test("What is set before there is a connection is told with the first one, once")
    func offline() {
        var push = PushRegistration(of: "phone")
        push.set(first)
        #expect(push.next() == nil && !push.isTold)
        push.connected()
        #expect(push.next() == .put(first))
        #expect(push.next() == nil)
        push.answered(.put(first))
        #expect(push.isTold && push.next() == nil)
    }

    @Test("On each connection the server is asked whether it has it still, and told where it has not")
    func lost() {
        var push = PushRegistration(of: "phone", wanted: first, isTold: true)
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

    @Test("Who never registered asks the server nothing, and giving up nothing tells it nothing")
    func nothing() {
        var push = PushRegistration(of: "phone")
        push.connected()
        #expect(push.next() == nil)
        push.set(nil)
        #expect(push.next() == nil && push.isTold)
    }

    @Test("A token that changes while the earlier one is on its way is told after it")
    func changed() {
        var push = PushRegistration(of: "phone")
        push.connected()
        push.set(first)
        #expect(push.next() == .put(first))
        push.set(second)
        #expect(push.next() == nil)
        push.answered(.put(first))
        #expect(!push.isTold)
        #expect(push.next() == .put(second))
        push.answered(.put(second))
        #expect(push.isTold)
    }

    @Test("An answer that was lost with its connection is asked for again")
    func lostAnswer() {
        var push = PushRegistration(of: "phone")
        push.connected()
        push.set(first)
        _ = push.next()
        push.set(nil)
        push.disconnected()
        push.connected()
        #expect(push.next() == .drop("phone"))
        // Of the connection before.
        push.answered(.put(first))
        #expect(!push.isTold)
        push.answered(.drop("phone"))
        #expect(push.isTold && push.next() == nil)
    }

    @Test("What is refused for now is told again; what is refused is said, and told with the next connection")
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
        // Set to something else meanwhile, the refusal is of what nobody wants.
        push.set(second)
        push.failed(.put(first), no)
        #expect(push.refusal == nil && push.next() == .put(second))
    }

    /// What a server does, and what of it is lost.
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

    @Test("Whatever is set, lost, refused or forgotten, the server has in the end what is wanted", arguments: 1...500)
    func programs(seed: UInt64) {
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
                // It is restored from a backup: a client learns of that by its connection ending.
                server.device = [first, second, nil].randomElement(using: &random) ?? nil
                push.disconnected()
                // Kept, and read again.
                push = PushRegistration(of: "phone", wanted: push.wanted, isTold: push.isTold)
                step = nil
            case 6: if let step { push.failed(step, Bool.random(using: &random) ? busy : no) }
            case 7:
                // Done, and the answer lost.
                if let step { _ = server.take(step) }
                push.disconnected()
                step = nil
            default: if let step { push.answered(step, devices: server.take(step)) }
            }
            if let next = push.next() { step = next }
        }
        // What a backup brings back after somebody gave it up only they can say.
        if push.wanted == nil { push.set(first) }
        push.disconnected()
        push.connected()
        while let next = push.next() { push.answered(next, devices: server.take(next)) }
        #expect(server.device == push.wanted && push.isTold && push.refusal == nil)
    }
}
