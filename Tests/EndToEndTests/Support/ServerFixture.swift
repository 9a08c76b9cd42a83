import Foundation
import ScrollbackModel
import Testing

/// A server with alice and bob in `group:crew`, a group that they are not members of, two communities and a room.
///
/// The tests of a suite share it, so each test must restore its state.
struct ServerFixture: Sendable {
    let server: RunningServer
    let admin: API
    let alice: API
    let bob: API
    /// The client of a user without conversations.
    let carol: API
    let epoch: String
    /// The IDs of the three messages in `group:crew`. Bob sent the second, alice the other two.
    let ids: [String]
    private let initialState: [String]

    @TaskLocal private static var current: ServerFixture?

    static var shared: ServerFixture {
        get throws { try #require(current, "The suite needs the trait .smallWorld.") }
    }

    init() async throws {
        server = try await RunningServer.start()
        admin = try await server.admin()
        alice = try await server.api("alice")
        bob = try await server.api("bob")
        carol = try await server.api("carol")
        var made = [
            try await admin.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#),
            try await admin.call("PUT", "/v1/conversations/group:strangers", #"{"members":["dora"]}"#),
            try await admin.call("PUT", "/v1/conversations/community:town", #"{"members":["alice","bob"]}"#),
            try await admin.call("PUT", "/v1/conversations/community:far", #"{"members":["dora"]}"#),
            try await admin.call("PUT", "/v1/conversations/room:lobby", "{}"),
            try await admin.send("secret", to: "group:strangers"),
        ]
        var ids: [String] = []
        for (sender, text) in [(alice, "one"), (bob, "two"), (alice, "three")] {
            let id = UUID()
            ids.append(id.uuidString.lowercased())
            made.append(try await sender.send(text, to: "group:crew", id: id))
        }
        self.ids = ids
        for answer in made { #expect(answer.status == 201, "\(answer)") }
        epoch = try await alice.call("GET", "/v1/conversations/group:crew").json.string("epoch") ?? ""
        initialState = try await Self.readState(admin, alice)
    }

    /// Replaces the placeholders in a request or frame with the epoch and the message IDs.
    func fill(_ text: String) -> String {
        zip(["EPOCH", "ONE", "TWO", "THREE"], [epoch] + ids).reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    /// Checks that `group:crew` and the settings are as they were initially.
    func expectUnchanged(_ what: String) async throws {
        #expect(try await Self.readState(admin, alice) == initialState, "Changed by \(what)")
    }

    private static func readState(_ admin: API, _ alice: API) async throws -> [String] {
        let crew = "/v1/conversations/group:crew"
        return [
            try await alice.call("GET", crew).text, try await alice.call("GET", crew + "/messages").text,
            try await alice.call("GET", crew + "/actions").text, try await admin.call("GET", crew + "/messages").text,
            try await admin.call("GET", "/v1/settings").text,
        ]
    }

    fileprivate func provide(_ body: () async throws -> Void) async throws {
        try await Self.$current.withValue(self) { try await body() }
        // After all tests of the suite the server still answers and has reported no failure.
        #expect(try await alice.call("GET", "/v1/me").status == 200)
        let metrics = try await admin.call("GET", "/metrics").text
        #expect(metrics.contains("\nscrollback_http_failures_total 0\n"))
        #expect(metrics.contains("\nscrollback_failed_commits_total 0\n"))
        #expect(!server.log.contains(" error "), "\(server.log)")
        let code = try await server.terminate()
        #expect(code == 0)
        let verdict = try await RunningServer.command(["verify", server.data.path])
        #expect(verdict.code == 0, "\(verdict)")
    }
}

struct ServerFixtureTrait: SuiteTrait, TestScoping {
    @concurrent
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await ServerFixture().provide(function)
    }
}

extension Trait where Self == ServerFixtureTrait {
    /// Provides a ``ServerFixture`` for the suite.
    static var serverFixture: ServerFixtureTrait { ServerFixtureTrait() }
}
