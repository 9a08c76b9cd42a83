import ScrollbackModel

/// A request over the WebSocket: its type, its number, and its members, not yet read.
package struct RequestFrame: Sendable {
    package let type: String
    /// The number that the answer carries.
    ///
    /// Every request must have one.
    package let ref: Int64?
    package let members: JSONMembers

    /// - Throws: `malformed` when the frame is not a JSON object with a `type`.
    package init(_ bytes: [UInt8]) throws(RequestError) {
        var known: Int64?
        do throws(ChatError) {
            var type: String?
            var found = JSONMembers()
            var reader = try JSONReader(bytes)
            try reader.object { (name, value) throws(ChatError) in
                var copy = value
                switch name {
                case "type": type = try copy.string()
                case "ref": known = try copy.integer()
                default: break
                }
                found.append(name, value)
                try value.skip()
            }
            try reader.end()
            guard let type else {
                throw ChatError(.malformed, "A frame must have a type.", parameter: "type")
            }
            self.type = type
            members = found
            ref = known
        } catch {
            throw RequestError(ref: known, error: error)
        }
    }

}

/// A request that a client sends over the WebSocket.
package protocol FrameRequest: Sendable {
    /// The bytes of the request's frame.
    ///
    /// - Parameter ref: The number that the answer carries.
    func frame(ref: Int64) -> [UInt8]
}

extension ClientOperation {
    package func frame(ref: Int64) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("type", Self.endpoint.frame ?? Self.name)
            writer.field("ref", ref)
            writeMembers(to: &writer)
        }
        return writer.bytes
    }
}
