import Crypto
package import Foundation
import ScrollbackModel

/// Sends webhook requests, so that the engine does not depend on a network library.
package protocol WebhookTransport: Sendable {
    /// Sends a request once, without following redirects, and fails after the request's timeout.
    func post(_ request: WebhookRequest) async throws -> WebhookResponse
}

/// A signed webhook request.
package struct WebhookRequest: Sendable {
    package var url: String
    package var body: [UInt8]
    /// Additional HTTP headers.
    package var headers: [(name: String, value: String)]
    package var timeout: Duration

    /// Creates a signed request.
    ///
    /// - Parameter delivery: The ID of the request body; a different body has a different ID.
    package init(url: String, secret: String, delivery: String, body: [UInt8], timeout: Duration, now: Date) {
        self.url = url
        self.body = body
        self.timeout = timeout
        headers = [
            ("Content-Type", "application/json"), ("Scrollback-Delivery", delivery),
            ("Scrollback-Signature", Self.signature(of: body, secret: secret, at: now)),
        ]
    }

    /// Returns the signature `t=UNIX,v1=HEX`: the time, and the HMAC-SHA256 of the time, a period and the body.
    package static func signature(of body: [UInt8], secret: String, at now: Date) -> String {
        let time = String(Int(now.timeIntervalSince1970))
        var code = HMAC<SHA256>(key: SymmetricKey(data: Data(secret.utf8)))
        code.update(data: Data((time + ".").utf8))
        code.update(data: Data(body))
        return "t=\(time),v1=\(code.finalize().hexadecimal)"
    }
}

/// A webhook's response.
package struct WebhookResponse: Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }

    var isSuccess: Bool { (200..<300).contains(status) }
}
