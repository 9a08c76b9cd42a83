package import Foundation
package import ScrollbackModel

/// An HTTP request and its response.
///
/// Both are small enough for memory, because files are transferred in chunks.
package struct HTTPExchange: Sendable {
    package var method: String
    package var url: URL
    package var headers: [(String, String)]
    package var body: Data
    /// The maximum size of the response body, in bytes.
    package var answerLimit: Int
    /// The time limit in seconds: of the exchange, or on Apple platforms of the wait for more data.
    package var timeout: Int

    package init(
        method: String, url: URL, headers: [(String, String)] = [], body: Data = Data(), answerLimit: Int = 1 << 20,
        timeout: Int = 60
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.answerLimit = answerLimit
        self.timeout = timeout
    }

    package struct Answer: Sendable {
        package var status: Int
        /// The headers by their lowercase names.
        package var headers: [String: String]
        package var body: Data

        package init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }
}

/// Sends HTTP requests: with URLSession on Apple platforms, and with AsyncHTTPClient elsewhere.
package protocol HTTPTransport: Sendable {
    /// - Throws: `unreachable` if there is no response, or `malformed` if the response exceeds its limit.
    func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer
}
