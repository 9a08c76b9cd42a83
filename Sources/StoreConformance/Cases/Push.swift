import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    private static let at = Date(timeIntervalSince1970: 1_795_255_260)

    private static func row(_ user: UserID, _ name: String, token: String) -> PushDeviceRow {
        let device = PushDevice(id: Identifier(known: name), service: .apns, token: token, topic: "com.example.app")
        return PushDeviceRow(user: user, device: device, registeredAt: at)
    }

    static let push: [Case] = [
        Case("Push preferences keep their values, both with all fields and with none") { store in
            let hours = try QuietHours(
                from: .init("22:00"), to: .init("07:30"), timeZone: "Asia/Tokyo", allowsMentions: true)
            let rows = [
                PushUserRow(user: "alice"),
                PushUserRow(
                    user: "alice",
                    preferences: .init(language: "pt-BR", showsDetail: false, level: .mentions, quietHours: hours),
                    deviceCount: 3),
                PushUserRow(user: "alice", preferences: .init(level: NotificationLevel.none), deviceCount: 0),
            ]
            try store.read { try expectEqual(try $0.pushUser("alice"), nil) }
            for row in rows {
                try store.transaction { try $0.put(row) }
                try store.read { try expectEqual(try $0.pushUser("alice"), row) }
            }
            try store.read { try expectEqual(try $0.pushUser("Alice"), nil) }
        },
        Case("A device replaces its registration, and a token moves to the last user who registered it") { store in
            var web = row("alice", "browser", token: "https://push.example.com/1")
            web.device = PushDevice(
                id: "browser", service: .web, token: "https://push.example.com/1", language: "de", isDevelopment: true,
                keys: WebPushKeys(p256dh: "BAAA", auth: "AAAA"))
            let web1 = web
            try store.transaction { store in
                try store.put(row("alice", "phone", token: "00"))
                try store.put(row("alice", "phone", token: "01"))
                try store.put(web1)
                try store.put(row("bob", "phone", token: "02"))
            }
            try store.read { store in
                try expectEqual(try store.pushDevices(of: "alice"), [web1, row("alice", "phone", token: "01")])
                try expectEqual(try store.pushDevice(service: .apns, token: "01")?.user, "alice")
                try expectEqual(try store.pushDevice(service: .fcm, token: "01"), nil)
                try expectEqual(try store.pushDevice(service: .apns, token: "00"), nil)
            }
            try store.transaction { try $0.put(row("bob", "tablet", token: "01")) }
            try store.read { store in
                try expectEqual(try store.pushDevices(of: "alice").map(\.device.id), ["browser"])
                try expectEqual(try store.pushDevices(of: "bob").map(\.device.id), ["phone", "tablet"])
            }
            try store.transaction { store in
                try store.dropPushDevice("phone", of: "bob")
                try store.dropPushDevice("nothing", of: "bob")
            }
            try store.read { try expectEqual(try $0.pushDevices(of: "bob").map(\.device.id), ["tablet"]) }
        },
        Case("Push recipients are listed by level and ID, and removed with the conversation and user") { store in
            let (first, second) = (
                try store.makeConversation(.group("a")).number, try store.makeConversation(.group("b")).number
            )
            let names = UnusualNames.all.map { UserID(known: $0) }.sorted()
            try store.transaction { store in
                for name in names { try store.putPushLevel(.all, of: name, in: first) }
                try store.putPushLevel(.mentions, of: names[0], in: first)
                try store.putPushLevel(.all, of: names[1], in: second)
                try store.putPushLevel(.none, of: names[2], in: first)
                try store.putPushLevel(.none, of: "nobody", in: first)
            }
            let all = [names[1]] + names[3...]
            try store.read { store in
                try expectEqual(try store.pushRecipients(at: .all, in: first, after: nil, limit: 1000), all)
                try expectEqual(try store.pushRecipients(at: .mentions, in: first, after: nil, limit: 1000), [names[0]])
                try expectEqual(try store.pushRecipients(at: .none, in: first, after: nil, limit: 1000), [])
                var listed: [UserID] = []
                while case let page = try store.pushRecipients(at: .all, in: first, after: listed.last, limit: 3),
                    !page.isEmpty
                {
                    listed += page
                }
                try expectEqual(listed, all)
            }
            try store.transaction { store in
                try store.forget(names[1], in: first)
                try store.forget(names[3])
            }
            try store.read { store in
                try expectEqual(
                    try store.pushRecipients(at: .all, in: first, after: nil, limit: 1000), Array(names[4...]))
                try expectEqual(try store.pushRecipients(at: .all, in: second, after: nil, limit: 10), [names[1]])
            }
            try store.transaction { try $0.erase(first) }
            try store.read { store in
                try expectEqual(try store.pushRecipients(at: .all, in: first, after: nil, limit: 10), [])
                try expectEqual(try store.pushRecipients(at: .mentions, in: first, after: nil, limit: 10), [])
                try expectEqual(try store.pushRecipients(at: .all, in: second, after: nil, limit: 10), [names[1]])
            }
        },
        Case("Pushes are queued in order, numbers are never reused, and the walk position is stored") { store in
            let body = RawJSON(known: #"{"a" : 1}"#)
            try store.transaction { store in
                try store.insertPush(.message, at: 1, of: 1, body: nil)
                try store.insertPush(.recall, at: 1, of: 2, body: nil)
                try store.insertPush(.message, at: 0, of: 1, body: body)
                try store.put(PushWalkRow(through: 7), of: 1)
            }
            let first = try store.read { store in
                try expectEqual(try store.conversationsWithPushes(after: 0, limit: 10), [1, 2])
                try expectEqual(try store.conversationsWithPushes(after: 1, limit: 10), [2])
                try expectEqual(try store.pushCounts().waiting, 3)
                try expectEqual(try store.pushWalk(of: 1), PushWalkRow(through: 7))
                try expectEqual(try store.pushWalk(of: 2), nil)
                return try store.pushes(of: 1, limit: 10)
            }
            try expectEqual(first.map(\.kind), [.message, .message])
            try expectEqual(first.map(\.seq), [1, 0])
            try expectEqual(first.map(\.body), [nil, body])
            try store.transaction { store in
                try expectEqual(try store.dropPushes(of: 1, through: first[1].number), 2)
                try store.put(PushWalkRow(through: 9, after: "bob"), of: 1)
                try store.put(nil, of: 2)
                try store.insertPush(.message, at: 2, of: 1, body: nil)
            }
            try store.read { store in
                try expectEqual(try store.pushWalk(of: 1), PushWalkRow(through: 9, after: "bob"))
                let new = try store.pushes(of: 1, limit: 10).map(\.number)
                try expect(new.count == 1 && new[0] > first[1].number, "a number was reused: \(new)")
            }
            try store.transaction { store in
                try store.put(nil, of: 1)
                try store.dropPushes()
            }
            try store.read { store in
                try expectEqual(try store.pushWalk(of: 1), nil)
                try expectEqual(try store.pushCounts().waiting, 0)
            }
        },
        Case("Push retries are returned when they are due, and removed with their user and conversation") { store in
            func retry(_ user: UserID, conversation: Int64, in seconds: Double) -> PushRetryRow {
                let push = PushRow(
                    number: 4, conversation: conversation, kind: .message, seq: 3, body: RawJSON(known: "{}"))
                return PushRetryRow(
                    user: user, device: "phone", push: push, attempts: 1, notBefore: at + seconds, firstTriedAt: at)
            }
            var rows = [
                retry("alice", conversation: 1, in: 30), retry("bob", conversation: 1, in: 10),
                retry("carol", conversation: 2, in: 20),
            ]
            rows = try store.transaction { [rows] store in
                var rows = rows
                for index in rows.indices { try store.put(&rows[index]) }
                return rows
            }
            try expectEqual(Set(rows.map(\.number)).count, 3)
            try store.read { [rows] store in
                try expectEqual(try store.nextPushRetry(), at + 10)
                try expectEqual(try store.pushRetries(dueBy: at + 5, limit: 10), [])
                try expectEqual(try store.pushRetries(dueBy: at + 20, limit: 10), [rows[1], rows[2]])
                try expectEqual(try store.pushRetries(dueBy: at + 99, limit: 2), [rows[1], rows[2]])
            }
            rows[1].attempts = 2
            rows[1].notBefore = at + 60
            rows = try store.transaction { [rows] store in
                var rows = rows
                try store.put(&rows[1])
                try store.forget("carol")
                return rows
            }
            try store.read { [rows] store in
                try expectEqual(try store.pushRetries(dueBy: at + 99, limit: 9), [rows[0], rows[1]])
                try expectEqual(try store.pushCounts().retries, 2)
            }
            try store.transaction { [rows] in try $0.dropPushRetry(rows[0].number) }
            try store.read { try expectEqual(try $0.nextPushRetry(), at + 60) }
            try store.transaction { try $0.dropPushes() }
            try store.read { try expectEqual(try $0.nextPushRetry(), nil) }
        },
        Case("A failed transaction does not change devices, push recipients and queued pushes") { store in
            struct RollbackError: Error {}
            try expectError("the transaction") {
                try store.transaction { store in
                    try store.put(PushUserRow(user: "alice", deviceCount: 1))
                    try store.put(row("alice", "phone", token: "00"))
                    try store.putPushLevel(.all, of: "alice", in: 1)
                    try store.insertPush(.message, at: 1, of: 1, body: nil)
                    throw RollbackError()
                }
            }
            try store.read { store in
                try expectEqual(try store.pushUser("alice"), nil)
                try expectEqual(try store.pushDevices(of: "alice"), [])
                try expectEqual(try store.pushRecipients(at: .all, in: 1, after: nil, limit: 10), [])
                try expectEqual(try store.pushCounts().waiting, 0)
            }
        },
    ]
}
