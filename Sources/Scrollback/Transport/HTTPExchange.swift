package import Foundation
package import ScrollbackModel

/// A request and its answer, both small enough to be in memory: files go in pieces.
package struct HTTPExchange: Sendable {
    package var method: String
    package var url: URL
    package var headers: [(String, String)]
    package var body: Data
    /// How many bytes of an answer are taken.
    package var answerLimit: Int

    package init(
        method: String, url: URL, headers: [(String, String)] = [], body: Data = Data(), answerLimit: Int = 1 << 20
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.answerLimit = answerLimit
    }

    package struct Answer: Sendable {
        package var status: Int
        /// By their names in lower case.
        package var headers: [String: String]
        package var body: Data

        package init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }
}

/// A way to ask by HTTP: URLSession's on Apple platforms, AsyncHTTPClient's elsewhere.
package protocol HTTPTransport: Sendable {
    /// - Throws: `unreachable` when no answer came; `malformed` when it is larger than was asked for.
    func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer
}
