import ScrollbackModel
import ScrollbackWire

/// Where the caller is reached by push, and how they want to be told: as over HTTP.
extension Session {
    func perform(_ operation: PushOperation, _ ref: Int64, _ caller: Caller) {
        switch operation {
        case .devices:
            offload(ref, { try $0.pushDevices(of: caller.user, by: caller) }) { writer, devices in
                writer.key("devices")
                writer.array(devices) { $1.write(to: &$0) }
            }
        case .putDevice(let device):
            engine.putPushDevice(device, of: caller.user, by: caller) { [self] result in
                answer(ref, result) { writer, device in
                    writer.field("device", device.id)
                    device.writeMembers(to: &writer)
                }
            }
        case .dropDevice(let id):
            engine.dropPushDevice(id, of: caller.user, by: caller) { [self] result in answer(ref, result) { _, _ in } }
        case .preferences: givePreferences(ref, caller)
        case .setPreferences(let change):
            engine.putUser(caller.user, ProfileChange(push: change), by: caller) { [self] result in
                switch result {
                case .success: givePreferences(ref, caller)
                case .failure(let error): answer(ref, error)
                }
            }
        }
    }

    private func givePreferences(_ ref: Int64, _ caller: Caller) {
        offload(ref, { try $0.pushPreferences(of: caller.user, by: caller) }) { writer, preferences in
            writer.key("push")
            preferences.write(to: &writer)
        }
    }
}
