import Foundation
import ScrollbackModel
import Synchronization

/// Amounts of what users add to the store.
package struct Growth: Hashable, Sendable {
    private var groups: Int64
    private var members: Int64
    private var fileBytes: Int64
    private var messageBytes: Int64

    package init(groups: Int64 = 0, members: Int64 = 0, fileBytes: Int64 = 0, messageBytes: Int = 0) {
        self.groups = groups
        self.members = members
        self.fileBytes = fileBytes
        self.messageBytes = Int64(messageBytes)
    }

    package subscript(quota: Quota) -> Int64 {
        get {
            switch quota {
            case .groups: groups
            case .members: members
            case .fileBytes: fileBytes
            case .messageBytes: messageBytes
            }
        }
        set {
            switch quota {
            case .groups: groups = newValue
            case .members: members = newValue
            case .fileBytes: fileBytes = newValue
            case .messageBytes: messageBytes = newValue
            }
        }
    }

    /// The sum, which stays at the highest number if it would overflow.
    static func + (a: Growth, b: Growth) -> Growth {
        var sum = a
        for quota in Quota.allCases {
            let (value, overflows) = a[quota].addingReportingOverflow(b[quota])
            sum[quota] = overflows ? .max : value
        }
        return sum
    }
}

/// What a user has added in one day.
package struct UsageRow: Hashable, Sendable {
    /// The number of the day since 1970, in UTC.
    package var day: Int64
    package var growth: Growth

    package init(day: Int64, growth: Growth = .init()) {
        self.day = day
        self.growth = growth
    }

    static func day(of date: Date) -> Int64 { Int64((date.timeIntervalSince1970 / 86_400).rounded(.down)) }

    /// Returns the time until the next day in seconds.
    static func secondsLeft(at date: Date) -> TimeInterval {
        (Double(day(of: date) + 1) * 86_400 - date.timeIntervalSince1970).rounded(.up)
    }
}

/// What one transaction adds, by the users who add it.
struct UsageChange: Sendable {
    var day: Int64 = 0
    var growth: [UserID: Growth] = [:]
    /// The users whose rows the transaction stores.
    var saved: Set<UserID> = []
}

/// The amounts that users have added today.
///
/// The store has a user's amounts as of the last multiple of a thirty-second of a limit, so that a message seldom
/// writes a row. A restart of the server therefore returns at most a thirty-second of a limit to a user.
package final class QuotaLedger: Sendable {
    private struct Entry {
        var usage: UsageRow
        var saved: Growth
    }

    private struct State {
        var entries: [UserID: Entry] = [:]
        var refusals = [Int](repeating: 0, count: Quota.allCases.count)
    }

    private let state = Mutex(State())

    /// The number of users above which the ledger forgets what the store does not have yet.
    private static let maximumEntries = 100_000
    /// The number of rows that a user who reaches a limit causes.
    private static let stepsPerLimit: Int64 = 32

    package init() {}

    /// Returns what a user has added on a day.
    ///
    /// - Parameter load: Reads the user's row of any day from the store.
    func usage(of user: UserID, on day: Int64, load: () throws -> UsageRow?) rethrows -> Growth {
        if let known = state.withLock({ $0.entries[user]?.usage }), known.day == day { return known.growth }
        let stored = try load().flatMap { $0.day == day ? $0.growth : nil } ?? Growth()
        state.withLock { state in
            if state.entries.count >= Self.maximumEntries { state.entries.removeAll() }
            state.entries[user] = Entry(usage: UsageRow(day: day, growth: stored), saved: stored)
        }
        return stored
    }

    /// Returns the users whose amounts of a day must be read from the store.
    func unknown(_ users: [UserID], on day: Int64) -> Set<UserID> {
        state.withLock { state in Set(users.filter { state.entries[$0]?.usage.day != day }) }
    }

    /// Returns a user's row if it must be stored, because an amount has passed another step of its limit.
    func rowToSave(_ growth: Growth, of user: UserID, on day: Int64, _ quotas: QuotaSettings) -> UsageRow? {
        guard let entry = state.withLock({ $0.entries[user] }), entry.usage.day == day else { return nil }
        let total = entry.usage.growth + growth
        let isDue = Quota.allCases.contains { quota in
            guard let limit = quotas[quota] else { return false }
            let step = max(1, limit / Self.stepsPerLimit)
            return total[quota] / step > entry.saved[quota] / step
        }
        return isDue ? UsageRow(day: day, growth: total) : nil
    }

    /// Adds what a transaction has committed.
    func commit(_ change: UsageChange) {
        guard !change.growth.isEmpty else { return }
        state.withLock { state in
            for (user, amount) in change.growth {
                guard var entry = state.entries[user], entry.usage.day == change.day else { continue }
                entry.usage.growth = entry.usage.growth + amount
                if change.saved.contains(user) { entry.saved = entry.usage.growth }
                state.entries[user] = entry
            }
        }
    }

    func countRefusal(_ quota: Quota) { state.withLock { $0.refusals[quota.rawValue] += 1 } }

    /// The number of requests that each quota has refused since the start.
    package var refusals: [(quota: Quota, count: Int)] {
        let counts = state.withLock { $0.refusals }
        return Quota.allCases.map { ($0, counts[$0.rawValue]) }
    }
}
