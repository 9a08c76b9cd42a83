/// Invalid WebSocket frames that change existing messages or name several conversations.
///
/// `ONE` and `THREE` are messages by Alice, `TWO` is by Bob. Deleting ranges and server settings are not covered here.
enum BadChangeFrames {
    private static let crew = #""conversation":"group:crew""#
    private static let one = #"\#(crew),"id":"ONE""#
    private static let unknown = "0198f3c2-7c1e-7000-8000-0123456789ab"
    private static let operation = #""operation":"0198f3c2-7c1e-7000-8000-00000000000a""#
    private static let fine = #""edit":{"content":{"text":"x"}}"#
    private static let thumb = #""action":{"type":"reaction","value":"👍"}"#

    private static func list(_ count: Int, of element: (Int) -> String) -> String {
        (0..<count).map { "\"\(element($0))\"" }.joined(separator: ",")
    }

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    /// Returns an invalid frame with the expected error.
    ///
    /// - Parameter members: The JSON members besides `type` and `ref`.
    private static func frame(
        _ type: String, _ members: String, _ code: String, _ parameter: String? = nil
    ) -> BadFrame {
        BadFrame(#"{"type":"\#(type)","ref":1\#(members.isEmpty ? "" : ",")\#(members)}"#, code, parameter)
    }

    private static func wrong(_ type: String, _ cases: [(members: String, parameter: String)]) -> [BadFrame] {
        cases.map { frame(type, $0.members, "invalid-parameter", $0.parameter) }
    }

    // MARK: One message

    static let edits: [BadFrame] =
        wrong(
            "edit",
            [
                (#"\#(one),\#(operation)"#, "edit"), (#"\#(one),\#(operation),"edit":7"#, "edit"),
                (#"\#(one),\#(fine)"#, "operation"), (#"\#(one),\#(fine),"operation":7"#, "operation"),
                (#"\#(one),\#(fine),"operation":"7""#, "operation"), (#"\#(crew),\#(operation),\#(fine)"#, "id"),
                (#""id":"ONE",\#(operation),\#(fine)"#, "conversation"),
                (#"\#(crew),"id":7,\#(operation),\#(fine)"#, "id"),
                (#"\#(crew),"id":"7",\#(operation),\#(fine)"#, "id"),
                (#"\#(one),\#(operation),"edit":{}"#, "content"),
                (#"\#(one),\#(operation),"edit":{"content":7}"#, "content"),
                (#"\#(one),\#(operation),"edit":{"content":{"text":7}}"#, "content"),
                (#"\#(one),\#(operation),"edit":{"type":7,"content":{"text":"x"}}"#, "type"),
                (#"\#(one),\#(operation),"edit":{"type":"notice","content":{"text":"x"}}"#, "type"),
                (
                    #"""
                    \#(one),\#(operation),"edit":{"content":{"text":"x"},\#
                    "mentions":{"users":[\#(list(101) { "u\($0)" })]}}
                    """#,
                    "mentions"
                ),
                (#"\#(one),\#(operation),"edit":{"content":{"text":"x"},"metadata":[]}"#, "metadata"),
                (#"\#(one),\#(operation),"edit":{"content":{"text":"x"},"customType":""}"#, "customType"),
            ]) + [
            frame(
                "edit", #"\#(one),\#(operation),"edit":{"content":{"text":"\#(text(131_072))"}}"#, "too-large",
                "content"),
            frame("edit", #"\#(crew),"id":"\#(unknown)",\#(operation),\#(fine)"#, "unknown-message", "id"),
            frame("edit", #"\#(crew),"id":"TWO",\#(operation),\#(fine)"#, "forbidden"),
        ]

    static let deletes: [BadFrame] =
        wrong(
            "delete",
            [
                (crew, "ids"), (#"\#(crew),"ids":[]"#, "ids"), (#"\#(crew),"ids":null"#, "ids"),
                (#"\#(crew),"ids":"ONE""#, "ids"), (#"\#(crew),"ids":[7]"#, "ids"), (#"\#(crew),"ids":["7"]"#, "ids"),
                (#"\#(crew),"ids":[\#(list(101) { _ in "ONE" })]"#, "ids"), (#""ids":["ONE"]"#, "conversation"),
                (#"\#(crew),"ids":["ONE"],"for":"all""#, "for"), (#"\#(crew),"ids":["ONE"],"for":7"#, "for"),
                (#"\#(crew),"ids":[],"for":"me""#, "ids"),
            ]) + [
            // The server deletes all of the messages or none.
            frame("delete", #"\#(crew),"ids":["ONE","TWO"]"#, "forbidden")
        ]

    static let clears: [BadFrame] =
        wrong(
            "clear",
            [
                (#"\#(crew),"seq":4,"epoch":"EPOCH""#, "seq"), (#"\#(crew),"seq":-1,"epoch":"EPOCH""#, "seq"),
                (#"\#(crew),"seq":"1","epoch":"EPOCH""#, "seq"), (#"\#(crew),"seq":1.5,"epoch":"EPOCH""#, "seq"),
                (#"\#(crew),"seq":9223372036854775808,"epoch":"EPOCH""#, "seq"),
                (#"\#(crew),"epoch":"EPOCH""#, "seq"), (#"\#(crew),"seq":1"#, "epoch"),
                (#"\#(crew),"seq":1,"epoch":1"#, "epoch"), (#"\#(crew),"seq":1,"epoch":"x""#, "epoch"),
                (#""seq":1,"epoch":"EPOCH""#, "conversation"),
            ]) + [frame("clear", #"\#(crew),"seq":1,"epoch":"1""#, "epoch-changed", "epoch")]

    // MARK: Actions

    static let actions: [BadFrame] =
        wrong(
            "action",
            [
                (#"\#(one),\#(operation)"#, "action"), (#"\#(one),\#(operation),"action":7"#, "action"),
                (#"\#(one),\#(operation),"action":{}"#, "type"),
                (#"\#(one),\#(operation),"action":{"type":"reaction"}"#, "value"),
                (#"\#(one),\#(operation),"action":{"type":7,"value":"👍"}"#, "type"),
                (#"\#(one),\#(operation),"action":{"type":"reaction","value":7}"#, "value"),
                (#"\#(one),\#(operation),"action":{"type":"","value":"👍"}"#, "type"),
                (#"\#(one),\#(operation),"action":{"type":"reaction","value":""}"#, "value"),
                (#"\#(one),\#(operation),"action":{"type":"\#(text(65))","value":"👍"}"#, "type"),
                (
                    #"""
                    \#(one),\#(operation),"action":\#
                    {"type":"reaction","value":"\#(String(repeating: "م", count: 64))x"}
                    """#,
                    "value"
                ),
                (#"\#(one),\#(thumb)"#, "operation"), (#"\#(one),\#(thumb),"operation":"7""#, "operation"),
                (#"\#(crew),\#(operation),\#(thumb)"#, "id"), (#""id":"ONE",\#(operation),\#(thumb)"#, "conversation"),
            ]) + [
            frame("action", #"\#(crew),"id":"\#(unknown)",\#(operation),\#(thumb)"#, "unknown-message", "id")
        ]
        + wrong(
            "removeAction",
            [
                (#"\#(one),\#(operation)"#, "timetoken"), (#"\#(one),\#(operation),"timetoken":1"#, "timetoken"),
                (#"\#(one),\#(operation),"timetoken":"x""#, "timetoken"),
                (#"\#(one),\#(operation),"timetoken":"1",\#(thumb)"#, "timetoken"),
                (#"\#(one),\#(operation),"action":{"type":"reaction","value":""}"#, "value"),
                (#"\#(one),\#(thumb)"#, "operation"), (#"\#(crew),\#(operation),\#(thumb)"#, "id"),
            ]) + [
            frame("removeAction", #"\#(one),\#(operation),"timetoken":"1""#, "unknown-message", "timetoken"),
            // The message has no such action.
            frame("removeAction", #"\#(one),\#(operation),\#(thumb)"#, "unknown-message", "action"),
            frame("removeAction", #"\#(crew),"id":"\#(unknown)",\#(operation),\#(thumb)"#, "unknown-message", "id"),
        ]
        + wrong(
            "actions",
            [
                (#"\#(crew),"limit":0"#, "limit"), (#"\#(crew),"limit":101"#, "limit"),
                (#"\#(crew),"limit":-1"#, "limit"), (#"\#(crew),"limit":"1""#, "limit"),
                (#"\#(crew),"limit":1.5"#, "limit"), (#"\#(crew),"after":"x""#, "after"),
                (#"\#(crew),"after":1"#, "after"), (#"\#(crew),"id":"7""#, "id"), (#""limit":1"#, "conversation"),
            ]) + [frame("actions", #"\#(crew),"id":"\#(unknown)""#, "unknown-message")]

    // MARK: Several conversations

    private static let both = #""conversations":["group:crew","direct:bob"]"#
    private static let alone = #""conversations":["group:crew"]"#

    static let several: [BadFrame] =
        wrong(
            "fetch",
            [
                ("", "conversations"), (#""conversations":[]"#, "conversations"),
                (#""conversations":"group:crew""#, "conversations"), (#""conversations":[7]"#, "conversations"),
                (#""conversations":["crew"]"#, "conversations"),
                (#""conversations":["group:crew","group:crew"]"#, "conversations"),
                (#""conversations":[\#(list(501) { "group:g\($0)" })]"#, "conversations"),
                (#"\#(alone),"limit":101"#, "limit"), (#"\#(alone),"limit":-1"#, "limit"),
                (#"\#(alone),"limit":"x""#, "limit"), (#"\#(both),"limit":26"#, "limit"),
                (#"\#(alone),"include":["actions"],"limit":26"#, "limit"),
                (#"\#(both),"include":["actions"]"#, "conversations"), (#"\#(alone),"include":["all"]"#, "include"),
                (#"\#(alone),"cursor":"x""#, "cursor"), (#""cursors":{"group:crew":7}"#, "cursors"),
                (#"\#(alone),"before":"seq:0""#, "before"),
                (#"\#(both),"around":"latest","afterLimit":26"#, "afterLimit"),
                (#"\#(alone),"sort":"up""#, "sort"), (#"\#(alone),"types":[]"#, "types"),
            ])
        + wrong(
            "counts",
            [
                ("", "since"), (#""since":{}"#, "since"), (#""since":[]"#, "since"),
                (#""since":{"crew":"1"}"#, "since"), (#""since":{"group:crew":1}"#, "since"),
                (#""since":{"group:crew":"x"}"#, "since"),
                (#""since":{\#((0...500).map { #""group:g\#($0)":"1""# }.joined(separator: ","))}"#, "since"),
            ])
        + wrong(
            "refresh",
            [
                ("", "messages"), (#""messages":[]"#, "messages"), (#""messages":{}"#, "messages"),
                (#""messages":["ONE"]"#, "messages"), (#""messages":[{"id":"ONE"}]"#, "conversation"),
                (#""messages":[{"conversation":"group:crew","id":"7"}]"#, "id"),
                (
                    #"""
                    "messages":[\#
                    \#((0...20).map { _ in #"{"conversation":"group:crew","id":"ONE"}"# }.joined(separator: ","))]
                    """#,
                    "messages"
                ),
            ])

    // MARK: Inaccessible conversations

    /// Requests of a member to conversations that do not exist or that the member can't see.
    static let outside: [BadFrame] = ["group:strangers", "group:nobody"].flatMap { name -> [BadFrame] in
        let there = #""conversation":"\#(name)""#
        return [
            ("edit", #"\#(there),"id":"ONE",\#(operation),\#(fine)"#), ("delete", #"\#(there),"ids":["ONE"]"#),
            ("delete", #"\#(there),"ids":["ONE"],"for":"me""#), ("clear", #"\#(there),"seq":1,"epoch":"EPOCH""#),
            ("action", #"\#(there),"id":"ONE",\#(operation),\#(thumb)"#),
            ("removeAction", #"\#(there),"id":"ONE",\#(operation),\#(thumb)"#), ("actions", there),
            ("actions", #"\#(there),"id":"ONE""#), ("search", #"\#(there),"text":"one""#),
        ].map { frame($0.0, $0.1, "unknown-conversation") }
    }

    static let all: [[BadFrame]] = [edits, deletes, clears, actions, several, outside]
}
