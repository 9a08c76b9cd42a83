import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("SendAllowance")
struct SendRateLimiterTests {
    private let start = Date(timeIntervalSince1970: 1_795_255_200)

    @Test("A burst is allowed, and then the configured rate")
    func rate() {
        let sendLimiter = SendRateLimiter(perSecond: 5, burst: 10)
        let alice = Caller(user: "alice")
        for _ in 0..<10 { #expect(sendLimiter.take(alice, now: start) == nil) }
        let refusal = sendLimiter.take(alice, now: start)
        #expect(refusal?.code == .rateLimited)
        #expect(refusal?.limit == 5)
        #expect((0.2...0.202).contains(refusal?.retryAfter ?? 0))
        var sent = 0
        for tick in 1...1_000 where sendLimiter.take(alice, now: start + Double(tick) * 0.01) == nil { sent += 1 }
        #expect((49...51).contains(sent))
    }

    @Test("A sender who waits for `retryAfter` is allowed to send", arguments: [0.3, 1, 3, 7, 20, 333.3] as [Double])
    func waiting(_ perSecond: Double) throws {
        let sendLimiter = SendRateLimiter(perSecond: perSecond, burst: 1)
        var now = start
        for _ in 0..<200 {
            #expect(sendLimiter.take(Caller(user: "alice"), now: now) == nil)
            let wait = try #require(sendLimiter.take(Caller(user: "alice"), now: now)?.retryAfter)
            now += wait
        }
    }

    @Test("One user's flood does not affect other users, and administrators are exempt")
    func others() {
        let sendLimiter = SendRateLimiter(perSecond: 1, burst: 1)
        #expect(sendLimiter.take(Caller(user: "alice"), now: start) == nil)
        #expect(sendLimiter.take(Caller(user: "alice"), now: start) != nil)
        #expect(sendLimiter.take(Caller(user: "bob"), now: start) == nil)
        for _ in 0..<100 { #expect(sendLimiter.take(EngineHarness.admin, now: start) == nil) }
    }

    @Test("A clock that steps back neither removes nor adds allowance")
    func clockStepsBack() {
        let sendLimiter = SendRateLimiter(perSecond: 1, burst: 2)
        let alice = Caller(user: "alice")
        #expect(sendLimiter.take(alice, now: start) == nil)
        #expect(sendLimiter.take(alice, now: start - 100) == nil)
        #expect(sendLimiter.take(alice, now: start - 100) != nil)
        #expect(sendLimiter.take(alice, now: start - 99) == nil)
    }

    @Test("Edits and actions use the same allowance as messages")
    func changes() throws {
        let harness = try EngineHarness()
        try harness.make(.group("g"), members: ["alice"])
        let device = SessionHarness(harness, sendLimiter: SendRateLimiter(perSecond: 1, burst: 4)).device("alice")
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
}
