import ScrollbackModel

extension ResumeState {
    /// Handles a live event: releases it, or holds it until its conversation is resumed.
    package mutating func live(_ event: LiveEvent) -> [ResumeAction] {
        guard windows != .offline else { return [] }
        let conversation = event.conversation
        if isResumed(conversation) { return [.release([event])] }
        if held.count < Self.maximumHeldEvents, !overflowed.contains(conversation) {
            held.append(event)
        } else {
            overflowed.insert(conversation)
        }
        return []
    }

    /// Releases the held events of resumed conversations in the order of their arrival.
    mutating func releaseResumed() -> [ResumeAction] {
        var released: [LiveEvent] = []
        var kept: [LiveEvent] = []
        for event in held {
            if isResumed(event.conversation) { released.append(event) } else { kept.append(event) }
        }
        held = kept
        let lossy = overflowed.filter(isResumed).sorted()
        overflowed.subtract(lossy)
        pending.formUnion(lossy)
        var actions: [ResumeAction] = []
        if !released.isEmpty { actions.append(.release(released)) }
        if !lossy.isEmpty { actions.append(.recheck(lossy)) }
        return actions
    }
}
