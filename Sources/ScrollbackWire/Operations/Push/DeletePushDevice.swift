package import ScrollbackModel

/// Ends pushes to a device.
package struct DeletePushDevice: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "dropPushDevice", http: .delete("/v1/push/devices/{device}"), scope: .account,
        callers: .anyUser, cost: .write, tag: .users,
        summary: "Stop pushes to a device", details: "Removing a device that is not registered succeeds.")

    package var device: Identifier
    package var tokens: Int { PushPreferencesChange.tokens }

    package init(device: Identifier) {
        self.device = device
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        device = try request.required("device")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("device", device)
    }
}
