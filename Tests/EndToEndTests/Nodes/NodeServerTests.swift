import Foundation
import PictureFixtures
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import Synchronization
import TestSupport
import Testing

/// Several servers on one PostgreSQL database.
@Suite(.needs(.postgres), .needs(.nats))
struct NodeServerTests {
    let database: PostgresDatabase
    let url: PostgresURL

    init() throws {
        database = try PostgresDatabase()
        url = try database.makeSchema()
    }

    private func start(_ count: Int, over nats: NATSServer) async throws -> [RunningServer] {
        var nodes: [RunningServer] = []
        for _ in 0..<count {
            nodes.append(
                try await RunningServer.start(
                    RunningServer.withoutLimits + ["--store", url.text, "--bus", nats.url]))
        }
        return nodes
    }

    private func makeGroup(_ node: RunningServer) async throws {
        let answer = try await node.admin().call(
            "PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(answer.status == 201)
    }

    @Test func `A message to one node reaches the devices of the other, with NATS, without it, and with it again`()
        async throws
    {
        let nats = try await NATSServer.start()
        let nodes = try await start(2, over: nats)
        try await makeGroup(nodes[0])
        let bob = try await Device.open(nodes[1], "bob")
        let chat = bob.conversation(.group("crew"))
        func expectDelivery(_ text: String) async throws {
            #expect(try await nodes[0].api("alice").send(text, to: "group:crew").status == 201)
            try await eventually("\(text) arrives") {
                let page = try await chat.history(limit: 5, from: .local)
                return page.messages.contains { $0.text == text } ? true : nil
            }
        }
        try await expectDelivery("one")
        nats.stop()
        try await expectDelivery("two")
        try await nats.restart()
        try await expectDelivery("three")
        await bob.close()
        for node in nodes { #expect(try await node.terminate() == 0, "\(node.log)") }
    }

    /// How NATS fails.
    enum Outage: CaseIterable {
        case killed
        /// The server keeps its connections, but reads and sends nothing.
        case paused
    }

    @Test(arguments: Outage.allCases)
    func `While NATS is unavailable, a device receives all messages of another node in order, each once`(
        outage: Outage
    ) async throws {
        let nats = try await NATSServer.start()
        let nodes = try await start(2, over: nats)
        try await makeGroup(nodes[0])
        let alice = try await Device.open(nodes[0], "alice")
        let bob = try await Device.open(nodes[1], "bob")
        let (api, received, events) = (try await nodes[0].api("alice"), DeviceLog(), bob.events)
        let watching = Task { for await event in events { received.add(event) } }
        var sent: [String] = []
        func send(_ count: Int) async throws {
            for _ in 0..<count {
                sent.append("\(sent.count + 1)")
                #expect(try await api.send("\(sent.count)", to: "group:crew").status == 201)
            }
            try await eventually("the device has \(sent.count) messages") {
                received.texts.count >= sent.count ? true : nil
            }
        }
        /// Waits for a signal to the device, which is sent only over NATS.
        func expectTyping() async throws {
            received.forgetTyping()
            try await eventually("the device sees that Alice types") {
                alice.conversation(.group("crew")).setTyping(true)
                try await Task.sleep(for: .milliseconds(50))
                alice.conversation(.group("crew")).setTyping(false)
                return received.hasTyping ? true : nil
            }
        }
        try await expectTyping()
        switch outage {
        case .killed: nats.stop()
        case .paused: nats.signal(SIGSTOP)
        }
        try await send(300)
        switch outage {
        case .killed: try await nats.restart()
        case .paused: nats.signal(SIGCONT)
        }
        try await expectTyping()
        try await send(20)
        for device in [alice, bob] { await device.close() }
        await watching.value
        #expect(received.texts == sent)
        for node in nodes { #expect(try await node.terminate() == 0, "\(node.log)") }
    }

    @Test func `A message that is sent to three nodes at the same time is stored once, and all give the same answer`()
        async throws
    {
        let nats = try await NATSServer.start()
        let nodes = try await start(3, over: nats)
        try await makeGroup(nodes[0])
        let token = try await nodes[0].token("alice")
        let apis = nodes.map { API(server: $0.url, token: token) }
        for number in 1...50 {
            let id = UUID()
            let answers = try await withThrowingTaskGroup(of: Answer.self) { tasks in
                for api in apis { tasks.addTask { try await api.send("\(number)", to: "group:crew", id: id) } }
                return try await tasks.reduce(into: [Answer]()) { $0.append($1) }
            }
            #expect(answers.map(\.status).sorted() == [200, 200, 201], "\(answers)")
            #expect(answers.map { $0.json.int("seq") } == [number, number, number], "\(answers)")
        }
        let stored = try await Device.everything(in: .group("crew"), of: nodes[1])
        #expect(stored.map(\.text) == (1...50).map { "\($0)" })
    }

    @Test func `Every node accepts the tokens, finds the messages and knows the settings of the others`() async throws {
        let nats = try await NATSServer.start()
        let nodes = try await start(2, over: nats)
        try await makeGroup(nodes[0])
        #expect(try await nodes[0].api("alice").send("albatross", to: "group:crew").status == 201)
        // The token is signed with the keys of the first node's data directory.
        let bob = API(server: nodes[1].url, token: try await nodes[0].token("bob"))
        try await eventually("the message is found") {
            let found = try await bob.call("GET", "/v1/search?text=albatross")
            return found.json.objects("hits").count == 1 ? true : nil
        }
        let change = try await nodes[1].admin().call("PUT", "/v1/settings", #"{"allowsHistoryDelete":false}"#)
        #expect(change.status == 200)
        try await eventually("the settings arrive") {
            let settings = try await nodes[0].admin().call("GET", "/v1/settings")
            return settings.json.all["allowsHistoryDelete"] as? Bool == false ? true : nil
        }
    }

    @Test func `Another node takes over the work of a killed leader`() async throws {
        let nats = try await NATSServer.start()
        let nodes = try await start(2, over: nats)
        try await makeGroup(nodes[0])
        try await eventually("a node leads") { nodes[0].log.contains("This node sends pushes") ? true : nil }
        nodes[0].kill()
        try await eventually("the other node leads") { nodes[1].log.contains("This node sends pushes") ? true : nil }
        let alice = try await nodes[1].api("alice")
        let body =
            #"{"id":"0198f7c0-0000-7000-8000-000000000001","type":"text","content":{"text":"later"},"#
            + "\"sendAt\":\"\((Date() + 2).iso8601)\"}"
        let scheduled = try await alice.call("POST", "/v1/conversations/group:crew/scheduled", body)
        #expect(scheduled.status < 300, "\(scheduled)")
        try await eventually("the message is sent") {
            let page = try await alice.call("GET", "/v1/conversations/group:crew/messages")
            return page.json.objects("messages").count == 1 ? true : nil
        }
    }

    @Test func `A server that does not share the database, and nodes, exclude each other`() async throws {
        let nats = try await NATSServer.start()
        let nodes = try await start(1, over: nats)
        let folder = try TemporaryFolder()
        let process = try RunningServer.run(
            ["serve", "--port", "0", "--data", folder.url.appending(component: "data").path, "--store", url.text],
            shell: "export SCROLLBACK_STORE_LOCK_SECONDS=0", name: "serve", folder: folder.url)
        #expect(try await process.waitForEnd() == 1)
        #expect(process.errorText.contains("another server uses"), "\(process.errorText)")
        try await makeGroup(nodes[0])
    }

    @Test func `A node starts and works while NATS is away`() async throws {
        let nats = try await NATSServer.start()
        nats.stop()
        let nodes = try await start(1, over: nats)
        try await makeGroup(nodes[0])
        #expect(try await nodes[0].api("alice").send("hello", to: "group:crew").status == 201)
        try await nats.restart()
        #expect(try await nodes[0].terminate() == 0, "\(nodes[0].log)")
    }

    @Test func `A wrong bus is one clear line that names the option`() async throws {
        let folder = try TemporaryFolder()
        func serve(_ arguments: [String]) async throws -> (code: Int32, errors: String) {
            let process = try RunningServer.run(
                ["serve", "--port", "0", "--data", folder.url.appending(component: "data").path] + arguments,
                name: "serve", folder: folder.url)
            return (try await process.waitForEnd(), process.errorText)
        }
        let wrong = try await serve(["--store", url.text, "--bus", "http://127.0.0.1:1"])
        #expect(wrong.code == 1)
        #expect(wrong.errors.contains("bus must be nats://"), "\(wrong.errors)")
        let isEmpty = "NOT EXISTS (SELECT FROM information_schema.tables WHERE table_schema = current_schema())"
        #expect(database.has(isEmpty, url), "The server created tables.")
        let without = try await serve(["--bus", "nats://127.0.0.1:1"])
        #expect(without.code == 1)
        #expect(without.errors.contains("bus requires --store"), "\(without.errors)")
    }

    @Test func `A database that lost a commit stops the nodes, and gets one new generation`() async throws {
        let nats = try await NATSServer.start()
        let nodes = try await start(2, over: nats)
        try await makeGroup(nodes[0])
        #expect(try await nodes[0].api("alice").send("hello", to: "group:crew").status == 201)
        // As after a failover to a standby that was not synchronous, when another node has already written again.
        try database.execute("UPDATE commitNote SET id = id + 1", on: url)
        for node in nodes {
            #expect(try await node.waitForEnd() != 0)
            #expect(node.log.contains("The database lost commit"), "\(node.log)")
        }
        let store = try PostgresStore(url, options: PostgresDatabase.sharedOptions)
        #expect(try Set(store.read { try $0.incarnations() }.map(\.generation)).count == 2)
    }

    @Test(.needs(.s3)) func `A node reads the files of the others, and continues their uploads`() async throws {
        let nats = try await NATSServer.start()
        let bucket = try S3Bucket()
        var nodes: [MediaServer] = []
        for _ in 0..<2 {
            let options = ["--store", url.text, "--bus", nats.url, "--files", bucket.url]
            let node = try await RunningServer.start(RunningServer.withoutLimits + options, shell: bucket.exports)
            nodes.append(try await MediaServer(on: node))
        }
        let bytes = SampleFile.noise(12_000_000, seed: 5)
        let connection = try await RawConnection(nodes[0].server)
        let upload = try await nodes[0].begin(6, length: bytes.count, on: connection)
        connection.write(Array(bytes[..<11_000_000]))
        try await eventually("the node has received most of the bytes") {
            try await nodes[0].server.metric("scrollback_media_received_bytes_total") >= 10_000_000 ? true : nil
        }
        nodes[0].server.kill()
        let offset = try #require(try await nodes[1].offset(of: upload, 6))
        #expect(offset >= 8 << 20 && offset <= 11_000_000)
        let end = try await nodes[1].append(Array(bytes[offset...]), to: upload, at: offset, 6)
        let media = try #require(end.json.string("media"), "\(end)")
        try await nodes[0].server.start()
        #expect(try await nodes[0].file(media, by: nodes[0].alice).bytes == bytes)
    }

    @Test(.needs(.s3)) func `Files without a row are deleted from the bucket, unless another node stores the row late`()
        async throws
    {
        let nats = try await NATSServer.start()
        let (bucket, folder) = (try S3Bucket(), try TemporaryFolder())
        func start(in folder: TemporaryFolder? = nil, _ variables: String = "") async throws -> RunningServer {
            let options = ["--store", url.text, "--bus", nats.url, "--files", bucket.url]
            return try await RunningServer.start(
                RunningServer.withoutLimits + options, shell: "\(bucket.exports) \(variables)", folder: folder)
        }
        /// Lets the leading node search for unused files.
        func cleanUp(_ node: RunningServer) async throws {
            try await eventually("the node leads") { node.log.contains("This node sends pushes") ? true : nil }
            let answer = try await node.admin().call("PUT", "/v1/settings", #"{"mediaRetentionDays":179}"#)
            try #require(answer.status == 200, "\(answer)")
        }
        func has(_ count: Int, _ operation: String, _ node: RunningServer) async throws -> Bool {
            let metric = #"scrollback_file_store_requests_total{operation="\#(operation)",outcome="success"} \#(count)"#
            return try await node.admin().call("GET", "/metrics").text.contains(metric + "\n")
        }
        let node = try await start(in: folder)
        let before = try await MediaServer(on: node)
        let sent = try await before.send(SampleFile.noise(999))
        // In the order in which the bucket lists them.
        let files = [SampleFile.noise(1000), SampleFile.noise(1001)].sorted { BlobID(of: $0) < BlobID(of: $1) }
        var media: [String] = []
        for file in files { media.append(try #require(try await before.upload(file).json.string("media"))) }
        #expect(try await node.terminate() == 0)
        // As if both files were stored, and the transactions with their rows were not yet committed.
        try database.execute(
            """
            CREATE TABLE late AS SELECT * FROM media WHERE id = '\(media[0])';
            DELETE FROM media WHERE id IN ('\(media[0])', '\(media[1])');
            """, on: url)
        try await node.start()
        try await cleanUp(node)
        // A file is copied before it is deleted.
        try await eventually("the node has removed both files") { try await has(2, "delete", node) ? true : nil }
        #expect(try await has(2, "copy", node))
        try database.execute("INSERT INTO media SELECT * FROM late", on: url)
        let other = try await start()
        let during = try await MediaServer(on: other)
        #expect(try await during.file(media[0], by: during.alice).bytes == files[0])
        for server in [other, node] { #expect(try await server.terminate() == 0, "\(server.log)") }
        let last = try await start(in: folder, "SCROLLBACK_FILES_REMOVAL_SECONDS=0")
        try await cleanUp(last)
        try await eventually("one file is restored, and both removed ones are deleted") {
            try await has(2, "delete", last) ? true : nil
        }
        #expect(try await has(1, "copy", last))
        let after = try await MediaServer(on: last)
        #expect(try await after.file(media[0], by: after.bob).status == 404)
        #expect(try await after.file(media[0], by: after.alice).bytes == files[0])
        #expect(try await after.file(sent.media, by: after.bob).bytes == SampleFile.noise(999))
    }
}

/// The messages and the typing that a device reports.
private final class DeviceLog: Sendable {
    private let state = Mutex<(texts: [String], hasTyping: Bool)>(([], false))

    var texts: [String] { state.withLock { $0.texts } }
    var hasTyping: Bool { state.withLock { $0.hasTyping } }
    func forgetTyping() { state.withLock { $0.hasTyping = false } }

    func add(_ event: ClientEvent) {
        state.withLock { state in
            switch event {
            case .message(let message): state.texts.append(message.text ?? "")
            case .typing(_, "alice", isTyping: true): state.hasTyping = true
            default: break
            }
        }
    }
}
