import Crypto
package import Foundation

/// Carries requests to the operator's own program; the engine knows no network.
package protocol WebhookTransport: Sendable {
    /// Posts once, follows no redirect, and gives up at the request's timeout.
    func post(_ request: WebhookRequest) async throws -> WebhookResponse
}

/// A signed body on its way to the operator's program.
package struct WebhookRequest: Sendable {
    package var url: String
    package var body: [UInt8]
    /// Names and values, besides those of HTTP itself.
    package var headers: [(name: String, value: String)]
    package var timeout: Duration

    /// - Parameter delivery: names the body: another body has another name.
    package init(url: String, secret: String, delivery: String, body: [UInt8], timeout: Duration, now: Date) {
        self.url = url
        self.body = body
        self.timeout = timeout
        headers = [
            ("Content-Type", "application/json"), ("Scrollback-Delivery", delivery),
            ("Scrollback-Signature", Self.signature(of: body, secret: secret, at: now)),
        ]
    }

    /// `t=UNIX,v1=HEX`: the time, and the HMAC-SHA256 of the time, a full stop and the body.
    package static func signature(of body: [UInt8], secret: String, at now: Date) -> String {
        let time = String(Int(now.timeIntervalSince1970))
        var code = HMAC<SHA256>(key: SymmetricKey(data: Data(secret.utf8)))
        code.update(data: Data((time + ".").utf8))
        code.update(data: Data(body))
        return "t=\(time),v1="
            + code.finalize().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

/// What the operator's program answered.
package struct WebhookResponse: Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }

    var isSuccess: Bool { (200..<300).contains(status) }
}
