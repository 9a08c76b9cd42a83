import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport

extension EngineHarness {
    func block(_ user: UserID, isOn: Bool = true, by other: UserID) throws {
        let caller = Caller(user: other)
        if isOn {
            try perform(BlockUser(user: user), by: caller)
        } else {
            try perform(UnblockUser(user: user), by: caller)
        }
    }

    func mute(_ user: UserID, _ mute: Mute?, in id: ConversationID, by caller: Caller = admin) throws {
        _ = try done { engine.putMember(user, role: nil, mute: .some(mute), of: id, by: caller, completion: $0) }
    }

    func ban(_ words: [String], _ action: BannedWordsSetting.Action) throws {
        try set { $0.moderation.bannedWords = BannedWordsSetting(words: words, action: action) }
    }
}

extension EngineHarness {
    // With a webhook, a write completes later, possibly on the thread that would wait for it. So these calls suspend.

    private func outcome<Answer: Sendable>(
        _ body: (@escaping Engine.Completion<Answer>) -> Void
    ) async throws -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            body { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Waits until every submitted message is in the log.
    func settled() async throws {
        try await outcome { engine.waitForPendingMessages(completion: $0) }
    }

    @discardableResult
    func sent(_ submission: Submission, to id: ConversationID, by user: UserID) async throws -> SendResult {
        try await outcome { engine.send(submission, to: id, by: Caller(user: user), completion: $0) }
    }

    @discardableResult
    func sent(_ text: String = "hi", to id: ConversationID, by user: UserID) async throws -> SendResult {
        try await sent(submission(text), to: id, by: user)
    }

    @discardableResult
    func edited(
        _ id: MessageID, in conversation: ConversationID, _ text: String, by caller: Caller
    ) async throws -> Message {
        try await outcome {
            engine.edit(id, in: conversation, MessageEdit(.text(text)), by: caller, completion: $0)
        }
    }
}

/// Returns the error that an asynchronous call throws, or `nil`.
func refused(_ body: () async throws -> Void) async -> ChatError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? ChatError
    }
}

/// A webhook with scripted answers, which records its requests.
final class FakeWebhookReceiver: WebhookTransport {
    typealias Answer = @Sendable (WebhookRequest) async throws -> WebhookResponse

    private let state = Mutex<(requests: [WebhookRequest], answer: Answer)>(
        ([], { _ in WebhookResponse(status: 200, body: Array(#"{"action":"allow"}"#.utf8)) }))

    func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }
    func answer(_ text: String, status: Int = 200) {
        answer { _ in WebhookResponse(status: status, body: Array(text.utf8)) }
    }

    var requests: [WebhookRequest] { state.withLock { $0.requests } }

    func post(_ request: WebhookRequest) async throws -> WebhookResponse {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answer
        }
        return try await answer(request)
    }
}

extension WebhookRequest {
    var text: String { String(decoding: body, as: UTF8.self) }
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
