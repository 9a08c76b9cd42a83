import ScrollbackModel
import ScrollbackSync

/// What is on its way between a device and the server.
struct Packet {
    var device: Int
    /// The connection it belongs to: only answers survive it.
    var connection: Int
    /// The process that sent it or waits for it.
    var process: Int
    var body: Body
    /// How many deliveries it lets pass first.
    var patience = 0

    enum Body {
        case request(Request)
        case answer(Answer)
        case event(LiveEvent)
    }
}

enum Request {
    case window(Int, cursor: String?)
    case sync(batch: Int, [LogPosition])
    case send(ConversationID, Submission)
    case page(ConversationID, GapRequest, from: UserID?, isFill: Bool)
}

enum Answer {
    case window(Int, heads: [ConversationHead], cursor: String, isDone: Bool)
    case windowRefused(Int)
    case sync(batch: Int, [(asked: LogPosition, answer: LogSync)])
    case syncRefused(batch: Int)
    case sent(ConversationID, Submission, from: UserID, Result<SendResult, ChatError>)
    case page(ConversationID, GapRequest, LogPage, isFill: Bool)
    case pageRefused(ConversationID, GapRequest)
}
