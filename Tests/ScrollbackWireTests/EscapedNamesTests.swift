import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Names of conversations as members")
struct EscapedNamesTests {
    private let odd = ConversationID.group(Identifier(known: #"a":1,"b\"#))

    @Test("Counts of conversations with quotes and backslashes in their names are read as they were written")
    func counts() throws {
        var writer = JSONWriter()
        writer.object { CountMessages.Answer(counts: [(odd, .success(3))]).writeMembers(to: &$0) }
        var reader = JSONReader(writer.text)
        let answer = try CountMessages.Answer(from: &reader)
        #expect(answer.counts.map(\.0) == [odd])
        let request = CountMessages(since: [(odd, Timetoken(rawValue: 1))])
        let frame = try RequestFrame(request.frame(ref: 1))
        var parameters = RequestReader(frame: frame.members, limits: .standard)
        #expect(try CountMessages(from: &parameters).since.map(\.conversation) == [odd])
    }
}
