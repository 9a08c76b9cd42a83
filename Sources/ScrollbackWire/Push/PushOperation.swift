package import ScrollbackModel

/// A request about where the user is reached by push, and how they want to be told.
package enum PushOperation: Sendable {
    case devices
    /// Registers a device, or registers it anew.
    case putDevice(PushDevice)
    case dropDevice(Identifier)
    case preferences
    /// Changes them, answered with all of them.
    case setPreferences(PushPreferencesChange)
}

extension PushOperation {
    static let names: Set<String> = [
        "pushDevices", "putPushDevice", "dropPushDevice", "pushPreferences", "setPushPreferences",
    ]

    var name: String {
        switch self {
        case .devices: "pushDevices"
        case .putDevice: "putPushDevice"
        case .dropDevice: "dropPushDevice"
        case .preferences: "pushPreferences"
        case .setPreferences: "setPushPreferences"
        }
    }

    func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .devices, .preferences: break
        case .putDevice(let device):
            writer.field("device", device.id)
            device.writeMembers(to: &writer)
        case .dropDevice(let id): writer.field("device", id)
        case .setPreferences(let change):
            writer.key("push")
            change.write(to: &writer)
        }
    }
}

/// The members of these requests as they come.
struct PushOperationFields {
    private var id: Identifier?
    private var device = PushDeviceFields()
    private var preferences: PushPreferencesChange?

    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "device": id = try Identifier(try value.string(), parameter: "device")
        case "push": preferences = try PushPreferencesChange(from: &value)
        default: return try device.read(name, &value)
        }
        return true
    }

    /// - Returns: nothing for a request about something else.
    func operation(_ type: String) throws(ChatError) -> PushOperation? {
        switch type {
        case "pushDevices": return .devices
        case "putPushDevice": return .putDevice(try device.device(id.required("device")))
        case "dropPushDevice": return .dropDevice(try id.required("device"))
        case "pushPreferences": return .preferences
        case "setPushPreferences": return .setPreferences(try preferences.required("push"))
        default: return nil
        }
    }
}
