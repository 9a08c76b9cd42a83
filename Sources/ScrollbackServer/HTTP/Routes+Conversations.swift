import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    static let conversations: [Route] = [
        Route(.get, "/v1/conversations", .listConversations) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let list = try scope.list(request, also: ["kind", "muted", "unread", "include"])
            var filter = ListFilter()
            filter.kind = try list["kind"].map { (name) throws(ChatError) in try choice(name, "kind") }
            filter.isMuted = try list["muted"].map { (text) throws(ChatError) in try flag(text, "muted") }
            filter.isUnread =
                try list["unread"].map { (text) throws(ChatError) in try flag(text, "unread") } ?? false
            if let include = list["include"], include != "totals" {
                throw .invalidParameter("include", "must be totals")
            }
            let wanted = filter
            let wantsTotals = list["include"] != nil
            let (heads, next) = try await scope.read {
                try $0.recents(wanted, limit: list.limit, cursor: list.cursor, by: caller)
            }
            let totals = try await wantsTotals ? scope.read { try $0.totals(by: caller) } : nil
            return respond { writer in
                writer.key("conversations")
                writer.array(heads) { $1.write(to: &$0) }
                writer.field("cursor", next)
                if let totals {
                    writer.key("totals")
                    totals.write(to: &writer)
                }
            }
        },
        Route(.get, "/v1/communities/{target}/channels", .readConversation) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let query = try scope.list(request)
            let community = try Identifier(try scope.segment("target", context), parameter: "target")
            let after = try query.cursor.map { (text) throws(ChatError) in try Identifier(text, parameter: "cursor") }
            let (heads, next) = try await scope.read {
                try $0.channels(of: community, after: after, limit: query.limit, by: caller)
            }
            return list(heads, "channels", next?.text)
        },
        Route(.put, "/v1/conversations/{conversation}", .putConversation) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            var settings = ConversationSettings()
            try await scope.object(request) { (name, value) throws(ChatError) in
                switch name {
                case "name": settings.name = try value.null() ? nil : value.text("name", 128)
                case "avatar": settings.avatar = try value.null() ? nil : value.text("avatar", 2048)
                case "historyVisibility":
                    settings.visibility = try value.null() ? nil : value.choice("historyVisibility")
                case "frozen": settings.isFrozen = try value.null() ? nil : value.bool()
                case "capacity": settings.capacity = try value.null() ? nil : .some(value.capacity())
                case "private": settings.isPrivate = try value.null() ? nil : value.bool()
                case "retentionDays":
                    if try value.null() { return }
                    settings.retention = try value.retention()
                case "metadata":
                    if try value.null() { return }
                    let json = try value.raw()
                    guard json.isObject else { throw .invalidParameter("metadata", "must be a JSON object") }
                    settings.metadata = json
                case "members":
                    settings.members =
                        try value.null()
                        ? []
                        : value.list("members", limit: 1000) { (user) throws(ChatError) in try user.user("members") }
                default: try value.skip()
                }
            }
            try scope.engine.limits.check(attribute: settings.metadata, "metadata")
            let wanted = settings
            let isNew = try await scope.write { $0.putConversation(id, wanted, by: caller, completion: $1) }
            if wanted.retention != nil { scope.tidy.begin() }
            return respond(isNew ? .created : .ok) { $0.field("conversation", id) }
        },
        Route(.get, "/v1/conversations/{conversation}", .readConversation) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let head = try await scope.read { try $0.head(of: id, by: caller) }
            var writer = JSONWriter()
            head.write(to: &writer)
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: writer.bytes)))
        },
        Route(.delete, "/v1/conversations/{conversation}", .deleteConversation) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            try await scope.write { $0.deleteConversation(id, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
    ]

    static let members: [Route] = [
        Route(.get, "/v1/conversations/{conversation}/members", .listMembers) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let list = try scope.list(request)
            let after = try list.after()
            let page = try await scope.read { try $0.memberList(of: id, after: after, limit: list.limit, by: caller) }
            return respond { page.writeMembers(to: &$0) }
        },
        Route(.put, "/v1/conversations/{conversation}/members/{user}", .putMember) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let user = try UserID(try scope.segment("user", context))
            var role: Role?
            var mute: Mute??
            try await scope.object(request) { (name, value) throws(ChatError) in
                switch name {
                case "role": role = try value.null() ? nil : value.choice("role")
                case "mutedUntil": mute = .some(try value.null() ? nil : Mute(from: &value))
                default: try value.skip()
                }
            }
            let wanted = (role: role, mute: mute)
            let isNew = try await scope.write {
                $0.putMember(user, role: wanted.role, mute: wanted.mute, of: id, by: caller, completion: $1)
            }
            return respond(isNew ? .created : .ok) { $0.field("user", user) }
        },
        Route(.delete, "/v1/conversations/{conversation}/members/{user}", .removeMember) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let user = try UserID(try scope.segment("user", context))
            try await scope.write { $0.removeMember(user, from: id, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
    ]

    private static func choice(_ name: String, _ parameter: String) throws(ChatError) -> ConversationKind {
        guard let kind = ConversationKind(rawValue: name) else {
            throw .invalidParameter(
                parameter, "must be one of \(ConversationKind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return kind
    }

    private static func flag(_ text: String, _ parameter: String) throws(ChatError) -> Bool {
        switch text {
        case "true": true
        case "false": false
        default: throw .invalidParameter(parameter, "must be true or false")
        }
    }

    private static func list(_ heads: [ConversationHead], _ name: String, _ next: String?) -> Response {
        respond { writer in
            writer.key(name)
            writer.array(heads) { $1.write(to: &$0) }
            writer.field("cursor", next)
        }
    }
}

extension RequestScope {
    /// A place in a log: the body of what moves a position.
    func place(_ request: Request) async throws(ChatError) -> (seq: Seq, epoch: Epoch) {
        var seq: Seq?
        var epoch: Epoch?
        try await object(request) { (name, value) throws(ChatError) in
            switch name {
            case "seq": seq = try value.integer()
            case "epoch": epoch = try value.epoch()
            default: try value.skip()
            }
        }
        return (try seq.required("seq"), try epoch.required("epoch"))
    }
}

extension JSONReader {
    /// How many subscribers a room takes; nothing for any number.
    fileprivate mutating func capacity() throws(ChatError) -> Int? {
        if nextIsString {
            guard try string() == "unlimited" else {
                throw .invalidParameter("capacity", "must be a number of subscribers, or \"unlimited\"")
            }
            return nil
        }
        guard let capacity = Int(exactly: try integer()) else {
            throw .invalidParameter("capacity", "must be in range")
        }
        return capacity
    }

    /// How long a conversation's messages are kept: days, for ever, or as the server's setting says.
    fileprivate mutating func retention() throws(ChatError) -> RetentionPolicy? {
        var copy = self
        if nextIsString, try copy.string() == "default" {
            self = copy
            return nil
        }
        return try RetentionPolicy(from: &self)
    }
}
