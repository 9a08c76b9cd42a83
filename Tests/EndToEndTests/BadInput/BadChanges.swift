/// Invalid HTTP requests that change existing messages or name several conversations.
///
/// `ONE` and `THREE` are messages by Alice, `TWO` is by Bob.
enum BadChanges {
    private static let crew = "/v1/conversations/group:crew"
    private static let one = crew + "/messages/ONE"
    private static let unknown = "0198f3c2-7c1e-7000-8000-0123456789ab"
    private static let fine = #"{"content":{"text":"x"}}"#
    private static let thumb = #"{"type":"reaction","value":"👍"}"#

    private static func list(_ count: Int, of element: (Int) -> String) -> String {
        (0..<count).map { "\"\(element($0))\"" }.joined(separator: ",")
    }

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let all: [BadRequest] = [
        edits, deletes, ranges, clears, actions, lists, fetches, counts, refreshes, settings, outside,
    ].flatMap { $0 }

    // MARK: One message

    private static let edits: [BadRequest] =
        [
            ("{}", "content"), (#"{"content":7}"#, "content"), (#"{"content":{}}"#, "type"),
            (#"{"content":{"text":7}}"#, "content"), (#"{"content":null}"#, "content"),
            (#"{"type":"text","content":{}}"#, "content"), (#"{"content":{"encrypted":{}}}"#, "encrypted"),
            (#"{"type":7,"content":{"text":"x"}}"#, "type"), (#"{"type":"a b","content":{"text":"x"}}"#, "type"),
            (#"{"type":"notice","content":{"text":"x"}}"#, "type"),
            (#"{"content":{"text":"x"},"mentions":7}"#, "mentions"),
            (#"{"content":{"text":"x"},"mentions":{"users":["a\u0000b"]}}"#, "mentions"),
            (#"{"content":{"text":"x"},"mentions":{"users":[\#(list(101) { "u\($0)" })]}}"#, "mentions"),
            (#"{"content":{"text":"x"},"metadata":[]}"#, "metadata"),
            (#"{"content":{"text":"x"},"customType":""}"#, "customType"),
            (#"{"content":{"text":"x"},"operation":"7"}"#, "operation"),
            (#"{"content":{"text":"x"},"operation":7}"#, "operation"), ("[]", "body"),
        ].map { .patch(one, $0.0, 422, "invalid-parameter", $0.1) } + [
            .patch(one, "nonsense", 400, "malformed"), .patch(one, "", 400, "malformed"),
            .patch(one, #"{"content":{"text":"\#(text(131_072))"}}"#, 413, "too-large", "content"),
            .patch(one, #"{"content":{"text":"x"},"extra":"\#(text(32_768))"}"#, 413, "too-large", "extra"),
            .patch(crew + "/messages/7", fine, 422, "invalid-parameter", "id"),
            .patch(crew + "/messages/\(unknown)", fine, 404, "unknown-message", "id"),
            .patch(crew + "/messages/TWO", fine, 403, "forbidden"),
        ]

    private static let deletes: [BadRequest] =
        [
            ("{}", "ids"), (#"{"ids":[]}"#, "ids"), (#"{"ids":null}"#, "ids"), (#"{"ids":"ONE"}"#, "ids"),
            (#"{"ids":[7]}"#, "ids"), (#"{"ids":["7"]}"#, "ids"), (#"{"ids":["ONE",""]}"#, "ids"),
            (#"{"ids":[\#(list(101) { _ in "ONE" })]}"#, "ids"), (#"{"ids":["ONE"],"for":"all"}"#, "for"),
            (#"{"ids":["ONE"],"for":7}"#, "for"), (#"{"for":"me"}"#, "ids"), (#"{"ids":[],"for":"me"}"#, "ids"),
            ("[]", "body"),
        ].map { .post(crew + "/messages/delete", $0.0, 422, "invalid-parameter", $0.1) } + [
            .post(crew + "/messages/delete", "", 400, "malformed"),
            // The server deletes all of the messages or none.
            .post(crew + "/messages/delete", #"{"ids":["ONE","TWO"]}"#, 403, "forbidden"),
            .post(crew + "/messages/delete", #"{"ids":["ONE"],"for":"me"}"#, 403, "not-member", by: .admin),
            .delete(one + "?for=all", 422, "invalid-parameter", "for"),
            .delete(one + "?for=", 422, "invalid-parameter", "for"),
            .delete(one + "?for=me&for=me", 422, "invalid-parameter", "for"),
            .delete(crew + "/messages/7", 422, "invalid-parameter", "id"),
            .delete(crew + "/messages/\(unknown)", 404, "unknown-message"),
            .delete(crew + "/messages/\(unknown)?for=me", 404, "unknown-message"),
            .delete(crew + "/messages/TWO", 403, "forbidden"),
        ]

    // MARK: Many messages

    private static let ranges: [BadRequest] =
        [
            ("", "all"), ("?all=", "all"), ("?all=false", "all"), ("?all=true&all=true", "all"),
            ("?all=true&from=seq:1", "all"), ("?all=true&to=seq:1", "all"),
            ("?from=", "from"), ("?from=now", "from"), ("?from=seq:0", "from"), ("?from=seq:1&from=seq:2", "from"),
            ("?to=7", "to"), ("?to=timetoken:-1", "to"), ("?from=seq:1&to=", "to"), ("?to=%ZZ", "to"),
            ("?from=2026-02-30T00:00:00Z", "from"), ("?all=true&operation=7", "operation"),
            ("?from=seq:2&to=seq:1", "from"), ("?from=latest&to=seq:1", "from"),
        ].map { .delete(crew + "/messages" + $0.0, 422, "invalid-parameter", $0.1, by: .admin) } + [
            .delete(crew + "/messages?from=id:\(unknown)", 404, "unknown-message", "from", by: .admin),
            .delete(crew + "/messages?to=id:\(unknown)", 404, "unknown-message", "to", by: .admin),
            .delete(crew + "/messages?all=true", 403, "forbidden"),
            .delete(crew + "/messages?from=seq:1&to=seq:2", 403, "forbidden"),
            .delete("/v1/conversations/group:nobody/messages?all=true", 404, "unknown-conversation", by: .admin),
        ]

    private static let clears: [BadRequest] =
        [
            (#"{"seq":4,"epoch":"EPOCH"}"#, "seq"), (#"{"seq":-1,"epoch":"EPOCH"}"#, "seq"),
            (#"{"seq":9223372036854775807,"epoch":"EPOCH"}"#, "seq"),
            (#"{"seq":9223372036854775808,"epoch":"EPOCH"}"#, "seq"), (#"{"seq":1.5,"epoch":"EPOCH"}"#, "seq"),
            (#"{"seq":"1","epoch":"EPOCH"}"#, "seq"), (#"{"epoch":"EPOCH"}"#, "seq"), (#"{"seq":1}"#, "epoch"),
            (#"{"seq":1,"epoch":"x"}"#, "epoch"), (#"{"seq":1,"epoch":7}"#, "epoch"), ("[]", "body"),
        ].map { .put(crew + "/clear", $0.0, 422, "invalid-parameter", $0.1) } + [
            .put(crew + "/clear", #"{"seq":1,"epoch":"1"}"#, 409, "epoch-changed", "epoch"),
            .put(crew + "/clear", "", 400, "malformed"),
            .put(crew + "/clear", #"{"seq":1,"epoch":"EPOCH"}"#, 403, "not-member", by: .admin),
        ]

    // MARK: Actions

    private static let actions: [BadRequest] =
        [
            ("{}", "type"), (#"{"type":"reaction"}"#, "value"), (#"{"value":"👍"}"#, "type"),
            (#"{"type":7,"value":"👍"}"#, "type"), (#"{"type":"reaction","value":7}"#, "value"),
            (#"{"type":"reaction","value":null}"#, "value"), (#"{"type":"","value":"👍"}"#, "type"),
            (#"{"type":"reaction","value":""}"#, "value"), (#"{"type":"\#(text(65))","value":"👍"}"#, "type"),
            (#"{"type":"reaction","value":"\#(text(129))"}"#, "value"),
            // The limit counts bytes and not characters: 129 bytes in 65 characters, and 150 bytes in 6 characters.
            (#"{"type":"reaction","value":"\#(String(repeating: "م", count: 64))x"}"#, "value"),
            (#"{"type":"reaction","value":"\#(String(repeating: "👨‍👩‍👧‍👦", count: 6))"}"#, "value"),
            (#"{"type":"reaction","value":"👍","operation":"7"}"#, "operation"), ("[]", "body"),
        ].map { .post(one + "/actions", $0.0, 422, "invalid-parameter", $0.1) } + [
            .post(one + "/actions", "", 400, "malformed"),
            .post(one + "/actions", #"{"type":"reaction","value":"\ud83d"}"#, 400, "malformed"),
            .post(crew + "/messages/7/actions", thumb, 422, "invalid-parameter", "id"),
            .post(crew + "/messages/\(unknown)/actions", thumb, 404, "unknown-message", "id"),
            .delete(one + "/actions/x", 422, "invalid-parameter", "timetoken"),
            .delete(one + "/actions/-1", 422, "invalid-parameter", "timetoken"),
            .delete(one + "/actions/18446744073709551616", 422, "invalid-parameter", "timetoken"),
            .delete(one + "/actions/18446744073709551615", 404, "unknown-message", "timetoken"),
            .delete(one + "/actions/1", 404, "unknown-message", "timetoken"),
            .delete(crew + "/messages/7/actions/1", 422, "invalid-parameter", "id"),
            .delete(crew + "/messages/\(unknown)/actions/1", 404, "unknown-message", "id"),
        ]

    private static let lists: [BadRequest] =
        [one + "/actions", crew + "/actions"].flatMap { path in
            [
                ("limit=0", "limit"), ("limit=101", "limit"), ("limit=-1", "limit"), ("limit=abc", "limit"),
                ("limit=", "limit"), ("limit=1&limit=2", "limit"), ("cursor=x", "cursor"), ("cursor=", "cursor"),
                ("cursor=-1", "cursor"), ("cursor=1&cursor=2", "cursor"),
            ].map { .get("\(path)?\($0.0)", 422, "invalid-parameter", $0.1) }
        } + [
            .get(crew + "/messages/7/actions", 422, "invalid-parameter", "id"),
            .get(crew + "/messages/\(unknown)/actions", 404, "unknown-message"),
        ]

    // MARK: Several conversations

    private static let both = #""conversations":["group:crew","direct:bob"]"#
    private static let alone = #""conversations":["group:crew"]"#

    private static let fetches: [BadRequest] =
        [
            ("{}", "conversations"), (#"{"conversations":[]}"#, "conversations"),
            (#"{"conversations":7}"#, "conversations"), (#"{"conversations":[7]}"#, "conversations"),
            (#"{"conversations":["crew"]}"#, "conversations"),
            (#"{"conversations":["group:crew","group:crew"]}"#, "conversations"),
            (#"{"conversations":[\#(list(501) { "group:g\($0)" })]}"#, "conversations"),
            (#"{\#(alone),"limit":101}"#, "limit"), (#"{\#(alone),"limit":-1}"#, "limit"),
            (#"{\#(alone),"limit":"x"}"#, "limit"), (#"{\#(alone),"limit":1.5}"#, "limit"),
            (#"{\#(both),"limit":26}"#, "limit"), (#"{\#(alone),"include":["actions"],"limit":26}"#, "limit"),
            (#"{\#(both),"include":["actions"]}"#, "conversations"), (#"{\#(alone),"include":"actions"}"#, "include"),
            (#"{\#(alone),"include":["all"]}"#, "include"), (#"{\#(alone),"include":[7]}"#, "include"),
            (#"{\#(alone),"cursor":"x"}"#, "cursor"), (#"{\#(alone),"cursors":[]}"#, "cursors"),
            (#"{"cursors":{"group:crew":7}}"#, "cursors"), (#"{"cursors":{"crew":"x"}}"#, "cursors"),
            (#"{\#(alone),"cursors":{"group:crew":"x"}}"#, "conversations"),
            (#"{\#(alone),"before":"seq:0"}"#, "before"), (#"{\#(alone),"before":{}}"#, "before"),
            (#"{\#(alone),"before":"latest","after":"earliest"}"#, "after"), (#"{\#(alone),"from":"seq:1"}"#, "to"),
            (#"{\#(alone),"around":"latest","beforeLimit":101}"#, "beforeLimit"),
            (#"{\#(alone),"around":"latest","afterLimit":-1}"#, "afterLimit"),
            (#"{\#(both),"around":"latest","afterLimit":26}"#, "afterLimit"),
            (#"{\#(alone),"sort":"up"}"#, "sort"), (#"{\#(alone),"types":[]}"#, "types"),
            (#"{\#(alone),"senders":["a\u0000b"]}"#, "senders"), ("[]", "body"),
        ].map { .post("/v1/history/fetch", $0.0, 422, "invalid-parameter", $0.1) } + [
            .post("/v1/history/fetch", "", 400, "malformed"), .get("/v1/history/fetch", 405, "method-not-allowed"),
        ]

    private static let counts: [BadRequest] =
        [
            ("{}", "since"), (#"{"since":{}}"#, "since"), (#"{"since":[]}"#, "since"), (#"{"since":null}"#, "since"),
            (#"{"since":"1"}"#, "since"), (#"{"since":{"crew":"1"}}"#, "since"),
            (#"{"since":{"group:crew":1}}"#, "since"), (#"{"since":{"group:crew":null}}"#, "since"),
            (#"{"since":{"group:crew":""}}"#, "since"), (#"{"since":{"group:crew":"-1"}}"#, "since"),
            (#"{"since":{"group:crew":"2026-01-01T00:00:00Z"}}"#, "since"),
            (#"{"since":{"group:crew":"18446744073709551616"}}"#, "since"),
            (#"{"since":{"group:crew":"1","group:crew":"2"}}"#, "since"),
            (#"{"since":{\#((0...500).map { #""group:g\#($0)":"1""# }.joined(separator: ","))}}"#, "since"),
            ("[]", "body"),
        ].map { .post("/v1/history/counts", $0.0, 422, "invalid-parameter", $0.1) } + [
            .post("/v1/history/counts", "", 400, "malformed")
        ]

    private static let refreshes: [BadRequest] =
        [
            ("{}", "messages"), (#"{"messages":[]}"#, "messages"), (#"{"messages":{}}"#, "messages"),
            (#"{"messages":["ONE"]}"#, "messages"), (#"{"messages":[{}]}"#, "id"),
            (#"{"messages":[{"id":"ONE"}]}"#, "conversation"), (#"{"messages":[{"conversation":"group:crew"}]}"#, "id"),
            (#"{"messages":[{"conversation":"group:crew","id":"7"}]}"#, "id"),
            (#"{"messages":[{"conversation":"group:crew","id":7}]}"#, "id"),
            (#"{"messages":[{"conversation":"crew","id":"ONE"}]}"#, "conversation"),
            (
                #"""
                {"messages":[\#
                \#((0...20).map { _ in #"{"conversation":"group:crew","id":"ONE"}"# }.joined(separator: ","))]}
                """#,
                "messages"
            ), ("[]", "body"),
        ].map { .post("/v1/history/refresh", $0.0, 422, "invalid-parameter", $0.1) } + [
            .post("/v1/history/refresh", "", 400, "malformed")
        ]

    // MARK: Settings

    private static let settings: [BadRequest] =
        [
            (#"{"retentionDays":0}"#, "retentionDays"), (#"{"retentionDays":-1}"#, "retentionDays"),
            (#"{"retentionDays":1.5}"#, "retentionDays"), (#"{"retentionDays":1000000000}"#, "retentionDays"),
            (#"{"retentionDays":9223372036854775808}"#, "retentionDays"), (#"{"retentionDays":"7"}"#, "retentionDays"),
            (#"{"retentionDays":null}"#, "retentionDays"), (#"{"retentionDays":[7]}"#, "retentionDays"),
            (#"{"countWindowDays":0}"#, "countWindowDays"), (#"{"countWindowDays":"30"}"#, "countWindowDays"),
            (#"{"countWindowDays":1000000000}"#, "countWindowDays"),
            (#"{"allowsHistoryDelete":0}"#, "allowsHistoryDelete"),
            (#"{"allowsHistoryDelete":null}"#, "allowsHistoryDelete"),
            (#"{"recallLowersUnread":"true"}"#, "recallLowersUnread"),
            (#"{"roomMessagesPerSecond":0}"#, "roomMessagesPerSecond"),
            (#"{"roomMessagesPerSecond":10001}"#, "roomMessagesPerSecond"),
            (#"{"groupsPerDay":0}"#, "groupsPerDay"), (#"{"fileBytesPerDay":"7"}"#, "fileBytesPerDay"),
            (#"{"roomMessagesPerSecond":"7"}"#, "roomMessagesPerSecond"),
            (#"{"bannedWords":{"words":[""]}}"#, "bannedWords.words"),
            (#"{"bannedWords":{"words":["\#(text(129))"]}}"#, "bannedWords.words"),
            (#"{"bannedWords":{"words":[\#(list(10_001) { _ in "x" })]}}"#, "bannedWords.words"),
            (#"{"bannedWords":{"action":"ask"}}"#, "bannedWords.action"),
            (#"{"webhooks":{"after":{"url":"file:///etc/passwd","secret":"\#(text(16))"}}}"#, "webhooks.after.url"),
            (#"{"webhooks":{"after":{"url":"http://x","secret":"\#(text(15))"}}}"#, "webhooks.after.secret"),
            (#"{"webhooks":{"before":{"url":"http://x"}}}"#, "webhooks.before.secret"),
            (#"{"webhooks":{"after":{"url":"http://x","secret":"\#(text(16))","foo":1}}}"#, "webhooks.after.foo"),
            (#"{"bannedWords":{"word":["x"]}}"#, "bannedWords.word"), (#"{"push":{"service":{}}}"#, "push.service"),
            // The server changes all of the settings or none.
            (#"{"allowsHistoryDelete":false,"countWindowDays":0}"#, "countWindowDays"), ("[]", "body"),
        ].map { .put("/v1/settings", $0.0, 422, "invalid-parameter", $0.1, by: .admin) } + [
            .put("/v1/settings", "", 400, "malformed", by: .admin),
            .put("/v1/settings", #"{"allowsHistoryDelete":false}"#, 403, "forbidden"),
            .get("/v1/settings", 403, "forbidden"),
        ]

    // MARK: Inaccessible conversations

    /// Requests of users without access, to conversations that do not exist, and to invalid names.
    private static let outside: [BadRequest] = [
        ("group:crew", BadRequest.Requester.carol, 404, "unknown-conversation", nil),
        ("group:strangers", .alice, 404, "unknown-conversation", nil),
        ("group:nobody", .alice, 404, "unknown-conversation", nil),
        ("crew", .alice, 422, "invalid-parameter", "conversation"),
        ("group:e%CC%81", .alice, 422, "invalid-parameter", "conversation"),
    ].flatMap {
        (name: String, who: BadRequest.Requester, status: Int, code: String, parameter: String?) -> [BadRequest] in
        let path = "/v1/conversations/\(name)"
        return [
            .patch(path + "/messages/ONE", fine, status, code, parameter, by: who),
            .delete(path + "/messages/ONE", status, code, parameter, by: who),
            .delete(path + "/messages/ONE?for=me", status, code, parameter, by: who),
            .post(path + "/messages/delete", #"{"ids":["ONE"]}"#, status, code, parameter, by: who),
            .post(path + "/messages/delete", #"{"ids":["ONE"],"for":"me"}"#, status, code, parameter, by: who),
            .delete(path + "/messages?all=true", status, code, parameter, by: who),
            .put(path + "/clear", #"{"seq":1,"epoch":"EPOCH"}"#, status, code, parameter, by: who),
            .post(path + "/messages/ONE/actions", thumb, status, code, parameter, by: who),
            .get(path + "/messages/ONE/actions", status, code, parameter, by: who),
            .get(path + "/actions", status, code, parameter, by: who),
            .delete(path + "/messages/ONE/actions/1", status, code, parameter, by: who),
            .get(path + "/search?text=one", status, code, parameter, by: who),
        ]
    }
}
