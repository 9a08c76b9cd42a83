import ScrollbackModel

extension Transaction {
    /// The bytes of a row and its index entries besides its texts, approximately.
    static let rowBytes = 256

    /// Checks that the store has space, and that the caller's quotas allow more data.
    ///
    /// - Parameter addition: What the request adds, which decides how much space must be free; `nil` if it needs none.
    /// - Throws: ``Refusal`` with `storage-full` if the volume has too little space; `rate-limited` if a quota of this
    ///   day in UTC is used up.
    func checkGrowth(
        _ growth: Growth, by caller: Caller, adding addition: StorageSpace.Addition? = .content
    ) throws {
        if let addition { try space.check(for: addition) }
        guard !caller.isAdmin else { return }
        var known: Growth?
        for quota in Quota.allCases where growth[quota] > 0 {
            guard let limit = quotas[quota] else { continue }
            let used = try known ?? usage(of: caller.user)
            known = used
            let rest = limit - min(limit, used[quota])
            guard growth[quota] > rest else { continue }
            ledger.countRefusal(quota)
            let advice = quota.advice(adding: growth[quota], rest: rest, limit: limit)
            throw ChatError(
                .rateLimited, "You can \(quota.rule(limit)) in one day (setting \(quota.setting)). \(advice)",
                limit: Int(limit), retryAfter: UsageRow.secondsLeft(at: now.date))
        }
    }

    /// Counts added data against the caller's quotas, after ``checkGrowth(_:by:adding:)``.
    func recordGrowth(_ growth: Growth, by caller: Caller) throws {
        guard !caller.isAdmin, growth != Growth() else { return }
        // The ledger needs the day's earlier amounts, even if no limit applies now.
        _ = try usage(of: caller.user)
        self.growth[caller.user] = (self.growth[caller.user] ?? Growth()) + growth
    }

    private func usage(of user: UserID) throws -> Growth {
        let known = try ledger.usage(of: user, on: day) { try store.usage(of: user) }
        return known + (growth[user] ?? Growth())
    }

    /// Stores the amounts that have passed a step of their limit.
    ///
    /// - Returns: What the transaction adds, for the ledger after the commit.
    func saveUsage() throws -> UsageChange {
        var saved: Set<UserID> = []
        for (user, amount) in growth {
            guard let row = ledger.rowToSave(amount, of: user, on: day, quotas) else { continue }
            try store.put(row, of: user)
            saved.insert(user)
        }
        return UsageChange(day: day, growth: growth, saved: saved)
    }
}

extension Submission {
    /// The approximate number of bytes that the message adds to the store.
    var storedBytes: Int {
        content.json.text.utf8.count + attributes.storedBytes + attributes.mentionBytes + Transaction.rowBytes
    }
}

extension MessageRow {
    /// The approximate number of bytes that a change of the message stores and sends again.
    var storedBytes: Int { (content?.text.utf8.count ?? 0) + attributes.storedBytes + Transaction.rowBytes }
}

extension MessageAttributes {
    var storedBytes: Int {
        let texts = [metadata?.text, extra?.text, push?.text, customType, mentions?.pushText]
        let users = mentions?.users ?? []
        return texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } + users.reduce(0) { $0 + 2 * $1.text.utf8.count }
    }

    /// The approximate number of bytes of the rows that a new message with these attributes adds for its mentions.
    ///
    /// A mention in a reply also makes the user follow the thread.
    var mentionBytes: Int {
        (mentions?.users.count ?? 0) * (replyTo == nil ? 1 : 2) * Transaction.rowBytes
    }
}

extension ConversationSettings {
    /// The approximate number of bytes that the settings and a notice about them add to the store.
    var storedBytes: Int {
        texts.reduce(Transaction.rowBytes) { $0 + $1.utf8.count }
    }

    /// Whether the settings contain texts, and not only rules such as a freeze or a shorter retention.
    var hasTexts: Bool { !texts.isEmpty }

    private var texts: [String] { [name, avatar, metadata?.text].compactMap(\.self) }
}
