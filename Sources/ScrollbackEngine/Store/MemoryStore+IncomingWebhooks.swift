import ScrollbackModel

extension MemoryRows {
    func incomingWebhook(_ id: Identifier) -> IncomingWebhookRow? { incomingWebhooks[id] }

    func incomingWebhooks(of user: UserID?, after id: Identifier?, limit: Int) -> [IncomingWebhookRow] {
        let all = incomingWebhooks.values.filter { row in
            (user.map { $0 == row.user } ?? true) && (id.map { $0 < row.id } ?? true)
        }
        return Array(all.sorted { $0.id < $1.id }.prefix(limit))
    }

    func put(_ row: IncomingWebhookRow) { change(\.incomingWebhooks[row.id], row) }

    func dropIncomingWebhook(_ id: Identifier) { change(\.incomingWebhooks[id], nil) }

    func dropIncomingWebhooks(to conversation: ConversationID) {
        change(\.incomingWebhooks, incomingWebhooks.filter { $0.value.conversation != conversation })
    }

    /// Deletes the webhooks that post as a user.
    func dropIncomingWebhooks(of user: UserID) {
        change(\.incomingWebhooks, incomingWebhooks.filter { $0.value.user != user })
    }
}
