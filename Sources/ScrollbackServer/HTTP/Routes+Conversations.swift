import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    static let conversations: [Route] = [
        Route(.get, "/v1/conversations") { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let (limit, cursor, name) = try scope.window(request, also: "kind")
            var kind: ConversationKind?
            if let name {
                guard let known = ConversationKind(rawValue: name) else {
                    throw .invalidParameter(
                        "kind", "must be one of \(ConversationKind.allCases.map(\.rawValue).joined(separator: ", "))")
                }
                kind = known
            }
            let wanted = kind
            let (heads, next) = try await scope.read {
                try $0.recents(kind: wanted, limit: limit, cursor: cursor, by: caller)
            }
            return list(heads, "conversations", next)
        },
        Route(.get, "/v1/communities/{target}/channels") { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let (limit, cursor, _) = try scope.window(request)
            let community = try Identifier(try scope.segment("target", context), parameter: "target")
            let after = try cursor.map { (text) throws(ChatError) in try Identifier(text, parameter: "cursor") }
            let (heads, next) = try await scope.read {
                try $0.channels(of: community, after: after, limit: limit, by: caller)
            }
            return list(heads, "channels", next?.text)
        },
        Route(.put, "/v1/conversations/{conversation}") { scope, request, context throws(ChatError) in
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
        Route(.get, "/v1/conversations/{conversation}") { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let head = try await scope.read { try $0.head(of: id, by: caller) }
            var writer = JSONWriter()
            head.write(to: &writer)
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: writer.bytes)))
        },
        Route(.delete, "/v1/conversations/{conversation}") { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            try await scope.write { $0.deleteConversation(id, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
        Route(.put, "/v1/conversations/{conversation}/read") { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let (place, log) = try await scope.place(request)
            let summary = try await scope.write {
                $0.read(id, seq: place, epoch: log, by: caller, completion: $1)
            }
            return respond { summary.writeMembers(to: &$0) }
        },
    ]

    static let members: [Route] = [
        Route(.get, "/v1/conversations/{conversation}/members") { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let (limit, cursor, _) = try scope.window(request)
            let after = try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") }
            let members = try await scope.read { try $0.members(of: id, after: after, limit: limit, by: caller) }
            return respond { writer in
                writer.key("members")
                writer.array(members) { $1.write(to: &$0) }
                if members.count == limit { writer.field("cursor", members.last?.id) }
            }
        },
        Route(.put, "/v1/conversations/{conversation}/members/{user}") { scope, request, context throws(ChatError) in
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
        Route(.delete, "/v1/conversations/{conversation}/members/{user}") {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            let user = try UserID(try scope.segment("user", context))
            try await scope.write { $0.removeMember(user, from: id, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
    ]

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
