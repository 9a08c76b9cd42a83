import ScrollbackModel

/// How much an answer may still hold: so many messages, and about so many bytes of them.
///
/// The first message fits whatever its size, so that whoever asks again and again gets on.
package struct PageRoom: Hashable, Sendable {
    /// What an answer may hold in bytes: on a line so slow that devices give up waiting, a larger one would be asked for
    /// again for ever.
    package static let answerBytes = 512 * 1024

    package private(set) var messages: Int
    package private(set) var bytes: Int
    /// Whether the messages' actions come with them, one by one.
    var includesActions = false
    private var isUntouched = true
    /// Whether there was no room for a message.
    package private(set) var hasRefused = false

    package init(messages: Int, bytes: Int = answerBytes) {
        self.messages = messages
        self.bytes = bytes
    }

    /// Whether nothing more is to be read.
    package var isFull: Bool { messages <= 0 || hasRefused }

    /// Takes a message in, if there is room for it.
    package mutating func take(_ row: MessageRow) -> Bool {
        guard !isFull else { return false }
        let weight = row.weight + (includesActions ? row.actionsWeight : 0)
        guard weight <= bytes || isUntouched else {
            hasRefused = true
            return false
        }
        messages -= 1
        bytes -= min(weight, bytes)
        isUntouched = false
        return true
    }

    /// One of its kind for other numbers.
    func with(messages: Int, bytes: Int? = nil) -> PageRoom {
        var room = PageRoom(messages: messages, bytes: bytes ?? self.bytes)
        room.includesActions = includesActions
        return room
    }

    /// Lets something have at most so many messages of it.
    mutating func lend<Value>(_ most: Int, to body: (inout PageRoom) throws -> Value) rethrows -> Value {
        var part = self
        part.messages = min(most, messages)
        let before = part.messages
        let value = try body(&part)
        part.messages += messages - before
        self = part
        return value
    }
}

extension MessageRow {
    /// About how many bytes it takes in an answer: what it holds, and the names of its fields.
    package var weight: Int {
        400 + sender.text.utf8.count + type.rawValue.utf8.count + (content?.text.utf8.count ?? 0) + attributes.weight
            + actions.reduce(0) { $0 + $1.weight }
    }

    /// The same of its actions, those that are given one by one.
    fileprivate var actionsWeight: Int {
        // Where there are more than the summaries tell of, nobody has counted them.
        let isCounted = actions.count < ActionSummary.maximum
        let count = isCounted ? actions.reduce(0) { $0 + $1.count } : .max
        return Int(min(Int64(LogPage.mostActions), count)) * 300
    }
}

extension ConversationHead {
    /// About how many bytes it takes in an answer: its newest message is most of it.
    var weight: Int {
        400 + 24 * hidden.count
            + (lastMessage.map { 400 + ($0.content?.json.text.utf8.count ?? 0) + $0.attributes.weight } ?? 0)
    }
}

extension MessageAttributes {
    fileprivate var weight: Int {
        var bytes = customType?.utf8.count ?? 0
        for json in [metadata, extra, push] { bytes += json?.text.utf8.count ?? 0 }
        if let mentions {
            bytes += mentions.users.reduce(mentions.pushText?.utf8.count ?? 0) { $0 + $1.text.utf8.count + 3 }
        }
        return bytes
    }
}

extension ActionSummary {
    fileprivate var weight: Int {
        60 + type.utf8.count + value.utf8.count + senders.reduce(0) { $0 + $1.text.utf8.count + 3 }
    }
}
