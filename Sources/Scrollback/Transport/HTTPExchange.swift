import Foundation
import ScrollbackModel

/// A request and its answer, both small enough to be in memory: files go in pieces.
struct HTTPExchange: Sendable {
    var method: String
    var url: URL
    var headers: [(String, String)] = []
    var body = Data()
    /// How many bytes of an answer are taken.
    var answerLimit = 1 << 20

    struct Answer: Sendable {
        var status: Int
        /// By their names in lower case.
        var headers: [String: String]
        var body: Data
    }
}

/// A way to ask by HTTP: URLSession's on Apple platforms, AsyncHTTPClient's elsewhere.
protocol HTTPTransport: Sendable {
    /// - Throws: `unreachable` when no answer came; `malformed` when it is larger than was asked for.
    func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer
}
