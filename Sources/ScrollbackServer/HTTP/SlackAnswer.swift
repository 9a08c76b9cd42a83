import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel

/// An answer to a program that posts through an incoming webhook, with the status and the code of Slack's webhooks.
enum SlackAnswer {
    static let ok = response(200, "ok")
    static let unknownWebhook = response(404, "no_service")
    static let wrongSecret = response(403, "invalid_token")

    /// The answer for a payload that is refused.
    static func refusal(_ failure: SlackPayload.Failure) -> Response { response(400, failure.rawValue) }

    /// The answer for an error of the server, which has the error's code in the field `Scrollback-Error`.
    ///
    /// - Throws: `error` if it is not about the webhook or the message. The server answers it as in other requests.
    static func refusal(_ error: ChatError) throws(ChatError) -> Response {
        let (status, word): (Int, String)
        switch error.code {
        case .unknownConversation: (status, word) = (404, "channel_not_found")
        case .rateLimited: (status, word) = (429, "rate_limited")
        case .tooLarge where error.parameter == "text": (status, word) = (400, "msg_too_long")
        case .contentRejected: (status, word) = (403, "action_prohibited")
        case let code where code.isAnsweredForbidden: (status, word) = (403, "action_prohibited")
        default: throw error
        }
        var answer = response(status, word)
        if let name = HTTPField.Name("Scrollback-Error") { answer.headers[name] = error.code.rawValue }
        if let retryAfter = error.retryAfter { answer.headers[.retryAfter] = String(Int(retryAfter.rounded(.up))) }
        return answer
    }

    private static func response(_ status: Int, _ word: String) -> Response {
        Response(
            status: .init(code: status), headers: [.contentType: "text/plain; charset=utf-8"],
            body: .init(byteBuffer: ByteBuffer(string: word)))
    }
}

extension ChatError.Code {
    /// Whether the webhook's user may not send the message now.
    fileprivate var isAnsweredForbidden: Bool {
        [.forbidden, .notMember, .blocked, .muted, .banned, .userDeactivated, .featureOff].contains(self)
    }
}
