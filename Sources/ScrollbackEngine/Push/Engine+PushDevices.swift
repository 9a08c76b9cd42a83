import Foundation
package import ScrollbackModel
import ScrollbackWire

/// Where people are reached by push, and how they want to be told: each their own, and an administrator anybody's.
extension Engine {
    /// The most devices one user has; who registers more gives up the one registered longest ago.
    static let mostPushDevices = 20

    package func pushDevices(of user: UserID, by caller: Caller) throws -> [PushDevice] {
        try checkIsOwn(user, caller)
        return try store.read { try $0.pushDevices(of: user).map(\.device) }
    }

    package func pushPreferences(of user: UserID, by caller: Caller) throws -> PushPreferences {
        try checkIsOwn(user, caller)
        return try store.read { try $0.pushPerson(user)?.preferences ?? PushPreferences() }
    }

    /// Registers a device, or registers it anew; whoever had its token before has it no more.
    ///
    /// - Parameter shutOuts: as for ``send(_:to:by:origin:since:completion:)``.
    package func putPushDevice(
        _ device: PushDevice, of user: UserID, by caller: Caller, since shutOuts: Int? = nil,
        completion: @escaping Completion<PushDevice>
    ) {
        let shutOuts = shutOuts ?? self.shutOuts
        do {
            try checkIsOwn(user, caller)
            _ = try device.validated()
        } catch {
            return completion(.failure(ChatError(wrapping: error)))
        }
        log.submit(
            { [erasing, clock] transaction in
                try erasing.check(caller.user, since: shutOuts)
                let former = try transaction.store.pushDevice(service: device.service, token: device.token)
                if let former, former.user != user { try transaction.dropPushDevice(former.device.id, of: former.user) }
                let known = try transaction.store.pushDevices(of: user)
                if known.count >= Self.mostPushDevices, !known.contains(where: { $0.device.id == device.id }),
                    let oldest = known.min(by: { $0.registeredAt < $1.registeredAt })
                {
                    try transaction.store.dropPushDevice(oldest.device.id, of: user)
                }
                try transaction.store.put(PushDeviceRow(user: user, device: device, registeredAt: clock()))
                try transaction.countPushDevices(of: user)
                return device
            }, completion: completion)
    }

    /// Forgets a device: nothing is pushed to it any more.
    package func dropPushDevice(
        _ device: Identifier, of user: UserID, by caller: Caller, completion: @escaping Completion<Void>
    ) {
        do {
            try checkIsOwn(user, caller)
        } catch {
            return completion(.failure(ChatError(wrapping: error)))
        }
        log.submit({ try $0.dropPushDevice(device, of: user) }, completion: completion)
    }

    private func checkIsOwn(_ user: UserID, _ caller: Caller) throws(ChatError) {
        guard caller.user == user || caller.isAdmin else {
            throw ChatError(.forbidden, "only \(user) or an administrator sees and changes what is pushed to them")
        }
    }
}

extension Transaction {
    /// Changes how somebody wants to be told.
    func change(_ change: PushPreferencesChange, of user: UserID) throws {
        var person = try store.pushPerson(user) ?? PushPersonRow(user: user)
        let level = person.preferences.level
        PushPreferencesChange.apply(change, to: &person.preferences)
        try store.put(person)
        if person.preferences.level != level { try updateReach(of: user) }
    }

    func dropPushDevice(_ device: Identifier, of user: UserID) throws {
        try store.dropPushDevice(device, of: user)
        try countPushDevices(of: user)
    }

    /// Counts a user's devices anew: with the first they can be reached, with the last they can't any more.
    func countPushDevices(of user: UserID) throws {
        var person = try store.pushPerson(user) ?? PushPersonRow(user: user)
        let before = person.deviceCount
        person.deviceCount = Int64(try store.pushDevices(of: user).count)
        guard person.deviceCount != before else { return }
        try store.put(person)
        if (before == 0) != (person.deviceCount == 0) { try updateReach(of: user) }
    }
}
