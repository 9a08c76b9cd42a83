import Foundation
import HTTPTypes
import Hummingbird
import ScrollbackEngine
import ScrollbackModel

extension Route {
    /// The URLs of incoming webhooks, whose secrets take the place of tokens.
    static let hooks: [Route] = [
        Route(.post, "/v1/hooks/{hook}", .postToHook) { scope, request, context throws(ChatError) in
            do throws(ChatError) {
                return try await post(scope, request, context.parameters)
            } catch {
                return try SlackAnswer.refusal(error)
            }
        }
    ]

    /// Sends the message of a request.
    ///
    /// - Throws: `rate-limited`, `too-large`, `timeout`, or the error with which the webhook's user can't send.
    private static func post(
        _ scope: RequestScope, _ request: Request, _ parameters: Parameters
    ) async throws(ChatError) -> Response {
        // Users who are erased from here on are refused.
        let erasureCount = scope.engine.erasureCount
        let address = WorkOwner.address(ClientAddress(Exchange.current?.channel.remoteAddress)?.description ?? "")
        guard let token = parameters.get("hook")?.removingPercentEncoding.flatMap({ IncomingWebhookToken($0) }) else {
            try scope.takeTokens(1, of: address)
            return SlackAnswer.unknownWebhook
        }
        switch try await scope.read(for: address, in: .admission, { try $0.incomingWebhook(token) }) {
        case .found: break
        // The limit is only for wrong URLs: behind a proxy, all clients have one address.
        case .unknown:
            try scope.takeTokens(1, of: address)
            return SlackAnswer.unknownWebhook
        case .wrongSecret:
            try scope.takeTokens(1, of: address)
            return SlackAnswer.wrongSecret
        }
        let owner = WorkOwner.hook(token.id)
        try scope.takeTokens(1, of: owner)
        let body = try await scope.body(request, from: owner)
        // A body may take minutes to arrive, and the webhook may have been replaced or deleted since.
        let webhook: IncomingWebhookRow
        switch try await scope.read(for: owner, in: .admission, { try $0.incomingWebhookToPost(token) }) {
        case .found(let row): webhook = row
        case .unknown: return SlackAnswer.unknownWebhook
        case .wrongSecret: return SlackAnswer.wrongSecret
        }
        let text: String
        do throws(SlackPayload.Failure) {
            text = try SlackPayload.text(of: payload(in: body, isForm: request.hasForm))
        } catch {
            return SlackAnswer.refusal(error)
        }
        _ = try await scope.write { engine, completion in
            engine.post(text, through: webhook, since: erasureCount, completion: completion)
        }
        return SlackAnswer.ok
    }

    /// Returns the JSON in a body, which is the body itself or the field `payload` of a form.
    ///
    /// `curl --data` declares JSON as a form, so a form that begins with `{` is JSON. Only the field is decoded: a body
    /// can have 100,000 others.
    private static func payload(in body: [UInt8], isForm: Bool) throws(SlackPayload.Failure) -> [UInt8] {
        let first = body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard isForm, first != UInt8(ascii: "{") else { return body }
        let fields = body.split(separator: UInt8(ascii: "&")).filter { $0.starts(with: "payload=".utf8) }
        guard fields.count == 1, let values = try? QueryParameters.parse(String(decoding: fields[0], as: UTF8.self)),
            let payload = values["payload"]?.first
        else { throw .invalidPayload }
        return Array(payload.utf8)
    }
}

extension Engine {
    /// Finds the incoming webhook of a URL, and checks that its user may connect.
    fileprivate func incomingWebhookToPost(_ token: IncomingWebhookToken) throws -> IncomingWebhookLookup {
        let lookup = try incomingWebhook(token)
        if case .found(let row) = lookup { try checkAccount(of: row.user) }
        return lookup
    }
}

extension Request {
    fileprivate var hasForm: Bool {
        headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
    }
}
