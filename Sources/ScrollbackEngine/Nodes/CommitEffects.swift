import Foundation
package import ScrollbackModel
import ScrollbackWire

/// The changes of a transaction that affect what nodes keep in memory.
///
/// A note contains them as JSON. A node ignores members and events of newer versions.
package struct CommitEffects: Sendable {
    /// The events, without those that only webhooks receive.
    var events: [Event] = []
    /// The webhook deliveries, pushes and quotas that the transaction stored.
    var summary = OutboundSummary()

    init(events: [Event] = [], summary: OutboundSummary = OutboundSummary()) {
        self.events = events
        self.summary = summary
    }

    /// The body of the note.
    package var body: [UInt8] {
        var writer = JSONWriter(reserving: 256 + 512 * events.count)
        writer.object { writer in
            writer.key("events")
            writer.array { writer in
                for event in events where event.concernsOtherNodes { writer.object { event.writeMembers(to: &$0) } }
            }
            if summary.deliveries != 0 { writer.field("deliveries", summary.deliveries) }
            if summary.pushes { writer.field("pushes", true) }
            if !summary.usage.growth.isEmpty {
                writer.field("day", summary.usage.day)
                writer.key("usage")
                writer.array(summary.usage.growth.sorted { $0.key < $1.key }) { writer, entry in
                    writer.object { writer in
                        writer.field("user", entry.key)
                        for quota in Quota.allCases where entry.value[quota] != 0 {
                            writer.field(quota.setting, entry.value[quota])
                        }
                    }
                }
            }
        }
        return writer.bytes
    }

    /// Reads the body of a note.
    package init(body: [UInt8]) throws(ChatError) {
        guard !body.isEmpty else { return }
        var reader = try JSONReader(body)
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "events":
                try value.array { (value) throws(ChatError) in
                    if let event = try Event(from: &value) { events.append(event) }
                }
            case "deliveries": summary.deliveries = Int(try value.integer())
            case "pushes": summary.pushes = try value.bool()
            case "day": summary.usage.day = try value.integer()
            case "usage":
                try value.array { (value) throws(ChatError) in
                    var user: UserID?
                    var growth = Growth()
                    try value.object { (name, value) throws(ChatError) in
                        if name == "user" {
                            user = UserID(known: try value.string())
                        } else if let quota = Quota.allCases.first(where: { $0.setting == name }) {
                            growth[quota] = try value.integer()
                        } else {
                            try value.skip()
                        }
                    }
                    summary.usage.growth[try user.required("user")] = growth
                }
            default: try value.skip()
            }
        }
    }
}
