/// A question with options that users vote for.
///
/// A vote is an action of the message, of the type ``MessageAction/vote``. Its value is the option's index in decimal
/// digits. The server counts each user once for each option, and once for the poll unless it allows several votes.
public struct Poll: Hashable, Sendable {
    /// The question, 1...1,024 bytes of UTF-8.
    public var question: String
    /// The 2...20 options, each 1...256 bytes of UTF-8.
    public var options: [String]
    /// Whether a user can vote for several options.
    public var allowsSeveralVotes: Bool
    /// Whether the poll is closed, so that votes are final.
    public var isClosed: Bool

    /// Creates a poll, which is open.
    public init(question: String, options: [String], allowsSeveralVotes: Bool = false) {
        self.question = question
        self.options = options
        self.allowsSeveralVotes = allowsSeveralVotes
        isClosed = false
    }
}

extension Poll {
    private static let longestQuestion = 1024
    private static let longestOption = 256
    package static let optionCounts = 2...20

    /// Parses the JSON of a poll.
    ///
    /// - Throws: `invalid-parameter` naming the invalid member.
    package init(_ json: RawJSON) throws(ChatError) {
        var question: String?
        var options: [String]?
        var allowsSeveralVotes = false
        var isClosed = false
        var reader = JSONReader(json.text, field: "content")
        try reader.object { (member, value) throws(ChatError) in
            switch member {
            // The question has the name that texts of other types have, for search, filters and pushes.
            case "text": question = try value.string()
            case Self.optionsMember:
                var texts: [String] = []
                try value.array { (option) throws(ChatError) in texts.append(try option.string()) }
                options = texts
            case "several": allowsSeveralVotes = try value.bool()
            case "closed": isClosed = try value.bool()
            default: try value.skip()
            }
        }
        guard let question, let options else {
            throw .invalidParameter("content", "of type poll must have a string text and a list options")
        }
        self.init(question: question, options: options, allowsSeveralVotes: allowsSeveralVotes)
        self.isClosed = isClosed
        try check()
    }

    /// The name of the member with the options.
    package static let optionsMember = "options"

    fileprivate func check() throws(ChatError) {
        guard (1...Self.longestQuestion).contains(question.utf8.count) else {
            throw .invalidParameter(
                "text", "of a poll must be 1...\(Self.longestQuestion) bytes of UTF-8", limit: Self.longestQuestion)
        }
        guard Self.optionCounts.contains(options.count) else {
            throw .invalidParameter(
                "options", "of a poll must be \(Self.optionCounts) texts", limit: Self.optionCounts.upperBound)
        }
        for option in options where !(1...Self.longestOption).contains(option.utf8.count) {
            throw .invalidParameter(
                "options", "of a poll must be 1...\(Self.longestOption) bytes of UTF-8 each", limit: Self.longestOption)
        }
    }
}

extension MessageContent {
    /// Returns the content for a poll.
    ///
    /// - Throws: `invalid-parameter` if the question, the number of options or an option is out of range.
    public static func poll(_ poll: Poll) throws(ChatError) -> MessageContent {
        try poll.check()
        return MessageContent(.poll) { writer in
            writer.field("text", poll.question)
            writer.key(Poll.optionsMember)
            writer.array(poll.options) { $0.value($1) }
            if poll.allowsSeveralVotes { writer.field("several", true) }
            if poll.isClosed { writer.field("closed", true) }
        }
    }

    /// The poll, if the content is one.
    public var poll: Poll? { type == .poll ? try? Poll(json) : nil }
}

/// An option of a poll with its votes.
public struct PollResult: Hashable, Sendable, Identifiable {
    /// The index of the option.
    public let id: Int
    /// The option's text.
    public let option: String
    /// The number of users who voted for it.
    public let votes: Int64
    /// The first users who voted for it, at most ``ActionSummary/maximumSenders``.
    public let voters: [UserID]
}

extension Message {
    /// The options of a poll with their votes, in the poll's order; `nil` for a message that is no poll.
    public var pollResults: [PollResult]? {
        content?.poll?.options.enumerated().map { index, option in
            let votes = actions.first { $0.type == MessageAction.vote && $0.value == String(index) }
            return PollResult(id: index, option: option, votes: votes?.count ?? 0, voters: votes?.senders ?? [])
        }
    }

    /// The user who pinned the message; `nil` if it is not pinned.
    public var pinnedBy: UserID? { actions.first { $0.type == MessageAction.pin }?.senders.first }

    /// Whether the message is pinned.
    public var isPinned: Bool { actions.contains { $0.type == MessageAction.pin } }
}
