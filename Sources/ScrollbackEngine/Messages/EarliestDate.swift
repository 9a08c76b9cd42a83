import Foundation
import Synchronization

/// A date that is at or before the next time at which there is work, or no date if there is no work.
final class EarliestDate: Sendable {
    private let date: Mutex<Date?>

    init(_ date: Date?) {
        self.date = Mutex(date)
    }

    /// Records that there is work at a date.
    func add(_ new: Date) {
        date.withLock { $0 = min($0 ?? new, new) }
    }

    /// Removes the date if it is not after `now`.
    ///
    /// - Returns: Whether it was removed. The caller then adds the date of the work that remains.
    func take(dueBy now: Date) -> Bool {
        date.withLock { date in
            guard let time = date, time <= now else { return false }
            date = nil
            return true
        }
    }
}
