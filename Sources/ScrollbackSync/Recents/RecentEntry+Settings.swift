package import ScrollbackModel

/// The kinds of user settings in a conversation, which apply immediately and are sent to the server later.
package enum SettingKind: String, CaseIterable, Sendable {
    case muted, notifications, pinned, mark, list, roaming

    /// Whether an unconfirmed setting stays when the conversation gets a new epoch.
    package var survivesNewEpoch: Bool {
        switch self {
        case .muted, .notifications, .pinned: true
        case .mark, .list, .roaming: false
        }
    }
}

extension StateChange {
    package var kind: SettingKind? {
        switch self {
        case .settings(_?, _): .muted
        case .settings(nil, _): .pinned
        case .notifications: .notifications
        case .markUnread: .mark
        case .removeRecent, .addRecent: .list
        case .excludeFromNewDevices: .roaming
        case .read: nil
        }
    }
}

// The user's settings: the server's, and those that this device has not sent yet.

extension RecentEntry {
    /// Applies the server's settings, unless they are older than the known ones.
    ///
    /// An entry that is listed only because of its unread marker leaves the list when the marker ends.
    ///
    /// - Parameters:
    ///   - pending: The settings that the server has not confirmed; they stay.
    ///   - isRead: Whether a read on this device is still unconfirmed. It ends the unread marker once the server
    ///     receives it.
    package mutating func apply(settings summary: ReadSummary, pending: Set<SettingKind>, isRead: Bool) {
        // In a group, the server counts messages up to the read marker as delivered. In a direct conversation it does
        // not, because the user's own messages advance the marker.
        if kind != .direct { delivery.reported(through: summary.readSeq) }
        guard summary.userRev >= settingsRev else { return }
        settingsRev = summary.userRev
        if !pending.contains(.muted) { isMuted = summary.isMuted }
        if !pending.contains(.pinned) { isPinned = summary.isPinned }
        if !pending.contains(.notifications) { notifications = summary.notifications }
        if !pending.contains(.mark) {
            if summary.isMarkedUnread, !isRead { isMarkedUnread = true } else { endUnreadMarker() }
        }
        if !pending.contains(.list) {
            if summary.removedSeq > removedSeq { addedTime = nil }
            removedSeq = summary.removedSeq
        }
    }

    /// Applies a setting of the user on this device.
    ///
    /// - Returns: Whether the server must receive it.
    package mutating func apply(_ change: StateChange) -> Bool {
        let before = self
        switch change {
        case .settings(let isMuted?, _): self.isMuted = isMuted
        case .settings(nil, let isPinned?): self.isPinned = isPinned
        case .settings(nil, nil): break
        case .notifications(let level): notifications = level
        case .markUnread: isMarkedUnread = true
        case .removeRecent(let place, _):
            removedSeq = max(removedSeq, place?.seq ?? 0)
            addedTime = nil
            return true
        case .addRecent: removedSeq = 0
        case .excludeFromNewDevices: return true
        case .read: break
        }
        return self != before
    }

    /// Adds the conversation to the list.
    ///
    /// - Parameters:
    ///   - time: The time to sort it by; `nil` for the time of its last message.
    ///   - showsLast: Whether its last message is shown. If not, none is shown until the next message.
    /// - Returns: Whether the server must receive that it is in the list again.
    package mutating func add(at time: Timetoken?, showsLast: Bool) -> Bool {
        let wasRemoved = apply(.addRecent)
        addedTime = time ?? Timetoken(rawValue: 0)
        hidesLast = !showsLast
        return wasRemoved
    }

    /// Ends the unread marker.
    ///
    /// An entry that was listed only because of its marker leaves the list.
    package mutating func endUnreadMarker() {
        if isMarkedUnread { isListed = false }
        isMarkedUnread = false
    }
}
