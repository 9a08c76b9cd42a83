import ScrollbackModel
import Testing

@testable import Scrollback

@Suite("Who is told of changes", .timeLimit(.minutes(2)))
struct ChangeCenterTests {
    @Test("Many changes while somebody is busy are one, and those elsewhere are none of theirs")
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

    @Test("Who asks after the end is told of the state there is, and waits for nothing")
    func ended() async {
        let center = ChangeCenter()
        center.end()
        var count = 0
        for await _ in center.changes(of: .recents) { count += 1 }
        #expect(count == 1)
    }
}
