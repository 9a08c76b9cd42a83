public import ScrollbackModel
import ScrollbackWire

// Presence. It requires a server with presence turned on, and users whose clients share it
// (``ChatClient/Configuration/sharesPresence``).

extension ChatClient {
    /// Returns a stream with the presence of users, and a new value after each change, while it is iterated.
    ///
    /// Users whose presence is unknown are missing from the dictionary. Without a connection it is empty, and after a
    /// reconnect the client requests the presence again. If presence is turned off on the server, the dictionary stays
    /// empty; ``fetchPresence(of:)`` reports this as an error.
    ///
    /// - Parameter users: 1...1,000 users. A client can observe 1,000 users in total.
    /// - Throws: `invalid-parameter` if `users` is empty or too large.
    public func presence(of users: Set<UserID>) throws(ChatError) -> AsyncStream<[UserID: Presence]> {
        guard (1...1000).contains(users.count) else {
            throw .invalidParameter("users", "must contain 1...1000 users", limit: 1000)
        }
        let (stream, continuation) = AsyncStream.makeStream(
            of: [UserID: Presence].self, bufferingPolicy: .bufferingNewest(1))
        core.mailbox.post(.watch(users, isOn: true))
        let task = Task { [core] in
            var last: [UserID: Presence]?
            for await all in core.presence.sequence {
                let known = all.filter { users.contains($0.key) }
                if known != last { continuation.yield(known) }
                last = known
            }
            continuation.finish()
        }
        continuation.onTermination = { [core] _ in
            task.cancel()
            core.mailbox.post(.watch(users, isOn: false))
        }
        return stream
    }

    /// Fetches the presence of users from the server once.
    ///
    /// - Parameter users: 1...100 users.
    /// - Returns: The presence of each user. Users who don't share their presence, or who have blocked this user,
    ///   appear offline.
    /// - Throws: `feature-off` if presence is turned off on the server. `invalid-parameter` if `users` is empty or too
    ///   large. `unreachable`.
    public func fetchPresence(of users: Set<UserID>) async throws(ChatError) -> [UserID: Presence] {
        guard (1...FetchUsers.maximum).contains(users.count) else {
            throw .invalidParameter(
                "users", "must contain 1...\(FetchUsers.maximum) users", limit: FetchUsers.maximum)
        }
        let list = try await core.perform(FetchPresence(users: users.sorted())).list.required("presence")
        return Dictionary(list.entries.map { ($0.user, $0.presence) }) { $1 }
    }
}
