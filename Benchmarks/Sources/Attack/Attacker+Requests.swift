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
