package import Foundation
package import ScrollbackModel
import ScrollbackWire

extension WebhookSettings.Before {
    /// Asks the moderation webhook about a message or an edit.
    ///
    /// - Parameter noteFailure: Called if the webhook gives no valid answer, so that `onFailure` decides.
    package func review(
        _ filterRequest: FilterRequest, over transport: any WebhookTransport, limits: Limits,
        clock: @Sendable () -> Date, noteFailure: @Sendable () -> Void = {}
    ) async -> FilterResult {
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            writer.field("event", filterRequest.kind.rawValue)
            writer.field("conversation", filterRequest.conversation)
            writer.field("sender", filterRequest.sender)
            writer.field("id", filterRequest.id)
            writer.field("type", filterRequest.content.type)
            writer.field("content", filterRequest.content.json)
            filterRequest.attributes.writeMembers(to: &writer)
        }
        let request = WebhookRequest(
            url: url, secret: secret, delivery: UUID().uuidString.lowercased(), body: writer.bytes,
            timeout: .seconds(timeoutSeconds), now: clock())
        do {
            let response = try await transport.post(request)
            if response.isSuccess { return try filterResult(in: response.body, on: filterRequest, limits: limits) }
        } catch {}
        noteFailure()
        return failed
    }

    /// The result if the webhook gives no valid answer.
    private var failed: FilterResult {
        switch onFailure {
        case .allow: .allowed
        case .reject:
            .refused(
                ChatError(
                    .overloaded, "The server's message check is unavailable. Try again later.",
                    retryAfter: 5))
        }
    }

    private func filterResult(
        in body: [UInt8], on filterRequest: FilterRequest, limits: Limits
    ) throws(ChatError) -> FilterResult {
        var action: String?
        var reason: String?
        var content: RawJSON?
        var reader = try JSONReader(body)
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "action": action = try value.string()
            case "reason": reason = try value.null() ? nil : value.string()
            case "content": content = try value.null() ? nil : value.raw()
            default: try value.skip()
            }
        }
        switch action {
        case "allow": return .allowed
        case "reject":
            return .rejected(reason.map { String($0.prefix(500)) } ?? "The server's message check refused the message.")
        case "replace":
            // The replacement must be valid content of the same type.
            let new = try MessageContent(anyType: filterRequest.content.type, json: content.required("content"))
            guard new.json.text.utf8.count <= limits.contentBytes else {
                throw .invalidParameter("content", "is too large", limit: limits.contentBytes)
            }
            return .replaced(new.json)
        default: throw .invalidParameter("action", "must be allow, reject or replace")
        }
    }
}
