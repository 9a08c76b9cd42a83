package import ScrollbackModel

/// The order of sync passes on a connection, and the current window.
///
/// A pass fetches the heads that changed since a cursor, in windows, and then the missed messages. ``ResumeState``
/// requests them. A pass only covers changes that were made before it began, so a later change needs another pass.
package struct SyncPass: Sendable {
    /// The parts of a window that ``ResumeState`` does not need.
    package struct Window: Hashable, Sendable {
        /// Whether this is the last window of its pass.
        package var isLast: Bool
        package var totals: UnreadTotals?
        /// Whether the user's drafts changed.
        package var hasDrafts: Bool

        package init(isLast: Bool = false, totals: UnreadTotals? = nil, hasDrafts: Bool = false) {
            self.isLast = isLast
            self.totals = totals
            self.hasDrafts = hasDrafts
        }
    }

    /// The window that was answered last.
    package private(set) var window = Window()
    /// Whether another pass must follow the current one.
    package private(set) var needsAnother = false
    /// Whether a pass on this connection followed another one.
    private var followedAnother = false

    package init() {}

    /// Handles the start of a pass.
    ///
    /// - Parameter isInterrupted: Whether the pass continues one of an earlier connection. Its windows can lack changes
    ///   that were made since that pass began, so another pass follows.
    package mutating func began(isInterrupted: Bool) {
        needsAnother = isInterrupted
    }

    /// Handles a change that needs another pass.
    ///
    /// - Parameter isFetchingWindows: Whether a pass still fetches windows (``ResumeState/isFetchingWindows``).
    /// - Returns: Whether the other pass begins now. Otherwise it begins when the current one has ended.
    package mutating func needsRestart(isFetchingWindows: Bool) -> Bool {
        if isFetchingWindows { needsAnother = true }
        return !isFetchingWindows
    }

    /// Handles the start of another pass on the same connection; call ``began(isInterrupted:)`` too.
    package mutating func restarted() {
        followedAnother = true
    }

    /// Handles a window that ``ResumeState`` accepted.
    package mutating func received(_ window: Window) {
        self.window = window
    }

    /// Returns whether the subscribed channels and rooms must be checked after the last window, and resets it.
    ///
    /// A pass does not include events that arrived for them between two passes.
    package mutating func takeSubscriptionCheck() -> Bool {
        defer { followedAnother = false }
        return followedAnother
    }

    package mutating func disconnected() {
        followedAnother = false
    }
}
