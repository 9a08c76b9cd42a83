import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackPostgres
import Synchronization
import TestSupport
import Testing

/// Three nodes behind a load balancer, of which one after the other is drained and started again under load.
@Suite(.needs(.postgres), .needs(.nats))
struct RollingRestartTests {
    private let names = ["n0", "n1", "n2"]
    private let database: PostgresDatabase
    private let url: PostgresURL

    init() throws {
        database = try PostgresDatabase()
        url = try database.makeSchema()
    }

    private func start(
        _ names: [String], delay: Int, window: Int
    ) async throws -> (nodes: [RunningServer], nats: NATSServer) {
        let nats = try await NATSServer.start()
        var nodes: [RunningServer] = []
        for name in names {
            let options = [
                "--store", url.text, "--bus", nats.url, "--node-name", name, "--drain-delay", "\(delay)",
                "--drain-window", "\(window)",
            ]
            nodes.append(try await RunningServer.start(RunningServer.withoutLimits + options))
        }
        return (nodes, nats)
    }

    /// Waits until each node lists all nodes: a node that has just started does not know the others yet.
    private func waitUntilAllKnowAll(_ nodes: [RunningServer]) async throws {
        for node in nodes {
            try await eventually("the node at \(node.url) lists \(nodes.count) nodes") {
                let answer = try? await node.admin().call("GET", "/v1/admin/nodes")
                return answer?.json.objects("nodes").count == nodes.count ? true : nil
            }
        }
    }

    /// The messages that a device shows, oldest first.
    private func ids(in group: ConversationID, on client: ChatClient) async throws -> [MessageID] {
        var ids: [MessageID] = []
        for try await message in client.conversation(group).messages(from: .earliest) {
            ids.append(message.id)
        }
        return ids
    }

    /// Runs a command of the operator, which talks to the nodes over the load balancer.
    private func cluster(
        _ arguments: [String], _ nodes: [RunningServer], over address: URL
    ) async throws -> (code: Int32, output: String, errors: String) {
        try await RunningServer.command(
            ["cluster"] + arguments + ["--server", address.absoluteString, "--data", nodes[0].data.path, "--json"])
    }

    @Test func `A rolling restart under load loses and repeats nothing, and no send fails`() async throws {
        var generator = SplitMix64(printingSeedFor: "rolling restart")
        let (nodes, nats) = try await start(names, delay: 1, window: 2)
        let proxy = try await TestProxy(to: nodes)
        let balancer = LoadBalancer(proxy, nodes)
        defer { balancer.stop() }
        let group = ConversationID.group("crew")
        let users = (0..<8).map { UserID(stringLiteral: "sender\($0)") }
        let members = (users + ["watcher"]).map { "\"\($0)\"" }.joined(separator: ",")
        let made = try await nodes[0].admin().call("PUT", "/v1/conversations/\(group)", "{\"members\":[\(members)]}")
        try #require(made.status == 201)
        var clients: [ChatClient] = []
        for user in users { clients.append(try await Device.open(nodes[0], user, over: proxy)) }
        let watcher = try await Device.open(nodes[0], "watcher", over: proxy)
        let load = Load()
        let slowest = Task { await load.watch(watcher.events) }
        try await eventually("the operator sees three nodes and one leader") {
            try await cluster(["status", "--nodes", "3"], nodes, over: proxy.url).code == 0 ? true : nil
        }

        let pauses = clients.map { _ in generator.milliseconds(0...40) }
        let web = API(server: proxy.url, token: try await nodes[0].token(users[0]))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (client, pause) in zip(clients, pauses) {
                tasks.addTask { try await load.send(by: client, to: group, every: pause) }
            }
            tasks.addTask { try await load.send(over: web, to: group) }
            tasks.addTask {
                for (node, name) in zip(nodes, names) {
                    // The load balancer gives the command to any node.
                    try await waitUntilAllKnowAll(nodes)
                    let drained = try await cluster(["drain", name], nodes, over: proxy.url)
                    #expect(drained.code == 0, "\(drained)")
                    #expect(try await node.waitForEnd() == 0, "\(node.log)")
                    #expect(node.log.contains("The clients have moved."), "\(node.log)")
                    // The other two serve clients.
                    try await eventually("the operator sees two nodes") {
                        try await cluster(["status", "--nodes", "2"], nodes, over: proxy.url).code == 0 ? true : nil
                    }
                    try await eventually("the operator misses one") {
                        try await cluster(["status", "--nodes", "3"], nodes, over: proxy.url).code == 1 ? true : nil
                    }
                    let count = load.count
                    try await node.start()
                    try await eventually("the operator sees three nodes") {
                        try await cluster(["status", "--nodes", "3"], nodes, over: proxy.url).code == 0 ? true : nil
                    }
                    try await eventually("the load goes on") { load.count > count + 20 ? true : nil }
                }
                load.end()
            }
            try await tasks.waitForAll()
        }

        for client in clients {
            await client.waitForOutbox()
            #expect(try await client.pendingCount() == 0)
        }
        let stored = try await Device.everything(in: group, of: nodes[0])
        #expect(stored.map(\.seq) == Array(1...Int64(stored.count)), "Sequence numbers are not dense.")
        #expect(Set(stored.map(\.id)).count == stored.count, "An ID is stored twice.")
        #expect(Set(stored.compactMap(\.text)).count == stored.count, "A text is stored twice.")
        #expect(Set(stored.map(\.id)) == load.acknowledged)
        for client in clients + [watcher] {
            try await eventually("\(client.user) has the newest message") {
                try await client.recents[group]?.lastMessage?.id == stored.last?.id ? true : nil
            }
            #expect(try await ids(in: group, on: client) == stored.map(\.id), "of \(client.user)")
            #expect(try await client.verifyIntegrity() == [])
            await client.close()
        }
        let delay = await slowest.value
        print(
            """
            rolling restart: \(stored.count) messages; longest time from the server's time of a message to its arrival \
            at another user's device: \(delay) s; HTTP requests sent again: \(load.retries)
            """)
        for node in nodes { #expect(try await node.terminate() == 0, "\(node.log)") }
        nats.stop()
    }

    @Test func `A node that stops is not ready, serves requests, and asks its clients to move until the last one goes`()
        async throws
    {
        let (nodes, nats) = try await start(["a", "b"], delay: 1, window: 120)
        try await eventually("the nodes know each other") {
            try await cluster(["status", "--nodes", "2"], nodes, over: nodes[0].url).code == 0 ? true : nil
        }
        let socket = try await TestSocket.signedIn(nodes[0], "alice")
        nodes[0].signal(SIGTERM)
        let asked = try await socket.next { $0.string("type") == "moving" }
        #expect(asked.int("within") ?? 0 > 60_000)
        let ready = try await API(server: nodes[0].url).call("GET", "/readyz")
        #expect(ready.status == 503 && ready.code == "shutting-down", "\(ready)")
        let sent = try await nodes[0].api("alice").send("still here", to: "direct:bob")
        #expect(sent.status == 201 && sent.headers["connection"] == "close", "\(sent.headers)")
        #expect(try await socket.request(#""type":"ping""#).string("type") == "result")
        let late = try await TestSocket.open(nodes[0].url)
        late.send(#"{"type":"hello","token":"\#(try await nodes[0].token("bob"))","device":"phone"}"#)
        _ = try await late.next { $0.string("type") == "moving" }
        try await eventually("the other node lists it as draining") {
            let listed = try await nodes[1].admin().call("GET", "/v1/admin/nodes")
            let first = listed.json.objects("nodes").first { $0["name"] as? String == "a" }
            return first?["isDraining"] as? Bool == true ? true : nil
        }
        socket.close()
        late.close()
        #expect(try await nodes[0].waitForEnd() == 0, "\(nodes[0].log)")
        try await eventually("the other node lists only itself") {
            let nodes = try await nodes[1].admin().call("GET", "/v1/admin/nodes").json.objects("nodes")
            return nodes.count == 1 ? true : nil
        }
        nats.stop()
    }

    @Test func `The operator is refused to drain the only node and unknown nodes, and can renew the generation`()
        async throws
    {
        let nats = try await NATSServer.start()
        let options = ["--store", url.text, "--bus", nats.url, "--node-name", "alone"]
        let node = try await RunningServer.start(RunningServer.withoutLimits + options)
        let only = try await cluster(["drain", "alone"], [node], over: node.url)
        #expect(only.code == 1 && only.errors.contains("only node"), "\(only)")
        let unknown = try await cluster(["drain", "n9"], [node], over: node.url)
        #expect(unknown.code == 1 && unknown.errors.contains("alone"), "\(unknown)")
        let socket = try await TestSocket.signedIn(node, "alice")
        let renewed = try await cluster(["renew-generation", "--yes"], [node], over: node.url)
        #expect(renewed.code == 0 && renewed.output.contains("generation"), "\(renewed)")
        #expect(try await socket.closed() == 1012)
        #expect(try await cluster(["renew-generation"], [node], over: node.url).code == 1)
        let lone = try await RunningServer.start()
        #expect(try await cluster(["status"], [lone], over: lone.url).code == 1)
        let forced = try await cluster(["drain", "alone", "--force"], [node], over: node.url)
        #expect(forced.code == 0, "\(forced)")
        #expect(try await node.waitForEnd() == 0)
    }
}

/// Gives new connections of a proxy to the nodes that are ready, as a load balancer does.
private final class LoadBalancer: Sendable {
    private let task: Task<Void, Never>

    init(_ proxy: TestProxy, _ nodes: [RunningServer]) {
        task = Task {
            while !Task.isCancelled {
                var ready: [RunningServer] = []
                for node in nodes {
                    let answer = try? await API(server: node.url).call("GET", "/readyz")
                    if answer?.status == 200 { ready.append(node) }
                }
                if !ready.isEmpty { proxy.send(to: ready) }
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    func stop() { task.cancel() }
}

/// The messages that clients send until the end.
private final class Load: Sendable {
    private struct State {
        var acknowledged: Set<MessageID> = []
        var retries = 0
        var isOver = false
    }

    private let state = Mutex(State())

    var acknowledged: Set<MessageID> { state.withLock { $0.acknowledged } }
    var count: Int { acknowledged.count }
    var retries: Int { state.withLock { $0.retries } }
    private var isOver: Bool { state.withLock { $0.isOver } }
    func end() { state.withLock { $0.isOver = true } }

    /// Sends messages one after the other; an error ends the test.
    func send(by client: ChatClient, to group: ConversationID, every pause: Duration) async throws {
        var number = 0
        while !isOver {
            number += 1
            let sending = try await client.conversation(group).send(.text("\(client.user) says \(number)"))
            let message = try await sending.waitUntilSent()
            state.withLock { _ = $0.acknowledged.insert(message.id) }
            try await Task.sleep(for: pause)
        }
    }

    /// Sends messages over HTTP, and again with the same ID after a failure that a program should retry.
    func send(over api: API, to group: ConversationID) async throws {
        var number = 0
        while !isOver {
            number += 1
            let id = UUID()
            try await eventually("the request is answered") { () -> Bool? in
                let answer = try? await api.send("web \(number)", to: "\(group)", id: id)
                if let answer, answer.status < 300 { return true }
                #expect(answer.map { $0.status == 503 } ?? true, "\(String(describing: answer))")
                self.state.withLock { $0.retries += 1 }
                try await Task.sleep(for: .milliseconds(50))
                return nil
            }
            state.withLock { _ = $0.acknowledged.insert(MessageID(id)) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Returns the longest time in seconds from the server's time of a message to its arrival.
    func watch(_ events: some AsyncSequence<ClientEvent, Never> & Sendable) async -> Double {
        var slowest = 0.0
        for await event in events {
            if case .message(let message) = event {
                slowest = max(slowest, Date().timeIntervalSince(message.timetoken.date))
            }
        }
        return (slowest * 100).rounded() / 100
    }
}
