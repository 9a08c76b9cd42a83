package import ScrollbackModel

/// Registers a device for pushes.
package struct PutPushDevice: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "putPushDevice", http: .put("/v1/push/devices/{device}"), scope: .account,
        callers: .anyUser, cost: .write, tag: .users,
        summary: "Register a device for pushes",
        details: """
            Register a device whenever the app starts and whenever its token changes. A token belongs to the user who \
            registered it last. A user has at most 20 devices: the next one replaces the device that was registered \
            longest ago.
            """)

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .component("PushDevice")

        package var device: PushDevice

        package init(device: PushDevice) {
            self.device = device
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            device = try PushDevice(from: &reader)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("device", device.id)
            device.writeMembers(to: &writer)
        }
    }

    package var device: PushDevice
    package var tokens: Int { PushPreferencesChange.tokens }

    package init(device: PushDevice) {
        self.device = device
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let id: Identifier = try request.required("device", "The device's name, which is unique among your devices.")
        let service: PushService = try request.required("service")
        let token = try request.required(
            "token", .string(bytes: 1...4096), example: #""https://push.example.com/1""#,
            "The service's name for the device: hexadecimal for `apns`, the subscription's endpoint for `web`."
        ) { (value) throws(ChatError) in try value.string() }
        let topic = try request.optional(
            "topic", .string(bytes: 1...255), example: #""com.example.app""#,
            "The service's name for the app if it serves several: the bundle ID for `apns`."
        ) { (value) throws(ChatError) in try value.string() }
        let language = try request.optional(
            "language", .string(), example: #""en""#, "The device's language as a BCP 47 tag."
        ) { (value) throws(ChatError) in try value.string() }
        let isDevelopment: Bool? = try request.omittable(
            "development", "Whether the token is for the service's development environment. Only for `apns`.")
        let keys = try request.optional(
            "keys", .component("WebPushKeys"), example: #"{"p256dh":"BP4z9KsN6nGRTbVYI","auth":"AAAA"}"#,
            "The keys that encrypt payloads, from the browser's push subscription. Only for `web`."
        ) { (value) throws(ChatError) in try WebPushKeys(from: &value) }
        device = try PushDevice(
            id: id, service: service, token: token, topic: topic, language: language,
            isDevelopment: isDevelopment ?? false, keys: keys
        ).validated()
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("device", device.id)
        device.writeMembers(to: &writer)
    }
}
