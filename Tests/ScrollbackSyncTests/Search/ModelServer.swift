import ScrollbackModel

/// An in-memory server with several logs and the number of the last commit of each log.
struct ModelServer {
    var logs: [ModelLog]
    var lastCommits: [Int]
    private var backups: [ModelLog]
    private var commits = 0
    private var epochs: UInt64 = 100

    init(_ conversations: [ConversationID]) {
        logs = []
        for conversation in conversations {
            epochs += 1
            logs.append(ModelLog(conversation, epoch: epochs))
        }
        backups = logs
        lastCommits = logs.map { _ in 1 }
        commits = 1
    }

    func index(of conversation: ConversationID) -> Int { logs.firstIndex { $0.conversation == conversation }! }

    /// Records a commit that changed the conversation.
    mutating func recordCommit(_ index: Int) {
        commits += 1
        lastCommits[index] = commits
    }

    mutating func backUp(_ index: Int) { backups[index] = logs[index] }

    /// Restores the last backup with another epoch.
    mutating func restore(_ index: Int) {
        logs[index] = backups[index]
        epochs += 1
        logs[index].epoch = Epoch(rawValue: epochs)
        for row in logs[index].rows.indices { logs[index].rows[row].epoch = logs[index].epoch }
        logs[index].answers = logs[index].answers.mapValues { answer in
            var answer = answer
            answer.position?.epoch = logs[index].epoch
            return answer
        }
        recordCommit(index)
    }

    /// Deletes the conversation and creates it again.
    mutating func recreate(_ index: Int, members: [UserID]) {
        epochs += 1
        logs[index] = ModelLog(logs[index].conversation, epoch: epochs)
        for user in members { logs[index].join(user) }
        recordCommit(index)
    }

    func head(_ index: Int, for user: UserID) -> ConversationHead {
        ConversationHead(
            conversation: logs[index].conversation, state: logs[index].state(for: user),
            lastMessage: logs[index].rows.last { logs[index].canSee(user, $0.seq) })
    }

    /// A window with one conversation, in order of the last commit.
    func window(after cursor: String?, for user: UserID) -> (heads: [ConversationHead], cursor: String, isDone: Bool) {
        let since = cursor.flatMap(Int.init) ?? 0
        let moved = logs.indices.filter { lastCommits[$0] > since && logs[$0].spans[user] != nil }
            .sorted { lastCommits[$0] < lastCommits[$1] }
        guard let first = moved.first else { return ([], String(since), true) }
        return ([head(first, for: user)], String(lastCommits[first]), moved.count == 1)
    }
}
