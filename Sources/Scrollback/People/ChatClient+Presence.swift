public import ScrollbackModel
import ScrollbackWire

// Who is there. It takes an operator who switched it on, and people whose apps share it
// (``ChatClient/Configuration/sharesPresence``).

extension ChatClient {
    /// Whether people are there, and again whenever that changed, for as long as somebody iterates.
    ///
    /// Who is not among the keys nothing is known of: while there is no connection nobody is, and after it came back the
    /// server is asked again. Where the operator has not switched presence on nothing is ever known;
    /// ``fetchPresence(of:)`` says so.
    ///
    /// - Parameter users: 1...1,000 people; a client watches as many in all.
    /// - Throws: `invalid-parameter` for none or more.
    public func presence(of users: Set<UserID>) throws(ChatError) -> AsyncStream<[UserID: Presence]> {
        guard (1...1000).contains(users.count) else {
            throw .invalidParameter("users", "must be 1...1000 people", limit: 1000)
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

    /// Asks the server once whether people are there.
    ///
    /// - Parameter users: 1...100 people.
    /// - Returns: each of them; of who does not share it, or who has blocked this user, that they are not online.
    /// - Throws: `feature-off` where the operator has not switched presence on; `invalid-parameter` for none or more than
    ///   100; `unreachable`.
    public func fetchPresence(of users: Set<UserID>) async throws(ChatError) -> [UserID: Presence] {
        guard (1...ClientRequest.maximumUsers).contains(users.count) else {
            throw .invalidParameter(
                "users", "must be 1...\(ClientRequest.maximumUsers) people", limit: ClientRequest.maximumUsers)
        }
        let body = try await core.request(.people(.presence(users.sorted(), isOn: nil)))
        var reader = try JSONReader(body)
        return Dictionary(try PresenceList(from: &reader).people.map { ($0.user, $0.presence) }) { $1 }
    }
}
