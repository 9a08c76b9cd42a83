import ScrollbackModel

extension MemoryRows {
    func actions(at seq: Seq?, in conversation: Int64, after: Timetoken?, limit: Int) -> [ActionRow] {
        let all = (actions[conversation] ?? []).filter { row in
            (seq.map { row.seq == $0 } ?? true) && (after.map { row.timetoken > $0 } ?? true)
        }
        return Array(all.sorted { $0.timetoken < $1.timetoken }.prefix(limit))
    }

    func actions(at seq: Seq, by sender: UserID, in conversation: Int64) -> [ActionRow] {
        (actions[conversation] ?? []).filter { $0.seq == seq && $0.sender == sender }
    }

    func action(at timetoken: Timetoken, in conversation: Int64) -> ActionRow? {
        actions[conversation]?.first { $0.timetoken == timetoken }
    }

    func pins(in conversation: Int64, below seq: Seq?, limit: Int) -> [Seq] {
        let pinned = (actions[conversation] ?? []).filter { $0.type == MessageAction.pin }.map(\.seq)
        return Array(pinned.filter { seq == nil || $0 < seq ?? 0 }.sorted(by: >).prefix(limit))
    }

    func lastAction(in conversation: Int64) -> Timetoken? { actions[conversation]?.map(\.timetoken).max() }

    func insert(_ action: ActionRow, in conversation: Int64) {
        append(action, to: \.actions[conversation])
    }

    func removeAction(at timetoken: Timetoken, in conversation: Int64) {
        change(\.actions[conversation], actions[conversation]?.filter { $0.timetoken != timetoken })
    }

    func removeActions(at seq: Seq, in conversation: Int64) {
        change(\.actions[conversation], actions[conversation]?.filter { $0.seq != seq })
    }
}
