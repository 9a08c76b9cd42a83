public import ScrollbackModel

/// The source of history.
public enum HistorySource: Hashable, Sendable {
    /// The messages that are stored on this device.
    ///
    /// A page that a gap interrupts reports the gap.
    case local
    /// The server.
    ///
    /// The returned messages are also stored on the device.
    ///
    /// - Parameter excludingLocal: Whether to omit messages that were already stored on this device.
    case remote(excludingLocal: Bool)
    /// The device, with missing messages loaded from the server.
    case merged

    /// The server, without omitting messages.
    public static var remote: HistorySource { .remote(excludingLocal: false) }
}

/// A page of history.
public struct HistoryPage: Sendable {
    /// The messages in the requested order.
    public var messages: [Message]
    /// The anchor of the page with older messages; `nil` if there are none.
    public var older: Anchor?
    /// The anchor of the page with newer messages; `nil` if there are none.
    public var newer: Anchor?
    /// The error that prevented loading from the server.
    ///
    /// The page then contains only stored messages.
    public var remoteError: ChatError?
    /// The range of sequence numbers next to the page that this device does not have.
    ///
    /// Only local pages and pages with a remote error have a gap.
    public var gap: ClosedRange<Int64>?
}
