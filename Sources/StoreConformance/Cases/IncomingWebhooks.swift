import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let incomingWebhooks: [Case] = [
        Case("Incoming webhooks are replaced, listed by ID and user, and deleted with the user or conversation") {
            store in
            func row(_ id: Identifier, to conversation: ConversationID, as user: UserID, _ byte: UInt8)
                -> IncomingWebhookRow
            {
                IncomingWebhookRow(
                    id: id, conversation: conversation, user: user,
                    secretHash: [UInt8](repeating: byte, count: 31) + [0],
                    createdAt: Date(timeIntervalSinceReferenceDate: 0.125 + Double(byte)))
            }
            func list(
                of user: UserID? = nil, after id: Identifier? = nil, limit: Int = 9
            ) throws -> [IncomingWebhookRow] {
                try store.read { try $0.incomingWebhooks(of: user, after: id, limit: limit) }
            }
            let (build, alerts, direct) = (
                row("build", to: .group("ä"), as: "alice", 1), row("alerts", to: .group("ä"), as: "bot", 0xFF),
                row("direct", to: .direct("bob"), as: "alice", 3)
            )
            try expectEqual(try list(), [])
            try store.transaction { store in
                for row in [build, alerts, direct] { try store.put(row) }
            }
            try expectEqual(try list(), [alerts, build, direct])
            try expectEqual(try list(limit: 2), [alerts, build])
            try expectEqual(try list(after: "build"), [direct])
            try expectEqual(try list(of: "alice"), [build, direct])
            try expectEqual(try list(of: "alice", after: "build"), [direct])
            try expectEqual(try list(of: "bob"), [])
            try expectEqual(try store.read { try $0.incomingWebhook("alerts") }, alerts)
            let changed = row("alerts", to: .room("lobby"), as: "carol", 7)
            try store.transaction { try $0.put(changed) }
            try expectEqual(try list(), [changed, build, direct])
            try store.transaction { try $0.dropIncomingWebhooks(to: .group("ä")) }
            try expectEqual(try list(), [changed, direct])
            try store.transaction { try $0.forget("alice") }
            try expectEqual(try list(), [changed])
            try store.transaction { try $0.dropIncomingWebhook("alerts") }
            try expectEqual(try store.read { try $0.incomingWebhook("alerts") }, nil)
        }
    ]
}
