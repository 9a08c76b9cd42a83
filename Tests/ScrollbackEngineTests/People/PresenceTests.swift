import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Presence")
struct PresenceTests {
    private func world(isOn: Bool = true) throws -> (world: World, doors: Doors) {
        let world = try World()
        if isOn { try world.set { $0.people.presence = true } }
        return (world, Doors(world))
    }

    private func ask(
        _ device: Device, _ users: [UserID], isOn: Bool? = nil
    ) throws -> [String] {
        let ref = device.request(FetchPresence(users: users, isOn: isOn))
        return try device.answer(ref) { try PresenceList(from: &$0) }.people.map { describe($0.user, $0.presence) }
    }

    private func describe(_ user: UserID, _ presence: Presence) -> String {
        "\(user) \(presence.isOnline ? "on" : "off")\(presence.lastSeen.map { " since \($0.iso8601)" } ?? "")"
    }

    private func heard(_ device: Device) throws -> [String] {
        try device.events.compactMap { event in
            if case .presence(let user, let presence) = event { return describe(user, presence) }
            return nil
        }
    }

    /// Advances the clock and runs the server's presence timer.
    private func pass(_ seconds: TimeInterval, in world: World) {
        world.clock.advance(by: seconds)
        world.engine.tellWhoLeft()
    }

    @Test("With presence switched off, no events are sent and requests fail with `feature-off`")
    func off() throws {
        let (world, doors) = try world(isOn: false)
        let alice = doors.device("alice")
        let bob = doors.sharing("bob")
        let ref = alice.request(FetchPresence(users: ["bob"], isOn: true))
        let error = try alice.error(ref)
        #expect(error?.code == .featureOff && error?.status == 403 && error?.isTemporary == false)
        #expect(refusal { _ = try world.engine.presence(of: ["bob"], by: Caller(user: "alice")) }?.code == .featureOff)
        bob.session.disconnected()
        pass(6, in: world)
        #expect(try heard(alice) == [])
        #expect(try world.store.read { try $0.lastSeen(of: "bob") } == nil)
    }

    @Test("A user who shares presence is online while connected, and goes offline after five seconds")
    func comingAndGoing() throws {
        let (world, doors) = try world()
        let alice = doors.device("alice")
        #expect(try ask(alice, ["bob", "carol", "bob"], isOn: true) == ["bob off", "carol off"])
        let bob = doors.sharing("bob")
        _ = doors.device("carol")
        #expect(try heard(alice) == ["bob on"])
        #expect(try ask(alice, ["bob", "carol"]) == ["bob on", "carol off"])
        world.clock.advance(by: 0.7)
        bob.session.disconnected()
        pass(4.9, in: world)
        #expect(try heard(alice) == ["bob on"])
        #expect(try ask(alice, ["bob"]) == ["bob on"])
        pass(0.2, in: world)
        let last = "bob off since 2026-11-21T10:00:00.000Z"
        #expect(try heard(alice) == ["bob on", last])
        #expect(try ask(alice, ["bob"]) == [last])
        pass(60, in: world)
        #expect(try heard(alice).count == 2)
    }

    @Test("A quick reconnect or the loss of one of two devices sends no presence event")
    func reconnecting() throws {
        let (world, doors) = try world()
        let alice = doors.device("alice")
        _ = try ask(alice, ["bob"], isOn: true)
        var phone = doors.sharing("bob")
        for _ in 0..<3 {
            phone.session.disconnected()
            pass(4, in: world)
            phone = doors.sharing("bob")
            pass(4, in: world)
        }
        let laptop = doors.sharing("bob", "laptop")
        phone.session.disconnected()
        pass(60, in: world)
        #expect(try heard(alice) == ["bob on"])
        #expect(try world.store.read { try $0.lastSeen(of: "bob") } == nil)
        laptop.session.disconnected()
        pass(6, in: world)
        #expect(try heard(alice).count == 2)
    }

    @Test("A user whose app is in the background is offline, and a short time in the background sends no event")
    func background() throws {
        let (world, doors) = try world()
        let alice = doors.device("alice")
        _ = try ask(alice, ["bob"], isOn: true)
        let bob = doors.sharing("bob", isActive: false)
        pass(1, in: world)
        #expect(try heard(alice) == [])
        bob.request(SetActivity(isActive: true))
        #expect(try heard(alice) == ["bob on"])
        bob.request(SetActivity(isActive: false))
        pass(4, in: world)
        bob.request(SetActivity(isActive: true))
        pass(10, in: world)
        #expect(try heard(alice) == ["bob on"])
        bob.request(SetActivity(isActive: false))
        pass(6, in: world)
        bob.session.disconnected()
        pass(6, in: world)
        #expect(try heard(alice).count == 2)
        #expect(try ask(alice, ["bob"]) == ["bob off since 2026-11-21T10:00:15.000Z"])
    }

    @Test("A block hides the presence of both users from each other")
    func blocked() throws {
        let (world, doors) = try world()
        let bob = doors.sharing("bob")
        let alice = doors.sharing("alice")
        for (device, other) in [(alice, "bob"), (bob, "alice")] as [(Device, UserID)] {
            #expect(try ask(device, [other], isOn: true) == ["\(other) on"])
        }
        try world.block("alice", by: "bob")
        pass(0, in: world)
        #expect(try heard(alice) == ["bob off"] && heard(bob) == ["alice off"])
        #expect(try ask(alice, ["bob"]) == ["bob off"] && ask(bob, ["alice"]) == ["alice off"])
        let laptop = doors.sharing("bob", "laptop")
        bob.session.disconnected()
        laptop.session.disconnected()
        pass(6, in: world)
        #expect(try heard(alice) == ["bob off"])
        #expect(try ask(alice, ["bob"]) == ["bob off"])
        try world.block("alice", isOn: false, by: "bob")
        pass(0, in: world)
        #expect(try heard(alice).count == 2)
        _ = doors.sharing("bob")
        #expect(try heard(alice).last == "bob on")
    }

    @Test("A connection can watch 1,000 users, and watches none after it unsubscribes or disconnects")
    func limits() throws {
        let (world, doors) = try world()
        let alice = doors.device("alice")
        for page in 0..<10 {
            _ = try ask(alice, (0..<100).map { UserID(known: "u\(page * 100 + $0)") }, isOn: true)
        }
        let ref = alice.request(FetchPresence(users: ["one-more"], isOn: true))
        let error = try alice.error(ref)
        #expect(error?.code == .invalidParameter && error?.parameter == "users" && error?.limit == 1000)
        // Users who are already watched can be named again.
        _ = try ask(alice, ["u1"], isOn: true)
        alice.request(FetchPresence(users: ["u1", "u2"], isOn: false))
        _ = doors.sharing("u1")
        #expect(try heard(alice) == [])
        _ = try ask(alice, ["one-more"], isOn: true)
        alice.session.disconnected()
        _ = doors.sharing("u3")
        #expect(try heard(alice) == [])
        #expect(refusal { _ = try world.engine.presence(of: [], by: World.admin) }?.parameter == "users")
    }

    @Test("A presence subscription that is cancelled immediately gets no events")
    func order() throws {
        let (_, doors) = try world()
        let alice = doors.device("alice")
        doors.offload.hold()
        alice.request(FetchPresence(users: ["bob"], isOn: true))
        alice.request(FetchPresence(users: ["bob"], isOn: false))
        doors.offload.release()
        _ = doors.sharing("bob")
        #expect(try heard(alice) == [])
    }

    @Test("The server keeps no presence state after all users have left")
    func forgotten() throws {
        let (world, doors) = try world()
        let devices = (0..<50).map { doors.sharing("u\($0)") }
        for (index, device) in devices.enumerated() {
            _ = try ask(device, [UserID(known: "u\((index + 1) % 50)"), "nobody"], isOn: true)
        }
        #expect(!world.engine.isPresenceForgotten)
        for device in devices { device.session.disconnected() }
        pass(6, in: world)
        #expect(world.engine.isPresenceForgotten)
    }

    @Test("A server that stops stores the last-seen time of users who have just disconnected")
    func stopping() throws {
        let (world, doors) = try world()
        let bob = doors.sharing("bob")
        bob.session.disconnected()
        world.engine.tellAllLeft()
        #expect(try world.store.read { try $0.lastSeen(of: "bob") } == world.clock.now)
    }
}

extension Doors {
    /// Opens a connection that shares its user's presence.
    func sharing(_ token: String, _ name: String = "phone", isActive: Bool = true) -> Device {
        let device = connect()
        device.session.receive(
            HelloFrame(token: token, device: name, cursor: nil, sharesPresence: true, isActive: isActive).encoded())
        return device
    }
}
