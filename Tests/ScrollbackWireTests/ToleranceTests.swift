import Foundation
import ScrollbackModel
import ScrollbackWire
import Testing

/// Tests that both sides ignore unknown fields and refuse fields of the wrong type.
@Suite("Compatibility and refusals")
struct ToleranceTests {
    private typealias Object = [String: Any]

    // MARK: Newer versions

    @Test("Unknown fields are ignored in every object of every frame", arguments: Golden.all)
    func unknownFields(_ golden: Golden) throws {
        // In these frames, every member of an object must be the name of a conversation.
        guard !["client-fetch-on", "client-counts", "result-counts"].contains(golden.name) else { return }
        let plain = try JSONSerialization.jsonObject(with: Data(golden.bytes))
        let spiced = try JSONSerialization.data(withJSONObject: Self.addUnknownMembers(plain))
        let bytes = try golden.recode(Array(spiced))
        let back = try JSONSerialization.jsonObject(with: Data(bytes))
        #expect((Self.removeUnknownMembers(back) as? NSObject) == (plain as? NSObject))
    }

    /// Adds fields to every object. Fields inside content and metadata survive a round trip, because neither is parsed.
    private static func addUnknownMembers(_ value: Any) -> Any {
        if let object = value as? Object {
            var spiced = object.mapValues(addUnknownMembers)
            spiced["xNew"] = ["deep": [1, ["x": NSNull()]], "type": "hello", "seq": "wrong"] as Object
            spiced["xFlag"] = true
            return spiced
        }
        return (value as? [Any])?.map(addUnknownMembers) ?? value
    }

    private static func removeUnknownMembers(_ value: Any) -> Any {
        if let object = value as? Object {
            return object.filter { !$0.key.hasPrefix("x") || $0.key == "x" }.mapValues(removeUnknownMembers)
        }
        return (value as? [Any])?.map(removeUnknownMembers) ?? value
    }

    @Test(
        "A frame of an unknown type decodes as unknown, regardless of its members",
        arguments: ["wave", "brand-new", "x", ""])
    func unknownEvents(_ type: String) throws {
        let bytes = Array(#"{"seq":"not a number","type":"\#(type)","conversation":5}"#.utf8)
        guard case .unknown(type) = try ServerFrame.decode(bytes) else {
            Issue.record("decoded")
            return
        }
    }

    // MARK: Numbers that clients compute with

    @Test(
        "A number of a server with more than 53 bits is refused",
        arguments: [
            #"{"type":"head","conversation":"group:g","epoch":"1","seq":NUMBER,"n":1,"rev":0}"#,
            #"{"type":"head","conversation":"group:g","epoch":"1","seq":1,"n":NUMBER,"rev":0}"#,
            #"{"type":"head","conversation":"group:g","epoch":"1","seq":1,"n":1,"rev":NUMBER}"#,
            #"{"type":"head","conversation":"group:g","epoch":"1","seq":1,"n":1,"rev":0,"firstSeq":NUMBER}"#,
            #"{"type":"hidden","conversation":"group:g","epoch":"1","places":[[1,NUMBER]]}"#,
            #"{"type":"read","conversation":"direct:bob","user":"bob","readSeq":NUMBER}"#,
            #"{"type":"delivered","conversation":"direct:bob","user":"bob","deliveredSeq":NUMBER}"#,
        ])
    func largeNumbers(_ frame: String) throws {
        func decode(_ number: Int64) throws -> ServerFrame {
            try ServerFrame.decode(Array(frame.replacing("NUMBER", with: "\(number)").utf8))
        }
        guard case .event = try decode(1 << 53 - 1) else {
            Issue.record("The frame is no event.")
            return
        }
        for number in [1 << 53, Int64.max] {
            #expect(throws: ChatError.self, "\(number)") { try decode(number) }
        }
    }

    @Test(
        "A head whose lowest sequence number is not in the log is refused",
        arguments: [(12, 51), (12, 14), (0, 2), (12, 0), (12, -1)])
    func wrongFloor(head: Seq, firstSeq: Seq) throws {
        func state(_ firstSeq: Seq) throws -> LogHead {
            let json = #"{"epoch":"1","view":0,"head":\#(head),"firstSeq":\#(firstSeq),"n":0,"rev":0}"#
            var reader = JSONReader(json)
            var fields = LogHeadFields()
            try reader.object { (name, value) throws(ChatError) in
                if try !fields.read(name, &value) { try value.skip() }
            }
            return try fields.state()
        }
        #expect(throws: ChatError.self) { try state(firstSeq) }
        #expect(try state(1).firstSeq == 1)
    }

    @Test("A heartbeat interval that no timer can represent is refused", arguments: [0, -1, 86_401, Int64.max])
    func heartbeats(_ seconds: Int64) throws {
        let frame = #"{"type":"welcome","user":"alice","heartbeat":\#(seconds),"limits":{}}"#
        let error = #expect(throws: ChatError.self) { try ServerFrame.decode(Array(frame.utf8)) }
        #expect(error?.parameter == "heartbeat")
    }

    @Test(
        "A delay that no timer can represent counts as missing",
        arguments: [("1e300", nil), ("3155760001", nil), ("-5", 0), ("2.5", 2.5)] as [(String, TimeInterval?)])
    func delays(_ text: String, _ delay: TimeInterval?) throws {
        let frame = #"{"type":"error","ref":1,"code":"rate-limited","status":429,"retryAfter":\#(text)}"#
        guard case .error(1, let error) = try ServerFrame.decode(Array(frame.utf8)) else {
            Issue.record("The frame is no error.")
            return
        }
        #expect(error.retryAfter == delay)
    }

    @Test("A user with an unknown role decodes as a member, not as a former member")
    func unknownRoles() throws {
        let text = #"{"type":"member","conversation":"group:g","user":"bob","role":"guest"}"#
        guard case .event(.member(_, "bob", .member)) = try ServerFrame.decode(Array(text.utf8)) else {
            Issue.record("The frame decodes to another event.")
            return
        }
    }

    @Test("An unknown error code keeps its status and whether it is temporary")
    func unknownCodes() throws {
        let text = #"{"type":"error","ref":1,"code":"brand-new","temporary":true,"status":418,"detail":"a teapot"}"#
        guard case .error(1, let error) = try ServerFrame.decode(Array(text.utf8)) else {
            Issue.record("The frame decodes to another type.")
            return
        }
        #expect(error.code.rawValue == "brand-new")
        #expect(error.status == 418)
        #expect(error.isTemporary)
        #expect(error.message == "a teapot")
    }

    // MARK: Refusals

    /// Fields that are optional in some frame.
    private static let optional: Set<String> = [
        "cursor", "mentions", "metadata", "extra", "customType", "push", "replyTo", "flags", "everyone", "users",
        "pushText", "storeInHistory", "countsUnread", "notifies", "updatesRecents", "limit", "sort", "types",
        "excludedTypes", "customTypes", "senders", "mentionsMe", "beforeLimit", "afterLimit", "before", "after",
        "around",
        "view", "rev", "heartbeat", "limits", "frameBytes", "contentBytes", "attributeBytes", "pageSize", "temporary",
        "parameter", "retryAfter", "status", "detail", "code", "title", "sentAt", "editedAt", "deleted", "older",
        "newer",
        "voids", "messages", "heads", "done", "name", "avatar", "unread", "readSeq", "lastMessage", "muted", "pinned",
        "markedUnread", "member", "userRev", "changes", "changedThrough", "mustRefetch", "error", "message", "removed",
        "profile", "change", "content", "positions", "user", "seq",
        "from", "to", "hasMedia", "thread", "excludesReplies", "replies", "actions", "for", "conversations", "cursors",
        "include",
        "matched",
        "notMatched", "counts", "errors", "group:swift", "group:x", "indexing", "priority",
        "frozen", "mutedUntil", "altersCounts", "stopRoaming", "removedSeq", "roamSeq", "recentTime", "moved", "totals",
        "kinds",
        "direct", "group",
        "notifying",
    ]
    /// Fields that are optional elsewhere and required here.
    private static let required: [String: Set<String>] = [
        "client-send": ["message", "content"], "client-send-full": ["message", "content"], "submission": ["content"],
        "client-read": ["seq"], "client-sync-logs": ["seq"], "message": ["seq"], "message-full": ["seq"],
        "message-deleted": ["seq"], "event-message": ["message"], "event-transient": ["message", "content"],
        "event-changed": ["change", "seq"], "event-changed-removed": ["change", "rev"],
        "event-changed-invisible": ["change", "rev"], "event-head": ["seq", "rev"],
        "event-read": ["readSeq", "unread", "mentions", "seq", "rev", "userRev"], "event-peer-read": ["readSeq"],
        "event-member": ["user"], "event-member-left": ["user"], "event-user": ["profile", "user"],
        "server-welcome": ["user"], "result-read": ["readSeq", "unread", "mentions", "seq", "rev", "userRev"],
        "position": ["seq"], "profile": ["user"], "client-clear": ["seq"], "event-head-floor": ["seq", "rev"],
        "event-changed-annotated": ["change", "seq"], "result-refresh": ["error"], "result-search": ["message"],
        "client-subscribe": ["conversations"], "client-unsubscribe": ["conversations"],
        "client-typing": ["conversation", "isTyping"], "client-block": ["user"], "client-unblock": ["user"],
        "client-blocks": [], "client-send-low": ["conversation", "message"], "client-delivered": ["conversations"],
        "event-delivered": ["user"],
    ]
    /// Fields that are required elsewhere and optional here.
    private static let optionalThere: Set<String> = [
        "event-message.conversation", "event-transient.conversation", "event-resync-one.conversation",
        "event-draft.draft",
        "server-error.ref", "client-actions.id", "client-search-on.conversation", "event-head-floor.firstSeq",
        "client-edit.edit.type",
        "result-refresh.notMatched.error.type", "result-counts.errors.group:x.type",
        "problem.type", "log-sync-refused.error.type",
        "client-hello-checkpoint.checkpoint", "client-hello-sharing.presence", "client-hello-inactive.presence",
        "client-hello-inactive.active",
        "client-putMember.role", "client-invite.expiresIn", "client-invitations-to.conversation",
        "client-presence-on.on", "result-invitations.invitations.expiresAt", "event-invitation.expiresAt",
        "event-presence-gone.lastSeen", "invitation.expiresAt", "head-read.peerReadSeq",
        "head-delivered.peerDeliveredSeq", "head-delivered.deliveryReceipts",
        "client-putPushDevice.development", "client-putPushDevice.language", "client-putPushDevice.topic",
        "pushMessage.epoch", "pushMessage.link", "pushMessage-recalled.epoch", "pushMessage-recalled.omitsData",
        "pushMessage-recalled.recalled", "client-ban.until", "client-ban.reason", "client-report-text.text",
        "server-error-banned.ref",
        "server-error-banned.until", "server-error-banned.reason", "result-bans.bans.until", "result-bans.bans.reason",
    ]
    /// Fields whose error names another field.
    private static let named: [String: Set<String>] = [
        "users": ["mentions"], "scanned": ["covered"], "lower": ["lower"], "seq": ["seq", "message"],
        "everyone": ["mentions", "everyone"], "p256dh": ["keys.p256dh"], "auth": ["keys.auth"],
        // Without this field, the frame decodes as an invitation.
        "ended": ["user", "ended"],
        // The key of this value is the name of its conversation.
        "group:swift": ["cursors", "since"],
        "user": ["user", "readSeq", "epoch", "seq", "n", "unread", "mentions", "rev"],
    ]
    /// Fields that may have any type, fields that are ignored, and fields whose type has another meaning.
    private static let anything: Set<String> = [
        "extra", "content", "sentAt", "title", "deleted", "type", "x", "a", "b", "draft",
    ]

    @Test("A missing required field is refused, and the error names it", arguments: Golden.all)
    func missing(_ golden: Golden) throws {
        try forEachField(of: golden) { path, key in
            let error = Self.error { _ = try golden.recode(try Self.changed(golden, path, key, nil)) }
            let place = ([golden.name] + path.compactMap { $0 as? String } + [key]).joined(separator: ".")
            let isInHead = try Self.value(golden, path, "firstSeq") != nil && ["view", "rev"].contains(key)
            let isRequired =
                isInHead || path.isEmpty && Self.required[golden.name]?.contains(key) == true
                || Self.required[golden.name]?.contains(key) == true && !["rev", "seq"].contains(key)
            if key == "type", path.isEmpty, golden.name.contains("-"), !golden.name.hasPrefix("message") {
                #expect(error?.parameter == "type", "\(place)")
            } else if Self.optional.contains(key) && !isRequired || Self.optionalThere.contains(place) {
                if let error { #expect(error.code == .invalidParameter, "\(place): \(error)") }
            } else {
                #expect(error?.code == .invalidParameter, "\(golden.name): \(path).\(key)")
                let names = Self.named[key] ?? [key]
                #expect(
                    error?.parameter.map(names.contains) == true,
                    "\(golden.name): \(path).\(key): \(String(describing: error))")
            }
        }
    }

    @Test("A field of the wrong type is refused, and the error names it", arguments: Golden.all)
    func mistyped(_ golden: Golden) throws {
        try forEachField(of: golden) { path, key in
            guard !Self.anything.contains(key) else { return }
            let value = try Self.value(golden, path, key)
            // Null removes a value of any type.
            guard !(value is NSNull) else { return }
            let isScalar = !(value is Object) && !(value is [Any])
            for wrong: Any in isScalar ? [[:] as Object] : [5, "x"] as [Any] {
                let error = Self.error { _ = try golden.recode(try Self.changed(golden, path, key, wrong)) }
                #expect(
                    error?.code == .invalidParameter,
                    "\(golden.name): \(path).\(key) = \(wrong): \(String(describing: error))")
                let names = (Self.named[key] ?? []).union([key])
                #expect(
                    error?.parameter.map(names.contains) == true,
                    "\(golden.name): \(path).\(key): \(String(describing: error))")
            }
        }
    }

    /// Visits every parsed field. Fields inside content, metadata, extra and push are not parsed.
    private func forEachField(of golden: Golden, _ body: ([AnyHashable], String) throws -> Void) throws {
        func visit(_ value: Any, _ path: [AnyHashable]) throws {
            if let object = value as? Object {
                for (key, inner) in object {
                    try body(path, key)
                    let isOpaque = ["content", "metadata", "extra", "push", "draft"].contains(key)
                    if !isOpaque { try visit(inner, path + [key]) }
                }
            } else if let array = value as? [Any], let first = array.first {
                try visit(first, path + [0])
            }
        }
        try visit(try JSONSerialization.jsonObject(with: Data(golden.bytes)), [])
    }

    private static func changed(_ golden: Golden, _ path: [AnyHashable], _ key: String, _ new: Any?) throws -> [UInt8] {
        func change(_ value: Any, _ path: ArraySlice<AnyHashable>) -> Any {
            guard let step = path.first else {
                var object = value as? Object ?? [:]
                object[key] = new
                return object
            }
            if let name = step as? String, var object = value as? Object {
                object[name] = object[name].map { change($0, path.dropFirst()) }
                return object
            }
            var array = value as? [Any] ?? []
            array[0] = change(array[0], path.dropFirst())
            return array
        }
        let plain = try JSONSerialization.jsonObject(with: Data(golden.bytes))
        return Array(try JSONSerialization.data(withJSONObject: change(plain, path[...])))
    }

    private static func value(_ golden: Golden, _ path: [AnyHashable], _ key: String) throws -> Any? {
        var value: Any? = try JSONSerialization.jsonObject(with: Data(golden.bytes))
        for step in path {
            if let name = step as? String {
                value = (value as? Object)?[name]
            } else {
                value = (value as? [Any])?.first
            }
        }
        return (value as? Object)?[key]
    }

    private static func error(_ body: () throws -> Void) -> ChatError? {
        do {
            try body()
            return nil
        } catch {
            return error as? ChatError ?? (error as? RequestError)?.error ?? ChatError(.internalError, "\(error)")
        }
    }

    private func refusal(_ text: String) -> RequestError? {
        do throws(RequestError) {
            _ = try RequestFrame(Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    /// The error of a request, and its ref.
    private func refusal<Request: ClientOperation>(
        of operation: Request.Type, _ text: String
    ) -> (ref: Int64?, error: ChatError)? {
        do throws(RequestError) {
            let frame = try RequestFrame(Array(text.utf8))
            do throws(ChatError) {
                var reader = RequestReader(frame: frame.members, limits: .standard)
                _ = try Request(from: &reader)
                _ = try frame.ref.required("ref")
                return nil
            } catch {
                return (frame.ref, error)
            }
        } catch {
            return (error.ref, error.error)
        }
    }

    @Test(
        "Text that is not a JSON object is malformed and has no ref",
        arguments: ["", "hello", "x[]", "{", #"{"type":"ping","ref":1"#, #"{"type":"ping","ref":1}}"#])
    func notJSON(_ text: String) {
        #expect(refusal(text)?.error.code == .malformed)
        let error = Self.error { _ = try ServerFrame.decode(Array(text.utf8)) }
        #expect(error?.code == .malformed)
    }

    @Test("The error of a refused request has the ref, regardless of its position")
    func refs() throws {
        let read = refusal(
            of: MarkRead.self, #"{"conversation":"group:g","seq":"x","type":"read","epoch":"1","ref":5}"#)
        #expect(read?.ref == 5 && read?.error.parameter == "seq")
        #expect(try RequestFrame(Array(#"{"ref":6,"type":"send","conversation":"nowhere"}"#.utf8)).ref == 6)
        #expect(refusal(of: Ping.self, #"{"type":"ping"}"#)?.error.parameter == "ref")
        #expect(refusal(#"{"ref":6}"#)?.error.parameter == "type")
    }

    // MARK: Limits

    @Test("Content, metadata, extra and push above their limits are refused as too large")
    func sizes() throws {
        let limits = Limits(frameBytes: 100, contentBytes: 20, attributeBytes: 10, pageSize: 100)
        func error(_ members: String) -> ChatError? {
            Self.error {
                let text =
                    #"{"type":"send","ref":1,"conversation":"group:g","message":{"id":"\#(Sample.id)","type":"app:x",\#(members)}}"#
                _ = try SendMessage(frame: text, limits: limits)
            }
        }
        #expect(error(#""content":{"a":"0123456789"}"#) == nil)
        for (members, name, limit) in [
            (#""content":{"a":"0123456789012345"}"#, "content", 20),
            (#""content":{},"metadata":{"a":"01234"}"#, "metadata", 10),
            (#""content":{},"extra":"0123456789""#, "extra", 10), (#""content":{},"push":{"a":"01234"}"#, "push", 10),
        ] {
            let error = error(members)
            #expect(error?.code == .tooLarge)
            #expect(error?.status == 413)
            #expect(error?.parameter == name)
            #expect(error?.limit == limit)
        }
    }

    @Test("Lists and numbers out of range are refused with parameter and limit")
    func ranges() {
        func positions(_ count: Int) -> String {
            let one = #"{"conversation":"group:g","epoch":"1","seq":0}"#
            return
                #"{"type":"sync","ref":1,"positions":[\#(Array(repeating: one, count: count).joined(separator: ","))]}"#
        }
        #expect(refusal(of: SyncConversations.self, positions(100)) == nil)
        #expect(refusal(of: SyncConversations.self, positions(101))?.error.parameter == "positions")
        #expect(refusal(of: SyncConversations.self, positions(101))?.error.limit == 100)
        func position(_ seq: Int) -> String { #""conversation":"group:g","epoch":"1","seq":\#(seq)"# }
        for (type, list) in [("sync", "positions"), ("readMany", "conversations"), ("delivered", "conversations")] {
            func parameter(_ members: String) -> String? {
                let text = #"{"type":"\#(type)","ref":1,"\#(list)":[{\#(members)}]}"#
                return switch type {
                case "sync": refusal(of: SyncConversations.self, text)?.error.parameter
                case "readMany": refusal(of: MarkSeveralRead.self, text)?.error.parameter
                default: refusal(of: ReportDelivered.self, text)?.error.parameter
                }
            }
            #expect(parameter(position(0)) == nil)
            #expect(parameter(position(-1)) == "seq")
        }
        for name in ["rev", "view"] {
            let text = #"{"type":"sync","ref":1,"positions":[{\#(position(0)),"\#(name)":-1}]}"#
            #expect(refusal(of: SyncConversations.self, text)?.error.parameter == name)
        }
        for limit in ["0", "501", "-1"] {
            let error = refusal(of: SyncConversations.self, #"{"type":"sync","ref":1,"limit":\#(limit)}"#)
            #expect(error?.error.parameter == "limit")
            #expect(error?.error.limit == 500)
        }
        let many = Array(repeating: #""room:a""#, count: 501).joined(separator: ",")
        #expect(
            refusal(of: Subscribe.self, #"{"type":"subscribe","ref":1,"conversations":[\#(many)]}"#)?.error.parameter
                == "conversations")
        for (type, list) in [
            ("subscribe", #""conversations":["g"]"#), ("fetch", #""conversations":["g"]"#),
            ("fetch", #""cursors":{"g":"x"}"#), ("counts", #""since":{"g":"1"}"#),
        ] {
            let text = #"{"type":"\#(type)","ref":1,\#(list)}"#
            let error =
                switch type {
                case "subscribe": refusal(of: Subscribe.self, text)?.error
                case "fetch": refusal(of: FetchHistory.self, text)?.error
                default: refusal(of: CountMessages.self, text)?.error
                }
            #expect(list.hasPrefix("\"\(error?.parameter ?? "")\""))
        }
        let hello = Array(#"{"type":"hello","token":"t","device":""}"#.utf8)
        #expect(Self.error { _ = try HelloFrame(hello, limits: .standard) }?.parameter == "device")
    }

    @Test("Optional members may be null")
    func nulls() throws {
        let text = #"""
            {"type":"send","ref":1,"conversation":"group:g","message":{"id":"\#(Sample.id)","type":"text","content":{"text":"a"},
            "mentions":null,"metadata":null,"extra":null,"customType":null,"push":null,"replyTo":null,"flags":null}}
            """#
        #expect(try SendMessage(frame: text).submission == Submission(id: Sample.id, content: .text("a")))
        #expect(refusal(#"{"type":"hello","token":"t","device":"d","checkpoint":null}"#) == nil)
        let history = #"{"type":"history","ref":1,"conversation":"group:g","before":null,"types":null}"#
        #expect(try GetHistory(frame: history).query == HistoryQuery())
    }
}
