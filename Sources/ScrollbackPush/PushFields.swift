import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// What every payload tells the receiving app besides the text: a ``PushMessage``, as the SDK reads it.
struct PushFields {
    static func write(_ notification: PushNotification, omitsData: Bool, to writer: inout JSONWriter) {
        writer.key(PushMessage.key)
        writer.object { notification.message(omitsData: omitsData).writeMembers(to: &$0) }
        if !omitsData { writer.field(PushMessage.dataKey, notification.data) }
    }
}

extension PushNotification {
    /// - Parameter omitsData: whether what the sender handed over has no room; who fetches the message finds it there.
    func message(omitsData: Bool) -> PushMessage {
        PushMessage(place: place, kind: replaces ? .recall : .message, omitsData: omitsData, link: link)
    }
}

extension String {
    /// Its beginning in at most so many bytes of UTF-8, cut between characters, with an ellipsis where it was cut.
    func fitting(_ bytes: Int) -> String {
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

/// Makes a payload that fits: whole if it can be, else with the text cut, else without the sender's data.
///
/// - Parameters:
///   - limit: the most bytes.
///   - make: makes it with so many bytes of text.
/// - Returns: nil where it does not fit with hardly any text.
func fittingPayload(
    _ limit: Int, text: String, hasData: Bool, make: (_ text: String, _ omitsData: Bool) -> [UInt8]
) -> [UInt8]? {
    let whole = make(text, false)
    if whole.count <= limit { return whole }
    let shortest = min(text.utf8.count, 120)
    for omitsData in hasData ? [false, true] : [false] {
        // Of what JSON escapes a byte may become six: some looks find what fits.
        var (low, high) = (shortest, text.utf8.count)
        guard make(text.fitting(low), omitsData).count <= limit else { continue }
        while low < high {
            let middle = (low + high + 1) / 2
            if make(text.fitting(middle), omitsData).count <= limit { low = middle } else { high = middle - 1 }
        }
        return make(text.fitting(low), omitsData)
    }
    return nil
}
