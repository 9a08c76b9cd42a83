import Foundation
import ScrollbackModel

/// The push data of a memory store: devices, preferences and pending pushes.
///
/// This is a value type, so that a rollback restores the old value.
struct MemoryPush {
    var people: [UserID: PushUserRow] = [:]
    var devices: [UserID: [Identifier: PushDeviceRow]] = [:]
    var pushLevels: [MemoryRows.Key: NotificationLevel] = [:]
    var pushes: [Int64: [PushRow]] = [:]
    var walks: [Int64: PushWalkRow] = [:]
    var retries: [Int64: PushRetryRow] = [:]
    var lastNumber: Int64 = 0

    mutating func number() -> Int64 {
        lastNumber += 1
        return lastNumber
    }
}

extension MemoryRows {
    private func changePush(_ body: (inout MemoryPush) -> Void) {
        let old = push
        undo.append { [unowned self] in push = old }
        body(&push)
    }

    // MARK: Reading

    func pushUser(_ user: UserID) -> PushUserRow? { push.people[user] }

    func pushDevices(of user: UserID) -> [PushDeviceRow] {
        (push.devices[user] ?? [:]).values.sorted { $0.device.id < $1.device.id }
    }

    func pushDevice(service: PushService, token: String) -> PushDeviceRow? {
        push.devices.values.lazy.flatMap(\.values).first { $0.device.service == service && $0.device.token == token }
    }

    func pushRecipients(
        at level: NotificationLevel, in conversation: Int64, after: UserID?, limit: Int
    ) -> [UserID] {
        let users = push.pushLevels.filter { key, value in
            key.conversation == conversation && value == level && (after.map { $0 < key.user } ?? true)
        }.keys.map(\.user)
        return Array(users.sorted().prefix(limit))
    }

    func conversationsWithPushes(after conversation: Int64, limit: Int) -> [Int64] {
        Array(push.pushes.filter { $0.key > conversation && !$0.value.isEmpty }.keys.sorted().prefix(limit))
    }

    func pushes(of conversation: Int64, limit: Int) -> [PushRow] {
        Array((push.pushes[conversation] ?? []).prefix(limit))
    }

    func pushWalk(of conversation: Int64) -> PushWalkRow? { push.walks[conversation] }

    func pushRetries(dueBy time: Date, limit: Int) -> [PushRetryRow] {
        let due = push.retries.values.filter { $0.notBefore <= time }
        return Array(due.sorted { ($0.notBefore, $0.number) < ($1.notBefore, $1.number) }.prefix(limit))
    }

    func nextPushRetry() -> Date? { push.retries.values.map(\.notBefore).min() }

    func pushCounts() -> (waiting: Int64, retries: Int64) {
        (Int64(push.pushes.values.reduce(0) { $0 + $1.count }), Int64(push.retries.count))
    }

    // MARK: Writing

    func put(_ person: PushUserRow) { changePush { $0.people[person.user] = person } }

    func put(_ device: PushDeviceRow) {
        changePush { push in
            for (user, devices) in push.devices {
                push.devices[user] = devices.filter { _, row in
                    row.device.service != device.device.service || row.device.token != device.device.token
                }
            }
            push.devices[device.user, default: [:]][device.device.id] = device
        }
    }

    func dropPushDevice(_ device: Identifier, of user: UserID) { changePush { $0.devices[user]?[device] = nil } }

    func putPushLevel(_ level: NotificationLevel, of user: UserID, in conversation: Int64) {
        changePush { $0.pushLevels[Key(conversation: conversation, user: user)] = level == .none ? nil : level }
    }

    func insertPush(_ kind: PushRow.Kind, at seq: Seq, of conversation: Int64, body: RawJSON?) {
        changePush { push in
            let row = PushRow(number: push.number(), conversation: conversation, kind: kind, seq: seq, body: body)
            push.pushes[conversation, default: []].append(row)
        }
    }

    func dropPushes(of conversation: Int64, through number: Int64) -> Int {
        let count = push.pushes[conversation]?.count { $0.number <= number } ?? 0
        changePush { $0.pushes[conversation]?.removeAll { $0.number <= number } }
        return count
    }

    func put(_ walk: PushWalkRow?, of conversation: Int64) { changePush { $0.walks[conversation] = walk } }

    func put(_ retry: inout PushRetryRow) {
        changePush { push in
            if retry.number == 0 { retry.number = push.number() }
            push.retries[retry.number] = retry
        }
    }

    func dropPushRetry(_ number: Int64) { changePush { $0.retries[number] = nil } }

    func dropPushes() {
        changePush { push in
            push.pushes = [:]
            push.walks = [:]
            push.retries = [:]
        }
    }

    func erasePushes(of conversation: Int64) {
        changePush { push in
            push.pushLevels = push.pushLevels.filter { $0.key.conversation != conversation }
            push.pushes[conversation] = nil
            push.walks[conversation] = nil
            push.retries = push.retries.filter { $0.value.push.conversation != conversation }
        }
    }

    func forgetPushes(of user: UserID) {
        changePush { push in
            push.people[user] = nil
            push.devices[user] = nil
            push.pushLevels = push.pushLevels.filter { $0.key.user != user }
            push.retries = push.retries.filter { $0.value.user != user }
        }
    }
}
