import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import ScrollbackServer
import Synchronization

// Answers of other services, messages of other nodes, and tokens and keys of other issuers.

extension FuzzTarget {
    /// A status in the first line, then the body.
    static let webhookAnswer = FuzzTarget(asynchronous: "webhook-answer", "answers of the moderation webhook") {
        bytes in
        let (line, rest) = bytes.firstLine
        let response = WebhookResponse(status: Int(line.text) ?? 200, body: rest)
        let webhook = WebhookSettings.Before(url: "https://w.example", secret: "sixteen bytes, and some")
        for content in [
            MessageContent.text("hello"), .init(known: "app:poll", json: RawJSON(known: "{}")),
        ] {
            let request = FilterRequest(
                in: .group("crew"), by: "alice", id: MessageID(high: 0x7000, low: 0x8000_0000_0000_0001),
                content: content)
            let result = await webhook.review(
                request, over: AnsweringWebhook(response: response), limits: .standard, clock: { Fixed.now })
            guard case .replaced(let json, _) = result else { continue }
            let isValid = accepted { () throws(ChatError) in try MessageContent(type: content.type, json: json) } != nil
            try check(isValid, "The message is replaced by \(json), which is not valid.")
        }
    }

    /// The form of ``HTTPAnswer``, with the name of the push service before the status.
    static let pushAnswer = FuzzTarget(asynchronous: "push-answer", "answers of push services") { bytes in
        guard let answer = HTTPAnswer(bytes), let service = PushService(rawValue: answer.name),
            let credentials = Fixed.credentials[service]
        else { return }
        let response = PushResponse(status: answer.status, headers: answer.headers, body: answer.body)
        let services = PushServices(over: AnsweringPushService(response: response), clock: { Fixed.now })
        let device = PushDevice(
            id: "phone", service: service, token: service == .web ? "https://fcm.googleapis.com/x" : "00aaff",
            keys: service == .web ? Fixed.webPushKeys : nil)
        let outcome = await services.send(
            PushNotification(
                id: UUID(), device: device, text: PushText(title: "Swift", body: "Bob: hello"), badge: 7,
                target: PushTarget(
                    conversation: .group("crew"), seq: 12, epoch: Epoch(rawValue: 5),
                    message: MessageID(high: 0x7000, low: 0x8000_0000_0000_0001), sender: "bob", type: .text,
                    receiver: "alice"),
                expiresAt: Fixed.now + 3600),
            with: credentials)
        if case .later(let after?, _) = outcome {
            try check(after.isFinite && after >= 0, "The push is repeated after \(after) seconds.")
        }
    }

    static let s3Answer = FuzzTarget("s3-answer", "XML answers of S3 stores") { bytes in
        guard let document = try? S3Document(bytes) else { return }
        for path in ["ListBucketResult/Contents/Key", "ListBucketResult/IsTruncated", "Error/Code"] {
            let length = document.values(at: path).reduce(0) { $0 + $1.utf8.count }
            // An entity can be longer than its name, but the server accepts no declarations of entities.
            try check(length <= 3 * bytes.count, "The values at \(path) have \(length) bytes.")
        }
    }

    /// A byte for the kind of message, then its contents.
    static let nodeMessage = FuzzTarget("node-message", "messages of other nodes", maximumBytes: 16_384) { bytes in
        guard let message = BusMessage(bytes) else { return }
        try check(BusMessage(message.bytes) == message, "A message is read differently after it was encoded.")
        switch message {
        case .note(let note, _): try checkEffects(note.body)
        case .signal(let signal): try checkSignal(signal)
        case .commit: break
        }
    }

    private static func checkEffects(_ body: [UInt8]) throws {
        guard let effects = accepted({ () throws(ChatError) in try CommitEffects(body: body) }) else { return }
        let encoded = effects.body
        guard let again = accepted({ () throws(ChatError) in try CommitEffects(body: encoded) }) else {
            throw FuzzFailure(description: "A note is refused after it was encoded: \(encoded.text)")
        }
        try checkEqual(encoded, again.body, "A note")
    }

    private static func checkSignal(_ bytes: [UInt8]) throws {
        guard let signal = accepted({ () throws(ChatError) in try NodeSignal(bytes) }) ?? nil else { return }
        let encoded = signal.bytes
        let again = accepted { () throws(ChatError) in try NodeSignal(encoded) } ?? nil
        // Signals have dictionaries, whose bytes have no order.
        try check(again == signal, "A signal is not preserved: \(encoded.text)")
    }

    /// A token, or its header in the first line and its claims in the second.
    static let token = FuzzTarget(asynchronous: "token", "tokens") { bytes in
        let verified = try await Fixed.tokens()
        _ = try? await verified.service.verify(bytes.text)
        let (header, claims) = bytes.firstLine
        guard !claims.isEmpty else { return }
        let signed = "\(Data(header).base64URL).\(Data(claims).base64URL)"
        let signature = Data(try verified.key.signature(for: Data(signed.utf8)))
        guard let token = try? await verified.service.verify("\(signed).\(signature.base64URL)") else { return }
        try check(!token.caller.isAdmin, "A token of another issuer grants administration.")
        try check(token.issuedAt <= Fixed.now + 60, "A token of the future is accepted.")
    }

    static let keys = FuzzTarget(asynchronous: "keys", "files with public keys", maximumBytes: 8192) { bytes in
        do throws(ChatError) {
            _ = try await TokenKeys([KeyFile(path: "keys.pem", data: Data(bytes))]).summary
        } catch {}
    }
}

/// An HTTP response as an input: a name and the status in the first line, then header fields, an empty line, and the
/// body.
struct HTTPAnswer {
    let name: String
    let status: Int
    /// The header fields by their lowercase names.
    private(set) var headers: [String: String] = [:]
    private(set) var body: [UInt8] = []

    init?(_ bytes: [UInt8]) {
        var (line, rest) = bytes.firstLine
        let parts = line.text.split(separator: " ")
        guard parts.count == 2, let status = Int(parts[1]) else { return nil }
        name = String(parts[0])
        self.status = status
        while !rest.isEmpty {
            (line, rest) = rest.firstLine
            let field = line.text.split(separator: ":", maxSplits: 1)
            guard field.count == 2 else { break }
            headers[field[0].lowercased()] = field[1].trimmingCharacters(in: .whitespaces)
        }
        body = rest
    }
}

private struct AnsweringWebhook: WebhookTransport {
    let response: WebhookResponse

    func post(_ request: WebhookRequest) async throws -> WebhookResponse { response }
}

/// Answers requests for access tokens with a token, and other requests with the input.
private struct AnsweringPushService: PushTransport {
    let response: PushResponse

    func post(_ request: PushRequest) async throws -> PushResponse {
        let grant: String? =
            switch request.url {
            case "https://token/get": #"{"access_token":"t","expires_in":3600}"#
            case let url where url.hasSuffix("/server/v1/auth"): #"{"code":0,"data":{"auth_token":"t"}}"#
            case "https://v/message/auth": #"{"result":0,"desc":"","authToken":"t"}"#
            default: nil
            }
        // Services that refuse the access token are asked for another one, which the input answers too.
        guard let grant, response.status != 401 else { return response }
        return PushResponse(status: 200, body: Array(grant.utf8))
    }
}

/// What is the same for each input.
private enum Fixed {
    static let now = Date(timeIntervalSince1970: 1_795_255_200)

    static let webPushKeys = WebPushKeys(
        p256dh: Data(P256.KeyAgreement.PrivateKey().publicKey.x963Representation).base64URL,
        auth: Data(repeating: 7, count: 16).base64URL)

    static let credentials: [PushService: RawJSON] = {
        let key = P256.Signing.PrivateKey()
        func json(_ members: [String: Any]) -> RawJSON {
            let data = (try? JSONSerialization.data(withJSONObject: members)) ?? Data()
            return RawJSON(known: String(decoding: data, as: UTF8.self))
        }
        let token = "https://token/get"
        return [
            .apns: json([
                "keyID": "KEY", "teamID": "TEAM", "topic": "com.example.app", "privateKey": key.pemRepresentation,
            ]),
            .web: json(["privateKey": key.rawRepresentation.base64URL, "subject": "mailto:admin@example.com"]),
            .huawei: json(["appID": "10/1", "appSecret": "s", "endpoint": "https://h", "tokenEndpoint": token]),
            .honor: json([
                "appID": "9", "clientID": "c", "clientSecret": "s", "endpoint": "https://h", "tokenEndpoint": token,
            ]),
            .xiaomi: json(["package": "com.example", "appSecret": "s", "endpoint": "https://x/"]),
            .oppo: json(["appKey": "key", "masterSecret": "secret"]),
            .vivo: json(["appID": 10_004, "appKey": "key", "appSecret": "secret", "endpoint": "https://v"]),
            .webhook: json(["url": "https://w.example/push", "secret": "sixteen bytes, and some"]),
        ]
    }()

    struct Tokens: Sendable {
        let service: TokenService
        /// The key of another issuer.
        let key: Curve25519.Signing.PrivateKey
    }

    private static let started = Mutex<Task<Tokens, any Error>?>(nil)

    static func tokens() async throws -> Tokens {
        let task = started.withLock { task in
            let known = task ?? Task { try await makeTokens() }
            task = known
            return known
        }
        return try await task.value
    }

    private static func makeTokens() async throws -> Tokens {
        let folder = FileManager.default.temporaryDirectory.appending(component: "fuzz-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let key = Curve25519.Signing.PrivateKey()
        let set = #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"\#(key.publicKey.rawRepresentation.base64URL)"}]}"#
        let file = folder.appending(component: "keys.json")
        try Data(set.utf8).write(to: file)
        return Tokens(
            service: try await TokenService(directory: folder, trust: try TokenTrust(keys: file.path), clock: { now }),
            key: key)
    }
}
