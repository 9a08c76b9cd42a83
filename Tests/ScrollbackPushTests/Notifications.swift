import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Synchronization

/// Returns a push notification for the user `alice`.
func notification(
    service: PushService = .apns, token: String = "00aaff",
    text: PushText = PushText(title: "Swift", body: "Bob: hello"),
    data: String? = nil, link: String? = nil, replaces: Bool = false, keys: WebPushKeys? = nil,
    _ change: (inout PushOptions) -> Void = { _ in }
) -> PushNotification {
    var options = PushOptions()
    change(&options)
    return PushNotification(
        id: UUID(uuidString: "0A0B0C0D-0000-8000-8000-000000000001") ?? UUID(),
        device: PushDevice(id: "phone", service: service, token: token, keys: keys), text: text, badge: 7,
        target: PushTarget(
            conversation: .group("swift"), seq: 12, epoch: Epoch(rawValue: 5),
            message: MessageID(high: 0x0198_0000_0000_7000, low: 0x8000_0000_0000_0001), sender: "bob", type: .text,
            receiver: "alice"),
        data: data, link: link, options: options, replaces: replaces,
        expiresAt: Date(timeIntervalSince1970: 1_795_860_000))
}

extension [UInt8] {
    /// The bytes parsed as JSON, for comparisons.
    var json: NSDictionary? { (try? JSONSerialization.jsonObject(with: Data(self))) as? NSDictionary }
}

/// A browser with a push subscription.
struct Browser {
    private let key = P256.KeyAgreement.PrivateKey()
    private let secret = Data((0..<16).map { UInt8($0) })

    var keys: WebPushKeys {
        WebPushKeys(p256dh: Data(key.publicKey.x963Representation).base64URL, auth: secret.base64URL)
    }

    /// Decrypts the body of a push (RFC 8291).
    func open(_ body: [UInt8]) throws -> String {
        let (salt, sender) = (Data(body[..<16]), Data(body[21..<86]))
        let server = try P256.KeyAgreement.PublicKey(x963Representation: sender)
        let material = try key.sharedSecretFromKeyAgreement(with: server).hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: secret,
            sharedInfo: Data("WebPush: info\0".utf8) + key.publicKey.x963Representation + sender, outputByteCount: 32)
        func derived(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material, salt: salt, info: Data(info.utf8), outputByteCount: count)
        }
        let nonce = derived("Content-Encoding: nonce\0", 12).withUnsafeBytes { Data($0) }
        let box = try AES.GCM.SealedBox(combined: nonce + Data(body[86...]))
        let plain = try AES.GCM.open(box, using: derived("Content-Encoding: aes128gcm\0", 16))
        return String(decoding: plain.dropLast(), as: UTF8.self)
    }
}

extension PushRequest {
    /// The decoded fields of the form in the body.
    var form: [String: String] {
        let fields = String(decoding: body, as: UTF8.self).split(separator: "&").map { field in
            let parts = field.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
            return (parts[0].removingPercentEncoding ?? "", parts[1].removingPercentEncoding ?? "")
        }
        return Dictionary(fields) { $1 }
    }
}

/// A transport that answers with a closure and records the requests.
final class ScriptedTransport: PushTransport {
    typealias Answer = @Sendable (PushRequest) async throws -> PushResponse

    private let state: Mutex<(requests: [PushRequest], answer: Answer)>

    init(_ answer: @escaping Answer) { state = Mutex(([], answer)) }

    var requests: [PushRequest] { state.withLock { $0.requests } }

    func post(_ request: PushRequest) async throws -> PushResponse {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answer
        }
        return try await answer(request)
    }
}

/// A value that a test shares with the closures that it creates.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    func update(_ change: (inout Value) -> Void) { state.withLock { change(&$0) } }
}

final class Clock: Sendable {
    private let date = Mutex(Date(timeIntervalSince1970: 1_795_255_200))
    var now: Date { date.withLock { $0 } }
    func advance(by seconds: TimeInterval) { date.withLock { $0 += seconds } }
}

/// A P-256 private key in the format of Apple's keys. It was created for these tests and is used nowhere else.
let p8 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZMhDOgJIoRtEqJiN
    Z4tZZv0CQQLSy+3Da35mvtjLwu+hRANCAAR0hQJwBjrMKb0IGK3XUHGPhDSkFEGd
    FJaNEzdlyaijVeafJ6HLbeiYPXB6qP8/VKlE1JwyxRjrHrL3fIgMn4+i
    -----END PRIVATE KEY-----
    """

/// An RSA private key in the format of Google's keys. It was created for these tests and is used nowhere else.
let rsa = """
    -----BEGIN PRIVATE KEY-----
    MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQCeURflkR81wCl0
    GtoLxaEL+mqKqHY+HNJZt7aYOl5ZrBQDS/JAwcObTO0wwZoSPCmxqjbv4in7d/yx
    DlldcAkjLEKkw+N8o8gUoInopTQ2+lUKw4udKhCnC4kuljnRVyaqljafbRrgLXNn
    9cNLhxu5DQMUR+JYf7RRkr9vykWC5II1fQlRLv7qpRrau7uJMcKmKEvEgyf76J8o
    yHuGFbiWNLx8iTMKHc6aCvK0GLSnOOsEs2WmJyB6J2PeGrbhHa6VKSZChtGtBuQ8
    HoNZItwpet6mkKxTuVkvQVt3tBYUoxhtuoJBUbAbw2feV1xS9o1b9aAGgs7e0Yti
    +ZG6VcPNAgMBAAECggEADR2INoUxefU3qe3wiuGeMB0YdvCyTP57waF5z74kI1ch
    WE2SHeG/d+3lR3D+d8zConyIrRJGKpY72Zon9pjptN99jONKhQCXenf7PMn026oc
    4fWlqwk5VHFc9b5Nv2UyJ5cmosn53ED/qsjeGzNv7UJh8yvqWS0JLenTkKoH3Ko6
    rhgRs+vCtvVk3S9HNb0In5l1EDISiI3bcyh9nJdIehAqguZMpxm4Kt9gH06yCQKb
    Vqyr1EYQjpIhtQpGA2/867gflMP0SnO+ArVJNHr8nu8W79llb5W6wNtdfHE9vgkF
    1+z+5D6Cug9yY29glJxZC8Ejsjxc6cMgTaRxZOFtgQKBgQDOv7atRaEg9FIA+pcX
    oAfqacgck+H1M2n9rqcY0vVagNPp6sEyTzFlgR6qQlUi3S+7l9hC3jUXZ42Y3eGs
    bV75f07WMONJoQVuZZ2q4bfnaLQIa0bg094/ViwyGIa43npT+yNMm05aqX4kBn1z
    DAssFjowE8gpdhPfUsDmJtL6gQKBgQDEB9EAfPrjSrW0S25I7iNnNMrPmAcSPgm3
    mjhcAxbjAyKsNU0xaFS7xihLwo5CgVUkeQJLoQnL1uK5WJwy7xgyXsh2nvOg1GZw
    JYomgJRu6nL7rFTNokrn7vqrag8AVSk1kVReUUwaO12cEfQaew+n8st7q9tZzopM
    A4yocuzrTQKBgQDE19kYfevcUWHmFrBWSQJgWBizxMTkzO/EHU5wnyIE6hVZaC5L
    NQUlzFqi5gbi686vf/HiMGhCAVDaU56yqWs8hs5Ltj4gcxOVuV/1O3T5+UE3ptPT
    6UR37xajF6DlUMUNQlWocVGXljpIGHnGWJgmgH8kGSGBADAJd2O7fQlwgQKBgHKM
    frziS1j2Fye7zD4hqd5tIvYbyEYIqnT3UWezBnSxKFmo6+qrJJh1OqbKkYabPL2L
    WKQI/kh20RWtidjZjjIg4NMwHv0kIJf317qX+CS4K2iVUxi2dT8CjsgLuahgGyyK
    N9rFdsr9Vb4VX6b5sjRZ1D34Nr1Ly9SPXmowffEhAoGBAMra9PdUlN7phFjaoqwC
    v9RAwHP2SSOrqhC33B69Lc7f968swk1VydFMYyrIGbQ2+eL18l6p9nxoZZhoc1x0
    zrQ88XZfNiGm/v7Eo2FzMUu5YIkLX5BLGQsFxE6Cl/bFpILLwBlwjvpaxFqMyNCS
    /MZJG1G0AA2VxCIuZLALbbqf
    -----END PRIVATE KEY-----
    """
