public import ScrollbackModel

/// Where history is read from.
public enum HistorySource: Hashable, Sendable {
    /// What this device has. A page that a gap keeps from being whole says so.
    case local
    /// The server. What it answers is kept on the device too.
    ///
    /// - Parameter excludingLocal: whether messages this device had before are left out.
    case remote(excludingLocal: Bool)
    /// The device first, and the server for what is missing there.
    case merged

    /// The server, as it answers.
    public static var remote: HistorySource { .remote(excludingLocal: false) }
}

/// A page of history.
public struct HistoryPage: Sendable {
    /// In the order that was asked for.
    public var messages: [Message]
    /// Goes on to older messages; absent exactly where there are none.
    public var older: Anchor?
    /// Goes on to newer messages; absent exactly where there are none.
    public var newer: Anchor?
    /// What could not be asked, and why: the page has what is here.
    public var shortfall: ChatError?
    /// The places next to the page that this device does not know.
    ///
    /// Only a local page, or one with a shortfall, has it.
    public var gap: ClosedRange<Int64>?
}
