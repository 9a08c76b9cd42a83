import ScrollbackModel

extension Transaction {
    /// The maximum number of deliveries that one step deletes; larger steps would delay senders.
    static let deliveriesPerStep = 500

    /// Deletes deliveries with the content of messages, pending ones as well.
    ///
    /// - Returns: The number of deleted deliveries.
    @discardableResult
    func dropDeliveries(of places: SeqRange, in conversation: Int64, limit: Int = .max) throws -> Int {
        let dropped = try store.dropDeliveries(of: places, in: conversation, limit: limit)
        pendingDeliveries -= dropped.pending
        return dropped.count
    }

    /// Deletes one step of the deliveries to removed webhooks.
    ///
    /// - Returns: The number of deleted deliveries.
    @discardableResult
    func dropDeliveries(exceptTo settings: WebhookSettings) throws -> Int {
        let dropped = try store.dropDeliveries(
            exceptTo: Set(settings.receivers.keys), limit: Self.deliveriesPerStep)
        pendingDeliveries -= dropped.pending
        return dropped.count
    }

    /// Checks that no new webhook would receive deliveries to a removed webhook of the same name.
    ///
    /// - Throws: `conflict`.
    func checkNewWebhooks(_ new: WebhookSettings, besides known: WebhookSettings) throws {
        for name in new.receivers.keys.sorted() where known.receivers[name] == nil {
            guard try store.deliveryLog(to: name, below: .max, isPending: nil, limit: 1).isEmpty else {
                throw ChatError(
                    .conflict,
                    "The server is still deleting the events of the removed webhook \(name). Try again in a minute, or "
                        + "use another name.", parameter: "webhooks")
            }
        }
    }
}
