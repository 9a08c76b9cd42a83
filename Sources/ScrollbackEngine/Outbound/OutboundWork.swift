/// The queues of what a commit causes besides its events: webhook deliveries, pushes and used quotas.
struct OutboundWork: Sendable {
    let deliveries: DeliveryQueue
    let pushes: PushQueue
    let ledger: QuotaLedger

    /// Stores, within a transaction, the deliveries, pushes and quotas that result from it.
    func record(_ transaction: Transaction) throws -> OutboundSummary {
        var summary = OutboundSummary()
        summary.deliveries = try deliveries.record(transaction)
        summary.pushes = try pushes.record(transaction)
        summary.usage = try transaction.saveUsage()
        return summary
    }

    /// Makes the queues and the ledger aware of what a commit of any node stored.
    func committed(_ summary: OutboundSummary) {
        ledger.commit(summary.usage)
        deliveries.recorded(summary.deliveries)
        if summary.pushes { pushes.loop.wakeUp() }
    }
}

/// A summary of the webhook deliveries, pushes and quotas that a transaction stored.
package struct OutboundSummary: Sendable {
    /// The number of webhook deliveries.
    var deliveries = 0
    /// Whether there are new pushes.
    var pushes = false
    /// What users have added.
    var usage = UsageChange()

    package init() {}
}
