import ScrollbackModel

extension MemoryRows {
    // MARK: Reading

    func hasBlocked(_ user: UserID, _ other: UserID) -> Bool { moderation.hasBlocked(user, other) }
    func blocked(by user: UserID, after: UserID?, limit: Int) -> [UserID] {
        moderation.blocked(by: user, after: after, limit: limit)
    }
    func blockers(of user: UserID, limit: Int) -> [UserID] { moderation.blockers(of: user, limit: limit) }
    func mute(of user: UserID, in conversation: Int64) -> Mute? { moderation.mute(of: user, in: conversation) }
    func conversationsWithDeliveries(after conversation: Int64, limit: Int) -> [Int64] {
        moderation.conversationsWithDeliveries(after: conversation, limit: limit)
    }
    func deliveries(of conversation: Int64, limit: Int) -> [DeliveryRow] {
        moderation.deliveries(of: conversation, limit: limit)
    }
    func deliveryCount() -> Int64 { moderation.deliveryCount }

    // MARK: Writing

    func changeModeration<Answer>(_ body: (inout MemoryModeration) -> Answer) -> Answer {
        let old = moderation
        undo.append { [unowned self] in moderation = old }
        return body(&moderation)
    }

    func putBlock(of other: UserID, by user: UserID, isOn: Bool) {
        changeModeration { $0.putBlock(of: other, by: user, isOn: isOn) }
    }
    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) {
        changeModeration { $0.put(mute, of: user, in: conversation) }
    }
    func insertDelivery(_ body: RawJSON, of conversation: Int64) {
        changeModeration { $0.insertDelivery(body, of: conversation) }
    }
    func dropDeliveries(of conversation: Int64, through number: Int64) -> Int {
        changeModeration { moderation in
            let before = moderation.deliveryCount
            moderation.dropDeliveries(of: conversation, through: number)
            return Int(before - moderation.deliveryCount)
        }
    }
    func dropDeliveries() -> Int {
        changeModeration { moderation in
            defer { moderation.dropDeliveries() }
            return Int(moderation.deliveryCount)
        }
    }
}
