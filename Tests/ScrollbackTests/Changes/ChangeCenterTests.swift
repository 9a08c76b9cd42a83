import ScrollbackModel
import Testing

@testable import Scrollback

@Suite("Change notifications", .timeLimit(.minutes(2)))
struct ChangeCenterTests {
    @Test("Changes are coalesced while an observer is busy, and changes of other conversations are not delivered")
    func coalesces() async {
        let center = ChangeCenter()
        var swift = center.changes(of: .conversation(.group("swift"))).makeAsyncIterator()
        #expect(await swift.next() != nil)
        for _ in 0..<10 { center.changed([.group("swift"), .group("other")]) }
        #expect(await swift.next() != nil)
        center.changed([.group("other")])
        center.end()
        #expect(await swift.next() == nil)
    }

    @Test("Observing after the end delivers one change and then ends")
    func ended() async {
        let center = ChangeCenter()
        center.end()
        var count = 0
        for await _ in center.changes(of: .recents) { count += 1 }
        #expect(count == 1)
    }
}
