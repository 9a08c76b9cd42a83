import Foundation
import ScrollbackModel
import ScrollbackWire

/// The direct conversations in a chat log with channels.
///
/// Channels with the same two senders form one conversation.
///
/// A channel is a direct conversation if it has exactly two senders. The struct stores positions of lines instead of
/// their content, so the importer reads the file twice.
struct DirectPairs {
    /// The position of a line in the file.
    struct Line {
        var range: Range<Data.Index>
        var number: Int
        var time: Date
    }

    /// The conversations by ID with their lines, sorted by time and then by position in the file.
    private(set) var conversations: [(id: ConversationID, lines: [Line])] = []
    private(set) var ignoredChannels = 0
    private(set) var ignoredMessages = 0
    private(set) var ignoredBytes = 0

    private struct Channel {
        /// The first three senders.
        ///
        /// More make no difference.
        var senders: Set<UserID> = []
        var lines: [Line] = []

        mutating func add(_ line: Line, by sender: UserID) {
            if senders.count < 3 { senders.insert(sender) }
            lines.append(line)
        }
    }

    init(of data: Data, onlyChannel: String?) throws(ChatError) {
        var channels: [Identifier: Channel] = [:]
        var number = 0
        for bytes in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if bytes.isEmpty { continue }
            let line = try ImportLine(bytes, number: number)
            if let onlyChannel, line.channel != onlyChannel { continue }
            let name = try line.requiredChannel(line: number)
            let position = Line(range: bytes.startIndex..<bytes.endIndex, number: number, time: line.time)
            channels[name, default: Channel()].add(position, by: line.sender)
        }
        var pairs: [ConversationID: [Line]] = [:]
        for channel in channels.values {
            let senders = channel.senders.sorted()
            if senders.count == 2 {
                pairs[.direct(between: senders[0], and: senders[1]), default: []] += channel.lines
            } else {
                ignoredChannels += 1
                ignoredMessages += channel.lines.count
                ignoredBytes += channel.lines.reduce(0) { $0 + $1.range.count + 1 }
            }
        }
        conversations = pairs.sorted { $0.key < $1.key }.map { pair in
            (pair.key, pair.value.sorted { ($0.time, $0.number) < ($1.time, $1.number) })
        }
    }
}
