import Foundation
package import ScrollbackModel
import ScrollbackWire

/// Push devices and preferences, which users manage for themselves and administrators for all users.
extension Engine {
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
