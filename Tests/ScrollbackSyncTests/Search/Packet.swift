import ScrollbackModel
import ScrollbackSync

/// A packet in flight between a client and the server.
struct Packet {
    var device: Int
    /// The connection of the packet. Answers can arrive after it ends, and events can't.
    var connection: Int
    /// The process that sent the packet or waits for it.
    var process: Int
    var body: Body
    /// The number of times that this packet is passed over before it is delivered.
    var deliveryDelay = 0

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
