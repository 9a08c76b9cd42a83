package import ScrollbackModel
import ScrollbackWire

/// A message between nodes about connections and typing.
///
/// It is not stored, so a lost signal stays lost.
package enum NodeSignal: Hashable, Sendable {
    case directory(NodeDirectory.Message)
    /// A user types in a conversation, or has stopped. The excluded users receive nothing.
    case typing(ConversationID, UserID, isTyping: Bool, excluded: Set<UserID>)
    /// A device has opened a connection, which replaces its earlier ones.
    case opened(UserID, device: String)
    /// A user has blocked or unblocked another one, so that their presence is to be shown again.
    case blockChanged(UserID, UserID)
    /// An administrator closes the connections of a user, or those of one device.
    case close(UserID, device: String?)
    /// What a node reports about itself, every second.
    case about(NodeInfo)
    /// An administrator asks a node to stop.
    case drain(NodeID)
    /// A node has stopped.
    case left(NodeID)

    /// The JSON form.
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            switch self {
            case .directory(.change(let node, let number, let user, let connected)):
                writer.field("signal", "change")
                writer.field("from", Epoch(rawValue: node.bits))
                writer.field("number", number)
                writer.key("users")
                writer.array { writer in Self.write(user, connected, to: &writer) }
            case .directory(.beat(let node, let number)):
                writer.field("signal", "beat")
                writer.field("from", Epoch(rawValue: node.bits))
                writer.field("number", number)
            case .directory(.request(let node)):
                writer.field("signal", "request")
                writer.field("to", Epoch(rawValue: node.bits))
            case .directory(.users(let node, let number, let part, let isLast, let users)):
                writer.field("signal", "users")
                writer.field("from", Epoch(rawValue: node.bits))
                writer.field("number", number)
                writer.field("part", part)
                writer.field("isLast", isLast)
                writer.key("users")
                writer.array { writer in
                    for (user, connected) in users { Self.write(user, connected, to: &writer) }
                }
            case .typing(let id, let user, let isTyping, let excluded):
                writer.field("signal", "typing")
                writer.field("conversation", id)
                writer.field("user", user)
                writer.field("isTyping", isTyping)
                writer.key("excluded")
                writer.array(excluded.sorted()) { $0.value($1.text) }
            case .opened(let user, let device):
                writer.field("signal", "opened")
                writer.field("user", user)
                writer.field("device", device)
            case .blockChanged(let user, let other):
                writer.field("signal", "blockChanged")
                writer.field("user", user)
                writer.field("other", other)
            case .close(let user, let device):
                writer.field("signal", "close")
                writer.field("user", user)
                writer.field("device", device)
            case .about(let info):
                writer.field("signal", "about")
                writer.field("from", Epoch(rawValue: info.id.bits))
                info.writeMembers(to: &writer)
                writer.field("startedAt", info.startedAt)
                writer.field("lag", info.lag)
            case .drain(let node):
                writer.field("signal", "drain")
                writer.field("to", Epoch(rawValue: node.bits))
            case .left(let node):
                writer.field("signal", "left")
                writer.field("from", Epoch(rawValue: node.bits))
            }
        }
        return writer.bytes
    }

    private static func write(_ user: UserID, _ connected: ConnectedUser?, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("user", user)
            if let connected {
                writer.field("isInForeground", connected.isInForeground)
                writer.field("isOnline", connected.isOnline)
            }
        }
    }

    /// Reads a signal.
    ///
    /// - Returns: `nil` if this version does not know the signal.
    package init?(_ bytes: [UInt8]) throws(ChatError) {
        var fields = Fields()
        var reader = try JSONReader(bytes)
        try reader.object { (name, value) throws(ChatError) in try fields.read(name, &value) }
        guard let signal = try fields.signal() else { return nil }
        self = signal
    }

    /// The parsed members of a signal.
    private struct Fields {
        var name = ""
        var node: NodeID?
        var number: Int64?
        var part = 0
        var isLast = true
        var users: [(user: UserID, connected: ConnectedUser?)] = []
        var conversation: ConversationID?
        var user: UserID?
        var other: UserID?
        var device: String?
        var isTyping = false
        var excluded: Set<UserID> = []
        var info = NodeInfo(id: NodeID(bits: 0), name: "", version: "", startedAt: 0)

        mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) {
            switch name {
            case "signal": self.name = try value.string()
            case "from", "to": node = NodeID(bits: try value.epoch().rawValue)
            case "number": number = try value.counter()
            case "part": part = Int(try value.counter())
            case "isLast": isLast = try value.bool()
            case "users":
                try value.array { (value) throws(ChatError) in users.append(try Self.user(&value)) }
            case "conversation": conversation = try value.conversation()
            case "user": user = UserID(known: try value.string())
            case "other": other = UserID(known: try value.string())
            case "device": device = try value.string()
            case "isTyping": isTyping = try value.bool()
            case "excluded":
                try value.array { (value) throws(ChatError) in excluded.insert(UserID(known: try value.string())) }
            default: try readInfo(name, &value)
            }
        }

        private mutating func readInfo(_ name: String, _ value: inout JSONReader) throws(ChatError) {
            switch name {
            case "name": info.name = try value.string()
            case "address": info.address = try value.string()
            case "version": info.version = try value.string()
            case "startedAt": info.startedAt = try value.counter()
            case "connections": info.connections = Int(try value.counter())
            case "lag": info.lag = Int(try value.counter())
            case "isLeader": info.isLeader = try value.bool()
            case "isDraining": info.isDraining = try value.bool()
            default: try value.skip()
            }
        }

        private static func user(
            _ reader: inout JSONReader
        ) throws(ChatError) -> (user: UserID, connected: ConnectedUser?) {
            var user: UserID?
            var flags: [String: Bool] = [:]
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "user": user = UserID(known: try value.string())
                case "isInForeground", "isOnline": flags[name] = try value.bool()
                default: try value.skip()
                }
            }
            let connected = flags["isInForeground"].map {
                ConnectedUser(isInForeground: $0, isOnline: flags["isOnline"] ?? false)
            }
            return (try user.required("user"), connected)
        }

        func signal() throws(ChatError) -> NodeSignal? {
            switch name {
            case "change":
                let entry = try users.first.required("users")
                return .directory(
                    .change(
                        from: try node.required("from"), number: try number.required("number"), entry.user,
                        entry.connected))
            case "beat":
                return .directory(.beat(from: try node.required("from"), number: try number.required("number")))
            case "request": return .directory(.request(to: try node.required("to")))
            case "users":
                let connected = users.compactMap { entry in entry.connected.map { (entry.user, $0) } }
                return .directory(
                    .users(
                        from: try node.required("from"), number: try number.required("number"), part: part,
                        isLast: isLast, Dictionary(connected, uniquingKeysWith: { $1 })))
            case "typing":
                return .typing(
                    try conversation.required("conversation"), try user.required("user"), isTyping: isTyping,
                    excluded: excluded)
            case "opened": return .opened(try user.required("user"), device: try device.required("device"))
            case "blockChanged":
                return .blockChanged(try user.required("user"), try other.required("other"))
            case "close": return .close(try user.required("user"), device: device)
            case "about":
                var info = info
                info.id = try node.required("from")
                return .about(info)
            case "drain": return .drain(try node.required("to"))
            case "left": return .left(try node.required("from"))
            default: return nil
            }
        }
    }
}
