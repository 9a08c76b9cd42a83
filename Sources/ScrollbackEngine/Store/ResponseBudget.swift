import ScrollbackModel

/// The remaining size of an answer: a number of messages, and an approximate number of bytes.
///
/// It also limits how many messages filters examine. If an answer has pages of several conversations, they share it.
///
/// The first message always fits, so that a client that repeats its request makes progress.
package struct ResponseBudget: Hashable, Sendable {
    /// The maximum size of an answer, in bytes.
    ///
    /// On slow connections, a larger answer would time out and be requested again forever.
    package static let answerBytes = 512 * 1024

    /// The maximum number of positions that the filters of an answer examine if the store has an index that selects few
    /// other messages than the requested ones.
    ///
    /// A page can be empty, and has a cursor to continue.
    static let maximumScan: Int64 = 500_000
    /// The maximum without an index.
    static let maximumUnindexedScan: Int64 = 20_000

    package private(set) var messages: Int
    package private(set) var bytes: Int
    /// The rest of ``maximumScan``.
    private(set) var scan = maximumScan
    /// Whether the answer includes the messages' actions.
    var includesActions = false
    private var isUnused = true
    /// Whether a message did not fit.
    package private(set) var didOverflow = false

    package init(messages: Int, bytes: Int = answerBytes) {
        self.messages = messages
        self.bytes = bytes
    }

    /// Whether no more messages fit.
    package var isFull: Bool { messages <= 0 || isOutOfBytes }
    /// Whether no more messages fit, however many are allowed.
    var isOutOfBytes: Bool { didOverflow || bytes <= 0 && !isUnused }

    /// Takes the space for a message, and returns whether it fit.
    package mutating func take(_ row: MessageRow) -> Bool {
        guard !isFull else { return false }
        let weight = row.weight + (includesActions ? row.actionsWeight : 0)
        guard weight <= bytes || isUnused else {
            didOverflow = true
            return false
        }
        messages -= 1
        bytes -= min(weight, bytes)
        isUnused = false
        return true
    }

    /// Takes what the examined positions of a filter cost.
    mutating func takeScan(_ cost: Int64) {
        scan -= min(cost, scan)
    }

    /// Half of the remaining bytes and positions.
    var half: ResponseBudget {
        var half = self
        half.bytes /= 2
        half.scan /= 2
        return half
    }

    /// Calls a closure with a budget for another number of messages, and deducts the bytes and positions that it used.
    mutating func part<Value>(
        _ start: ResponseBudget, messages: Int, to body: (inout ResponseBudget) throws -> Value
    ) rethrows -> Value {
        var part = start
        part.messages = messages
        part.isUnused = true
        let value = try body(&part)
        bytes -= min(start.bytes - part.bytes, bytes)
        takeScan(start.scan - part.scan)
        isUnused = isUnused && part.isUnused
        return value
    }

    /// Calls a closure with a part of the budget for at most `most` messages, and deducts what the closure used.
    mutating func slice<Value>(_ most: Int, to body: (inout ResponseBudget) throws -> Value) rethrows -> Value {
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
    /// The message's approximate size in an answer, in bytes, including the names of its fields.
    package var weight: Int {
        400 + sender.text.utf8.count + type.rawValue.utf8.count + (content?.text.utf8.count ?? 0) + attributes.weight
            + actions.reduce(0) { $0 + $1.weight }
    }

    /// The approximate size of the message's actions in an answer.
    fileprivate var actionsWeight: Int {
        // The summaries don't include all actions of a message with many kinds of actions, so the count is unknown.
        let isCounted = actions.count < ActionSummary.maximum
        let count = isCounted ? actions.reduce(0) { $0 + $1.count } : .max
        return Int(min(Int64(LogPage.maximumActionsPerMessage), count)) * 300
    }
}

extension ConversationHead {
    /// The head's approximate size in an answer, in bytes, most of which is its newest message.
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
