import ContractRows
import Foundation
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Round trips")
struct RoundTripTests {
    private func reread<Value>(
        _ write: (inout JSONWriter) -> Void, _ read: (inout JSONReader) throws(ChatError) -> Value
    ) throws -> Value {
        var writer = JSONWriter()
        write(&writer)
        var reader = try JSONReader(writer.bytes)
        let value = try read(&reader)
        try reader.end()
        return value
    }

    @Test("A message survives a round trip, with metadata and content byte for byte")
    func messages() throws {
        for message in [Sample.message, Sample.fullMessage, Sample.deletedMessage] {
            #expect(
                try reread({ message.write(to: &$0) }) { (r) throws(ChatError) in try Message(from: &r) } == message)
        }
        #expect(Sample.deletedMessage.isDeleted)
    }

    @Test("Null content decodes as the content of a tombstone, like absent content")
    func nullContent() throws {
        var writer = JSONWriter()
        Sample.deletedMessage.write(to: &writer)
        var reader = JSONReader(writer.text.replacingOccurrences(of: #""deleted":true"#, with: #""content":null"#))
        #expect(try Message(from: &reader) == Sample.deletedMessage)
    }

    @Test("Pages, heads, positions, summaries and profiles survive a round trip")
    func values() throws {
        for page in [Sample.page, Sample.filteredPage] {
            let back = try reread({ w in w.object { page.writeMembers(to: &$0) } }) { (r) throws(ChatError) in
                try LogPage(from: &r)
            }
            #expect(back == page)
        }
        #expect(
            try reread({ Sample.head.write(to: &$0) }) { (r) throws(ChatError) in try ConversationHead(from: &r) }
                == Sample.head)
        for position in Sample.positions {
            #expect(
                try reread({ position.write(to: &$0) }) { (r) throws(ChatError) in try LogPosition(from: &r) }
                    == position)
        }
        let summary = try reread({ w in w.object { Sample.summary.writeMembers(to: &$0) } }) { (r) throws(ChatError) in
            try ReadSummary(from: &r)
        }
        #expect(summary == Sample.summary)
        #expect(
            try reread({ Sample.profile.write(to: &$0) }) { (r) throws(ChatError) in try UserProfile(from: &r) }
                == Sample.profile)
        let answer = LogSyncResult(conversation: .direct("bob"), result: .success(Sample.logSync))
        let back = try reread({ answer.write(to: &$0) }) { (r) throws(ChatError) in try LogSyncResult(from: &r) }
        #expect(try back.result.get() == Sample.logSync)
        #expect(
            try reread({ Sample.problem.writeProblem(to: &$0) }) { (r) throws(ChatError) in try ChatError(problem: &r) }
                == Sample.problem)
        #expect(
            try reread({ Sample.banned.writeProblem(to: &$0) }) { (r) throws(ChatError) in try ChatError(problem: &r) }
                == Sample.banned)
    }

    @Test("A submission survives a round trip, so a retry counts as the same send")
    func submissions() throws {
        for submission in [Sample.submission, Submission(id: Sample.id, content: .text(""))] {
            let back = try reread({ w in w.object { submission.writeMembers(to: &$0) } }) { (r) throws(ChatError) in
                try Submission(from: SubmissionFields(from: &r), limits: .standard)
            }
            #expect(back == submission)
        }
    }

    @Test("Every combination of switched-off traits survives a round trip")
    func traits() throws {
        for bits in 0..<Int64(16) {
            let traits = MessageTraits(bits: bits)
            #expect(
                try reread({ traits.write(to: &$0) }) { (r) throws(ChatError) in try MessageTraits(from: &r) } == traits
            )
        }
    }

    @Test("A history query survives a round trip as a frame and as URL parameters", .rows(8), arguments: queries)
    func historyQueries(_ query: HistoryQuery) throws {
        let frame = GetHistory(conversation: .group("g"), query: query).frame(ref: 1)
        let byFrame = try GetHistory(frame: String(decoding: frame, as: UTF8.self))
        #expect(byFrame.conversation == .group("g") && byFrame.query == query)
        let address: [String: String] = ["conversation": "group:g"]
        var reader = RequestReader(path: address, query: query.parameters.values, limits: .standard)
        #expect(try GetHistory(from: &reader).query == query)
    }

    private static let queries: [HistoryQuery] = {
        let points: [HistoryPoint] = [
            .seq(1), .seq(.max), .timetoken(Sample.time), .timetoken(Timetoken(rawValue: .max)), .id(Sample.id),
            .date(Date(timeIntervalSince1970: 1_795_255_200.123)), .latest, .earliest, .firstUnread,
        ]
        let anchors: [Anchor] = points.flatMap { point in
            [.before(point), .after(point), .around(point, before: 0, after: 100), .between(point, .latest)]
        }.filter { $0 != .before(.earliest) && $0 != .after(.latest) }
        let filters: [MessageFilter] = [
            .all, Sample.filter, .types([.text]), .customTypes([nil]), .customTypes(["a"]), .customTypes(["a,b"]),
            .customTypes(
                [nil, "", "\u{301}x"].map { $0?.isEmpty == true ? "," : $0 }.reduce(into: []) { $0.insert($1) }),
            .senders(["a,b"]), .senders(["a,b", "\u{301}c"]), .senders(["a", "b", "c"]), .mentionsMe,
        ]
        return anchors.map { anchor in
            if case .around = anchor { return HistoryQuery(anchor) }
            return HistoryQuery(anchor, limit: 7, sort: .oldestFirst)
        } + filters.map { HistoryQuery(.latest, limit: 100, filter: $0) } + [
            HistoryQuery(.cursor(.init(rawValue: "x")), limit: 0)
        ]
    }()
}
