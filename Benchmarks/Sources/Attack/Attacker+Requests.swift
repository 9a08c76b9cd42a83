import Foundation

extension Attacker {
    /// A method, a path and a JSON body.
    typealias Request = (method: String, path: String, json: String?)

    /// Sends HTTP requests, each after the response to the previous one of its connection.
    ///
    /// - Parameters:
    ///   - first: A request before the others, once for all connections.
    ///   - request: Returns a request, given the numbers of the connection and of the request.
    func floodRequests(
        connections: Int, first: Request? = nil, _ request: @escaping @Sendable (Int, Int) -> Request
    ) async {
        if let first {
            _ = try? PlainHTTP(server, from: .attacker, timeout: 10).exchange(
                first.method, first.path, authorization, json: first.json)
        }
        let numbers = EventCounter()
        await onEach(connections) { connection in
            let http = try PlainHTTP(server, from: .attacker, timeout: 30)
            while !isOver {
                let (method, path, json) = request(connection, numbers.add(1))
                count(try http.exchange(method, path, authorization, json: json))
                tally.sent(json?.utf8.count ?? 0)
            }
        }
    }

    /// Deletes the attacker's own messages, 100 with each request, and the same ones again after the last.
    func floodDeletions(connections: Int) async throws {
        let messages = try ownMessages()
        await floodRequests(connections: connections) { _, number in
            let ids = (0..<100).map { #""\#(messages[(number * 100 + $0) % messages.count])""# }
            return ("POST", Self.group + "/messages/delete", #"{"ids":[\#(ids.joined(separator: ","))]}"#)
        }
    }

    /// Returns the IDs of the attacker's messages among those that searches find, oldest first.
    private func ownMessages() throws -> [String] {
        struct Page: Decodable {
            struct Message: Decodable {
                var id: String
                var seq: Int
                var sender: String
            }
            var messages: [Message]
        }
        var web = try RawWebSocket(server, from: .attacker, timeout: 10)
        defer { web.close() }
        try web.signIn(token: token, device: "reader")
        var found: [String] = []
        var after = "earliest"
        while true {
            let page = #""conversation":"group:logs","after":"\#(after)","sort":"oldestFirst","limit":100"#
            let request = #""type":"history",\#(page)"#
            let answer = try JSONDecoder().decode(Page.self, from: Data(try web.request(request)))
            guard let last = answer.messages.last else { break }
            found += answer.messages.filter { $0.sender == "mallory" }.map(\.id)
            after = "seq:\(last.seq)"
        }
        guard !found.isEmpty else { throw BenchError("no messages to delete") }
        return found
    }

    /// Uploads pictures whose headers are long to walk.
    func uploadPictures() async {
        let (start, part) = kind.picture
        await onEach(sizes.uploads) { _ in
            let http = try PlainHTTP(server, from: .attacker, timeout: 300)
            while !isOver {
                let size = sizes.megabytes * 1_000_000
                let path = "/v1/media?conversation=group:logs&type=\(kind.mediaType ?? "file")"
                count(try http.upload(path, authorization, size: size, start: start, pattern: part))
                tally.sent(size)
            }
        }
    }

    private func count(_ answer: PlainHTTP.Answer) {
        if answer.isSuccess { tally.accept() } else { tally.refuse(answer.reason) }
    }
}
