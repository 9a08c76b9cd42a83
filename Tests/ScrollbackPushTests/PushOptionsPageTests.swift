import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPush
import Testing

/// Tests the example of `Documentation/push-options.md`.
@Suite("The example of push options")
struct PushOptionsPageTests {
    private let now = Date(timeIntervalSince1970: 1_795_255_200)

    /// Returns the first block of JSON under a heading of the page.
    private static func json(under heading: String) throws -> NSDictionary {
        let package = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let page = try String(contentsOf: package.appending(path: "Documentation/push-options.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n\(heading)\n\n").dropFirst().first)
        let block = try #require(section.components(separatedBy: "```json\n").dropFirst().first)
        let text = try #require(block.components(separatedBy: "\n```").first)
        return try #require(Array(text.utf8).json)
    }

    /// Returns the options of the page's message, and their JSON.
    private static func example() throws -> (options: PushOptions, json: NSDictionary) {
        let members = try #require(try Self.json(under: "### HTTP")["push"] as? NSDictionary)
        let text = String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
        return (try PushOptions(RawJSON(known: text)), members)
    }

    /// Returns the push about the page's message for a device of a service.
    private static func push(_ service: PushService) throws -> PushNotification {
        let options = try example().options
        var texts = PushTexts()
        texts.templates["order-update"] = PushTemplate(
            texts: ["de": PushTemplate.Text(title: "Bestellung", text: "Neues: {text}")])
        let subject = PushSubject(
            kind: .group, sender: "Bob", conversation: "Shop", type: .text,
            text: "The parcel has left the warehouse.", options: options)
        let text = try #require(texts.resolve(subject, for: PushRecipient(user: "alice", language: "en")))
        return notification(service: service, text: text, data: options.data) { $0 = options }
    }

    @Test("Every member of the example is an option")
    func members() throws {
        let (options, json) = try Self.example()
        #expect(Array(try options.json().text.utf8).json == json)
    }

    @Test("Each service receives the request that the page shows", arguments: PushService.allCases)
    func requests(_ service: PushService) throws {
        let page = try Self.json(under: "#### \(service.rawValue)")
        let push = try Self.push(service)
        var headers: [String: String]?
        let bytes: [UInt8]?
        switch service {
        case .apns:
            let request = APNS.request(for: push, topic: "com.example.shop", endpoint: "https://apns", token: "t")
            headers = request?.headers
            bytes = request?.body
        case .fcm: bytes = FCM.body(for: push, mode: .notification, now: now)
        case .huawei: bytes = Huawei.body(for: push, now: now)
        case .honor: bytes = Honor.body(for: push, now: now)
        case .xiaomi:
            var form = try #require(Xiaomi.form(for: push, Xiaomi.Setup(app: "com.example.shop"), now: now))
            form["payload"] = form["payload"]?.removingPercentEncoding
            bytes = Array(try JSONSerialization.data(withJSONObject: form))
        case .oppo: bytes = OPPO.message(for: push, now: now)
        case .vivo: bytes = Vivo.body(for: push, Vivo.Setup(appID: 10004), now: now)
        case .harmony: bytes = Harmony.body(for: push, now: now)
        case .web:
            let browser = Browser()
            let request = try WebPush.request(for: push, keys: browser.keys, authorization: "vapid", now: now)
            headers = request?.headers
            bytes = Array(try browser.open(#require(request).body).utf8)
        case .webhook: bytes = WebhookPush.body(of: push)
        }
        // The page leaves out the content of the reference to the message, and the webhook's copy of the options.
        let text = String(decoding: try #require(bytes), as: UTF8.self)
            .replacing(#/\{\\*"conversation\\*":[^{}]*\}/#, with: "{}")
            .replacingOccurrences(of: try push.options.json().text, with: "{}")
        let found = try #require(Array(text.utf8).json, "\(text)")
        guard let headers else {
            #expect(found == page, "\(text)")
            return
        }
        #expect(found == page["body"] as? NSDictionary, "\(text)")
        let shown = try #require(page["headers"] as? [String: String])
        #expect(!shown.isEmpty)
        for (name, value) in shown { #expect(headers[name] == value, "\(name)") }
    }
}
