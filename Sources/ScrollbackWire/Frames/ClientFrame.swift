package import ScrollbackModel

/// What a device sends over the WebSocket, one JSON object a text frame.
package enum ClientFrame: Sendable {
    case hello(Hello)
    case request(ref: Int64, ClientRequest)

    package struct Hello: Sendable {
        package var token: String
        /// Names this device among the user's; another connection of the same device replaces the first.
        package var device: String
        /// Where the last pass of `sync` ended.
        package var cursor: String?
        /// Whether others may be told that the user is there.
        package var sharesPresence: Bool
        /// Foreground or background, until `activity` says otherwise.
        package var isActive: Bool

        package init(
            token: String, device: String, cursor: String?, sharesPresence: Bool = false, isActive: Bool = true
        ) {
            self.token = token
            self.device = device
            self.cursor = cursor
            self.sharesPresence = sharesPresence
            self.isActive = isActive
        }
    }

    /// The subprotocol both sides name in the handshake.
    package static let subprotocol = "scrollback.v1.json"
}

extension ClientFrame {
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            switch self {
            case .hello(let hello):
                writer.field("type", "hello")
                writer.field("token", hello.token)
                writer.field("device", hello.device)
                writer.field("cursor", hello.cursor)
                if hello.sharesPresence { writer.field("presence", true) }
                if !hello.isActive { writer.field("active", false) }
            case .request(let ref, let request):
                writer.field("type", request.name)
                writer.field("ref", ref)
                request.writeMembers(to: &writer)
            }
        }
        return writer.bytes
    }

    /// - Throws: `malformed` when it is not a JSON object with a known `type`; else an error about the member that is
    ///   wrong, with the frame's `ref` where it has one.
    package static func decode(_ bytes: [UInt8], limits: Limits) throws(RequestError) -> ClientFrame {
        var fields = ClientFields()
        do {
            var reader = try JSONReader(bytes)
            // The type and the ref first, wherever they stand: what the other members mean depends on them.
            var first = reader
            try first.object { (name, value) throws(ChatError) in
                switch name {
                case "type": fields.type = try value.string()
                case "ref": fields.ref = try value.integer()
                default: try value.skip()
                }
            }
            try first.end()
            try fields.checkType()
            try reader.object { (name, value) throws(ChatError) in try fields.read(name, &value) }
            return try fields.frame(limits: limits)
        } catch {
            throw RequestError(ref: fields.ref, error: error)
        }
    }
}

/// Why a frame was not understood, and which request it was.
package struct RequestError: Error {
    package var ref: Int64?
    package var error: ChatError
}
