import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("SendAllowance")
struct SendAllowanceTests {
    private let start = Date(timeIntervalSince1970: 1_795_255_200)

    @Test("A burst goes through, then as many a second as are allowed")
    func rate() {
        let allowance = SendAllowance(perSecond: 5, burst: 10)
        let alice = Caller(user: "alice")
        for _ in 0..<10 { #expect(allowance.take(alice, now: start) == nil) }
        let refusal = allowance.take(alice, now: start)
        #expect(refusal?.code == .rateLimited)
        #expect(refusal?.limit == 5)
        #expect((0.2...0.202).contains(refusal?.retryAfter ?? 0))
        var sent = 0
        for tick in 1...1_000 where allowance.take(alice, now: start + Double(tick) * 0.01) == nil { sent += 1 }
        #expect((49...51).contains(sent))
    }

    @Test("Whoever waits as long as they were told to goes through", arguments: [0.3, 1, 3, 7, 20, 333.3] as [Double])
    func waiting(_ perSecond: Double) throws {
        let allowance = SendAllowance(perSecond: perSecond, burst: 1)
        var now = start
        for _ in 0..<200 {
            #expect(allowance.take(Caller(user: "alice"), now: now) == nil)
            let wait = try #require(allowance.take(Caller(user: "alice"), now: now)?.retryAfter)
            now += wait
        }
    }

    @Test("One user's flood costs another nothing, and administrators are exempt")
    func others() {
        let allowance = SendAllowance(perSecond: 1, burst: 1)
        #expect(allowance.take(Caller(user: "alice"), now: start) == nil)
        #expect(allowance.take(Caller(user: "alice"), now: start) != nil)
        #expect(allowance.take(Caller(user: "bob"), now: start) == nil)
        for _ in 0..<100 { #expect(allowance.take(World.admin, now: start) == nil) }
    }

    @Test("A clock that steps back takes nothing away and gives nothing")
    func clockStepsBack() {
        let allowance = SendAllowance(perSecond: 1, burst: 2)
        let alice = Caller(user: "alice")
        #expect(allowance.take(alice, now: start) == nil)
        #expect(allowance.take(alice, now: start - 100) == nil)
        #expect(allowance.take(alice, now: start - 100) != nil)
        #expect(allowance.take(alice, now: start - 99) == nil)
    }

    @Test("Edits and actions, added and taken off, come out of the same allowance as messages")
    func changes() throws {
        let world = try World()
        try world.make(.group("g"), members: ["alice"])
        let device = Doors(world, allowance: SendAllowance(perSecond: 1, burst: 4)).device("alice")
        let message = world.submission("mine")
        let action = ActionReference.own(type: "reaction", value: "+1")
        let requests: [ClientRequest] = [
            .send(.group("g"), message),
            .edit(.group("g"), message.id, MessageEdit(.text("new")), operation: world.newID()),
            .addAction(.group("g"), message.id, type: "reaction", value: "+1", operation: world.newID()),
            .removeAction(.group("g"), message.id, action, operation: world.newID()),
        ]
        for request in requests { #expect(try device.error(device.request(request)) == nil) }
        for request in requests { #expect(try device.error(device.request(request))?.code == .rateLimited) }
    }
}
