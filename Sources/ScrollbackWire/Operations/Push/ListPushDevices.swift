package import ScrollbackModel

/// Lists the caller's devices that receive pushes.
package struct ListPushDevices: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "pushDevices", http: .get("/v1/push/devices"), scope: .read, callers: .anyUser,
        cost: .read, tag: .users, summary: "List your devices that receive pushes")

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([.init("devices", .array(.component("PushDevice")))])

        package var devices: [PushDevice]

        package init(devices: [PushDevice]) {
            self.devices = devices
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var devices: [PushDevice] = []
            try reader.object { (name, value) throws(ChatError) in
                guard name == "devices" else { return try value.skip() }
                devices = try value.list("devices", limit: 1000) { (device) throws(ChatError) in
                    try PushDevice(from: &device)
                }
            }
            self.devices = devices
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("devices")
            writer.array(devices) { $1.write(to: &$0) }
        }
    }

    package init() {}

    package init(from request: inout RequestReader) throws(ChatError) {}

    package func writeMembers(to writer: inout JSONWriter) {}
}
