extension Query {
    /// The SQL of blocks, mutes and webhook deliveries.
    var moderation: String {
        switch self {
        case .block: "SELECT 1 FROM block WHERE user = ? AND blocked = ?"
        case .blocks: "SELECT blocked FROM block WHERE user = ? AND blocked > ? ORDER BY blocked"
        case .blockers: "SELECT user FROM block WHERE blocked = ? ORDER BY user"
        case .insertBlock: "INSERT INTO block (user, blocked) VALUES (?, ?) ON CONFLICT DO NOTHING"
        case .dropBlock: "DELETE FROM block WHERE user = ? AND blocked = ?"
        case .mute: "SELECT until FROM mute WHERE conversation = ? AND user = ?"
        case .putMute:
            """
            INSERT INTO mute (conversation, user, until) VALUES (?, ?, ?)
            ON CONFLICT (conversation, user) DO UPDATE SET until = excluded.until
            """
        case .dropMute: "DELETE FROM mute WHERE conversation = ? AND user = ?"
        case .eraseMutes: "DELETE FROM mute WHERE conversation = ?"
        case .deliveryConversation:
            "SELECT conversation FROM delivery WHERE conversation > ? ORDER BY conversation LIMIT 1"
        case .deliveries: "SELECT number, conversation, body FROM delivery WHERE conversation = ? ORDER BY number"
        case .deliveryCount: "SELECT count(*) FROM delivery WHERE number > 0"
        // The number that AUTOINCREMENT would assign.
        case .nextDelivery: "SELECT seq + 1 FROM sqlite_sequence WHERE name = 'delivery'"
        case .insertDelivery: "INSERT INTO delivery (number, conversation, body) VALUES (?, ?, ?)"
        case .dropDeliveriesOf: "DELETE FROM delivery WHERE conversation = ? AND number <= ?"
        case .dropDeliveries: "DELETE FROM delivery"
        default: preconditionFailure("\(self) is not a moderation query.")
        }
    }
}
