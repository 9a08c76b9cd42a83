import ScrollbackModel
import ScrollbackSync
import Testing

@Suite("Watching the presence of users")
struct WatchedUsersTests {
    private let busy = ChatError(.overloaded, "The server is busy.")
    private let denied = ChatError(.featureOff, "Presence is off.")

    private func watched(_ users: Set<UserID>) -> WatchedUsers {
        var watched = WatchedUsers(limit: 2)
        _ = watched.add(users)
        return watched
    }

    @Test("Several observers of a user are one request, which ends with the last observer")
    func countsObservers() {
        var users = watched(["bob"])
        #expect(users.add(["bob", "carol"]) == [.request(["carol"])])
        #expect(users.remove(["bob"]) == [] && users.contains("bob"))
        #expect(users.remove(["bob", "carol"]) == [.end(["bob", "carol"])] && !users.contains("bob"))
        #expect(users.remove(["bob"]) == [] && !users.contains("bob"))
    }

    @Test("Each connection requests all users, in parts")
    func requestsAfterConnecting() {
        var users = watched(["dora", "bob", "carol"])
        #expect(users.connected() == [.request(["bob", "carol"]), .request(["dora"])])
        #expect(users.remove(["dora", "bob", "carol"]) == [.end(["bob", "carol"]), .end(["dora"])])
        #expect(users.connected() == [])
    }

    @Test("A temporary error is retried once, unless the connection ends, and a permanent error is not")
    func retriesWhenBusy() {
        var users = watched(["bob"])
        users.failed(denied)
        #expect(users.tick() == [])
        users.failed(busy)
        #expect(users.tick() == [.request(["bob"])])
        #expect(users.tick() == [])
        users.failed(busy)
        users.disconnected()
        #expect(users.tick() == [])
    }
}
