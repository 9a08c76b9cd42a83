import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let moderation: [Case] = [
        Case("Blocks are found in both directions by the bytes of the user IDs") { store in
            try store.transaction { store in
                for name in UnusualNames.all {
                    try store.putBlock(of: UserID(known: name), by: "alice", isOn: true)
                    try store.putBlock(of: UserID(known: name), by: "alice", isOn: true)
                    try store.putBlock(of: "mallory", by: UserID(known: name), isOn: true)
                }
            }
            let names = UnusualNames.all.map { UserID(known: $0) }.sorted()
            try store.read { store in
                try expectEqual(try store.blocked(by: "alice", after: nil, limit: 1000), names)
                try expectEqual(try store.blockers(of: "mallory", limit: 1000), names)
                try expectEqual(try store.blockers(of: "mallory", limit: 2), Array(names.prefix(2)))
                try expectEqual(try store.blocked(by: "mallory", after: nil, limit: 10), [])
                try expectEqual(try store.blocked(by: "alice", after: names.last, limit: 10), [])
                var listed: [UserID] = []
                while case let page = try store.blocked(by: "alice", after: listed.last, limit: 3), !page.isEmpty {
                    listed += page
                }
                try expectEqual(listed, names)
                for name in names { try expect(try store.hasBlocked("alice", name), "alice has not blocked \(name)") }
                try expect(try !store.hasBlocked(names[0], "alice"), "a block applies in the other direction")
            }
            try store.transaction { try $0.putBlock(of: names[0], by: "alice", isOn: false) }
            try store.read { store in
                try expect(try !store.hasBlocked("alice", names[0]), "a removed block remains")
                try expectEqual(try store.blockers(of: names[0], limit: 10), [])
            }
        },
        Case("A mute keeps its values, can be replaced, and is erased with its conversation") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let date = Date(timeIntervalSince1970: 1_795_255_260.123)
            for mute: Mute? in [.until(date), .forever, nil, .forever] {
                try store.transaction { try $0.put(mute, of: "bob", in: conversation) }
                try store.read { store in
                    try expectEqual(try store.mute(of: "bob", in: conversation), mute)
                    try expectEqual(try store.mute(of: "Bob", in: conversation), nil)
                    try expectEqual(try store.mute(of: "bob", in: conversation + 1), nil)
                }
            }
            try store.transaction { try $0.erase(conversation) }
            try store.read { try expectEqual(try $0.mute(of: "bob", in: conversation), nil) }
        },
        Case("The frozen state, capacity, mutes and blocks of a conversation keep their values") { store in
            var row = try store.makeConversation(.room("a"))
            row.isFrozen = true
            row.capacity = 5
            row.hasMutes = true
            for blocks: DirectBlocks in [.byFirst, .bySecond, [.byFirst, .bySecond], []] {
                row.blocks = blocks
                try store.transaction { [row] in
                    var row = row
                    try $0.put(&row)
                }
                try store.read { [row] in try expectEqual(try $0.conversation(.room("a")), row) }
            }
        },
        Case("Deliveries are queued in order, and their numbers are never reused") { store in
            let body = RawJSON(known: #"{"a" : 1}"#)
            try store.transaction { store in
                for index in 0..<6 { try store.insertDelivery(body, of: Int64(index % 2) + 1) }
            }
            let (first, second) = try store.read { store in
                try expectEqual(try store.conversationsWithDeliveries(after: 0, limit: 10), [1, 2])
                try expectEqual(try store.conversationsWithDeliveries(after: 1, limit: 10), [2])
                try expectEqual(try store.conversationsWithDeliveries(after: 0, limit: 1), [1])
                try expectEqual(try store.deliveryCount(), 6)
                return (try store.deliveries(of: 1, limit: 10), try store.deliveries(of: 2, limit: 2))
            }
            try expectEqual(first.map(\.body), [body, body, body])
            try expectEqual(second.count, 2)
            let numbers = first.map(\.number)
            try expectEqual(numbers, Set(numbers).sorted())
            try store.transaction { store in
                try expectEqual(try store.dropDeliveries(of: 1, through: numbers[1]), 2)
                try expectEqual(try store.dropDeliveries(of: 1, through: numbers[1]), 0)
                try expectEqual(try store.dropDeliveries(of: 2, through: .max), 3)
                try store.insertDelivery(body, of: 2)
            }
            try store.read { store in
                try expectEqual(try store.deliveries(of: 1, limit: 10).map(\.number), [numbers[2]])
                let new = try store.deliveries(of: 2, limit: 10).map(\.number)
                try expect(new.count == 1 && new[0] > 6, "a number was reused: \(new)")
            }
            try store.transaction { try expectEqual(try $0.dropDeliveries(), 2) }
            try store.read { try expectEqual(try $0.deliveryCount(), 0) }
        },
        Case("A failed transaction does not change blocks, mutes and deliveries") { store in
            let conversation = try store.makeConversation(.group("a")).number
            struct RollbackError: Error {}
            try expectError("the transaction") {
                try store.transaction { store in
                    try store.putBlock(of: "bob", by: "alice", isOn: true)
                    try store.put(.forever, of: "bob", in: conversation)
                    try store.insertDelivery(RawJSON(known: "{}"), of: conversation)
                    throw RollbackError()
                }
            }
            try store.read { store in
                try expect(try !store.hasBlocked("alice", "bob"), "the block remains")
                try expectEqual(try store.mute(of: "bob", in: conversation), nil)
                try expectEqual(try store.deliveryCount(), 0)
            }
        },
    ]
}
