import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// The data for the receiving app in a payload, besides the text: a ``PushMessage``, which the SDK parses.
struct PushFields {
    static func write(_ notification: PushNotification, omitsData: Bool, to writer: inout JSONWriter) {
        writer.key(PushMessage.key)
        writer.object { notification.message(omitsData: omitsData).writeMembers(to: &$0) }
        if !omitsData { writer.field(PushMessage.dataKey, notification.data) }
    }
}

extension PushNotification {
    /// Creates the message.
    ///
    /// - Parameter omitsData: Whether the sender's data does not fit. The app gets the data by fetching the message.
    func message(omitsData: Bool) -> PushMessage {
        PushMessage(target: target, kind: replaces ? .recall : .message, omitsData: omitsData, link: link)
    }
}

extension String {
    /// Returns the string truncated to at most `bytes` bytes of UTF-8, with an ellipsis, without splitting characters.
    func truncated(_ bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        let ellipsis = "…"
        var room = bytes - ellipsis.utf8.count
        var end = startIndex
        while end < endIndex {
            let next = index(after: end)
            room -= self[end..<next].utf8.count
            if room < 0 { break }
            end = next
        }
        return self[..<end] + ellipsis
    }
}

/// Creates a payload of at most `limit` bytes.
///
/// Truncates the text if necessary, then omits the sender's data.
///
/// - Parameters:
///   - limit: The maximum size in bytes.
///   - text: The complete text.
///   - hasData: Whether the push has data of the sender.
///   - make: Creates the payload with a given text.
/// - Returns: The payload, or `nil` if it does not fit even with a short text and without data.
func fittingPayload(
    _ limit: Int, text: String, hasData: Bool, make: (_ text: String, _ omitsData: Bool) -> [UInt8]
) -> [UInt8]? {
    let whole = make(text, false)
    if whole.count <= limit { return whole }
    let shortest = min(text.utf8.count, 120)
    for omitsData in hasData ? [false, true] : [false] {
        // JSON escapes one byte as up to six, so a binary search finds the longest text that fits.
        var (low, high) = (shortest, text.utf8.count)
        guard make(text.truncated(low), omitsData).count <= limit else { continue }
        while low < high {
            let middle = (low + high + 1) / 2
            if make(text.truncated(middle), omitsData).count <= limit { low = middle } else { high = middle - 1 }
        }
        return make(text.truncated(low), omitsData)
    }
    return nil
}
