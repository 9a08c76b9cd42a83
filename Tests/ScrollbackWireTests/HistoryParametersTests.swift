import ContractRows
import Foundation
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("History parameters")
struct HistoryParametersTests {
    @Test("No parameters mean the newest 20 messages", .rows(11, 17, 158))
    func defaults() throws {
        let query = try HistoryParameters([:]).query()
        #expect(query == HistoryQuery(.before(.latest), limit: 20, sort: .newestFirst, filter: .all))
        #expect(try HistoryParameters(["around": ["latest"]]).query().anchor == .around(.latest, before: 10, after: 10))
    }

    @Test(
        "Every invalid combination is refused, and the error names the invalid parameter", .rows(66),
        arguments: [
            (["cursor": ["x"], "before": ["latest"]], "cursor"),
            (["cursor": ["x"], "sort": ["newestFirst"]], "cursor"),
            (["cursor": ["x"], "types": ["text"]], "cursor"), (["cursor": ["x"], "beforeLimit": ["1"]], "cursor"),
            (["cursor": ["x", "y"]], "cursor"), (["cursor": ["x"], "limit": ["many"]], "limit"),
            (["before": ["latest"], "after": ["earliest"]], "after"),
            (["before": ["latest"], "around": ["latest"]], "around"),
            (["after": ["latest"], "from": ["earliest"], "to": ["latest"]], "from"),
            (["around": ["latest"], "from": ["earliest"]], "from"),
            (["to": ["latest"]], "from"), (["from": ["latest"]], "to"),
            (["before": ["latest"], "to": ["latest"]], "to"),
            (["after": ["latest"], "to": ["latest"]], "to"), (["around": ["latest"], "to": ["latest"]], "to"),
            (["around": ["latest"], "limit": ["5"]], "limit"), (["beforeLimit": ["5"]], "beforeLimit"),
            (["before": ["latest"], "beforeLimit": ["5"]], "beforeLimit"),
            (["after": ["latest"], "afterLimit": ["5"]], "afterLimit"),
            (["from": ["earliest"], "to": ["latest"], "afterLimit": ["5"]], "afterLimit"),
            (["limit": ["five"]], "limit"), (["limit": ["5.0"]], "limit"), (["limit": [""]], "limit"),
            (["limit": ["1", "2"]], "limit"),
            (["around": ["latest"], "beforeLimit": ["x"]], "beforeLimit"),
            (["around": ["latest"], "afterLimit": ["x"]], "afterLimit"),
            (["sort": ["up"]], "sort"), (["sort": [""]], "sort"), (["sort": ["newestFirst", "oldestFirst"]], "sort"),
            (["types": []], "types"), (["types": [""]], "types"), (["types": ["a b"]], "types"),
            (["types": ["text,"]], "types"),
            (["excludedTypes": []], "excludedTypes"), (["excludedTypes": ["é"]], "excludedTypes"),
            (["customTypes": []], "customTypes"), (["senders": []], "senders"), (["senders": [""]], "senders"),
            (["senders": ["a,,b"]], "senders"), (["senders": ["cafe\u{301}"]], "senders"),
            (["senders": [(0...100).map { "u\($0)" }.joined(separator: ",")]], "senders"),
            (["mentionsMe": ["yes"]], "mentionsMe"), (["mentionsMe": ["1"]], "mentionsMe"),
            (["before": ["latest", "earliest"]], "before"), (["before": []], "before"),
        ] as [([String: [String]], String)])
    func badCombinations(_ values: [String: [String]], _ parameter: String) {
        let error = #expect(throws: ChatError.self) { try HistoryParameters(values).query() }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == parameter)
    }

    @Test(
        "An invalid point is refused, and the error names its anchor",
        arguments: [
            "", "5", "seq", "seq:", "seq:0", "seq:-1", "seq:+1", "seq:1.5", "seq:x", "seq:9223372036854775808",
            "timetoken:",
            "timetoken:x", "timetoken:-1", "timetoken:18446744073709551616", "id:", "id:x", "Latest", "newest",
            "seq:1:2",
            "2026-13-01T00:00:00Z", "yesterday", "time:5",
        ])
    func badPoints(_ text: String) {
        for name in ["before", "after", "around"] {
            let error = #expect(throws: ChatError.self, "\(text)") { try HistoryParameters([name: [text]]).query() }
            #expect(error?.parameter == name)
            #expect(error?.code == .invalidParameter)
        }
        let from = #expect(throws: ChatError.self) {
            try HistoryParameters(["from": [text], "to": ["latest"]]).query()
        }
        #expect(from?.parameter == "from")
        let to = #expect(throws: ChatError.self) { try HistoryParameters(["from": ["latest"], "to": [text]]).query() }
        #expect(to?.parameter == "to")
    }

    @Test(
        "Every kind of point is accepted",
        arguments: [
            ("seq:5", HistoryPoint.seq(5)), ("timetoken:17952552001230007", .timetoken(Sample.time)),
            ("id:\(Sample.id)", .id(Sample.id)), ("id:\(Sample.id.description.uppercased())", .id(Sample.id)),
            ("2026-11-21T10:00:00.123Z", .date(Date(timeIntervalSince1970: 1_795_255_200.123))),
            ("2026-11-21T12:00:00+02:00", .date(Date(timeIntervalSince1970: 1_795_255_200))), ("latest", .latest),
            ("earliest", .earliest), ("firstUnread", .firstUnread),
        ])
    func points(_ text: String, _ point: HistoryPoint) throws {
        #expect(try HistoryParameters(["from": [text], "to": ["latest"]]).query().anchor == .between(point, .latest))
    }

    @Test("A list is one parameter with commas, or a repeated parameter")
    func lists() throws {
        func senders(_ given: [String]) throws -> Set<UserID>? {
            try HistoryParameters(["senders": given]).query().filter.senders
        }
        #expect(try senders(["alice"]) == ["alice"])
        #expect(try senders(["alice,bob"]) == ["alice", "bob"])
        #expect(try senders(["alice", "bob"]) == ["alice", "bob"])
        #expect(try senders(["a,b", "c"]) == ["a,b", "c"], "in a repeated parameter, a comma is part of the name")
        #expect(try HistoryParameters(["customTypes": [""]]).query().filter.customTypes == [nil])
        #expect(try HistoryParameters(["customTypes": [",a"]]).query().filter.customTypes == [nil, "a"])
        #expect(throws: ChatError.self, "the limit counts repetitions") {
            try senders(Array(repeating: "alice", count: 101))
        }
    }

    @Test("Numbers, flags and lists in a frame are JSON values")
    func frames() throws {
        func query(_ members: String) throws -> HistoryQuery {
            let text = #"{"type":"history","ref":1,"conversation":"group:g",\#(members)}"#
            return try GetHistory(frame: text).query
        }
        #expect(try query(#""limit":5"#).limit == 5)
        #expect(
            try query(#""limit":null,"senders":null"#) == HistoryQuery(.before(.latest)), "null equals an absent member"
        )
        #expect(try query(#""mentionsMe":true"#).filter.mentionsMe)
        #expect(
            try query(#""senders":["a,b"]"#).filter.senders == ["a,b"],
            "elements of a JSON array are not split at commas")
        #expect(try query(#""from":"seq:1","to":"seq:9""#).anchor == .between(.seq(1), .seq(9)))
        for (members, name) in [
            (#""limit":5.5"#, "limit"), (#""limit":true"#, "limit"), (#""limit":{}"#, "limit"),
            (#""limit":"5""#, "limit"), (#""before":5"#, "before"), (#""before":["latest"]"#, "before"),
            (#""mentionsMe":1"#, "mentionsMe"), (#""mentionsMe":"true""#, "mentionsMe"),
            (#""hasMedia":[]"#, "hasMedia"),
            (#""senders":"a,b""#, "senders"), (#""senders":[1]"#, "senders"),
            (#""senders":[]"#, "senders"), (#""types":[""]"#, "types"),
            (#""cursor":"x","limit":5,"sort":"newestFirst""#, "cursor"),
        ] {
            let error = #expect(throws: ChatError.self, "\(members)") { try query(members) }
            #expect(error?.parameter == name)
            #expect(error?.code == .invalidParameter)
        }
    }
}
