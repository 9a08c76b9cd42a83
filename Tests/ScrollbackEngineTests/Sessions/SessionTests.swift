import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Session")
struct SessionTests {
    private let group = ConversationID.group("g")

    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        return harness
    }

    private func sendResult(_ device: Device, _ ref: Int64) throws -> SendResult {
        try device.answer(ref) { try SendResult(from: &$0) }
    }

    // MARK: Hello

    @Test("The answer to hello is a welcome with the user, the heartbeat and the limits")
    func welcome() throws {
        let device = SessionHarness(try harness()).device("alice")
        guard case .welcome(let welcome) = try #require(try device.transport.frames.first) else {
            Issue.record("The first frame is not a welcome.")
            return
        }
        #expect(welcome.user == "alice")
        #expect(welcome.heartbeat == 30)
        #expect(welcome.limits == .standard)
        #expect(try device.transport.frames.count == 1)
        #expect(device.closes.isEmpty)
    }

    @Test(
        "Any other first frame closes the connection with 4001, and later requests get no answer",
        arguments: [
            #"{"type":"ping","ref":1}"#, "hello", "", "[]", #"{"type":"hello"}"#, #"{"type":"hello","token":"alice"}"#,
            #"{"type":"hello","token":5,"device":"a"}"#, #"{"type":"hello","token":"alice","device":""}"#,
        ])
    func badFirstFrames(_ text: String) throws {
        let sessions = SessionHarness(try harness())
        let device = sessions.connect()
        device.receive(text)
        #expect(device.closes == [.badToken])
        device.hello("alice")
        device.request(Ping())
        #expect(try device.transport.frames.isEmpty)
        #expect(device.closes == [.badToken])
        #expect(sessions.harness.engine.hub.isEmpty)
    }

    @Test("The close frame after a wrong hello names the wrong member")
    func closeTextOfWrongHello() throws {
        let device = SessionHarness(try harness()).connect()
        device.receive(#"{"type":"hello","token":"alice"}"#)
        #expect(device.transport.closeTexts == ["The first frame must be a valid hello: device is missing"])
    }

    @Test(
        "An invalid token closes the connection with 4001, and an expired token with 4003",
        arguments: [("forged", CloseReason.badToken), ("old", .tokenExpired)])
    func badTokens(_ token: String, _ reason: CloseReason) throws {
        let sessions = SessionHarness(try harness())
        let device = sessions.device(token)
        #expect(device.closes == [reason])
        #expect(reason.rawValue == (token == "old" ? 4003 : 4001))
        #expect(try device.transport.frames.isEmpty)
        #expect(sessions.harness.engine.hub.isEmpty)
    }

    @Test("A second hello is refused, and the connection stays open")
    func doubleHello() throws {
        let device = SessionHarness(try harness()).device("alice")
        device.hello("bob")
        #expect(try device.error(nil)?.code == .malformed)
        #expect(device.closes.isEmpty)
        let ref = device.request(
            SendMessage(
                conversation: group, submission: Submission(id: MessageID(high: 9, low: 9), content: .text("as alice")))
        )
        #expect(try sendResult(device, ref).outcome == .committed)
        #expect(try SessionHarness(try harness()).device("alice").isWelcome)
    }

    @Test("Requests directly after hello wait for the welcome and are answered in order")
    func pipelined() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        sessions.verifier.hold()
        let device = sessions.connect()
        device.hello("alice")
        let sends = (0..<5).map {
            device.request(SendMessage(conversation: group, submission: harness.submission("\($0)")))
        }
        sessions.offload.hold()
        sessions.verifier.release()
        let later = device.request(SendMessage(conversation: group, submission: harness.submission("5")))
        #expect(try device.transport.frames.isEmpty)
        sessions.offload.release()
        let last = device.request(SendMessage(conversation: group, submission: harness.submission("6")))
        #expect(try device.isWelcome)
        #expect(
            try (sends + [later, last]).map { try sendResult(device, $0).position?.seq } == (1...7).map { Seq($0) })
        #expect(try harness.page(of: group, by: "alice").texts == (0...6).reversed().map { "\($0)" })
    }

    @Test("A client that sends more than 16 KiB before its token is verified is disconnected with 1009")
    func flood() throws {
        let sessions = SessionHarness(try harness())
        sessions.verifier.hold()
        let device = sessions.connect()
        device.hello("alice")
        let frame = Array(repeating: UInt8(ascii: " "), count: 8 << 10)
        for _ in 0..<2 { device.session.receive(frame) }
        #expect(device.closes.isEmpty)
        device.session.receive([UInt8(ascii: " ")])
        #expect(device.closes == [.frameTooLarge])
        sessions.verifier.release()
        #expect(try device.transport.frames.isEmpty)
        #expect(sessions.harness.engine.hub.isEmpty)

        // The hello itself has the same limit.
        let large = sessions.connect()
        large.hello(String(repeating: "x", count: 16 << 10))
        #expect(large.closes == [.frameTooLarge])
    }

    @Test("A verified client can send a whole frame before its session is ready, and no more")
    func verifiedFlood() throws {
        let sessions = SessionHarness(try harness())
        let device = sessions.connect()
        let largest = Limits.standard.frameBytes
        // The transport sends the welcome while the session is not yet ready.
        device.transport.atFrame {
            device.session.receive(Array(repeating: UInt8(ascii: " "), count: largest))
            #expect(device.closes.isEmpty)
            device.session.receive([UInt8(ascii: " ")])
        }
        device.hello("alice")
        #expect(device.closes == [.frameTooLarge])
    }

    // MARK: The number of connections

    @Test("A user can open connections up to the limit, and the next one is refused with 4029 before its welcome")
    func connectionLimit() throws {
        let sessions = SessionHarness(try harness(), maximumConnections: 3)
        let devices = (1...3).map { sessions.device("alice", "device \($0)") }
        #expect(devices.allSatisfy { $0.closes.isEmpty })
        let refused = sessions.device("alice", "device 4")
        #expect(refused.closes == [.tooManyConnections])
        #expect(refused.closes.first?.rawValue == 4029)
        #expect(try refused.transport.frames.isEmpty)
        #expect(sessions.harness.engine.hub.connections(of: "alice").count == 3)

        // A device that connects again replaces its own connection. Other users and administrators are not affected.
        let again = sessions.device("alice", "device 3")
        #expect(again.closes.isEmpty && devices[2].closes == [.replaced])
        #expect(sessions.device("bob").closes.isEmpty)
        #expect((1...9).allSatisfy { sessions.device("admin alice", "console \($0)").closes.isEmpty })
    }

    @Test("A connection that ends makes place for another of the same user")
    func connectionLimitAfterClose() throws {
        let sessions = SessionHarness(try harness(), maximumConnections: 1)
        let first = sessions.device("alice", "phone")
        #expect(sessions.device("alice", "laptop").closes == [.tooManyConnections])
        first.session.disconnected()
        #expect(sessions.device("alice", "laptop").closes.isEmpty)
    }

    @Test("Connections that open at the same time never exceed the limit")
    func concurrentConnectionLimit() throws {
        let sessions = SessionHarness(try harness(), maximumConnections: 2)
        for _ in 0..<50 {
            let devices = (0..<6).map { _ in sessions.connect() }
            DispatchQueue.concurrentPerform(iterations: 6) { devices[$0].hello("alice", "device \($0)") }
            let open = devices.count { $0.closes.isEmpty }
            #expect(open <= 2)
            #expect(sessions.harness.engine.hub.connections(of: "alice").count == open)
            for device in devices { device.session.disconnected() }
            #expect(sessions.harness.engine.hub.isEmpty)
        }
    }

    @Test("A session that closes during hello leaves nothing behind", arguments: ["verifying", "opening", "both"])
    func closedDuringHello(_ moment: String) throws {
        let sessions = SessionHarness(try harness())
        if moment != "opening" { sessions.verifier.hold() }
        if moment != "verifying" { sessions.offload.hold() }
        let device = sessions.connect()
        device.hello("alice")
        if moment == "both" { sessions.verifier.release() }
        device.session.disconnected()
        sessions.verifier.release()
        sessions.offload.release()
        #expect(sessions.harness.engine.hub.isEmpty)
        #expect(try device.transport.frames.isEmpty)
    }

    @Test("A connection without a hello has no user, and its end affects no other connection")
    func endWithoutHello() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        // A user can have any valid ID, also one that reads like a placeholder.
        let other = sessions.device("nobody")
        let ends: [(Device) -> Void] = [
            { $0.session.disconnected() }, { $0.hello("forged") },
            { $0.session.tick(now: harness.clock.now + Session.helloTimeout) },
        ]
        for end in ends {
            let device = sessions.connect()
            #expect(device.session.user.text.isEmpty)
            end(device)
            #expect(harness.engine.hub.connections(of: "nobody").map { $0 === other.session } == [true])
            #expect(other.closes.isEmpty)
        }
    }

    @Test("A session that closes at the moment of its welcome leaves nothing behind")
    func closedAtWelcome() throws {
        let sessions = SessionHarness(try harness())
        let device = sessions.connect()
        device.transport.atFrame { device.session.disconnected() }
        device.hello("alice")
        #expect(try device.isWelcome)
        #expect(sessions.harness.engine.hub.isEmpty)
    }

    @Test("A session leaves nothing behind, regardless of how it ends")
    func closedSessionsLeaveNothingBehind() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        try harness.put(.room("r"))
        let ends: [(Device) -> Void] = [
            { $0.session.disconnected() }, { $0.session.close(.restarting) },
            { $0.session.tick(now: harness.clock.now + 1_000) },
            { device in
                device.session.disconnected()
                device.session.close(.normal)
                device.session.disconnected()
            },
        ]
        for end in ends {
            let device = sessions.device("alice")
            device.request(Subscribe([.room("r")]))
            #expect(!harness.engine.hub.isEmpty)
            end(device)
            #expect(harness.engine.hub.isEmpty)
            #expect(harness.engine.hub.connections(of: "alice").isEmpty)
            device.request(Ping())
            #expect(device.closes.count <= 1)
        }
    }

    @Test("A new connection of a device closes the old one with 4009, and connections of other devices stay")
    func replaced() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (first, tablet, bobs) = (
            sessions.device("alice"), sessions.device("alice", "tablet"), sessions.device("bob")
        )
        let second = sessions.device("alice")
        #expect(first.closes == [.replaced])
        #expect(first.closes.first?.rawValue == 4009)
        #expect(second.closes.isEmpty && tablet.closes.isEmpty && bobs.closes.isEmpty)
        try harness.send("hi", to: group, by: "bob")
        #expect(try first.messages.isEmpty)
        #expect(try second.texts == ["hi"])
        #expect(try tablet.texts == ["hi"])
        #expect(harness.engine.hub.connections(of: "alice").count == 2)
    }

    @Test("If several connections of one device send hello at once, exactly one stays")
    func concurrentHellosLeaveOneConnection() throws {
        let harness = try EngineHarness()
        let sessions = SessionHarness(harness)
        for _ in 0..<50 {
            let devices = (0..<4).map { _ in sessions.connect() }
            DispatchQueue.concurrentPerform(iterations: 4) { devices[$0].hello("alice") }
            #expect(devices.count { $0.closes.isEmpty } == 1)
            #expect(devices[3].closes.isEmpty)
            #expect(devices.flatMap(\.closes).allSatisfy { $0 == .replaced })
            #expect(harness.engine.hub.connections(of: "alice").count == 1)
            for device in devices { device.session.disconnected() }
            #expect(harness.engine.hub.isEmpty)
        }
    }

    @Test("A connection that a device gave up does not replace its new one, even if its hello is processed later")
    func abandonedConnection() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (abandoned, current) = (sessions.connect(), sessions.connect())
        current.hello("alice")
        abandoned.hello("alice")
        #expect(current.closes.isEmpty)
        #expect(abandoned.closes == [.replaced])
        try harness.send("hi", to: group, by: "bob")
        #expect(try current.texts == ["hi"])
        #expect(harness.engine.hub.connections(of: "alice").count == 1)
    }

    @Test("Revoking a user's tokens closes the user's connections with 4010, even during hello")
    func revoked() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        sessions.offload.hold()
        let late = sessions.device("alice", "tablet")
        harness.clock.advance(by: 1)
        try harness.perform(RevokeTokens(user: "alice"), by: EngineHarness.admin)
        sessions.offload.release()
        #expect(alice.closes == [.signedOut])
        #expect(alice.closes.first?.rawValue == 4010)
        #expect(late.closes == [.signedOut])
        #expect(bob.closes.isEmpty)
        try harness.send("secret", to: group, by: "bob")
        #expect(try alice.messages.isEmpty)
        #expect(try late.messages.isEmpty)
    }

    // MARK: Time

    @Test("A connection closes with 4003 when its token expires, unless the client sent a new token")
    func expiry() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let device = sessions.device("alice for 60")
        let renewing = sessions.device("bob for 60")
        harness.clock.advance(by: 59)
        for device in [device, renewing] {
            device.request(Ping())
            device.session.tick(now: harness.clock.now)
        }
        #expect(device.closes.isEmpty)
        let ref = renewing.request(RenewToken(token: "bob for 60"))
        let forged = renewing.request(RenewToken(token: "forged"))
        let foreign = renewing.request(RenewToken(token: "alice"))
        #expect(try renewing.answer(ref) { try $0.skip() } == ())
        #expect(try renewing.error(forged)?.code == .invalidToken)
        #expect(try renewing.error(foreign)?.code == .forbidden)
        harness.clock.advance(by: 1)
        for device in [device, renewing] { device.session.tick(now: harness.clock.now) }
        #expect(device.closes == [.tokenExpired])
        #expect(device.closes.first?.rawValue == 4003)
        #expect(renewing.closes.isEmpty)
        device.session.tick(now: harness.clock.now + 500)
        #expect(device.closes.count == 1)
        harness.clock.advance(by: 60)
        renewing.session.tick(now: harness.clock.now)
        #expect(renewing.closes == [.tokenExpired])
    }

    @Test("A connection without a hello is closed with 4001 after 10 seconds, whatever else it sends")
    func helloTimeout() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (silent, verifying) = (sessions.connect(), sessions.connect())
        sessions.verifier.hold()
        harness.clock.advance(by: 9)
        // The time that the server needs to verify the token does not count.
        verifying.hello("alice")
        for device in [silent, verifying] { device.session.tick(now: harness.clock.now) }
        #expect(silent.closes.isEmpty)
        harness.clock.advance(by: 1)
        for device in [silent, verifying] { device.session.tick(now: harness.clock.now) }
        #expect(silent.closes == [.badToken])
        sessions.verifier.release()
        #expect(try verifying.isWelcome)
        harness.clock.advance(by: 10)
        verifying.session.tick(now: harness.clock.now)
        #expect(verifying.closes.isEmpty)
    }

    @Test("A silent connection is closed, and a ping keeps a connection open")
    func silentConnectionIsClosed() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (quiet, alive) = (sessions.device("alice"), sessions.device("bob"))
        for _ in 0..<4 {
            harness.clock.advance(by: 25)
            let ref = alive.request(Ping())
            #expect(try alive.answer(ref) { try $0.skip() } == ())
            for device in [quiet, alive] { device.session.tick(now: harness.clock.now) }
        }
        #expect(quiet.closes == [.normal])
        #expect(alive.closes.isEmpty)
        #expect(!harness.engine.hub.connections(of: "bob").isEmpty)
        #expect(harness.engine.hub.connections(of: "alice").isEmpty)
    }

    // MARK: Requests

    @Test(
        "A send's result goes to its connection, and its event to the sender's other devices and other members"
    )
    func sendResultsGoToTheirConnection() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (phone, tablet, bob) = (
            sessions.device("alice"), sessions.device("alice", "tablet"), sessions.device("bob")
        )
        let ref = phone.request(SendMessage(conversation: group, submission: harness.submission("hi")))
        let result = try sendResult(phone, ref)
        #expect(result.outcome == .committed)
        #expect(try phone.events.isEmpty)
        for other in [tablet, bob] {
            let message = try #require(try other.messages.first)
            #expect(try other.events.count == 1)
            #expect((message.seq, message.id, message.timetoken) == (1, result.id, result.timetoken))
            #expect(message.epoch == result.position?.epoch)
        }
        // A command too, although it has no position.
        let command = phone.request(SendMessage(conversation: group, submission: harness.submission(type: .command)))
        #expect(try sendResult(phone, command).outcome == .delivered)
        #expect(try phone.events.isEmpty)
        guard case .transient(let received) = try #require(try bob.events.last) else {
            Issue.record("The last event is not a transient message.")
            return
        }
        #expect(received.sender == "alice")
        #expect(received.conversation == group)
    }

    @Test("A retry gets a result and causes no event")
    func retries() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        let submission = harness.submission("once")
        let refs = [
            alice.request(SendMessage(conversation: group, submission: submission)),
            alice.request(SendMessage(conversation: group, submission: submission)),
        ]
        #expect(try refs.map { try sendResult(alice, $0).outcome } == [.committed, .duplicate])
        #expect(try bob.messages.count == 1)
    }

    @Test("Sends are appended in the order of their frames, regardless of other requests between them")
    func sendOrder() throws {
        let harness = try EngineHarness(execution: .thread)
        try harness.make(group, members: ["alice", "bob"])
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        for index in 0..<200 {
            alice.request(SendMessage(conversation: group, submission: harness.submission("\(index)")))
            if index % 10 == 0 { alice.request(GetHistory(conversation: group, query: HistoryQuery(limit: 5))) }
            if index % 17 == 0 { alice.request(Ping()) }
        }
        harness.engine.commits.close()
        #expect(try bob.texts == (0..<200).map { "\($0)" })
        let results = try alice.transport.frames.compactMap { frame -> Seq? in
            guard case .result(_, let body) = frame else { return nil }
            var reader = try JSONReader(body)
            return (try? SendResult(from: &reader))?.position?.seq
        }
        #expect(results == Array(1...200))
    }

    @Test("Every kind of request gets a result with its ref")
    func requests() throws {
        let harness = try harness()
        try harness.put(.room("r"))
        for _ in 1...5 { try harness.send(to: group, by: "bob") }
        let device = SessionHarness(harness).device("alice")
        let state = try harness.head(group, "alice").state
        let page: LogPage = try device.answer(
            device.request(GetHistory(conversation: group, query: HistoryQuery(limit: 2)))
        ) {
            try LogPage(from: &$0)
        }
        #expect(page == (try harness.page(limit: 2, of: group, by: "alice")))
        let read: ReadSummary = try device.answer(
            device.request(MarkRead(conversation: group, seq: 3, epoch: state.epoch))
        ) {
            try ReadSummary(from: &$0)
        }
        #expect((read.readSeq, read.unread) == (3, 2))
        let window: HeadWindow = try device.answer(device.request(SyncConversations.window(cursor: nil, limit: 10))) {
            try HeadWindow(from: &$0)
        }
        #expect(window.isDone)
        #expect(window.heads.map(\.conversation) == [group])
        let positions = [LogPosition(conversation: group, epoch: state.epoch, view: 0, seq: 4, rev: 0)]
        var logs: [LogSyncResult] = []
        try device.answer(device.request(SyncConversations.logs(positions))) { reader in
            try reader.object { (name, value) throws(ChatError) in
                guard name == "logs" else { return try value.skip() }
                logs = try value.list("logs", limit: 10) { (log) throws(ChatError) in try LogSyncResult(from: &log) }
            }
        }
        #expect(try logs.first?.result.get().page.seqs == [5])
        for request in [
            Subscribe([.room("r")]), Unsubscribe([.room("r")]), SetActivity(isActive: false),
            RenewToken(token: "alice"), Ping(),
        ] as [any FrameRequest] {
            let ref = device.request(request)
            #expect(try device.answer(ref) { try $0.skip() } == ())
        }
    }

    @Test("A refused request gets an error with its ref, and the connection stays open")
    func refusals() throws {
        let harness = try harness()
        let device = SessionHarness(harness).device("alice")
        let epoch = try harness.head(group, "alice").state.epoch
        let refs: [(any FrameRequest, ChatError.Code)] = [
            (GetHistory(conversation: .group("nowhere"), query: HistoryQuery()), .unknownConversation),
            (GetHistory(conversation: group, query: HistoryQuery(limit: 1_000)), .invalidParameter),
            (SendMessage(conversation: .group("nowhere"), submission: harness.submission()), .unknownConversation),
            (MarkRead(conversation: group, seq: 99, epoch: epoch), .invalidParameter),
            (MarkRead(conversation: group, seq: 0, epoch: Epoch(rawValue: 1)), .epochChanged),
            (SyncConversations.window(cursor: "nonsense", limit: 5), .invalidParameter),
            (Subscribe([.room("nowhere")]), .unknownConversation),
            (GetHistory(conversation: group, query: HistoryQuery(.before(.id(harness.newID())))), .unknownMessage),
        ]
        for (request, code) in refs {
            let ref = device.request(request)
            #expect(try device.error(ref)?.code == code, "\(request)")
        }
        device.receive("not JSON")
        #expect(try device.error(nil)?.code == .malformed)
        device.receive(#"{"type":"teleport","ref":99}"#)
        #expect(try device.error(99)?.code == .unknownOperation)
        #expect(device.closes.isEmpty)
        let ref = device.request(Ping())
        #expect(try device.answer(ref) { try $0.skip() } == ())
    }

    @Test(
        "A message that is refused with 429 and sent again after `retryAfter` is stored before the next message",
        .history(18))
    func rateLimits() throws {
        let harness = try harness()
        let sessions = SessionHarness(
            harness, limiter: RateLimiter([.message: RateLimiter.Rate(perSecond: 2, burst: 3)]))
        let device = sessions.device("alice")
        for _ in 0..<3 { device.request(SendMessage(conversation: group, submission: harness.submission("before"))) }
        let (one, two) = (harness.submission("m1"), harness.submission("m2"))
        let refused = try #require(try device.error(device.request(SendMessage(conversation: group, submission: one))))
        #expect(refused.code == .rateLimited)
        #expect(refused.status == 429)
        #expect(refused.isTemporary)
        // A client has one send in flight, so m2 waits for m1.
        harness.clock.advance(by: try #require(refused.retryAfter))
        #expect(
            try sendResult(device, device.request(SendMessage(conversation: group, submission: one))).position?.seq == 4
        )
        harness.clock.advance(by: 1)
        #expect(
            try sendResult(device, device.request(SendMessage(conversation: group, submission: two))).position?.seq == 5
        )
        #expect(try harness.page(limit: 2, of: group, by: "bob").texts == ["m2", "m1"])
    }

    // MARK: Events

    @Test("A direct conversation has the peer's name on each side")
    func directNames() throws {
        let harness = try EngineHarness()
        let sessions = SessionHarness(harness)
        let (alice, tablet, bob) = (
            sessions.device("alice"), sessions.device("alice", "tablet"), sessions.device("bob")
        )
        alice.request(SendMessage(conversation: .direct("bob"), submission: harness.submission("hi")))
        #expect(try bob.messages.map(\.conversation) == [.direct("alice")])
        #expect(try tablet.messages.map(\.conversation) == [.direct("bob")])
        #expect(try alice.messages.isEmpty)
        // The conversation with oneself.
        alice.request(SendMessage(conversation: .direct("alice"), submission: harness.submission("notes")))
        #expect(try tablet.messages.map(\.conversation) == [.direct("bob"), .direct("alice")])
        #expect(try bob.messages.count == 1)
        let names = try alice.events.compactMap(\.conversation)
        #expect(Set(names).isSubset(of: [.direct("bob"), .direct("alice")]), "\(names)")
    }

    @Test("A system conversation has the service's name")
    func systemNames() throws {
        let harness = try EngineHarness()
        let alice = SessionHarness(harness).device("alice")
        try harness.send(harness.submission("pay"), to: .system(to: "alice", from: "billing"), by: EngineHarness.admin)
        #expect(try alice.messages.map(\.conversation) == [.system("billing")])
    }

    @Test("A read reaches the reader's devices with counts, and the peer without counts")
    func readEvents() throws {
        let harness = try EngineHarness()
        for _ in 1...3 { try harness.send("hi", to: .direct("bob"), by: "alice") }
        let sessions = SessionHarness(harness)
        let (alice, bob, tablet) = (sessions.device("alice"), sessions.device("bob"), sessions.device("bob", "tablet"))
        let epoch = try harness.head(.direct("alice"), "bob").state.epoch
        bob.request(MarkRead(conversation: .direct("alice"), seq: 2, epoch: epoch))
        guard case .read(.direct("alice"), let summary) = try #require(try tablet.events.last) else {
            Issue.record("The last event is not a read.")
            return
        }
        #expect((summary.readSeq, summary.unread, summary.seq, summary.countedIndex) == (2, 1, 3, 3))
        guard case .peerRead(.direct("bob"), "bob", 2) = try #require(try alice.events.last) else {
            Issue.record("The last event is not a read of the peer.")
            return
        }
        #expect(try alice.events.count == 1)
    }

    @Test("A new member receives messages immediately, and a removed member receives none")
    func joining() throws {
        let harness = try harness()
        let carol = SessionHarness(harness).device("carol")
        try harness.send("before", to: group, by: "alice")
        try harness.join(group, "carol")
        try harness.send("with", to: group, by: "alice")
        try harness.leave(group, "carol")
        try harness.send("after", to: group, by: "alice")
        #expect(try carol.texts == ["with"])
        let roles = try carol.events.compactMap { event -> String? in
            if case .member(group, "carol", let role) = event { return role?.rawValue ?? "left" }
            return nil
        }
        #expect(roles == ["member", "left"])
    }

    @Test("Subscribers receive the messages of channels and rooms until they unsubscribe")
    func subscribing() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice", "bob", "carol"])
        try harness.put(.room("r"))
        let sessions = SessionHarness(harness)
        let carol = sessions.device("carol")
        let (alice, bob, zoe) = (sessions.device("alice"), sessions.device("bob"), sessions.device("zoe"))
        let channel = ConversationID.community("c", channel: "default")
        var heads: [ConversationHead] = []
        let ref = alice.request(Subscribe([.community("c"), .room("r")]))
        try alice.answer(ref) { reader in
            try reader.object { (name, value) throws(ChatError) in
                guard name == "heads" else { return try value.skip() }
                heads = try value.list("heads", limit: 9) { (head) throws(ChatError) in
                    try ConversationHead(from: &head)
                }
            }
        }
        #expect(heads.map(\.conversation) == [channel, .room("r")])
        zoe.request(Subscribe([.room("r")]))
        try harness.send("in channel", to: .community("c"), by: "bob")
        try harness.send("in room", to: .room("r"), by: "bob")
        #expect(try alice.texts == ["in channel", "in room"])
        #expect(try carol.texts.isEmpty)
        #expect(try bob.texts == ["in channel"], "bob's devices get his own messages, so that they don't count them")
        #expect(try zoe.texts == ["in room"])
        alice.request(Unsubscribe([.community("c"), .room("r")]))
        try harness.send("later", to: .community("c"), by: "bob")
        try harness.send("later", to: .room("r"), by: "bob")
        #expect(try alice.texts.count == 2)
        #expect(try zoe.texts.count == 2)
    }

    @Test("Mentioned members without a subscription get the message once, and former members don't")
    func mentionsInChannels() throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("c", channel: "default")
        try harness.make(.community("c"), members: ["alice", "bob", "carol", "dave"])
        let sessions = SessionHarness(harness)
        let (alice, bob, carol, outsider) = (
            sessions.device("alice"), sessions.device("bob"), sessions.device("carol"), sessions.device("zoe")
        )
        alice.request(Subscribe([channel]))
        let origin = sessions.device("dave")
        for (text, mentions) in [
            ("plain", nil), ("to bob", Mentions.users(["bob", "alice", "zoe"])), ("to all", .everyone(also: ["bob"])),
        ] {
            origin.request(SendMessage(conversation: channel, submission: harness.submission(text, mentions: mentions)))
        }
        #expect(try alice.texts == ["plain", "to bob", "to all"])
        #expect(try bob.texts == ["to bob", "to all"])
        #expect(try carol.texts == ["to all"])
        #expect(try origin.texts.isEmpty)
        #expect(try outsider.texts.isEmpty)
        try harness.leave(.community("c"), "bob")
        origin.request(
            SendMessage(conversation: channel, submission: harness.submission("after", mentions: .users(["bob"]))))
        origin.request(
            SendMessage(conversation: channel, submission: harness.submission("after", mentions: .everyone())))
        #expect(try bob.texts.count == 2)
    }

    @Test("A subscription to several conversations fails as a whole if one of them is refused")
    func allOrNothing() throws {
        let harness = try EngineHarness()
        try harness.put(.room("r"))
        let zoe = SessionHarness(harness).device("zoe")
        let ref = zoe.request(Subscribe([.room("r"), .room("nowhere")]))
        #expect(try zoe.error(ref)?.code == .unknownConversation)
        try harness.send("hi", to: .room("r"), by: "alice")
        #expect(try zoe.messages.isEmpty)
    }

    @Test("Community members get one head for each changed channel, and none for private channels of others")
    func headAnnouncements() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice", "bob"])
        let secret = ConversationID.community("c", channel: "secret")
        try harness.put(secret, .init(isPrivate: true, members: ["bob"]))
        let sessions = SessionHarness(harness)
        let (alice, zoe, bob) = (sessions.device("alice"), sessions.device("zoe"), sessions.device("bob"))
        for _ in 1...5 { try harness.send("hi", to: .community("c"), by: "bob") }
        try harness.send("hush", to: secret, by: "bob")
        #expect(try alice.events.isEmpty)
        harness.engine.hub.announceChannelHeads()
        harness.engine.hub.announceChannelHeads()
        func heads(_ device: Device) throws -> [String] {
            try device.events.compactMap { event in
                if case .head(let id, let update) = event { return "\(id) \(update.seq) \(update.countedIndex)" }
                return nil
            }
        }
        #expect(try heads(alice) == ["community:c/default 5 5"])
        #expect(try heads(bob) == ["community:c/default 5 5"])
        #expect(try zoe.events.isEmpty)
        #expect(try bob.texts.suffix(1) == ["hush"], "members receive a private channel without a subscription")
        #expect(try alice.messages.isEmpty)
    }

    @Test(
        "An answer has as many heads as fit and names the rest, and omits invisible conversations"
    )
    func headsFitTheAnswerLimit() throws {
        let harness = try harness()
        let names = (0..<8).map { ConversationID.group(Identifier(known: "long\($0)")) }
        let text = String(repeating: "x", count: 100_000)
        for name in names {
            try harness.make(name, members: ["alice", "bob"])
            try harness.send(text, to: name, by: "bob")
        }
        try harness.make(.group("secret"), members: ["bob"])
        try harness.put(.room("r"))
        try harness.ban("alice", from: .room("r"))
        let device = SessionHarness(harness).device("alice")
        func ask(_ ids: [ConversationID]) throws -> (heads: [ConversationID], rest: [ConversationID]) {
            var found: (heads: [ConversationID], rest: [ConversationID]) = ([], [])
            let ref = device.request(GetHeads(ids))
            let _: Void = try device.answer(ref) { reader in
                try reader.object { (name, value) throws(ChatError) in
                    switch name {
                    case "heads":
                        found.heads = try value.list("heads", limit: 500) { (head) throws(ChatError) in
                            try ConversationHead(from: &head).conversation
                        }
                    case "rest":
                        found.rest = try value.list("rest", limit: 500) { (id) throws(ChatError) in
                            try id.conversation()
                        }
                    default: try value.skip()
                    }
                }
            }
            return found
        }
        let first = try ask(names + names + [.group("secret"), .room("r"), group])
        #expect(first.heads == Array(names.prefix(6)))
        #expect(first.rest.prefix(2) == names.suffix(2)[...])
        let second = try ask(first.rest)
        #expect(second.heads.contains(names[7]) && second.rest.isEmpty == second.heads.contains(group))
        #expect(try ask([.group("secret"), .room("r"), group]).heads == [group])
    }

    @Test("Changes to a conversation reach its members")
    func conversationEvents() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (alice, zoe) = (sessions.device("alice"), sessions.device("zoe"))
        try harness.put(group, .init(name: "new"))
        try harness.delete(group)
        let changes = try alice.events.compactMap { event -> Bool? in
            if case .conversation(group, let isDeleted) = event { return isDeleted }
            return nil
        }
        #expect(changes == [false, true])
        #expect(try zoe.events.isEmpty)
    }

    @Test("A change to a user's profile reaches the user's own devices")
    func profileEvents() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        _ = try harness.done {
            harness.engine.putUser("alice", .init(name: "Alice"), by: Caller(user: "alice"), completion: $0)
        }
        guard case .user(let profile) = try #require(try alice.events.last) else {
            Issue.record("The last event is not a profile.")
            return
        }
        #expect(profile.name == "Alice")
        #expect(try bob.events.isEmpty)
    }
}
