import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import ScrollbackModel
import ScrollbackPush
import Synchronization

/// Sends signed requests to a bucket, and retries requests that failed temporarily.
final class S3Client: Sendable {
    /// A class of results, by which the metrics count requests.
    enum Outcome: String, CaseIterable, Sendable {
        case success, missing, refused, unavailable
    }

    struct Count: Hashable, Sendable {
        var operation: S3Request.Operation
        var outcome: Outcome
    }

    let location: S3Location
    private let credentials: S3Credentials
    private let timing: S3Timing
    private let logger: Logger
    private let http: HTTPClient
    private let counted = Mutex<[Count: Int]>([:])
    private let loggedAt = Mutex<ContinuousClock.Instant?>(nil)

    /// Failures are logged at most once in this time, because a store that is down must not fill the log.
    private static let logInterval = Duration.seconds(10)

    /// - Parameter authorities: A PEM file of certificate authorities to trust in addition to the system's.
    init(
        _ location: S3Location, _ credentials: S3Credentials, authorities: String? = nil, logger: Logger,
        timing: S3Timing = S3Timing()
    ) {
        self.location = location
        self.credentials = credentials
        self.logger = logger
        self.timing = timing
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.httpVersion = .http1Only
        configuration.tlsConfiguration = .outgoing(trustingAlso: authorities)
        // The client repeats requests itself.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit { http.shutdown { _ in } }

    /// The number of attempts of each operation by their outcome.
    var counts: [Count: Int] { counted.withLock { $0 } }

    /// Sends a request, and retries it a few times after temporary failures.
    ///
    /// The request continues if the caller's task is cancelled, so that the server stores what it received even if the
    /// client disconnects. A copy ends, because it can take minutes, and the daily cleanup repeats it.
    ///
    /// - Throws: An error whose cause is an ``S3Failure``.
    func send(_ request: S3Request) async throws(ChatError) -> S3Answer {
        let hash = try await request.body.hash()
        guard request.operation != .copy else { return try await sendRepeatedly(request, hash).get() }
        return try await Task { await self.sendRepeatedly(request, hash) }.value.get()
    }

    private func sendRepeatedly(_ request: S3Request, _ hash: String) async -> Result<S3Answer, ChatError> {
        let start = timing.now()
        var number = 1
        while true {
            let failure: S3Failure
            do throws(S3Failure) {
                let answer = try await attempt(request, hash)
                count(request.operation, .success)
                return .success(answer)
            } catch {
                failure = error
            }
            count(request.operation, failure.isExpected ? .missing : failure.isTemporary ? .unavailable : .refused)
            guard !Task.isCancelled else { return .failure(failure.chatError) }
            let delay = timing.delay(afterAttempt: number)
            guard failure.isTemporary, number < timing.attempts, timing.now() + delay - start <= timing.total else {
                if !failure.isExpected { log(failure) }
                return .failure(failure.chatError)
            }
            await timing.sleep(delay)
            number += 1
        }
    }

    private func log(_ failure: S3Failure) {
        let isDue = loggedAt.withLock { last in
            let now = timing.now()
            if let last, now - last < Self.logInterval { return false }
            last = now
            return true
        }
        guard isDue else { return }
        logger.error("A request to the store of files failed.", metadata: ["reason": "\(failure)"])
    }

    private func count(_ operation: S3Request.Operation, _ outcome: Outcome) {
        counted.withLock { $0[Count(operation: operation, outcome: outcome), default: 0] += 1 }
    }

    private func attempt(_ request: S3Request, _ hash: String) async throws(S3Failure) -> S3Answer {
        let answer: S3Answer
        do {
            answer = try await withDeadline(timing.limit(of: request)) { try await self.exchange(request, hash) }
        } catch {
            throw S3Failure(operation: request.operation, status: nil, code: String("\(error)".prefix(300)))
        }
        let isSuccess = (200..<300).contains(answer.status)
        guard !isSuccess || [.multipart, .copy].contains(request.operation) else { return answer }
        let code = (try? S3Document(answer.body))?.values(at: "Error/Code").first
        // The end of a multipart upload and a copy can fail after the store began its answer with the status 200.
        guard !isSuccess || code != nil else { return answer }
        throw S3Failure(
            operation: request.operation, status: isSuccess ? 500 : answer.status,
            code: code.map { String($0.filter { $0.isASCII && $0.isLetter }.prefix(100)) } ?? "without a code")
    }

    private func exchange(_ request: S3Request, _ hash: String) async throws -> S3Answer {
        let time = S3Signature.time(timing.date())
        let path = S3Signature.path(ofBucket: location.bucket, key: request.key)
        let query = S3Signature.query(request.query)
        var headers = request.headers
        headers += [("host", location.host), ("x-amz-content-sha256", hash), ("x-amz-date", time)]
        if let token = credentials.sessionToken { headers.append(("x-amz-security-token", token)) }
        let signed = S3Signature.Request(
            method: request.method, path: path, query: query, headers: headers, payload: hash)
        let authorization = S3Signature.authorization(
            of: signed, region: location.region, time: time, credentials: credentials)
        var message = HTTPClientRequest(url: location.endpoint + path + (query.isEmpty ? "" : "?\(query)"))
        message.method = HTTPMethod(rawValue: request.method)
        for (name, value) in headers { message.headers.add(name: name, value: value) }
        message.headers.add(name: "authorization", value: authorization)
        message.headers.add(name: "user-agent", value: "scrollback/\(Server.version)")
        switch request.body {
        case .bytes(let bytes): message.body = .bytes(ByteBuffer(bytes: bytes))
        case .file(let part): message.body = .stream(part, length: .known(part.count))
        }
        let response = try await http.execute(message, timeout: TimeAmount(timing.limit(of: request)))
        let body = try await response.body.collect(upTo: request.answerBytes)
        let names = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
        return S3Answer(status: Int(response.status.code), headers: names, body: Array(buffer: body))
    }
}
