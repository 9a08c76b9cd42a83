package import ScrollbackModel

extension PushDevice: ListElement {
    package static let listName = "devices"
    package static let schema = JSONSchema.component("PushDevice")

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("device", id)
            writeMembers(to: &writer)
        }
    }

    /// Writes all members except the ID.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("service", service.rawValue)
        writer.field("token", token)
        writer.field("topic", topic)
        writer.field("language", language)
        if isDevelopment { writer.field("development", true) }
        if let keys {
            writer.key("keys")
            writer.object { writer in
                writer.field("p256dh", keys.p256dh)
                writer.field("auth", keys.auth)
            }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var name: String?
        var fields = PushDeviceFields()
        try reader.object { (member, value) throws(ChatError) in
            if member == "device" {
                name = try value.string()
            } else if try !fields.read(member, &value) {
                try value.skip()
            }
        }
        self = try fields.device(Identifier(try name.required("device"), parameter: "device"))
    }
}

/// The parsed members of a device except its ID.
package struct PushDeviceFields {
    private var service: PushService?
    private var token: String?
    private var topic: String?
    private var language: String?
    private var isDevelopment = false
    private var keys: WebPushKeys?

    package init() {}

    /// Reads one JSON member.
    ///
    /// - Returns: Whether the member belongs to a device.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "service": service = try value.choice("service")
        case "token": token = try value.string()
        case "topic": topic = try value.null() ? nil : value.string()
        case "language": language = try value.null() ? nil : value.string()
        case "development": isDevelopment = try value.bool()
        case "keys": keys = try value.null() ? nil : WebPushKeys(from: &value)
        default: return false
        }
        return true
    }

    package func device(_ id: Identifier) throws(ChatError) -> PushDevice {
        try PushDevice(
            id: id, service: service.required("service"), token: token.required("token"), topic: topic,
            language: language, isDevelopment: isDevelopment, keys: keys
        ).validated()
    }
}

extension WebPushKeys {
    package init(from reader: inout JSONReader) throws(ChatError) {
        var p256dh: String?
        var auth: String?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "p256dh": p256dh = try value.string()
            case "auth": auth = try value.string()
            default: try value.skip()
            }
        }
        self.init(p256dh: try p256dh.required("keys.p256dh"), auth: try auth.required("keys.auth"))
    }
}
