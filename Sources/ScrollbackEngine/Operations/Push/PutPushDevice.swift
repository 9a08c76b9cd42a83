import ScrollbackModel
package import ScrollbackWire

extension PutPushDevice: WriteOperation {
    /// The maximum number of devices per user; registering more removes the one that was registered longest ago.
    private static let maximumDevices = 20

    /// Registers a device or updates its registration, and removes the token from any other device.
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        _ = try device.validated()
        let user = context.caller.user
        let former = try transaction.store.pushDevice(service: device.service, token: device.token)
        if let former, former.user != user { try transaction.dropPushDevice(former.device.id, of: former.user) }
        let known = try transaction.store.pushDevices(of: user)
        if known.count >= Self.maximumDevices, !known.contains(where: { $0.device.id == device.id }),
            let oldest = known.min(by: { $0.registeredAt < $1.registeredAt })
        {
            try transaction.store.dropPushDevice(oldest.device.id, of: user)
        }
        try transaction.store.put(PushDeviceRow(user: user, device: device, registeredAt: context.engine.clock()))
        try transaction.countPushDevices(of: user)
        return Answer(device: device)
    }
}
