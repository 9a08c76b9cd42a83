package import ScrollbackModel

/// The first frame of a client: it authenticates the connection.
package struct HelloFrame: Sendable {
    /// The subprotocol that client and server name in the WebSocket handshake.
    package static let subprotocol = "scrollback.v1.json"
    /// The frame's `type`.
    package static let type = "hello"

    package var token: String
    /// The device's name.
    ///
    /// A new connection of the same user and device replaces the older one.
    package var device: String
    /// The newest checkpoint that the client has stored: the `lineage` of the welcome and the `checkpoint` of a frame,
    /// separated by a period.
    package var checkpoint: String?
    /// Whether the server may show the user's presence to others.
    package var sharesPresence: Bool
    /// Whether the app is in the foreground, until an `activity` request changes it.
    package var isActive: Bool

    package init(
        token: String, device: String, checkpoint: String? = nil, sharesPresence: Bool = false, isActive: Bool = true
    ) {
        self.token = token
        self.device = device
        self.checkpoint = checkpoint
        self.sharesPresence = sharesPresence
        self.isActive = isActive
    }

    /// Reads a frame.
    ///
    /// - Throws: `malformed` when the frame is not a JSON object or has another type; `invalidParameter` when a member
    ///   is missing or wrong.
    package init(_ bytes: [UInt8], limits: Limits) throws(ChatError) {
        let frame: RequestFrame
        do throws(RequestError) {
            frame = try RequestFrame(bytes)
        } catch {
            throw error.error
        }
        guard frame.type == Self.type else {
            throw ChatError(.malformed, "The first frame must be hello.", parameter: "type")
        }
        var request = RequestReader(frame: frame.members, limits: limits)
        let device: Identifier
        token = try request.required("token")
        device = try request.required("device")
        self.device = device.text
        checkpoint = try request.optional("checkpoint")
        sharesPresence = try request.omittable("presence") ?? false
        isActive = try request.omittable("active") ?? true
    }

    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("type", Self.type)
            writer.field("token", token)
            writer.field("device", device)
            writer.field("checkpoint", checkpoint)
            if sharesPresence { writer.field("presence", true) }
            if !isActive { writer.field("active", false) }
        }
        return writer.bytes
    }
}

/// The error of a frame that can't be read, with the number of the request if it is known.
package struct RequestError: Error {
    package var ref: Int64?
    package var error: ChatError
}
