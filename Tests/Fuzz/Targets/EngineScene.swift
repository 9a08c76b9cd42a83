import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Synchronization

/// An engine in memory with a group of three messages and three members, and the administrator `root`.
///
/// Requests are carried out before the call returns, and everything is the same for each scene.
final class EngineScene: Sendable {
    private let engine: Engine
    private let outbox = RecordingConnection()

    private static let preparation = [
        (
            "root: PUT /v1/conversations/group:crew",
            #"{"name":"Crew","members":["alice","bob","carol"],"visibility":"all"}"#
        ),
        ("alice: PUT /v1/users/alice", #"{"name":"Alice"}"#),
        message(1, by: "alice"), message(2, by: "bob"), message(3, by: "alice"),
    ]

    private static func message(_ number: Int, by sender: String) -> (String, String) {
        (
            "\(sender): POST /v1/conversations/group:crew/messages",
            #"{"id":"00000000-0000-4000-8000-00000000000\#(number)","type":"text","content":{"text":"hello"}}"#
        )
    }

    init() throws {
        engine = try Engine(
            store: MemoryStore(generation: 0x5EED), execution: .inline,
            clock: { Date(timeIntervalSince1970: 1_795_255_200) })
        for (line, body) in Self.preparation { try request(line, body: Array(body.utf8)) }
    }

    private static func caller(_ name: String) -> Caller? {
        guard let user = accepted({ () throws(ChatError) in try UserID(name) }) else { return nil }
        return Caller(user: user, isAdmin: user.text == "root")
    }

    // MARK: HTTP

    /// Carries out a request in the form `alice: POST /v1/path?query`.
    func request(_ line: String, body: [UInt8]) throws {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0].hasSuffix(":"), let caller = Self.caller(String(parts[0].dropLast())) else {
            return
        }
        let address = parts[2].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let (operation, path) = Self.route(parts[1], address[0]),
            let hasBody = operation.endpoint.http?.method.hasBody
        else { return }
        let request = accepted { () throws(ChatError) -> any Executable in
            let query = hasBody ? [:] : try QueryParameters.parse(address.count == 2 ? address[1] : "")
            var members = JSONMembers()
            if hasBody {
                var reader = try JSONReader(body.isEmpty ? Array("{}".utf8) : body)
                members = try JSONMembers(&reader)
            }
            var reader = RequestReader(path: path, query: query, body: members, limits: .standard)
            let request = try operation.init(from: &reader)
            try operation.endpoint.access.check(caller)
            return request
        }
        guard let request else { return }
        let answer = Mutex<Result<any OperationAnswer, ChatError>?>(nil)
        request.executeErased(OperationContext(engine: engine, caller: caller, offload: { $0() })) { result in
            answer.withLock { $0 = result }
        }
        if case .success(let answer) = answer.withLock({ $0 }) { try Self.checkAnswer(answer) }
    }

    private static func route(
        _ method: String, _ path: String
    ) -> (operation: any Executable.Type, path: [String: String])? {
        let segments = path.split(separator: "/")
        for operation in OperationRegistry.all {
            guard let address = operation.endpoint.http, address.method.rawValue == method else { continue }
            let names = address.path.split(separator: "/")
            guard names.count == segments.count else { continue }
            var parameters: [String: String] = [:]
            let matches = zip(names, segments).allSatisfy { name, segment in
                guard name.hasPrefix("{") else { return name == segment }
                parameters[String(name.dropFirst().dropLast())] = segment.removingPercentEncoding
                return segment.removingPercentEncoding != nil
            }
            if matches { return (operation, parameters) }
        }
        return nil
    }

    /// Checks that an answer is JSON, and that the SDK can read it.
    private static func checkAnswer(_ answer: some OperationAnswer) throws {
        for isBody in [true, false] {
            var writer = JSONWriter()
            writer.object { isBody ? answer.writeBody(to: &$0) : answer.writeMembers(to: &$0) }
            let isJSON =
                accepted { () throws(ChatError) in
                    try whole(writer.bytes) { (value) throws(ChatError) in try value.skip() }
                } != nil
            try check(isJSON, "The answer is not JSON: \(writer.text)")
            guard !isBody, let type = type(of: answer) as? any DecodableAnswer.Type else { continue }
            do throws(ChatError) {
                var reader = try JSONReader(writer.bytes)
                _ = try type.init(from: &reader)
            } catch {
                throw FuzzFailure(description: "The SDK can't read the answer \(writer.text): \(error)")
            }
        }
    }

    // MARK: WebSocket

    /// Opens a connection, and carries out its frames.
    ///
    /// Checks that the SDK can read what the server sends.
    func connection(of user: String, _ frames: [[UInt8]]) throws {
        let services = SessionServices(
            engine: engine,
            verify: { token, completion in
                let caller = Self.caller(token).map { (caller: $0, expiresAt: Date?.none) }
                completion(caller.map { .success($0) } ?? .failure(ChatError(.invalidToken, "The token is invalid.")))
            },
            offload: { $2() })
        let session = Session(services: services, lane: outbox, transport: outbox)
        session.receive(HelloFrame(token: user, device: "phone").encoded())
        for frame in frames { session.receive(frame) }
        session.disconnected()
        for frame in outbox.frames {
            do throws(ChatError) {
                _ = try ServerFrame.decode(frame)
            } catch {
                throw FuzzFailure(description: "The SDK can't read the frame \(frame.text): \(error)")
            }
        }
    }
}

/// Records the frames of a connection.
private final class RecordingConnection: SessionTransport, ConnectionLane {
    private let sent = Mutex<[[UInt8]]>([])

    var frames: [[UInt8]] { sent.withLock { $0 } }

    func send(_ frame: [UInt8]) { sent.withLock { $0.append(frame) } }

    func close(_ reason: CloseReason, _ text: String) {}

    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?) { send(frame) }
}
