import ScrollbackModel

extension MemoryRows {
    // MARK: Reading

    func hasBlocked(_ user: UserID, _ other: UserID) -> Bool { manners.hasBlocked(user, other) }
    func blocked(by user: UserID, after: UserID?, limit: Int) -> [UserID] {
        manners.blocked(by: user, after: after, limit: limit)
    }
    func blockers(of user: UserID, limit: Int) -> [UserID] { manners.blockers(of: user, limit: limit) }
    func mute(of user: UserID, in conversation: Int64) -> Mute? { manners.mute(of: user, in: conversation) }
    func conversationsWithDeliveries(after conversation: Int64, limit: Int) -> [Int64] {
        manners.conversationsWithDeliveries(after: conversation, limit: limit)
    }
    func deliveries(of conversation: Int64, limit: Int) -> [DeliveryRow] {
        manners.deliveries(of: conversation, limit: limit)
    }
    func deliveryCount() -> Int64 { manners.deliveryCount }

    // MARK: Writing

    func changeManners<Answer>(_ body: (inout MemoryManners) -> Answer) -> Answer {
        let old = manners
        undo.append { [unowned self] in manners = old }
        return body(&manners)
    }

    func putBlock(of other: UserID, by user: UserID, isOn: Bool) {
        changeManners { $0.putBlock(of: other, by: user, isOn: isOn) }
    }
    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) {
        changeManners { $0.put(mute, of: user, in: conversation) }
    }
    func insertDelivery(_ body: RawJSON, of conversation: Int64) {
        changeManners { $0.insertDelivery(body, of: conversation) }
    }
    func dropDeliveries(of conversation: Int64, through number: Int64) -> Int {
        changeManners { manners in
            let before = manners.deliveryCount
            manners.dropDeliveries(of: conversation, through: number)
            return Int(before - manners.deliveryCount)
        }
    }
    func dropDeliveries() -> Int {
        changeManners { manners in
            defer { manners.dropDeliveries() }
            return Int(manners.deliveryCount)
        }
    }
}
