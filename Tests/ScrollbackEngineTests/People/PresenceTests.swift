import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Presence")
struct PresenceTests {
    private func harness(isOn: Bool = true) throws -> (harness: EngineHarness, sessions: SessionHarness) {
        let harness = try EngineHarness()
        if isOn { try harness.set { $0.people.presence = true } }
        return (harness, SessionHarness(harness))
    }

    private func ask(
        _ device: Device, _ users: [UserID], isOn: Bool? = nil
    ) throws -> [String] {
        let ref = device.request(FetchPresence(users: users, isOn: isOn))
        return try device.answer(ref) { try PresenceList(from: &$0) }.entries.map { describe($0.user, $0.presence) }
    }

    private func describe(_ user: UserID, _ presence: Presence) -> String {
        "\(user) \(presence.isOnline ? "on" : "off")\(presence.lastSeen.map { " since \($0.iso8601)" } ?? "")"
    }

    private func presenceEvents(_ device: Device) throws -> [String] {
        try device.events.compactMap { event in
            if case .presence(let user, let presence) = event { return describe(user, presence) }
            return nil
        }
    }

    /// Advances the clock and runs the server's presence timer.
    private func pass(_ seconds: TimeInterval, in harness: EngineHarness) {
        harness.clock.advance(by: seconds)
        harness.engine.notifyWatchersOfOfflineUsers()
    }

    @Test("With presence switched off, no events are sent and requests fail with `feature-off`")
    func off() throws {
        let (harness, sessions) = try harness(isOn: false)
        let alice = sessions.device("alice")
        let bob = sessions.sharing("bob")
        let ref = alice.request(FetchPresence(users: ["bob"], isOn: true))
        let error = try alice.error(ref)
        #expect(error?.code == .featureOff && error?.status == 403 && error?.isTemporary == false)
        #expect(
            refusal { _ = try harness.engine.presence(of: ["bob"], by: Caller(user: "alice")) }?.code == .featureOff)
        bob.session.disconnected()
        pass(6, in: harness)
        #expect(try presenceEvents(alice) == [])
        #expect(try harness.store.read { try $0.lastSeen(of: "bob") } == nil)
    }

    @Test("A user who shares presence is online while connected, and goes offline after five seconds")
    func presenceFollowsTheConnection() throws {
        let (harness, sessions) = try harness()
        let alice = sessions.device("alice")
        #expect(try ask(alice, ["bob", "carol", "bob"], isOn: true) == ["bob off", "carol off"])
        let bob = sessions.sharing("bob")
        _ = sessions.device("carol")
        #expect(try presenceEvents(alice) == ["bob on"])
        #expect(try ask(alice, ["bob", "carol"]) == ["bob on", "carol off"])
        harness.clock.advance(by: 0.7)
        bob.session.disconnected()
        pass(4.9, in: harness)
        #expect(try presenceEvents(alice) == ["bob on"])
        #expect(try ask(alice, ["bob"]) == ["bob on"])
        pass(0.2, in: harness)
        let last = "bob off since 2026-11-21T10:00:00.000Z"
        #expect(try presenceEvents(alice) == ["bob on", last])
        #expect(try ask(alice, ["bob"]) == [last])
        pass(60, in: harness)
        #expect(try presenceEvents(alice).count == 2)
    }

    @Test("A quick reconnect or the loss of one of two devices sends no presence event")
    func reconnecting() throws {
        let (harness, sessions) = try harness()
        let alice = sessions.device("alice")
        _ = try ask(alice, ["bob"], isOn: true)
        var phone = sessions.sharing("bob")
        for _ in 0..<3 {
            phone.session.disconnected()
            pass(4, in: harness)
            phone = sessions.sharing("bob")
            pass(4, in: harness)
        }
        let laptop = sessions.sharing("bob", "laptop")
        phone.session.disconnected()
        pass(60, in: harness)
        #expect(try presenceEvents(alice) == ["bob on"])
        #expect(try harness.store.read { try $0.lastSeen(of: "bob") } == nil)
        laptop.session.disconnected()
        pass(6, in: harness)
        #expect(try presenceEvents(alice).count == 2)
    }

    @Test("A user whose app is in the background is offline, and a short time in the background sends no event")
    func background() throws {
        let (harness, sessions) = try harness()
        let alice = sessions.device("alice")
        _ = try ask(alice, ["bob"], isOn: true)
        let bob = sessions.sharing("bob", isActive: false)
        pass(1, in: harness)
        #expect(try presenceEvents(alice) == [])
        bob.request(SetActivity(isActive: true))
        #expect(try presenceEvents(alice) == ["bob on"])
        bob.request(SetActivity(isActive: false))
        pass(4, in: harness)
        bob.request(SetActivity(isActive: true))
        pass(10, in: harness)
        #expect(try presenceEvents(alice) == ["bob on"])
        bob.request(SetActivity(isActive: false))
        pass(6, in: harness)
        bob.session.disconnected()
        pass(6, in: harness)
        #expect(try presenceEvents(alice).count == 2)
        #expect(try ask(alice, ["bob"]) == ["bob off since 2026-11-21T10:00:15.000Z"])
    }

    @Test("A block hides the presence of both users from each other")
    func blocked() throws {
        let (harness, sessions) = try harness()
        let bob = sessions.sharing("bob")
        let alice = sessions.sharing("alice")
        for (device, other) in [(alice, "bob"), (bob, "alice")] as [(Device, UserID)] {
            #expect(try ask(device, [other], isOn: true) == ["\(other) on"])
        }
        try harness.block("alice", by: "bob")
        pass(0, in: harness)
        #expect(try presenceEvents(alice) == ["bob off"] && presenceEvents(bob) == ["alice off"])
        #expect(try ask(alice, ["bob"]) == ["bob off"] && ask(bob, ["alice"]) == ["alice off"])
        let laptop = sessions.sharing("bob", "laptop")
        bob.session.disconnected()
        laptop.session.disconnected()
        pass(6, in: harness)
        #expect(try presenceEvents(alice) == ["bob off"])
        #expect(try ask(alice, ["bob"]) == ["bob off"])
        try harness.block("alice", isOn: false, by: "bob")
        pass(0, in: harness)
        #expect(try presenceEvents(alice).count == 2)
        _ = sessions.sharing("bob")
        #expect(try presenceEvents(alice).last == "bob on")
    }

    @Test("A connection can watch 1,000 users, and watches none after it unsubscribes or disconnects")
    func limits() throws {
        let (harness, sessions) = try harness()
        let alice = sessions.device("alice")
        for page in 0..<10 {
            _ = try ask(alice, (0..<100).map { UserID(known: "u\(page * 100 + $0)") }, isOn: true)
        }
        let ref = alice.request(FetchPresence(users: ["one-more"], isOn: true))
        let error = try alice.error(ref)
        #expect(error?.code == .invalidParameter && error?.parameter == "users" && error?.limit == 1000)
        // Users who are already watched can be named again.
        _ = try ask(alice, ["u1"], isOn: true)
        alice.request(FetchPresence(users: ["u1", "u2"], isOn: false))
        _ = sessions.sharing("u1")
        #expect(try presenceEvents(alice) == [])
        _ = try ask(alice, ["one-more"], isOn: true)
        alice.session.disconnected()
        _ = sessions.sharing("u3")
        #expect(try presenceEvents(alice) == [])
        #expect(refusal { _ = try harness.engine.presence(of: [], by: EngineHarness.admin) }?.parameter == "users")
    }

    @Test("A presence subscription that is cancelled immediately gets no events")
    func order() throws {
        let (_, sessions) = try harness()
        let alice = sessions.device("alice")
        sessions.offload.hold()
        alice.request(FetchPresence(users: ["bob"], isOn: true))
        alice.request(FetchPresence(users: ["bob"], isOn: false))
        sessions.offload.release()
        _ = sessions.sharing("bob")
        #expect(try presenceEvents(alice) == [])
    }

    @Test("The server keeps no presence state after all users have left")
    func noStateRemainsWithoutUsers() throws {
        let (harness, sessions) = try harness()
        let devices = (0..<50).map { sessions.sharing("u\($0)") }
        for (index, device) in devices.enumerated() {
            _ = try ask(device, [UserID(known: "u\((index + 1) % 50)"), "nobody"], isOn: true)
        }
        #expect(!harness.engine.isPresenceEmpty)
        for device in devices { device.session.disconnected() }
        pass(6, in: harness)
        #expect(harness.engine.isPresenceEmpty)
    }

    @Test("A server that stops stores the last-seen time of users who have just disconnected")
    func stopping() throws {
        let (harness, sessions) = try harness()
        let bob = sessions.sharing("bob")
        bob.session.disconnected()
        harness.engine.recordAllOffline()
        #expect(try harness.store.read { try $0.lastSeen(of: "bob") } == harness.clock.now)
    }
}

extension SessionHarness {
    /// Opens a connection that shares its user's presence.
    func sharing(_ token: String, _ name: String = "phone", isActive: Bool = true) -> Device {
        let device = connect()
        device.session.receive(
            HelloFrame(token: token, device: name, sharesPresence: true, isActive: isActive).encoded())
        return device
    }
}
