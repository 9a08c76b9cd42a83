import Foundation
package import ScrollbackModel
import ScrollbackWire

/// Push devices and preferences, which users manage for themselves and administrators for all users.
extension Engine {
    /// The maximum number of devices per user; registering more removes the one that was registered longest ago.
    static let maximumPushDevices = 20

    /// Returns a user's push devices.
    package func pushDevices(of user: UserID, by caller: Caller) throws -> [PushDevice] {
        try checkIsOwn(user, caller)
        return try store.read { try $0.pushDevices(of: user).map(\.device) }
    }

    /// Returns a user's push preferences.
    package func pushPreferences(of user: UserID, by caller: Caller) throws -> PushPreferences {
        try checkIsOwn(user, caller)
        return try store.read { try $0.pushUser(user)?.preferences ?? PushPreferences() }
    }

    /// Registers a device or updates its registration, and removes the token from any other device.
    ///
    /// - Parameter erasureCount: As for ``send(_:to:by:origin:since:completion:)``.
    package func putPushDevice(
        _ device: PushDevice, of user: UserID, by caller: Caller, since erasureCount: Int? = nil,
        completion: @escaping Completion<PushDevice>
    ) {
        let erasureCount = erasureCount ?? self.erasureCount
        do {
            try checkIsOwn(user, caller)
            _ = try device.validated()
        } catch {
            return completion(.failure(ChatError(wrapping: error)))
        }
        commits.submit(
            for: WorkOwner(caller),
            { [erasing, clock] transaction in
                try erasing.check(caller.user, since: erasureCount)
                let former = try transaction.store.pushDevice(service: device.service, token: device.token)
                if let former, former.user != user { try transaction.dropPushDevice(former.device.id, of: former.user) }
                let known = try transaction.store.pushDevices(of: user)
                if known.count >= Self.maximumPushDevices, !known.contains(where: { $0.device.id == device.id }),
                    let oldest = known.min(by: { $0.registeredAt < $1.registeredAt })
                {
                    try transaction.store.dropPushDevice(oldest.device.id, of: user)
                }
                try transaction.store.put(PushDeviceRow(user: user, device: device, registeredAt: clock()))
                try transaction.countPushDevices(of: user)
                return device
            }, completion: completion)
    }

    /// Removes a device, so that it receives no more pushes.
    package func dropPushDevice(
        _ device: Identifier, of user: UserID, by caller: Caller, completion: @escaping Completion<Void>
    ) {
        do {
            try checkIsOwn(user, caller)
        } catch {
            return completion(.failure(ChatError(wrapping: error)))
        }
        commits.submit(for: WorkOwner(caller), { try $0.dropPushDevice(device, of: user) }, completion: completion)
    }

    private func checkIsOwn(_ user: UserID, _ caller: Caller) throws(ChatError) {
        guard caller.user == user || caller.isAdmin else {
            throw ChatError(
                .forbidden, "Only \(user) or an administrator can see and change the push settings of \(user).")
        }
    }
}

extension Transaction {
    /// Changes a user's push preferences.
    func change(_ change: PushPreferencesChange, of user: UserID) throws {
        var person = try store.pushUser(user) ?? PushUserRow(user: user)
        let level = person.preferences.level
        PushPreferencesChange.apply(change, to: &person.preferences)
        try store.put(person)
        if person.preferences.level != level { try updatePushLevel(of: user) }
    }

    func dropPushDevice(_ device: Identifier, of user: UserID) throws {
        try store.dropPushDevice(device, of: user)
        try countPushDevices(of: user)
    }

    /// Updates the number of a user's devices; the first and the last device change whether the user can be reached.
    func countPushDevices(of user: UserID) throws {
        var person = try store.pushUser(user) ?? PushUserRow(user: user)
        let before = person.deviceCount
        person.deviceCount = Int64(try store.pushDevices(of: user).count)
        guard person.deviceCount != before else { return }
        try store.put(person)
        if (before == 0) != (person.deviceCount == 0) { try updatePushLevel(of: user) }
    }
}
