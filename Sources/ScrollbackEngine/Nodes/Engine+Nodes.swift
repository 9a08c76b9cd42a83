import Foundation
import ScrollbackModel

extension Engine {
    /// Whether this server does the work that only one node does at a time: it sends pushes, webhooks and scheduled
    /// messages, and removes expired data.
    package var isLeader: Bool { node?.isLeader ?? true }

    /// Begins or ends the work that only one node does at a time.
    package func lead(_ isLeader: Bool) {
        guard let node, node.isLeader != isLeader else { return }
        node.isLeader = isLeader
        guard isLeader else { return }
        // Until now, this node ignored what is due. It reads it from the store.
        nextScheduled.add(.distantPast)
        deliveries.wakeUp()
        pushes.loop.wakeUp()
        erasing.begin()
    }

    /// Delivers all commits of other nodes so far.
    ///
    /// Call this before a check of something that another node may have changed, and that this node has in memory.
    func catchUp() throws {
        guard let node else { return }
        try node.catchUp(to: store.lastCommit)
    }

    /// Applies another node's commit.
    func apply(_ effects: CommitEffects, of commit: Int64, _ publish: ([Event], Int64) -> Void) {
        for event in effects.events {
            switch event {
            case .settingsChanged(let settings): replaceSettings(settings, of: commit)
            case .erasureBegan(let user):
                erasing.insert(user)
                erasing.begin()
            case .erasureEnded(let user): erasing.end(user)
            default: break
            }
        }
        publish(effects.events, commit)
        OutboundWork(deliveries: deliveries, pushes: pushes, ledger: ledger).committed(effects.summary)
    }
}
