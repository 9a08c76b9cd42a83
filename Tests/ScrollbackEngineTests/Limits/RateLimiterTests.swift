import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Rate limits")
struct RateLimiterTests {
    private let start = Date(timeIntervalSince1970: 1_795_255_200)
    private let alice = Caller(user: "alice")

    private func limiter(_ perSecond: Double, burst: Double) -> RateLimiter {
        RateLimiter([.message: RateLimiter.Rate(perSecond: perSecond, burst: burst)])
    }

    @Test("A burst is allowed, and then the configured rate")
    func rate() {
        let limiter = limiter(5, burst: 10)
        for _ in 0..<10 { #expect(limiter.take(alice, .message, now: start) == nil) }
        let refusal = limiter.take(alice, .message, now: start)
        #expect(refusal?.code == .rateLimited)
        #expect(refusal?.limit == 5)
        #expect((0.2...0.202).contains(refusal?.retryAfter ?? 0))
        var sent = 0
        for tick in 1...1_000 where limiter.take(alice, .message, now: start + Double(tick) * 0.01) == nil { sent += 1 }
        #expect((49...51).contains(sent))
        #expect(limiter.refusals.first { $0.cost == .message }?.count == 1 + 1_000 - sent)
    }

    @Test("A sender who waits for `retryAfter` is allowed to send", arguments: [0.3, 1, 3, 7, 20, 333.3] as [Double])
    func waiting(_ perSecond: Double) throws {
        let limiter = limiter(perSecond, burst: 1)
        var now = start
        for _ in 0..<200 {
            #expect(limiter.take(alice, .message, now: now) == nil)
            let wait = try #require(limiter.take(alice, .message, now: now)?.retryAfter)
            now += wait
        }
    }

    @Test("One user's flood does not affect other users, and administrators are exempt")
    func others() {
        let limiter = limiter(1, burst: 1)
        #expect(limiter.take(alice, .message, now: start) == nil)
        #expect(limiter.take(alice, .message, now: start) != nil)
        #expect(limiter.take(Caller(user: "bob"), .message, now: start) == nil)
        for _ in 0..<100 { #expect(limiter.take(EngineHarness.admin, .message, now: start) == nil) }
    }

    @Test("A request takes a token for each user that it names or message that it deletes, also at the longest wait")
    func tokens() throws {
        let limiter = RateLimiter([.lookup: RateLimiter.Rate(perSecond: 10, burst: 100)])
        #expect(limiter.take(alice, .lookup, tokens: 60, now: start) == nil)
        let wait = try #require(limiter.take(alice, .lookup, tokens: 60, now: start)?.retryAfter)
        #expect((2...2.002).contains(wait))
        #expect(limiter.take(alice, .lookup, tokens: 40, now: start) == nil, "a refused request takes no token")
        let whole = try #require(limiter.take(alice, .lookup, tokens: 100, now: start)?.retryAfter)
        #expect(limiter.take(alice, .lookup, tokens: 100, now: start + whole) == nil)
        let names = (0..<7).map { UserID(known: "user-\($0)") }
        #expect(FetchUsers(users: names).tokens == 7)
        #expect(FetchPresence(users: names).tokens == 7)
        #expect(FetchPresence(users: names, isOn: false).tokens == 1)
        let ids = (1...7).map { MessageID(high: 0x7000, low: 0x8000_0000_0000_0000 | $0) }
        for audience: DeletionAudience in [.everyone, .me] {
            #expect(DeleteMessages(conversation: .group("g"), ids: ids, audience: audience).tokens == 7)
        }
    }

    @Test("A request that costs more than the burst takes the burst, also if it took a token before")
    func moreThanTheBurst() {
        let limiter = limiter(1, burst: 5)
        #expect(limiter.take(alice, .message, tokens: 20, now: start) == nil)
        #expect(limiter.take(alice, .message, now: start) != nil)
        let bob = WorkOwner(Caller(user: "bob"))
        #expect(limiter.take(bob, .message, now: start) == nil)
        #expect(limiter.take(bob, .message, tokens: 20, taken: 1, now: start) == nil)
        #expect(limiter.take(bob, .message, now: start) != nil)
    }

    @Test("The error of a request that takes many tokens names the option, their number and the time to wait")
    func textOfManyTokens() {
        let limiter = RateLimiter()
        #expect(limiter.take(alice, .write, tokens: 1_000, now: start) == nil)
        #expect(
            limiter.take(WorkOwner(alice), .write, tokens: 1_000, taken: 1, now: start)?.message
                == """
                You can make at most 50 changes per second (option --write-rate), and this request counts as 1000 of \
                them. Try again in 20 seconds.
                """)
        #expect(
            limiter.take(alice, .write, tokens: 2, now: start)?.message.hasSuffix("Try again in 1 second.") == true)
        #expect(
            limiter.take(alice, .write, now: start)?.message == "You can make at most 50 changes per second.")
    }

    @Test("A new conversation costs a token for each of its first members")
    func memberTokens() {
        for (count, tokens) in [(0, 1), (1, 1), (1_000, 1_000)] {
            let members = (0..<count).map { UserID(stringLiteral: "user\($0)") }
            #expect(PutConversation(conversation: .group("g"), settings: .init(members: members)).tokens == tokens)
        }
    }

    @Test("A change of push preferences or of a device, which can visit all conversations, costs 20 tokens")
    func pushTokens() {
        let device = PushDevice(id: "phone", service: .fcm, token: "t")
        #expect(PutPushDevice(device: device).tokens == 20)
        #expect(DeletePushDevice(device: "phone").tokens == 20)
        #expect(SetPushPreferences(PushPreferencesChange(to: PushPreferences())).tokens == 20)
    }

    @Test("Ten conversations of a report of read or delivered messages cost a token")
    func reportTokens() {
        let place = EpochPosition(seq: 1, epoch: Epoch(rawValue: 7))
        for (count, tokens) in [(0, 1), (9, 1), (10, 2), (500, 51)] {
            let delivered = DeliveryMark(conversation: .group("g"), position: place)
            #expect(ReportDelivered(Array(repeating: delivered, count: count)).tokens == tokens)
            let read = ReadMark(conversation: .group("g"), position: place)
            #expect(MarkSeveralRead(Array(repeating: read, count: count)).tokens == tokens)
        }

    }

    @Test("The standard limits let a client resume 1,000 conversations")
    func standard() {
        let limiter = RateLimiter()
        for _ in 0..<4 { #expect(limiter.take(alice, .read, tokens: 1_000, now: start) == nil) }
        for _ in 0..<10 { #expect(limiter.take(alice, .lookup, tokens: 100, now: start) == nil) }
        for _ in 0..<1_000 { #expect(limiter.take(alice, .write, now: start) == nil) }
        #expect(Set(RateLimiter.standard.keys) == Set(CostClass.limited))
    }

    @Test("The standard limits let a user delete 1,000 messages at once, and then 50 a second")
    func deletions() throws {
        let limiter = RateLimiter()
        let tokens = DeleteMessages.maximumIDs
        for _ in 0..<10 { #expect(limiter.take(alice, .write, tokens: tokens, now: start) == nil) }
        let wait = try #require(limiter.take(alice, .write, tokens: tokens, now: start)?.retryAfter)
        #expect((2...2.002).contains(wait))
        #expect(limiter.take(alice, .write, tokens: tokens, now: start + wait) == nil)
    }

    @Test("A clock that steps back neither removes nor adds allowance")
    func clockStepsBack() {
        let limiter = limiter(1, burst: 2)
        #expect(limiter.take(alice, .message, now: start) == nil)
        #expect(limiter.take(alice, .message, now: start - 100) == nil)
        #expect(limiter.take(alice, .message, now: start - 100) != nil)
        #expect(limiter.take(alice, .message, now: start - 99) == nil)
    }

    @Test("Edits and actions use the same allowance as messages")
    func changes() throws {
        let harness = try EngineHarness()
        try harness.make(.group("g"), members: ["alice"])
        let device = SessionHarness(harness, limiter: limiter(1, burst: 4)).device("alice")
        let message = harness.submission("mine")
        let group = ConversationID.group("g")
        let reaction = ActionContent(type: "reaction", value: "+1")
        let own = ActionReference.own(type: "reaction", value: "+1")
        let requests: [any FrameRequest] = [
            SendMessage(conversation: group, submission: message),
            EditMessage(
                conversation: group, id: message.id, edit: MessageEdit(.text("new")), operation: harness.newID()),
            AddAction(conversation: group, id: message.id, action: reaction, operation: harness.newID()),
            RemoveAction(conversation: group, id: message.id, action: own, operation: harness.newID()),
        ]
        for request in requests { #expect(try device.error(device.request(request)) == nil) }
        for request in requests { #expect(try device.error(device.request(request))?.code == .rateLimited) }
    }

    @Test("Frames that name no request count as reads, and requests that are refused count against their class")
    func invalidFrames() throws {
        let rate = RateLimiter.Rate(perSecond: 0.001, burst: 3)
        let limiter = RateLimiter([.read: rate, .write: rate])
        let device = SessionHarness(try EngineHarness(), limiter: limiter).device("alice")
        func code(_ ref: Int64?, _ frame: String) throws -> ChatError.Code? {
            device.receive(frame)
            return try device.error(ref)?.code
        }
        #expect(try code(1, #"{"type":"nope","ref":1}"#) == .unknownOperation)
        #expect(try code(nil, #"{"type":"hello"}"#) == .malformed)
        #expect(try code(2, #"{"ref":2}"#) == .malformed)
        #expect(try code(3, #"{"type":"nope","ref":3}"#) == .rateLimited)
        #expect(try code(4, #"{"ref":4}"#) == .rateLimited)
        // A change without a number.
        let block = #"{"type":"block","user":"bob"}"#
        for _ in 0..<3 { device.receive(block) }
        #expect(limiter.refusals.first { $0.cost == .write }?.count == 0)
        device.receive(block)
        #expect(limiter.refusals.first { $0.cost == .write }?.count == 1)
    }

    // MARK: Every request of the WebSocket

    /// A request with the examples of the documentation as its parameters.
    private static func frame<Request: Executable>(_ operation: Request.Type, ref: Int) -> String {
        let members = RequestDocumentation(of: operation).parameters
            .filter { $0.isRequired && $0.transport != .http }.map { "\"\($0.name)\":\($0.example)" }
        let type = Request.endpoint.frame ?? ""
        return "{" + ([#""type":"\#(type)""#, #""ref":\#(ref)"#] + members).joined(separator: ",") + "}"
    }

    @Test("Each request over the WebSocket counts against the limit of its class, and against no other")
    func everyRequest() throws {
        let harness = try EngineHarness()
        let rate = RateLimiter.Rate(perSecond: 0.001, burst: 1)
        let limiter = RateLimiter(Dictionary(uniqueKeysWithValues: CostClass.limited.map { ($0, rate) }))
        let sessions = SessionHarness(harness, limiter: limiter)
        let operations = OperationRegistry.all.filter { $0.endpoint.frame != nil }
        let others = CostClass.allCases.compactMap { cost in operations.first { $0.endpoint.cost == cost } }
        #expect(others.count == CostClass.allCases.count)
        for (number, operation) in operations.enumerated() {
            let device = sessions.device("user-\(number)")
            var ref = 0
            func isLimited(_ operation: any Executable.Type) throws -> Bool {
                ref += 1
                device.receive(Self.frame(operation, ref: ref))
                return try device.error(Int64(ref))?.code == .rateLimited
            }
            let (name, cost) = (operation.name, operation.endpoint.cost)
            #expect(try !isLimited(operation), "\(name) is refused at once")
            #expect(try isLimited(operation) == (cost != .free), "\(name)")
            for other in others where other.endpoint.cost != cost {
                #expect(try !isLimited(other), "\(name) counts against \(other.endpoint.cost)")
            }
        }
    }
}
